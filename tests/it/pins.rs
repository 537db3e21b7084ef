//! Pins that are no pins: links that lead nowhere, pipes, directories and typing errors. Each is an error with its cause
//! and one code, and never "no pin".

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use crate::support::sandbox::{Ran, Sandbox};

fn bed() -> Sandbox {
    let sandbox = Sandbox::new().with_env("CUENV_DRIVER_VERSION", "none");
    sandbox.toolchain("12.4.1-b", "12.4", &[]);
    // What would step in if the broken pin counted as none.
    fs::create_dir_all(sandbox.cuenv_home().join("config")).unwrap();
    fs::write(sandbox.cuenv_home().join("config/default"), "12.4\n").unwrap();
    sandbox
}

/// Runs with a limit: a pipe must block nothing.
fn cuenv(sandbox: &Sandbox, args: &[&str]) -> Ran {
    let mut command = sandbox.command("timeout");
    Ran::of(command.arg("20").arg(crate::support::sandbox::cuenv()).args(args), sandbox)
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Every way for a pin to be broken, with the words that tell it.
fn broken(sandbox: &Sandbox, kind: &str) -> &'static str {
    let pin = sandbox.project().join(".cuenv");
    match kind {
        "dangling" => {
            symlink("gone.txt", pin).unwrap();
            "it is a link to `gone.txt`, which is not there"
        }
        "loop" => {
            symlink(".cuenv", pin).unwrap();
            "Too many levels of symbolic links"
        }
        "fifo" => {
            fifo(&pin);
            "it is a FIFO, not a file"
        }
        "directory" => {
            fs::create_dir(pin).unwrap();
            "it is a directory, not a file"
        }
        "binary" => {
            fs::write(pin, b"\xff\xfe").unwrap();
            "it is not UTF-8 text"
        }
        "syntax" => {
            fs::write(pin, "12.4 cudnn9\n").unwrap();
            "line 1: `12.4 cudnn9` is not a spec"
        }
        other => unreachable!("{other}"),
    }
}

const KINDS: [&str; 6] = ["dangling", "loop", "fifo", "directory", "binary", "syntax"];

#[test]
fn a_broken_pin_has_one_code_and_its_cause_everywhere() {
    for kind in KINDS {
        let sandbox = bed();
        let cause = broken(&sandbox, kind);
        for args in [
            &["current"][..],
            &["current", "-q"],
            &["where"],
            &["env"],
            &["verify"],
            &["verify", "--files"],
            &["which", "sh"],
            &["which", "libc.so.6"],
            &["install"],
            &["lock"],
            &["update"],
            &["bundle"],
            &["licenses"],
            &["export", "dockerfile"],
        ] {
            let ran = cuenv(&sandbox, args).code(2);
            assert!(ran.stderr.contains(cause), "{kind} {args:?}: {}", ran.stderr);
            assert!(ran.stderr.contains("[PROJECT]/.cuenv"), "{kind} {args:?}: {}", ran.stderr);
            assert!(ran.stderr.contains("cuenv use"), "{kind} {args:?}: {}", ran.stderr);
        }
        let ran = cuenv(&sandbox, &["exec", "--", "true"]).code(125);
        assert!(ran.stderr.contains(cause), "{kind}: {}", ran.stderr);
        let ran = cuenv(&sandbox, &["hook-env", "bash"]).succeeds();
        assert!(ran.stderr.contains(cause), "{kind}: {}", ran.stderr);
        let ran = cuenv(&sandbox, &["doctor"]).code(7);
        assert!(ran.stdout.contains(cause), "{kind}: {}", ran.stdout);
        assert!(ran.stdout.contains("cuenv use 12.4+cudnn9"), "{kind}: {}", ran.stdout);
        assert!(!ran.stdout.contains("fix: cuenv current"), "{kind}: {}", ran.stdout);
    }
}

#[test]
fn a_shim_says_what_is_wrong_with_a_pin() {
    for kind in KINDS {
        let sandbox = bed();
        let shims = sandbox.shims(&["sh"]);
        let cause = broken(&sandbox, kind);
        let mut command = sandbox.command("timeout");
        let ran = Ran::of(command.arg("20").arg(shims.join("sh")).args(["-c", "true"]), &sandbox);
        let ran = ran.code(125);
        assert!(ran.stderr.contains(cause), "{kind}: {}", ran.stderr);
    }
}

