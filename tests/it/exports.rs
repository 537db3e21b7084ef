//! What `cuenv export` prints, taken by the real programs it is for: buildah, Lmod, Environment Modules, direnv, a shell.
//! A program that is not here is skipped in one line.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::index::Index;
use crate::support::sandbox::{Ran, Sandbox, cuenv};
use crate::support::terminal::is_installed;
use crate::support::whole;

/// Opens cuDNN by name, as frameworks do, and prints the file that came.
const PROBE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
int main(void) {
    struct link_map *map;
    void *library = dlopen("libcudnn.so.9", RTLD_NOW);
    if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map)) return puts(dlerror()), 1;
    return puts(map->l_name) < 0;
}
"#;

struct Bed {
    _index: Index,
    sandbox: Sandbox,
    probe: PathBuf,
}

/// A project that is pinned and installed, and a program that needs what is in it.
fn bed() -> Bed {
    let index = whole::index();
    let bin = cuenv().parent().unwrap().display();
    let sandbox = Sandbox::new()
        .with_env("CUENV_INDEX_URL", index.url())
        .with_env("CUENV_HTTP_RETRIES", "0")
        .with_env("CUENV_HOST_ROOT", "/nonexistent")
        .with_env("PATH", format!("{bin}:/usr/local/bin:/usr/bin:/bin"));
    sandbox.cuenv(["use", "12.4+cudnn9"]).succeeds();
    let probe = sandbox.root().join("probe");
    fs::write(sandbox.root().join("probe.c"), PROBE).unwrap();
    let gcc = Command::new("gcc")
        .args(["-o", probe.to_str().unwrap(), "-ldl"])
        .arg(sandbox.root().join("probe.c"))
        .status();
    assert!(gcc.unwrap().success());
    Bed { _index: index, sandbox, probe }
}

fn skipped(what: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {what}");
}

impl Bed {
    fn export(&self, args: &[&str]) -> String {
        self.sandbox.cuenv([&["export"], args].concat()).succeeds().stdout
    }

    /// What `export` prints, with this sandbox's true paths.
    fn raw(&self, args: &[&str]) -> String {
        let out = self.sandbox.command(cuenv()).arg("export").args(args).output().unwrap();
        assert!(out.status.success());
        String::from_utf8(out.stdout).unwrap()
    }

    fn prefix(&self) -> PathBuf {
        let out = self.sandbox.command(cuenv()).arg("where").output().unwrap();
        PathBuf::from(String::from_utf8(out.stdout).unwrap().trim_end())
    }

    /// Runs a script of bash; its standard output.
    #[track_caller]
    fn bash(&self, script: &str) -> String {
        let mut bash = self.sandbox.command("bash");
        bash.args(["-euo", "pipefail", "-c", script]);
        Ran::of(&mut bash, &self.sandbox).succeeds().stdout
    }

    /// What the probe says when it finds the prefix's library.
    fn found(&self) -> String {
        self.sandbox.redact(&format!("{}/lib/libcudnn.so.9\n", self.prefix().display()))
    }

