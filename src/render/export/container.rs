//! Containers: a Dockerfile, an Apptainer definition, a compose file.
//!
//! Images are built in two stages, so that the final one holds the prefix and neither cuenv, nor its store, nor downloads.

use std::fmt::Write as _;

use super::Handover;
use super::quote::compose;

/// Where the toolchain is inside an image: a path of no user.
const INSIDE: &str = "/opt/cuenv/toolchain";

/// How an image gets the wheels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supply<'a> {
    /// The pin and lock in the build context, and the index.
    Lock,
    /// A spec, resolved at build time: there is no lock here.
    Spec,
    /// A bundle in the build context; no network.
    Bundle(&'a str),
}

impl Handover {
    /// Returns how an image gets the wheels when nobody asks for a bundle.
    pub fn supply(&self) -> Supply<'static> {
        if self.locked { Supply::Lock } else { Supply::Spec }
    }

    fn head(&self, out: &mut String, what: &str) {
        let _ = writeln!(out, "# {what} for {}: {}", self.spec, self.toolchain);
        out.push_str("# Written by `cuenv export`. The image will hold files that NVIDIA licenses to you: read them with\n");
        out.push_str("# `cuenv licenses` before you pass it on. The driver comes from the host and is not in it.\n");
    }

    /// The command that makes the toolchain be there, run beside the copied files.
    fn fetch(&self, supply: Supply<'_>) -> String {
        match supply {
            Supply::Lock => "cuenv -C /pin install --locked".to_owned(),
            Supply::Spec => format!("cuenv install {}", self.spec),
            Supply::Bundle(_) => "cuenv install --from /pin/bundle.tar.zst".to_owned(),
        }
    }

    /// Writes a Dockerfile. `base` is the image that both stages start from; it has glibc.
    pub fn dockerfile(&self, base: &str, supply: Supply<'_>) -> String {
        let mut out = String::new();
        self.head(&mut out, "Dockerfile");
        out.push_str("# The build context needs `cuenv` and `cuenv-shim` for the image's platform: cp ~/.local/bin/cuenv ~/.local/bin/cuenv-shim .\n\n");
        let _ = writeln!(out, "FROM {base} AS toolchain");
        if !matches!(supply, Supply::Bundle(_)) {
            out.push_str("ARG CUENV_INDEX_URL=\"\"\n");
            out.push_str("RUN [ -e /etc/ssl/certs/ca-certificates.crt ] || { apt-get update && apt-get install -y --no-install-recommends ca-certificates; }\n");
        }
        out.push_str("COPY cuenv cuenv-shim /usr/local/bin/\n");
        match supply {
            Supply::Lock => out.push_str("COPY .cuenv .cuenv.lock /pin/\n"),
            Supply::Spec => {}
            Supply::Bundle(file) => {
                let _ =
                    writeln!(out, "COPY [{}, \"/pin/bundle.tar.zst\"]", super::quote::json(file));
            }
        }
        let spec = if supply == Supply::Lock { String::new() } else { format!(" {}", self.spec) };
        let place = if supply == Supply::Lock { " -C /pin" } else { "" };
        let _ = writeln!(
            out,
            "RUN CUENV_HOME=/opt/cuenv {} && cp -a \"$(CUENV_HOME=/opt/cuenv cuenv{place} where{spec})\" /toolchain\n",
            self.fetch(supply)
        );
        let _ = writeln!(out, "FROM {base}");
        let _ = writeln!(out, "COPY --from=toolchain /toolchain {INSIDE}");
        for variable in &self.variables {
            let path = Self::below(INSIDE, &variable.path);
            let name = &variable.name;
            // An empty element of a list is the current directory, so the colon comes only with something behind it.
            let rest = if variable.list { format!("${{{name}:+:${name}}}") } else { String::new() };
            let _ = writeln!(out, "ENV {name}=\"{path}{rest}\"");
        }
        out.push_str(
            "ENV NVIDIA_VISIBLE_DEVICES=\"all\" NVIDIA_DRIVER_CAPABILITIES=\"compute,utility\"\n",
        );
        let _ = writeln!(out, "LABEL cuenv.toolchain=\"{}\"", self.toolchain);
        out
    }

    /// Writes an Apptainer (Singularity) definition.
    pub fn apptainer(&self, base: &str, supply: Supply<'_>) -> String {
        let mut out = String::from("Bootstrap: docker\n");
        let _ = writeln!(out, "From: {base}\n");
        self.head(&mut out, "Apptainer definition");
        out.push_str("# Build it beside `cuenv`, `cuenv-shim` and the files named here; run it with --nv.\n\n%files\n");
        out.push_str("    cuenv /usr/local/bin/cuenv\n    cuenv-shim /usr/local/bin/cuenv-shim\n");
        match supply {
            Supply::Lock => {
                out.push_str("    .cuenv /pin/.cuenv\n    .cuenv.lock /pin/.cuenv.lock\n");
            }
            Supply::Spec => {}
            Supply::Bundle(file) => {
                let _ = writeln!(out, "    {file} /pin/bundle.tar.zst");
            }
        }
        let spec = if supply == Supply::Lock { String::new() } else { format!(" {}", self.spec) };
        let place = if supply == Supply::Lock { " -C /pin" } else { "" };
        out.push_str("\n%post\n");
        if !matches!(supply, Supply::Bundle(_)) {
            out.push_str("    [ -e /etc/ssl/certs/ca-certificates.crt ] || { apt-get update && apt-get install -y --no-install-recommends ca-certificates; }\n");
        }
        let _ = writeln!(out, "    export CUENV_HOME=/tmp/cuenv");
        let _ = writeln!(out, "    {}", self.fetch(supply));
        let _ = writeln!(out, "    mkdir -p /opt/cuenv");
        let _ = writeln!(out, "    cp -a \"$(cuenv{place} where{spec})\" {INSIDE}");
        let _ = writeln!(
            out,
            "    rm -rf /tmp/cuenv /pin /usr/local/bin/cuenv /usr/local/bin/cuenv-shim"
        );
        out.push_str("\n%environment\n");
        for variable in &self.variables {
            let path = Self::below(INSIDE, &variable.path);
            let name = &variable.name;
            let rest = if variable.list { format!("${{{name}:+:${name}}}") } else { String::new() };
            let _ = writeln!(out, "    export {name}=\"{path}{rest}\"");
        }
        let _ = writeln!(out, "\n%labels\n    cuenv.toolchain {}", self.toolchain);
        out
    }

    /// Writes a compose service that mounts this machine's prefix, read-only, into an image that knows nothing of CUDA.
    pub fn compose(&self, base: &str) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "# {}: {}", self.spec, self.toolchain);
        out.push_str("# Written by `cuenv export compose`. The prefix of this machine is mounted; for an image of its own: cuenv export dockerfile\n");
        let _ = writeln!(out, "services:\n  app:\n    image: {}", compose(base));
        out.push_str("    volumes:\n      - type: bind\n");
        let _ = writeln!(out, "        source: {}", compose(&self.prefix));
        let _ = writeln!(out, "        target: {INSIDE}\n        read_only: true");
        out.push_str("    environment:\n");
        for variable in self.variables.iter().filter(|variable| variable.name != "PATH") {
            // Compose cannot read the image's own value, so PATH stays as the image has it.
            let path = Self::below(INSIDE, &variable.path);
            let _ = writeln!(out, "      {}: \"{path}\"", variable.name);
        }
        out.push_str("    deploy:\n      resources:\n        reservations:\n          devices:\n");
        out.push_str("            - driver: nvidia\n              count: all\n              capabilities: [gpu]\n");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::handover;
    use super::*;

    #[test]
    fn a_dockerfile_holds_the_prefix_and_no_path_of_this_machine() {
        let text = handover().dockerfile("debian:12-slim", Supply::Lock);
        assert!(!text.contains("/h/"), "{text}");
        assert!(text.contains("COPY .cuenv .cuenv.lock /pin/\n"));
        assert!(text.contains("cuenv -C /pin install --locked && "));
        assert!(text.contains("\nENV CUDA_HOME=\"/opt/cuenv/toolchain\"\n"));
        assert!(text.contains(
            "\nENV LD_LIBRARY_PATH=\"/opt/cuenv/toolchain/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\"\n"
        ));
        // Two stages, and the last one copies the tree alone.
        assert_eq!(text.matches("\nFROM ").count(), 2);
        let last = &text[text.rfind("\nFROM ").unwrap()..];
        assert!(!last.contains("COPY cuenv"), "{last}");
    }

    #[test]
    fn a_bundle_needs_no_network_and_a_spec_no_lock() {
        let text = handover().dockerfile("debian:12-slim", Supply::Bundle("a \"b.tar.zst"));
        assert!(text.contains("COPY [\"a \\\"b.tar.zst\", \"/pin/bundle.tar.zst\"]\n"), "{text}");
        assert!(!text.contains("apt-get") && !text.contains("INDEX"));
        let text = handover().dockerfile("debian:12-slim", Supply::Spec);
        assert!(text.contains("cuenv install 12.4+cudnn9 && "), "{text}");
        assert!(!text.contains(".cuenv.lock"));
    }

    #[test]
    fn compose_quotes_the_host_path() {
        let text = handover().compose("debian:12-slim");
        assert!(text.contains(r#"source: "/h/a $$x'b\"/toolchains/"#), "{text}");
        assert!(!text.contains(" PATH:"));
    }
}
