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
    assert!(ran.stderr.contains("cuenv explain libcudnn.so.8"), "{}", ran.stderr);
}
