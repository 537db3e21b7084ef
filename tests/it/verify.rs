//! `cuenv verify` over prefixes of small libraries that the real loader takes.

use std::fs;
use std::path::PathBuf;

use crate::support::elf::Library;
use crate::support::project::receipt;
use crate::support::sandbox::{Ran, Sandbox};

const TOOLCHAIN: &str = "12.4.1+cudnn9.1.0.70";

/// A sandbox with one installed toolchain of these libraries.
fn installed(libraries: &[(&str, Library)]) -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    let target = if cfg!(target_arch = "aarch64") { "linux-aarch64" } else { "linux-x86_64" };
    let name = format!("{TOOLCHAIN}-0123456789ab");
    let prefix = sandbox.cuenv_home().join("toolchains").join(target).join(&name);
    fs::create_dir_all(prefix.join("lib")).unwrap();
    fs::create_dir_all(prefix.join(".cuenv")).unwrap();
    let activation = shims::activation::Activation::standard(TOOLCHAIN, &name, true);
    fs::write(prefix.join(".cuenv/activation"), activation.render().unwrap()).unwrap();
    receipt(&prefix, TOOLCHAIN);
    for (file, library) in libraries {
        fs::write(prefix.join("lib").join(file), library.bytes()).unwrap();
    }
    let active = sandbox.cuenv_home().join("active").join(target);
    fs::create_dir_all(&active).unwrap();
    std::os::unix::fs::symlink(&prefix, active.join("12.4+cudnn9")).unwrap();
    sandbox.write(".cuenv", "12.4+cudnn9\n");
    (sandbox, prefix)
}

fn cudnn() -> (&'static str, Library) {
    ("libcudnn.so.9", Library::new("libcudnn.so.9").function("cudnnGetVersion", 90100))
}

fn line<'a>(ran: &'a Ran, name: &str) -> &'a str {
    let found = ran.stdout.lines().find(|line| line.trim_start().starts_with(name));
    found.unwrap_or_else(|| panic!("no {name} in\n{}", ran.stdout))
}

#[test]
fn libraries_of_the_prefix_pass_and_tell_their_versions() {
    let lt = Library::new("libcublasLt.so.12").function("cublasLtGetVersion", 120_405);
    let (sandbox, _) = installed(&[
        cudnn(),
        ("libcublasLt.so.12", lt),
        ("libother.so.1", Library::new("libother.so.1")),
    ]);
    let ran = sandbox.cuenv(["verify", "--no-gpu"]).succeeds();
    assert!(line(&ran, "libcudnn.so.9").contains("9.1.0"), "{}", ran.stdout);
    assert!(line(&ran, "libcublasLt.so.12").contains("12.4.5"));
    assert!(line(&ran, "libother.so.1").ends_with("lib/libother.so.1"));
    assert!(ran.stdout.ends_with("3 loaded from the prefix\n"), "{}", ran.stdout);
    let json = sandbox.cuenv(["verify", "--no-gpu", "12.4+cudnn9", "--json"]).succeeds().json();
    let libraries = json["libraries"].as_array().unwrap();
    let first = libraries.iter().find(|library| library["name"] == "libcudnn.so.9").unwrap();
    assert_eq!(first["verdict"], "ok");
    assert_eq!(first["version"], "9.1.0");
    assert_eq!(first["via"], "cudnnGetVersion");
}

#[test]
fn a_library_that_wants_the_driver_is_a_note() {
    let engines = Library::new("libcudnn_engines.so.9").needs("libcuda.so.1");
    let (sandbox, _) = installed(&[cudnn(), ("libcudnn_engines.so.9", engines)]);
    let ran = sandbox.cuenv(["verify", "--no-gpu"]);
    // With a driver it simply loads.
    let ran = ran.succeeds();
    let text = line(&ran, "libcudnn_engines.so.9");
    assert!(text.contains("note: needs `libcuda.so.1`") || text.contains("lib/"), "{text}");
}

#[test]
fn what_cannot_load_is_named_with_the_loaders_words() {
    let wants = Library::new("liba.so.1")
        .import_version("gone", "libcudnn.so.9", "libcudnn.so.9")
        .needs("libcudnn.so.9");
    let own =
        Library::new("libcudnn.so.9").version("libcudnn.so.9").function("cudnnGetVersion", 90100);
    let (sandbox, _) = installed(&[
        ("libcudnn.so.9", own),
        ("liba.so.1", wants),
        ("libb.so.1", Library::new("libb.so.1").needs("libz-no-such.so.1")),
    ]);
    let ran = sandbox.cuenv(["verify", "--no-gpu"]).code(7);
    assert!(line(&ran, "liba.so.1").contains("FAILED: "), "{}", ran.stdout);
    assert!(
        line(&ran, "liba.so.1").contains("undefined symbol: gone, version libcudnn.so.9"),
        "{}",
        ran.stdout
    );
    assert!(line(&ran, "libb.so.1").contains("libz-no-such.so.1: cannot open shared object file"));
    assert!(line(&ran, "libcudnn.so.9").contains("9.1.0"), "one that fails takes no other with it");
}