    /// A root of a few programs of this machine and the C library that they need: what an image starts from.
    fn root_file_system(&self) -> PathBuf {
        let root = self.sandbox.root().join("rootfs");
        let script = r#"
            root=$1 probe=$2 cuenv=$3
            mkdir -p "$root"/{bin,usr/local/bin,etc/ssl/certs,tmp,proc,sys,dev,lib64,opt}
            # Authorities are here, so that nothing has to be installed for them.
            : >"$root/etc/ssl/certs/ca-certificates.crt"
            cp "$probe" "$root/bin/probe"
            for name in sh cp mkdir rm ls printenv; do
                cp -L "$(command -v "$name")" "$root/bin/$name"
            done
            for file in "$root"/bin/* "$cuenv"; do
                ldd "$file" | grep -o '/[^ ]*' || :
            done | sort -u | while read -r library; do
                mkdir -p "$root$(dirname "$library")"
                cp -L "$library" "$root$library"
            done"#;
        let mut bash = self.sandbox.command("bash");
        bash.args(["-euc", script, "bash"]).arg(&root).arg(&self.probe).arg(cuenv());
        Ran::of(&mut bash, &self.sandbox).succeeds();
        root
    }

    /// A directory with what a build needs beside the export.
    fn context(&self) -> PathBuf {
        let context = self.sandbox.root().join("context");
        fs::create_dir_all(&context).unwrap();
        for program in ["cuenv", "cuenv-shim"] {
            let to = context.join(program);
            fs::copy(cuenv().with_file_name(program), &to).unwrap();
            // A debug build is large, and images are copied often.
            let _ = Command::new("strip").arg(&to).status();
        }
        for file in [".cuenv", ".cuenv.lock"] {
            fs::copy(self.sandbox.project().join(file), context.join(file)).unwrap();
        }
        self.sandbox.cuenv(["bundle", "-o", "bundle.tar.zst"]).succeeds();
        let bundle = self.sandbox.project().join("bundle.tar.zst");
        fs::rename(bundle, context.join("bundle.tar.zst")).unwrap();
        context
    }
}

fn is_root() -> bool {
    let out = Command::new("id").arg("-u").output().unwrap();
    out.stdout == b"0\n"
}

#[test]
fn an_image_built_from_the_dockerfile_runs_the_toolchain_and_holds_its_licences() {
    if !is_installed("buildah") || !is_root() {
        return skipped("no buildah, or not root");
    }
    let bed = bed();
    let root = bed.root_file_system();
    let context = bed.context();
    let lock = bed.raw(&["dockerfile", "--base", "localhost/base"]);
    fs::write(context.join("Dockerfile"), &lock).unwrap();
    let bundle = bed.raw(&["dockerfile", "--base", "localhost/base", "--bundle", "bundle.tar.zst"]);
    fs::write(context.join("Dockerfile.bundle"), &bundle).unwrap();
    // What the image would hold is said where it is built, too.
    let told = bed.sandbox.cuenv(["export", "dockerfile"]).succeeds().stderr;
    assert!(told.contains("NVIDIA licenses to you"), "{told}");
    let script = r#"
        root=$1 context=$2 store=$3 index=$4
        # Nothing of this machine's own images and settings, and a driver that works everywhere.
        buildah() { command buildah --root "$store/root" --runroot "$store/run" --storage-driver vfs "$@"; }
        export BUILDAH_ISOLATION=chroot TMPDIR=$store
        mkdir -p "$store"
        base=$(buildah from scratch)
        buildah add -q "$base" "$root" / >/dev/null
        buildah config --env PATH=/usr/local/bin:/bin "$base"
        buildah commit -q "$base" localhost/base >/dev/null
        buildah rm "$base" >/dev/null
        for file in Dockerfile Dockerfile.bundle; do
            tag=localhost/${file,,}
            # The bundle needs no index.
            [ $file = Dockerfile ] || index=http://127.0.0.1:9/
            buildah bud -q --pull-never --build-arg CUENV_INDEX_URL="$index" -f "$context/$file" -t "$tag" "$context" >"$store/log" 2>&1 ||
                { cat "$store/log" >&2; exit 1; }
            one=$(buildah from --pull-never "$tag")
            buildah run "$one" -- /bin/probe
            buildah run "$one" -- printenv CUDA_HOME LD_LIBRARY_PATH
            buildah run "$one" -- sh -c 'ls /opt/cuenv /usr/local/bin /opt/cuenv/toolchain/LICENSES'
            buildah rm "$one" >/dev/null
        done"#;
    let mut bash = bed.sandbox.command("bash");
    bash.args(["-euo", "pipefail", "-c", script, "bash"])
        .args([root, context, bed.sandbox.root().join("images")])
        .arg(bed._index.url());
    let ran = Ran::of(&mut bash, &bed.sandbox).succeeds();
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let images: Vec<&[&str]> = lines.split(|line| line.ends_with("libcudnn.so.9")).collect();
    assert_eq!(images.len(), 3, "two images, each after its probe: {}", ran.stdout);
    for image in &images[1..] {
        assert_eq!(image[..2], ["/opt/cuenv/toolchain", "/opt/cuenv/toolchain/lib"]);
        // The image holds the toolchain, and neither the store nor cuenv.
        let rest = image[2..].join(" ");
        assert!(
            rest.starts_with("/opt/cuenv: toolchain  /opt/cuenv/toolchain/LICENSES: "),
            "{rest}"
        );
        assert!(rest.contains("nvidia") || rest.contains("cudnn"), "{rest}");
        assert!(rest.ends_with("/usr/local/bin:"), "{rest}");
    }
}

#[test]
fn an_apptainer_definition_does_what_it_says_in_a_root_of_its_own() {
    if !is_root() {
        return skipped("not root");
    }
    let bed = bed();
    let root = bed.root_file_system();
    let context = bed.context();
    let index = bed._index.url();
    for extra in [&[][..], &["--bundle", "bundle.tar.zst"]] {
        let text = bed.raw(&[&["apptainer"], extra].concat());
        assert!(text.starts_with("Bootstrap: docker\nFrom: debian:12-slim\n"), "{text}");
        let sections = sections(&text);
        for line in sections["files"].lines() {
            let (from, to) = line.trim().split_once(' ').unwrap();
            let to = root.join(to.trim_start_matches('/'));
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(context.join(from), to).unwrap();
        }
        // As Apptainer does it: %post with `sh -e` inside, %environment before what is run.
        fs::write(root.join("post"), &sections["post"]).unwrap();
        fs::write(root.join("environment"), &sections["environment"]).unwrap();
        let inside = |script: &str| {
            let mut chroot = bed.sandbox.command("/usr/sbin/chroot");
            chroot.arg(&root).args(["/bin/sh", "-euc", script]);
            chroot.env("PATH", "/usr/local/bin:/bin").env("CUENV_INDEX_URL", &index);
            Ran::of(&mut chroot, &bed.sandbox).succeeds().stdout
        };
        inside(". /post");
        assert_eq!(inside(". /environment; probe"), "/opt/cuenv/toolchain/lib/libcudnn.so.9\n");
        assert!(inside("ls /opt/cuenv/toolchain/LICENSES").lines().count() > 3);
        assert!(!root.join("pin").exists() && !root.join("tmp/cuenv").exists());
        assert!(!root.join("usr/local/bin/cuenv").exists());
        fs::remove_dir_all(root.join("opt/cuenv")).unwrap();
    }
}

/// The sections of an Apptainer definition.
fn sections(text: &str) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut at = None;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('%') {
            at = Some(name.to_owned());
        } else if let Some(name) = at.as_ref().filter(|_| !line.trim().is_empty()) {
            found.entry(name.clone()).or_default().push_str(&format!("{line}\n"));
        }
    }
    found
}

#[test]
fn a_module_file_loads_and_unloads_in_both_module_systems() {
    let bed = bed();
    let modules = bed.sandbox.root().join("modules/toolchain");
    fs::create_dir_all(&modules).unwrap();
    fs::write(modules.join("cuda"), bed.raw(&["modulefile"])).unwrap();
    let lmod = "/usr/share/lmod/lmod/init/bash";
    let mut ways = Vec::new();
    if Path::new(lmod).exists() {
        ways.push(format!(". {lmod}"));
    } else {
        skipped("Lmod is not installed");
    }
    match tcl_modules() {
        Some(command) => ways
            .push(format!("module() {{ eval \"$(tclsh {} bash \"$@\")\"; }}", command.display())),
        None => skipped("Environment Modules are not here"),
    }
    for start in ways {
        // Module systems do not run under `set -u`.
        let script = format!(
            "set +u; export LMOD_SYSTEM_DEFAULT_MODULES=; {start}
             export LD_LIBRARY_PATH=/mine
             module use {} >/dev/null 2>&1
             before=$(printenv PATH LD_LIBRARY_PATH; printenv CUDA_HOME || :)
             module load toolchain/cuda
             {}
             printenv LD_LIBRARY_PATH
             module load toolchain/cuda
             printenv LD_LIBRARY_PATH
             module unload toolchain/cuda
             [ \"$before\" = \"$(printenv PATH LD_LIBRARY_PATH; printenv CUDA_HOME || :)\" ]
             module whatis toolchain/cuda 2>&1",
            modules.parent().unwrap().display(),
            bed.probe.display(),
        );
        let out = bed.bash(&script);
        let library = bed.sandbox.redact(&format!("{}/lib:/mine", bed.prefix().display()));
        assert!(
            out.starts_with(&format!("{}{library}\n{library}\n", bed.found())),
            "{start}:\n{out}"
        );
        assert!(out.contains("CUDA toolchain 12.4.1+cudnn9"), "{start}:\n{out}");
    }
}

/// The command of Environment Modules: Debian's package conflicts with Lmod's, so `tests/run` unpacks it into the cache.
fn tcl_modules() -> Option<PathBuf> {
    let cache = std::env::var_os("CUENV_TEST_CACHE").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache/cuenv-test"),
        PathBuf::from,
    );
    let roots = [PathBuf::from("/"), cache.join("environment-modules")];
    let below =
        |root: &Path| root.join("usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
    let command = roots.iter().map(|root| below(root).join("modulecmd.tcl"));
    command.into_iter().find(|path| path.exists()).filter(|_| is_installed("tclsh"))
}

#[test]
fn direnv_takes_the_envrc() {
    if !is_installed("direnv") {
        return skipped("direnv is not installed");
    }
    let bed = bed();
    bed.sandbox.write(".envrc", bed.raw(&["direnv"]));
    let out = bed.bash(&format!("direnv allow 2>/dev/null; direnv exec . {}", bed.probe.display()));
    assert_eq!(out, bed.found());
}

#[test]
fn a_job_script_starts_each_rank_in_the_toolchain() {
    let bed = bed();
    // A Slurm that runs one rank and hands its environment on as `--export` says.
    let bin = bed.sandbox.root().join("slurm");
    fs::create_dir(&bin).unwrap();
    let srun = "#!/bin/sh\ncase $1 in --export=ALL) shift; exec \"$@\" ;; esac\nshift; exec env -i \"$@\"\n";
    fs::write(bin.join("srun"), srun).unwrap();
    let python = format!("#!/bin/sh\necho \"$@\"; exec {}\n", bed.probe.display());
    fs::write(bin.join("python"), python).unwrap();
    for program in ["srun", "python"] {
        fs::set_permissions(bin.join(program), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let script = bed.sandbox.root().join("job.sh");
    fs::write(&script, bed.raw(&["slurm"])).unwrap();
    if let Ok(out) = Command::new("shellcheck").arg(&script).output() {
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout));
    }
    let out = bed.bash(&format!("cd /; PATH={}:$PATH sh {}", bin.display(), script.display()));
    assert_eq!(out, format!("train.py\n{}", bed.found()));
}

#[test]
fn a_kernel_and_an_editor_start_programs_in_the_toolchain() {
    let bed = bed();
    let python = bed.sandbox.root().join("python");
    fs::write(&python, format!("#!/bin/sh\necho \"$@\"; exec {}\n", bed.probe.display())).unwrap();
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    let kernel = bed.raw(&["kernelspec", "--python", python.to_str().unwrap()]);
    let kernel: serde_json::Value = serde_json::from_str(&kernel).unwrap();
    // As the notebook server starts it: from its own directory, with the connection file put in.
    let mut argv = kernel["argv"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap().replace("{connection_file}", "/run/kernel.json"));
    let mut command = bed.sandbox.command(argv.next().unwrap());
    let ran = Ran::of(command.args(argv).current_dir("/"), &bed.sandbox).succeeds();
    assert_eq!(ran.stdout, format!("-m ipykernel_launcher -f /run/kernel.json\n{}", bed.found()));

    let settings: serde_json::Value = serde_json::from_str(&bed.raw(&["vscode"])).unwrap();
    let mut terminal = bed.sandbox.command(&bed.probe);
    for (name, value) in settings["terminal.integrated.env.linux"].as_object().unwrap() {
        terminal.env(name, value.as_str().unwrap().replace("${env:PATH}", "/usr/bin:/bin"));
    }
    assert_eq!(Ran::of(&mut terminal, &bed.sandbox).succeeds().stdout, bed.found());
}

#[test]
fn a_compose_service_mounts_the_prefix() {
    let bed = bed();
    let file = bed.sandbox.root().join("compose.yaml");
    fs::write(&file, bed.raw(&["compose"])).unwrap();
    let read = "import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)";
    let out = Command::new("python3").args(["-c", read]).arg(&file).output().unwrap();
    if !out.status.success() {
        return skipped("Python has no yaml");
    }
    let parsed: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let app = &parsed["services"]["app"];
    let mount = &app["volumes"][0];
    assert_eq!(mount["source"], bed.prefix().to_str().unwrap());
    assert_eq!(mount["read_only"], true);
    if !is_root() {
        return skipped("not root");
    }
    // What the mount and the variables make, in a root of its own.
    let root = bed.root_file_system();
    let target = root.join(mount["target"].as_str().unwrap().trim_start_matches('/'));
    fs::create_dir_all(target.parent().unwrap()).unwrap();
    // Files of a prefix are links inside it, so that a copy stands for the mount.
    let copied = Command::new("cp").arg("-a").arg(bed.prefix()).arg(&target).status().unwrap();
    assert!(copied.success());
    let mut chroot = bed.sandbox.command("/usr/sbin/chroot");
    chroot.arg(&root).arg("/bin/probe");
    for (name, value) in app["environment"].as_object().unwrap() {
        chroot.env(name, value.as_str().unwrap());
    }
    let ran = Ran::of(&mut chroot, &bed.sandbox).succeeds();
    assert_eq!(ran.stdout, "/opt/cuenv/toolchain/lib/libcudnn.so.9\n");
}

#[test]
fn exports_of_images_say_whose_files_they_will_hold() {
    let bed = bed();
    for kind in ["dockerfile", "apptainer"] {
        let ran = bed.sandbox.cuenv(["export", kind]).succeeds();
        assert!(ran.stdout.contains("NVIDIA licenses to you"), "{}", ran.stdout);
        assert!(ran.stderr.contains("NVIDIA licenses to you"), "{}", ran.stderr);
        assert_eq!(bed.sandbox.cuenv(["-q", "export", kind]).succeeds().stderr, "");
    }
    assert_eq!(bed.sandbox.cuenv(["export", "direnv"]).succeeds().stderr, "");
    assert!(!bed.export(&["modulefile"]).is_empty());
}
