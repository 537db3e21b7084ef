//! `bundle`, `install --from`, `licenses` and `export`, over a small CUDA on a loopback index.

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::Command;

use crate::support::index::Index;
use crate::support::sandbox::{Ran, Sandbox};
use crate::support::toolkit;

const SPEC: &str = "12.4+cudnn9@base";

/// A project that is pinned and installed.
fn pinned() -> (Index, Sandbox) {
    let index = toolkit::index();
    let sandbox = Sandbox::new()
        .with_env("CUENV_INDEX_URL", index.url())
        .with_env("CUENV_HTTP_RETRIES", "0")
        .with_env("CUENV_HOST_ROOT", "/nonexistent");
    sandbox.cuenv(["use", SPEC]).succeeds();
    (index, sandbox)
}

/// A machine without a network, with what is carried over.
fn island(bundle: &std::path::Path) -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new()
        .with_env("CUENV_INDEX_URL", "http://127.0.0.1:9/simple/")
        .with_env("CUENV_HTTP_RETRIES", "0")
        .with_env("CUENV_OFFLINE", "1")
        .with_env("CUENV_HOST_ROOT", "/nonexistent");
    let file = sandbox.project().join("b.tar.zst");
    fs::copy(bundle, &file).unwrap();
    (sandbox, file)
}

#[test]
fn a_bundle_gives_the_same_prefix_without_a_network() {
    let (_index, sandbox) = pinned();
    let packed = sandbox.cuenv(["--json", "bundle", "-o", "b.tar.zst"]).succeeds().json();
    assert_eq!(packed["targets"].as_array().unwrap().len(), 1);
    let bundle = sandbox.project().join("b.tar.zst");
    let first = fs::read(&bundle).unwrap();
    sandbox.cuenv(["bundle", "-o", "b.tar.zst"]).succeeds();
    assert_eq!(fs::read(&bundle).unwrap(), first, "the same lock gives the same bytes");

    let (away, _file) = island(&bundle);
    away.cuenv(["install", "--from", "b.tar.zst"]).succeeds();
    let name = |sandbox: &Sandbox| {
        let prefix = sandbox.cuenv(["where", SPEC]).succeeds().stdout;
        prefix.trim_end().rsplit('/').next().unwrap().to_owned()
    };
    assert_eq!(name(&away), name(&sandbox));
    let staged = fs::read_dir(away.cuenv_home().join("tmp")).map_or(0, Iterator::count);
    assert_eq!(staged, 0, "no litter");
    // Again, where all is there.
    away.cuenv(["install", "--from", "b.tar.zst"]).succeeds();
}

#[test]
fn a_damaged_or_forged_bundle_is_refused_and_leaves_no_toolchain() {
    let (_index, sandbox) = pinned();
    sandbox.cuenv(["bundle", "-o", "b.tar.zst"]).succeeds();
    let bundle = sandbox.project().join("b.tar.zst");
    let whole = fs::read(&bundle).unwrap();

    let unpacked = sandbox.root().join("unpacked");
    fs::create_dir(&unpacked).unwrap();
    let tar = |args: &[&str]| {
        let done = Command::new("tar").args(args).current_dir(&unpacked).status().unwrap();
        assert!(done.success());
    };
    tar(&["--zstd", "-xf", bundle.to_str().unwrap()]);
    let wheel = fs::read_dir(unpacked.join("wheels")).unwrap().next().unwrap().unwrap().path();
    // Other bytes of the same length under a name that the lock knows.
    let mut bytes = fs::read(&wheel).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs::write(&wheel, bytes).unwrap();
    let forged = sandbox.root().join("forged.tar.zst");
    let order = ["cuenv-bundle", ".cuenv.lock", "wheels"];
    tar(&[&["--zstd", "-cf", forged.to_str().unwrap()], &order[..]].concat());
    let foreign = sandbox.root().join("foreign.tar.zst");
    fs::write(unpacked.join("wheels/other.whl"), "x").unwrap();
    tar(&[&["--zstd", "-cf", foreign.to_str().unwrap()], &order[..]].concat());
    let cut = sandbox.root().join("cut.tar.zst");
    fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    let text = sandbox.root().join("text.tar.zst");
    fs::write(&text, "no archive").unwrap();

    for bad in [forged, foreign, cut, text] {
        let (away, _file) = island(&bad);
        let ran = away.cuenv(["install", "--from", "b.tar.zst"]).code(5);
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
        away.cuenv(["where", SPEC]).code(3);
    }
}

#[test]
fn licences_are_printed_once_for_all_that_share_them() {
    let (_index, sandbox) = pinned();
    let text = sandbox.cuenv(["licenses"]).succeeds().stdout;
    assert_eq!(text.matches("EULA").count(), 1, "{text}");
    let listed = sandbox.cuenv(["licenses", "--list"]).succeeds().stdout;
    assert!(listed.lines().count() >= 3, "{listed}");
    assert!(listed.lines().all(|line| line.contains("/LICENSES/")), "{listed}");
    sandbox.cuenv(["licenses", "11.8"]).code(3);
}