#[test]
fn a_library_that_crashes_takes_no_other_with_it() {
    let (sandbox, _) = installed(&[
        ("liba.so.1", Library::new("liba.so.1")),
        ("libbad.so.1", Library::new("libbad.so.1").crashes()),
        cudnn(),
    ]);
    let ran = sandbox.cuenv(["verify", "--no-gpu"]).code(7);
    assert!(
        line(&ran, "libbad.so.1").contains("CRASHED: it ended the process by signal"),
        "{}",
        ran.stdout
    );
    assert!(line(&ran, "libcudnn.so.9").contains("9.1.0"));
    assert!(ran.stdout.ends_with("2 loaded from the prefix, 1 wrong\n"), "{}", ran.stdout);
}

#[test]
fn a_library_from_elsewhere_is_wrong() {
    let (sandbox, _) = installed(&[cudnn()]);
    let stranger = sandbox.root().join("stranger");
    fs::create_dir(&stranger).unwrap();
    let other = Library::new("libcudnn.so.9").function("cudnnGetVersion", 91002);
    fs::write(stranger.join("libcudnn.so.9"), other.bytes()).unwrap();
    // The one thing that outranks the computed environment and is not cuenv's to change.
    let sandbox =
        sandbox.with_env("LD_PRELOAD", stranger.join("libcudnn.so.9").display().to_string());
    let ran = sandbox.cuenv(["verify", "--no-gpu"]).code(7);
    let text = line(&ran, "libcudnn.so.9");
    assert!(
        text.contains("9.10.2")
            && text.contains("WRONG: loaded from [ROOT]/stranger/libcudnn.so.9"),
        "{text}"
    );
}

#[test]
fn the_users_own_library_path_does_not_win() {
    let (sandbox, _) = installed(&[cudnn()]);
    let stranger = sandbox.root().join("stranger");
    fs::create_dir(&stranger).unwrap();
    let other = Library::new("libcudnn.so.9").function("cudnnGetVersion", 91002);
    fs::write(stranger.join("libcudnn.so.9"), other.bytes()).unwrap();
    let sandbox = sandbox.with_env("LD_LIBRARY_PATH", stranger.display().to_string());
    let ran = sandbox.cuenv(["verify", "--no-gpu"]).succeeds();
    assert!(line(&ran, "libcudnn.so.9").contains("9.1.0"));
}

#[test]
fn what_is_not_there_is_said_with_the_command() {
    let sandbox = Sandbox::new();
    let ran = sandbox.cuenv(["verify", "--no-gpu"]).code(3);
    assert!(ran.stderr.contains("no pin and no default holds"), "{}", ran.stderr);
    let ran = sandbox.cuenv(["verify", "12.4+cudnn9"]).code(3);
    assert!(ran.stderr.contains("`cuenv install 12.4+cudnn9`"), "{}", ran.stderr);
}

#[test]
fn a_linked_toolkit_is_verified_where_it_lies() {
    let sandbox = Sandbox::new();
    let lib = sandbox.root().join("opt/cuda/lib64");
    fs::create_dir_all(&lib).unwrap();
    let library = Library::new("libcudart.so.12");
    fs::write(lib.join("libcudart.so.12.4.127"), library.bytes()).unwrap();
    for (to, name) in
        [("libcudart.so.12.4.127", "libcudart.so.12"), ("libcudart.so.12", "libcudart.so")]
    {
        std::os::unix::fs::symlink(to, lib.join(name)).unwrap();
    }
    sandbox.cuenv(["link", "site", lib.parent().unwrap().to_str().unwrap()]).succeeds();
    sandbox.write(".cuenv", "site\n");
    let ran = sandbox.cuenv(["verify", "--no-gpu"]).succeeds();
    assert!(line(&ran, "libcudart.so.12").ends_with("opt/cuda/lib64/libcudart.so.12"));
    assert!(ran.stdout.ends_with("1 loaded from the prefix\n"), "{}", ran.stdout);
}
