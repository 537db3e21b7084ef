//! `cuenv uninstall`: what is named goes, and nothing else.

use std::fs;
use std::process::{Child, Command, Stdio};

use crate::support::index::Index;
use crate::support::sandbox::{Sandbox, cuenv};
use crate::support::toolkit;

struct World {
    sandbox: Sandbox,
    _index: Index,
}

/// Two toolchains of one release, of two profiles.
fn world() -> World {
    let index = toolkit::index();
    let sandbox = Sandbox::new()
        .with_env("CUENV_DRIVER_VERSION", "none")
        .with_env("CUENV_INDEX_URL", index.url());
    for spec in ["12.4+cudnn9@base", "12.4+cudnn9"] {
        sandbox.cuenv(["install", spec]).succeeds();
    }
    World { sandbox, _index: index }
}

impl World {
    fn names(&self) -> Vec<String> {
        let list = self.sandbox.cuenv(["list", "--json"]).succeeds().json();
        let all = list["toolchains"].as_array().unwrap();
        all.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn several_are_listed_and_not_taken_away() {
    let world = world();
    let names = world.names();
    assert_eq!(names.len(), 2);
    // The toolchain's name is that of both; so is the partial spec.
    let list = world.sandbox.cuenv(["list", "--json"]).succeeds().json();
    let toolchain = list["toolchains"][0]["toolchain"].as_str().unwrap().to_owned();
    for spec in ["12+cudnn9", &toolchain] {
        let ran = world.sandbox.cuenv(["uninstall", spec]).code(2);
        assert!(names.iter().all(|name| ran.stderr.contains(name)), "{}", ran.stderr);
        assert!(ran.stderr.contains("--yes"), "{}", ran.stderr);
        assert_eq!(world.names(), names);
    }
    world.sandbox.cuenv(["uninstall", "-n", "12+cudnn9"]).succeeds();
    // Nothing of a command goes when a part of it is wrong.
    world.sandbox.cuenv(["uninstall", &names[0], "99"]).code(3);
    assert_eq!(world.names(), names);
    // A name that `list` prints is one; so is a spec that was installed.
    world.sandbox.cuenv(["uninstall", &names[0]]).succeeds();
    assert_eq!(world.names(), names[1..]);
    world.sandbox.cuenv(["uninstall", "--yes", "12+cudnn9"]).succeeds();
    assert!(world.names().is_empty());
}

#[test]
fn the_spec_that_was_installed_means_one() {
    let world = world();
    world.sandbox.cuenv(["uninstall", "12.4+cudnn9"]).succeeds();
    let left = world.names();
    assert_eq!(left.len(), 1);
    world.sandbox.cuenv(["where", "12.4+cudnn9@base"]).succeeds();
    // The beginning of a name, down into its digest.
    world.sandbox.cuenv(["uninstall", &left[0][..left[0].len() - 3]]).succeeds();
    assert!(world.names().is_empty());
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_toolchain_that_a_program_runs_in_stays() {
    let world = world();
    let spec = "12.4+cudnn9";
    let prefix = world.sandbox.cuenv(["where", spec]).succeeds();
    let prefix =
        prefix.stdout.trim().replace("[CUENV]", world.sandbox.cuenv_home().to_str().unwrap());
    // A program of the toolchain; prefixes are read-only for everybody but root.
    let bin = std::path::Path::new(&prefix).join("bin");
    let _ = Command::new("chmod").args(["-R", "u+w", &prefix]).status();
    fs::create_dir_all(&bin).unwrap();
    let program = bin.join("sleep");
    assert!(
        Command::new("install")
            .args(["-m", "755", "/bin/sleep"])
            .arg(&program)
            .status()
            .unwrap()
            .success()
    );
    let child = Command::new(&program).arg("60").stdin(Stdio::null()).spawn().unwrap();
    let running = Running(child);
    let ran = world.sandbox.cuenv(["uninstall", spec]).code(1);
    let said = format!("`sleep` (pid {})", running.0.id());
    assert!(ran.stderr.contains(&said), "{}", ran.stderr);
    assert!(program.exists());
    world.sandbox.cuenv(["uninstall", "-y", spec]).succeeds();
    assert!(!program.exists());
}

#[test]
fn who_pins_it_is_told() {
    let world = world();
    world.sandbox.cuenv(["use", "12.4+cudnn9"]).succeeds();
    world.sandbox.cuenv(["use", "--global", "12.4+cudnn9"]).succeeds();
    let ran = world.sandbox.cuenv(["uninstall", "12.4+cudnn9"]).succeeds();
    assert!(ran.stderr.contains("`[PROJECT]` uses it"), "{}", ran.stderr);
    assert!(ran.stderr.contains("it is the default"), "{}", ran.stderr);
    // A linked toolkit's users are told as well.
    let toolkit = world.sandbox.root().join("cuda");
    fs::create_dir_all(toolkit.join("bin")).unwrap();
    fs::write(toolkit.join("bin/nvcc"), "").unwrap();
    world.sandbox.cuenv(["link", "site", toolkit.to_str().unwrap()]).succeeds();
    world.sandbox.cuenv(["use", "site"]).succeeds();
    let ran = world.sandbox.cuenv(["uninstall", "site"]).succeeds();
    assert!(ran.stderr.contains("`[PROJECT]` uses it"), "{}", ran.stderr);
    assert!(cuenv().exists());
}
