//! `cuenv which` for tools and libraries.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use crate::support::elf::Library;
use crate::support::sandbox::Sandbox;

fn executable(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn library(path: &Path, soname: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, Library::new(soname).bytes()).unwrap();
}

/// A sandbox whose project is pinned to one installed toolchain.
fn pinned() -> (Sandbox, std::path::PathBuf) {
    let sandbox = Sandbox::new();
    let target = if cfg!(target_arch = "aarch64") { "linux-aarch64" } else { "linux-x86_64" };
    let prefix = sandbox.cuenv_home().join("toolchains").join(target).join("12.4.1-0123456789ab");
    fs::create_dir_all(prefix.join(".cuenv")).unwrap();
    fs::create_dir_all(prefix.join("lib")).unwrap();
    let activation = shims::activation::Activation::standard("12.4.1", "12.4.1-0123456789ab", true);
    fs::write(prefix.join(".cuenv/activation"), activation.render().unwrap()).unwrap();
    let active = sandbox.cuenv_home().join("active").join(target);
    fs::create_dir_all(&active).unwrap();
    symlink(&prefix, active.join("12.4")).unwrap();
    sandbox.write(".cuenv", "12.4\n");
    (sandbox, prefix)
}

const PREFIX: &str = "[CUENV]/toolchains/linux-x86_64/12.4.1-0123456789ab";

fn plain(text: &str) -> String {
    text.replace("linux-aarch64", "linux-x86_64")
}

#[test]
fn the_toolchains_tool_comes_first_and_others_are_listed() {
    let (sandbox, prefix) = pinned();
    let other = sandbox.root().join("other");
    executable(&prefix.join("bin/ptxas"));
    executable(&other.join("ptxas"));
    let sandbox = sandbox.with_env("PATH", format!("{}:/usr/bin:/bin", other.display()));
    let ran = sandbox.cuenv(["which", "ptxas"]).succeeds();
    assert_eq!(plain(&ran.stdout), format!("{PREFIX}/bin/ptxas\n"));
    let ran = sandbox.cuenv(["which", "-a", "ptxas"]).succeeds();
    assert_eq!(
        plain(&ran.stdout),
        format!(
            "{PREFIX}/bin/ptxas  (toolchain 12.4.1)\n[ROOT]/other/ptxas  (PATH `[ROOT]/other`)\n"
        )
    );
}

#[test]
fn the_library_that_wins_is_told_with_its_rule_and_what_it_beats() {
    let (sandbox, prefix) = pinned();
    let other = sandbox.root().join("other");
    library(&prefix.join("lib/libcudnn.so.9"), "libcudnn.so.9");
    library(&other.join("libcudnn.so.9"), "libcudnn.so.9");
    let sandbox = sandbox.with_env("LD_LIBRARY_PATH", other.display().to_string());
    let ran = sandbox.cuenv(["which", "libcudnn.so.9"]).succeeds();
    assert_eq!(plain(&ran.stdout), format!("{PREFIX}/lib/libcudnn.so.9\n"));
    let ran = sandbox.cuenv(["which", "-a", "libcudnn.so.9", "--json"]).succeeds();
    let json = ran.json();
    let candidates = json["candidates"].as_array().unwrap();
    assert_eq!(candidates.len(), 2);
    assert_eq!(candidates[1]["path"], "[ROOT]/other/libcudnn.so.9");
    assert_eq!(candidates[1]["because"], "LD_LIBRARY_PATH `[ROOT]/other`");
}

#[test]
fn the_asking_librarys_own_path_counts() {
    let (sandbox, prefix) = pinned();
    library(&prefix.join("lib/libcudnn.so.9"), "libcudnn.so.9");
    let venv = sandbox.root().join("venv");
    library(&venv.join("cudnn/libcudnn.so.9"), "libcudnn.so.9");
    fs::write(venv.join("libtorch.so"), Library::new("libtorch.so").rpath("$ORIGIN/cudnn").bytes())
        .unwrap();
    let torch = venv.join("libtorch.so").display().to_string();
    let ran = sandbox.cuenv(["which", "--from", &torch, "libcudnn.so.9"]).succeeds();
    assert_eq!(ran.stdout, "[ROOT]/venv/cudnn/libcudnn.so.9\n");
}

#[test]
fn a_missing_nvcc_is_explained() {
    let (sandbox, _) = pinned();
    let ran = sandbox.cuenv(["which", "nvcc"]).code(3);
    assert!(ran.stderr.contains("from CUDA 13 on"), "{}", ran.stderr);
    let ran = sandbox.cuenv(["which", "libcudnn.so.8"]).code(3);
    assert!(ran.stderr.contains("`cuenv use 12.4+cudnn8` brings it"), "{}", ran.stderr);
}

#[test]
fn a_library_of_the_driver_is_said_to_be_one() {
    let (sandbox, _) = pinned();
    let sandbox = sandbox.with_env("CUENV_DRIVER_VERSION", "470.57.02");
    // Whether this machine has a driver or not.
    let ran = sandbox.cuenv(["which", "-a", "libcuda.so.1"]);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("comes with the NVIDIA driver"), "{said}");
    let ours = sandbox.root().join("ours");
    library(&ours.join("libcuda.so.1"), "libcuda.so.1");
    let sandbox = sandbox.with_env("LD_LIBRARY_PATH", ours.display().to_string());
    let ran = sandbox.cuenv(["which", "-a", "libcuda.so.1"]).succeeds();
    assert!(ran.stdout.starts_with("[ROOT]/ours/libcuda.so.1"), "{}", ran.stdout);
    assert!(ran.stdout.contains("note: `libcuda.so.1` comes with the NVIDIA driver"));
}

#[test]
fn the_verdict_on_the_toolchain_is_shown_with_all_candidates() {
    let (sandbox, prefix) = pinned();
    library(&prefix.join("lib/libcudart.so.12"), "libcudart.so.12");
    let sandbox = sandbox.with_env("CUENV_DRIVER_VERSION", "470.57.02");
    let ran = sandbox.cuenv(["which", "-a", "libcudart.so.12"]).succeeds();
    assert!(
        ran.stdout.contains("note: 12.4.1: cannot run here: driver 470.57.02"),
        "{}",
        ran.stdout
    );
    let ran = sandbox.cuenv(["which", "libcudart.so.12"]).succeeds();
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    let ran = sandbox.cuenv(["current"]).succeeds();
    assert!(ran.stdout.contains("verdict    cannot run here: driver 470.57.02"), "{}", ran.stdout);
}

#[test]
fn a_toolchain_whose_libraries_are_gone_is_not_passed_over_in_silence() {
    let (sandbox, prefix) = pinned();
    executable(&prefix.join("bin/ptxas"));
    fs::remove_dir(prefix.join("lib")).unwrap();
    for command in [&["which", "ptxas"][..], &["env", "--shell", "bash"], &["exec", "--", "true"]] {
        let ran = sandbox.cuenv(command);
        let code = if command[0] == "exec" { 125 } else { 1 };
        assert_eq!(ran.code, Some(code), "{command:?}: {}", ran.stderr);
        let said = "12.4.1-0123456789ab/lib` of the toolchain is missing: run `cuenv verify --files --repair`";
        assert!(ran.stderr.contains(said), "{command:?}: {}", ran.stderr);
    }
}
