//! What a release publishes for Arm, run under qemu's user mode. `tests/packages` runs this after it built the archive.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::release::VERSION;
use crate::support::sandbox::{Ran, Sandbox};
use crate::support::terminal::is_installed;
use crate::support::whole;

/// Where Debian's `libc6-arm64-cross` puts the C library of the other machine.
const SYSROOT: &str = "/usr/aarch64-linux-gnu";

#[test]
#[ignore = "needs a release archive for aarch64: tests/packages"]
fn the_arm_archive_resolves_installs_and_runs() {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/packages");
    let archive = packages.join(format!("cuenv-{VERSION}-linux-aarch64.tar.gz"));
    if !archive.exists() || !is_installed("qemu-aarch64") || !Path::new(SYSROOT).exists() {
        println!("skipped: no archive for aarch64, no qemu-aarch64 or no libc6-arm64-cross");
        return;
    }
    let index = whole::index();
    let sandbox = Sandbox::new()
        .with_env("CUENV_INDEX_URL", index.url())
        .with_env("CUENV_HTTP_RETRIES", "0")
        .with_env("CUENV_HOST_ROOT", "/nonexistent")
        .with_env("QEMU_LD_PREFIX", SYSROOT);
    let untar = Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(sandbox.root()).status();
    assert!(untar.unwrap().success());
    let top = sandbox.root().join(format!("cuenv-{VERSION}-linux-aarch64"));
    let run = |program: &str, args: &[&str]| {
        let mut command = sandbox.command("qemu-aarch64");
        Ran::of(command.arg(top.join(program)).args(args), &sandbox)
    };
    assert_eq!(run("cuenv", &["--version"]).succeeds().stdout, format!("cuenv {VERSION}\n"));
    assert!(run("cuenv-shim", &["--version"]).succeeds().stdout.contains(VERSION));
    let resolved = run("cuenv", &["resolve", "12.4+cudnn9"]).succeeds().stdout;
    assert!(resolved.contains("for linux-aarch64, profile runtime"), "{resolved}");
    // What does not exist for this machine is refused, and nothing is written.
    run("cuenv", &["use", "11.8+cudnn8"]).code(6);
    run("cuenv", &["use", "12.4+cudnn9"]).succeeds();
    let lock = fs::read_to_string(sandbox.project().join(".cuenv.lock")).unwrap();
    assert!(lock.contains("prefix.linux-aarch64 = ") && lock.contains("_aarch64.whl"), "{lock}");
    let prefix = run("cuenv", &["where"]).succeeds().stdout;
    assert!(prefix.contains("/toolchains/linux-aarch64/12.4.1+cudnn9"), "{prefix}");
    let home = run("cuenv", &["exec", "--", "/usr/bin/printenv", "CUDA_HOME"]).succeeds().stdout;
    assert_eq!(home, prefix);
}