#[test]
fn what_use_cannot_write_anew_it_says_how_to_move_away() {
    for kind in ["dangling", "loop", "fifo", "binary"] {
        let sandbox = bed();
        broken(&sandbox, kind);
        let ran = cuenv(&sandbox, &["use", "system"]).code(2);
        assert!(ran.stderr.contains("mv [PROJECT]/.cuenv"), "{kind}: {}", ran.stderr);
        let pin = sandbox.project().join(".cuenv");
        fs::rename(&pin, sandbox.project().join(".cuenv.old")).unwrap();
        cuenv(&sandbox, &["use", "system"]).succeeds();
    }
}

#[test]
fn another_tools_directory_is_still_no_pin() {
    let sandbox = bed();
    fs::create_dir_all(sandbox.project().join(".cuenv/cache")).unwrap();
    cuenv(&sandbox, &["current", "-q"]).succeeds().says("12.4\n");
    fs::create_dir_all(sandbox.project().join("it is/.cuenv")).unwrap();
    let ran = cuenv(&sandbox, &["-C", "it is", "use", "system"]).code(1);
    assert!(ran.stderr.contains("`rmdir '[PROJECT]/it is/.cuenv'`"), "{}", ran.stderr);
}

#[test]
fn a_mistyped_component_is_wrong_and_not_missing() {
    let sandbox = bed();
    sandbox.write(".cuenv", "12.4+cudn9\n");
    for (args, code) in [
        (&["exec", "--", "true"][..], 125),
        (&["hook-env", "bash"], 0),
        (&["current"], 3),
        (&["which", "sh"], 3),
        (&["where"], 3),
    ] {
        let ran = cuenv(&sandbox, args).code(code);
        assert!(ran.stderr.contains("there is no component `cudn`"), "{args:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("not installed"), "{args:?}: {}", ran.stderr);
    }
    let ran = cuenv(&sandbox, &["where"]);
    assert!(ran.stderr.contains("`cuenv use 12.4+cudnn9`"), "{}", ran.stderr);
    let ran = cuenv(&sandbox, &["doctor"]).code(7);
    assert!(ran.stdout.contains("cuenv use 12.4+cudnn9"), "{}", ran.stdout);
}

#[test]
fn a_pin_that_is_not_installed_hides_no_other_program() {
    let sandbox = bed();
    sandbox.write(".cuenv", "12.6\n");
    for name in ["sh", "libc.so.6"] {
        let ran = cuenv(&sandbox, &["which", name]).code(3);
        assert!(ran.stderr.contains("is not installed"), "{}", ran.stderr);
    }
}

#[test]
fn a_linked_toolkit_that_is_gone_is_told() {
    let sandbox = bed();
    let toolkit = sandbox.root().join("cuda");
    fs::create_dir_all(toolkit.join("bin")).unwrap();
    fs::write(toolkit.join("bin/nvcc"), "").unwrap();
    let path = toolkit.to_str().unwrap().to_owned();
    cuenv(&sandbox, &["link", "site", &path]).succeeds();
    cuenv(&sandbox, &["use", "site"]).succeeds();
    cuenv(&sandbox, &["exec", "--", "true"]).succeeds();
    fs::rename(&toolkit, sandbox.root().join("moved")).unwrap();
    let ran = cuenv(&sandbox, &["exec", "--", "true"]).code(125);
    assert!(ran.stderr.contains("`[ROOT]/cuda`, which is not there"), "{}", ran.stderr);
    let ran = cuenv(&sandbox, &["where"]).code(3);
    assert!(ran.stderr.contains("`cuenv link site /path/to/toolkit`"), "{}", ran.stderr);
}

#[test]
fn a_lock_that_does_not_answer_the_pin_is_shown() {
    let index = crate::support::toolkit::index();
    let sandbox = bed().with_env("CUENV_INDEX_URL", index.url());
    cuenv(&sandbox, &["use", "12.4@base"]).succeeds();
    assert!(cuenv(&sandbox, &["current", "--json"]).json()["drift"].is_null());
    sandbox.write(".cuenv", "12.4\n");
    let said = "it answers `12.4@base`, and the pin says `12.4`";
    let ran = cuenv(&sandbox, &["current"]).succeeds();
    assert!(ran.stdout.contains(said) && ran.stdout.contains("cuenv lock"), "{}", ran.stdout);
    assert_eq!(cuenv(&sandbox, &["current", "--json"]).json()["drift"]["what"], said);
    let ran = cuenv(&sandbox, &["doctor"]);
    assert!(ran.stdout.contains(said) && ran.stdout.contains("cuenv lock"), "{}", ran.stdout);
    // The bed's own toolchain is what `12.4` means: it runs, and somebody is told.
    let ran = cuenv(&sandbox, &["exec", "--", "true"]).succeeds();
    let line = "warning: `[PROJECT]/.cuenv.lock` does not hold: ";
    assert_eq!(ran.stderr, format!("{line}{said}; using 12.4.1-b (fix: cuenv lock)\n"));
    let ran = cuenv(&sandbox, &["hook-env", "bash"]).succeeds();
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    for (text, why, fix) in [
        ("nonsense\n", "it is not a lockfile", "restore it from version control"),
        ("version = 7\n", "its version 7 is newer", "cuenv self update"),
        (
            "<<<<<<< HEAD\n",
            "it holds the marks of a merge conflict",
            "git checkout --ours .cuenv.lock",
        ),
    ] {
        sandbox.write(".cuenv.lock", text);
        let ran = cuenv(&sandbox, &["exec", "--", "true"]).code(125);
        assert!(ran.stderr.contains(why) && ran.stderr.contains(fix), "{}", ran.stderr);
        for args in [&["where"][..], &["env"], &["which", "libcudart.so.12"], &["verify"]] {
            let ran = cuenv(&sandbox, args).code(5);
            assert!(
                ran.stderr.contains(why) && ran.stderr.contains(fix),
                "{args:?}: {}",
                ran.stderr
            );
        }
        let ran = cuenv(&sandbox, &["hook-env", "bash"]).succeeds();
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
        let ran = cuenv(&sandbox, &["current"]).succeeds();
        assert!(ran.stdout.contains("cannot use the lock"), "{}", ran.stdout);
        let ran = cuenv(&sandbox, &["doctor"]).code(7);
        assert_eq!(
            ran.stdout.matches("cannot use the lock").count(),
            2,
            "a link and a finding: {}",
            ran.stdout
        );
        assert!(ran.stdout.contains(fix), "{}", ran.stdout);
    }
    fs::remove_file(sandbox.project().join(".cuenv.lock")).unwrap();
    assert!(cuenv(&sandbox, &["current", "--json"]).json()["drift"].is_null());
}

#[test]
fn no_pin_is_written_that_would_be_ignored() {
    let sandbox = bed();
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    for bits in [0o777, 0o1777] {
        mode(&sandbox.project(), bits);
        let ran = cuenv(&sandbox, &["use", "system"]).code(1);
        let said =
            "error: a pin in `[PROJECT]` would be ignored: everybody may write its directory\n";
        assert!(ran.stderr.starts_with(said), "{}", ran.stderr);
        assert!(ran.stderr.contains("`chmod o-w [PROJECT]`"), "{}", ran.stderr);
        assert!(!sandbox.project().join(".cuenv").exists());
        // The default is a file of the user's own.
        cuenv(&sandbox, &["use", "--global", "system"]).succeeds();
    }
    mode(&sandbox.project(), 0o755);
    cuenv(&sandbox, &["use", "system"]).succeeds();
    mode(&sandbox.project().join(".cuenv"), 0o666);
    let ran = cuenv(&sandbox, &["use", "system"]).code(1);
    assert!(ran.stderr.contains("`chmod o-w [PROJECT]/.cuenv`"), "{}", ran.stderr);
}

#[test]
fn what_was_likely_meant_is_named() {
    let index = crate::support::toolkit::index();
    let sandbox = bed().with_env("CUENV_INDEX_URL", index.url());
    for (text, meant, code) in [
        ("cu124", "12.4", 2),
        ("124", "12.4", 3),
        ("cuda12.4", "12.4", 2),
        ("12.4.1-cudnn9", "12.4.1+cudnn9", 2),
    ] {
        let ran = cuenv(&sandbox, &["resolve", text]).code(code);
        let hint = format!("did you mean `{meant}`?");
        assert!(ran.stderr.contains(&hint), "{text}: {}", ran.stderr);
    }
    for args in [&["use", "cu124"][..], &["where", "cu124"]] {
        let ran = cuenv(&sandbox, args).code(3);
        assert!(ran.stderr.contains("did you mean `12.4`?"), "{args:?}: {}", ran.stderr);
    }
    let ran = cuenv(&sandbox, &["exec", "cu124", "--", "true"]).code(125);
    assert!(ran.stderr.contains("no toolkit is linked as `cu124`"), "{}", ran.stderr);
    let ran = cuenv(&sandbox, &["resolve", "12.4+cudnn7"]).code(3);
    assert!(ran.stderr.contains("no cudnn 7 fits CUDA 12.4.1"), "{}", ran.stderr);
    assert!(ran.stderr.contains("`cudnn9`"), "{}", ran.stderr);
}