#[test]
fn an_exported_module_file_and_envrc_set_the_toolchain() {
    let (_index, sandbox) = pinned();
    let text = sandbox.cuenv(["export", "modulefile"]).succeeds().stdout;
    assert!(text.starts_with("#%Module1.0\n") && text.contains("prepend-path LD_LIBRARY_PATH"));
    let script = sandbox.root().join("envrc");
    fs::write(&script, sandbox.cuenv(["export", "direnv"]).succeeds().stdout).unwrap();
    let bin = crate::support::sandbox::cuenv().parent().unwrap();
    let mut bash = sandbox.command("bash");
    bash.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    // direnv's own function; the rest is plain bash.
    bash.args([
        "-euc",
        "watch_file() { :; }; . \"$0\"; printf '%s\\n' \"$CUDA_HOME\"",
        script.to_str().unwrap(),
    ]);
    let ran = Ran::of(&mut bash, &sandbox).succeeds();
    assert!(ran.stdout.contains("/toolchains/"), "{}", ran.stdout);
}

#[test]
fn an_exported_job_script_and_kernel_are_read_by_their_programs() {
    let (_index, sandbox) = pinned();
    let script = sandbox.root().join("job.sh");
    fs::write(&script, sandbox.cuenv(["export", "slurm"]).succeeds().stdout).unwrap();
    let mut sh = sandbox.command("sh");
    Ran::of(sh.arg("-n").arg(&script), &sandbox).succeeds();
    let kernel =
        sandbox.cuenv(["export", "kernelspec", "--python", "/p y/python"]).succeeds().json();
    assert_eq!(kernel["argv"][4], "/p y/python");
    assert_eq!(kernel["language"], "python");
    sandbox.cuenv(["export", "vscode"]).succeeds().json();
}

#[test]
fn nothing_but_components_is_packed() {
    let (index, sandbox) = pinned();
    let lock = sandbox.project().join(".cuenv.lock");
    let text = fs::read_to_string(&lock).unwrap();
    let other = text
        .replace("nvidia-cuda-runtime-cu12", "left-pad")
        .replace("nvidia_cuda_runtime_cu12", "left_pad");
    assert_ne!(text, other);
    fs::write(&lock, other).unwrap();
    let requests = index.connections();
    let ran = sandbox.cuenv(["bundle", "-o", "b.tar.zst"]).code(5);
    assert!(ran.stderr.contains("`left-pad`, which is no component"), "{}", ran.stderr);
    assert!(!sandbox.project().join("b.tar.zst").exists());
    assert_eq!(index.connections(), requests, "nothing was fetched");
}

#[test]
fn an_image_needs_no_toolchain_here_but_a_mount_does() {
    let sandbox = Sandbox::new().with_env("CUENV_HOST_ROOT", "/nonexistent");
    let text = sandbox.cuenv(["export", "dockerfile", "12.4+cudnn9"]).succeeds().stdout;
    assert!(text.contains("cuenv install 12.4+cudnn9"), "{text}");
    assert!(text.contains("ENV CUDNN_PATH="), "{text}");
    sandbox.cuenv(["export", "compose", "12.4+cudnn9"]).code(3);
    sandbox.cuenv(["export", "dockerfile"]).code(3);
    sandbox.cuenv(["export", "dockerfile", "12.4", "--base", "x\nRUN evil"]).code(2);
}

#[test]
fn the_commands_of_an_exported_dockerfile_build_the_prefix() {
    let (_index, sandbox) = pinned();
    let text = sandbox.cuenv(["export", "dockerfile"]).succeeds().stdout;
    // The first stage's own command, run here with the paths of the image moved into the sandbox.
    let run = text.lines().find(|line| line.contains("install --locked")).unwrap();
    let inside = sandbox.root().join("image");
    fs::create_dir_all(inside.join("pin")).unwrap();
    for file in [".cuenv", ".cuenv.lock"] {
        fs::copy(sandbox.project().join(file), inside.join("pin").join(file)).unwrap();
    }
    let place = |path: &str| format!("{}{path}", inside.display());
    let run = run
        .strip_prefix("RUN ")
        .unwrap()
        .replace("/opt/cuenv", &place("/opt/cuenv"))
        .replace("/pin", &place("/pin"))
        .replace(" /toolchain", &format!(" {}", place("/toolchain")));
    let bin = crate::support::sandbox::cuenv().parent().unwrap();
    let mut sh = sandbox.command("sh");
    sh.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).args(["-euc", &run]);
    Ran::of(&mut sh, &sandbox).succeeds();
    let mut library = String::new();
    fs::File::open(inside.join("toolchain/lib/libcudart.so.12"))
        .unwrap()
        .read_to_string(&mut library)
        .unwrap();
    assert!(library.starts_with("nvidia-cuda-runtime-cu12"), "{library}");
}
