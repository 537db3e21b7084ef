//! A project with an installed toolchain and a Python environment, all of small made libraries: for everything that looks
//! at what the loader would do.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::elf::Library;
use super::sandbox::Sandbox;

/// The target's name, as the program under test has it.
pub const TARGET: &str =
    if cfg!(target_arch = "aarch64") { "linux-aarch64" } else { "linux-x86_64" };

/// A pinned project in a sandbox.
pub struct Project {
    pub sandbox: Sandbox,
    pub prefix: PathBuf,
}

impl Project {
    /// A project pinned to `spec`, for which `toolchain` is installed with these libraries.
    pub fn pinned(spec: &str, toolchain: &str, libraries: &[(&str, Library)]) -> Self {
        // No driver and no GPU, whatever the machine has.
        let sandbox = Sandbox::new().with_env("CUENV_DRIVER_VERSION", "none");
        let prefix = install(&sandbox, spec, toolchain, libraries);
        sandbox.write(".cuenv", format!("{spec}\n"));
        Self { sandbox, prefix }
    }

    /// The project's `.venv`, made without running anything.
    pub fn venv(&self) -> PathBuf {
        let venv = self.sandbox.project().join(".venv");
        if !venv.exists() {
            fs::create_dir_all(venv.join("bin")).unwrap();
            fs::create_dir_all(venv.join("lib/python3.11/site-packages")).unwrap();
            fs::write(venv.join("pyvenv.cfg"), "home = /usr/bin\nversion = 3.11.2\n").unwrap();
            // Any program does for an interpreter that is never run.
            symlink("/bin/true", venv.join("bin/python")).unwrap();
        }
        venv
    }

    /// Where the environment's packages lie.
    pub fn site(&self) -> PathBuf {
        self.venv().join("lib/python3.11/site-packages")
    }

    /// Adds a distribution's metadata.
    pub fn distribution(&self, name: &str, version: &str, requires: &[&str]) {
        let info = self.site().join(format!("{}-{version}.dist-info", name.replace('-', "_")));
        fs::create_dir_all(&info).unwrap();
        let mut text = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n");
        for requirement in requires {
            text.push_str(&format!("Requires-Dist: {requirement}\n"));
        }
        fs::write(info.join("METADATA"), text).unwrap();
    }

    /// Puts a library into the environment.
    pub fn library(&self, path: &str, library: &Library) -> PathBuf {
        put(&self.site().join(path), library)
    }
}

/// Writes a library to a path.
pub fn put(path: &Path, library: &Library) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, library.bytes()).unwrap();
    path.to_owned()
}

/// Installs a toolchain by hand and lets `spec` stand for it.
pub fn install(
    sandbox: &Sandbox,
    spec: &str,
    toolchain: &str,
    libraries: &[(&str, Library)],
) -> PathBuf {
    let name = format!("{toolchain}-0123456789ab");
    let prefix = sandbox.cuenv_home().join("toolchains").join(TARGET).join(&name);
    fs::create_dir_all(prefix.join("lib")).unwrap();
    fs::create_dir_all(prefix.join(".cuenv")).unwrap();
    let mut activation = shims::activation::Activation::standard(toolchain, &name, true);
    for (file, library) in libraries {
        put(&prefix.join("lib").join(file), library);
        let component = file.trim_start_matches("lib").split(['.', '_']).next().unwrap();
        let directory = format!(".cuenv/lib/{component}");
        fs::create_dir_all(prefix.join(&directory)).unwrap();
        symlink(format!("../../../lib/{file}"), prefix.join(&directory).join(file)).unwrap();
        let known = activation.components.iter_mut().find(|known| known.name == component);
        match known {
            Some(known) => known.libraries.push((*file).to_owned()),
            None => activation.components.push(shims::activation::Component {
                name: component.to_owned(),
                directory: directory.into(),
                libraries: vec![(*file).to_owned()],
            }),
        }
    }
    fs::write(prefix.join(".cuenv/activation"), activation.render().unwrap()).unwrap();
    receipt(&prefix, toolchain);
    let active = sandbox.cuenv_home().join("active").join(TARGET);
    fs::create_dir_all(&active).unwrap();
    symlink(&prefix, active.join(spec)).unwrap();
    prefix
}

/// Writes the receipt of a prefix that was made by hand: of one wheel that no store has, so that only names are compared.
pub fn receipt(prefix: &Path, toolchain: &str) {
    let name = prefix.file_name().unwrap().to_str().unwrap();
    let json = serde_json::json!({
        "version": 1,
        "name": name,
        "toolchain": toolchain,
        "cuda": toolchain.split('+').next().unwrap(),
        "target": TARGET,
        "profile": "runtime",
        "placed": {},
        "wheels": [{
            "distribution": "made_by_hand",
            "version": "1",
            "file": "made_by_hand-1-py3-none-any.whl",
            "size": 1,
            "sha256": "0".repeat(64),
            "unpacked": 1,
        }],
    });
    fs::write(prefix.join(".cuenv/receipt.json"), json.to_string()).unwrap();
}
