//! Pins that somebody else could have written, seen by an ordinary user. The tests need root to make two users.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;
use std::process::Command;

use crate::support::Bed;

const ME: u32 = 64_123;
const STRANGER: u32 = 64_124;

/// A bed whose project belongs to an ordinary user, and a tool that says what is active and runs itself once more.
fn bed() -> Option<Bed> {
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    if !is_root || !Path::new("/usr/bin/setpriv").exists() {
        println!("skipped: needs root and setpriv");
        return None;
    }
    let bed = Bed::new();
    bed.toolchain("12.4.1-abc", "12.4");
    bed.program(
        "bin/tool",
        "#!/bin/sh\necho \"[$CUENV_ACTIVE]\"\n[ -n \"$1\" ] && { tool; exec tool; }\n:\n",
    );
    bed.shim("tool");
    own(&bed, "project", ME);
    let entered = as_me(&bed, "project").arg("-c").arg(":").status().unwrap();
    if !entered.success() {
        println!("skipped: another user cannot enter the directory of the tests");
        return None;
    }
    Some(bed)
}

fn own(bed: &Bed, below: &str, user: u32) {
    chown(bed.path(below), Some(user), Some(user)).unwrap();
}

fn mode(bed: &Bed, below: &str, bits: u32) {
    std::fs::set_permissions(bed.path(below), std::fs::Permissions::from_mode(bits)).unwrap();
}

/// A shell as the ordinary user, in a directory.
fn as_me(bed: &Bed, below: &str) -> Command {
    let mut command = bed.command(Path::new("/usr/bin/setpriv"));
    command
        .args([&format!("--reuid={ME}"), &format!("--regid={ME}"), "--clear-groups", "/bin/bash"])
        .current_dir(bed.path(below));
    command
}

/// Runs the tool, which runs itself twice more, and returns what it saw and what was said.
fn seen(bed: &Bed, below: &str) -> (String, String) {
    let output = as_me(bed, below).args(["-c", "exec tool again"]).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

const TAKEN: &str = "[12.4.1-abc]\n[12.4.1-abc]\n[12.4.1-abc]\n";
const IGNORED: &str = "[]\n[]\n[]\n";

#[test]
fn ones_own_pin_and_roots_are_taken() {
    let Some(bed) = bed() else { return };
    bed.write("project/.cuenv", "12.4\n");
    own(&bed, "project/.cuenv", ME);
    assert_eq!(seen(&bed, "project"), (TAKEN.to_owned(), String::new()));
    own(&bed, "project/.cuenv", 0);
    own(&bed, "project", 0);
    assert_eq!(seen(&bed, "project"), (TAKEN.to_owned(), String::new()));
}

#[test]
fn a_strangers_pin_is_one_notice() {
    let Some(bed) = bed() else { return };
    let pin = bed.write("project/.cuenv", "12.4\n");
    own(&bed, "project/.cuenv", STRANGER);
    let said = format!("cuenv: ignored `{}`: it belongs to another user\n", pin.display());
    assert_eq!(seen(&bed, "project"), (IGNORED.to_owned(), said));
    own(&bed, "project/.cuenv", ME);
    own(&bed, "project", STRANGER);
    let said =
        format!("cuenv: ignored `{}`: its directory belongs to another user\n", pin.display());
    assert_eq!(seen(&bed, "project"), (IGNORED.to_owned(), said));
    // A directory of one's own below a stranger's: the walk ends at the stranger's.
    bed.write("project/mine/x", "");
    own(&bed, "project/mine", ME);
    assert_eq!(seen(&bed, "project/mine").0, IGNORED);
}

#[test]
fn a_directory_that_everybody_may_write_gives_no_pin() {
    let Some(bed) = bed() else { return };
    let pin = bed.write("project/.cuenv", "12.4\n");
    own(&bed, "project/.cuenv", ME);
    let said = format!("cuenv: ignored `{}`: everybody may write its directory\n", pin.display());
    // With the sticky bit too, as /tmp has it: anybody may put a pin there first.
    for bits in [0o777, 0o1777] {
        mode(&bed, "project", bits);
        assert_eq!(seen(&bed, "project"), (IGNORED.to_owned(), said.clone()), "{bits:o}");
    }
    own(&bed, "project", 0);
    assert_eq!(seen(&bed, "project"), (IGNORED.to_owned(), said.clone()));
    // A project of one's own in it is as good as elsewhere; what lies above is still not taken.
    bed.write("project/mine/.cuenv", "12.4\n");
    own(&bed, "project/mine", ME);
    own(&bed, "project/mine/.cuenv", ME);
    assert_eq!(seen(&bed, "project/mine"), (TAKEN.to_owned(), String::new()));
    std::fs::remove_file(bed.path("project/mine/.cuenv")).unwrap();
    assert_eq!(seen(&bed, "project/mine"), (IGNORED.to_owned(), said));
}

#[test]
fn a_hook_says_it_once_and_goes_on() {
    let Some(bed) = bed() else { return };
    bed.write("project/.cuenv", "12.4\n");
    own(&bed, "project/.cuenv", STRANGER);
    let script = "answer() { CUENV_HOOK_SAID=$said \"$BIN\" hook-env bash; }
                  eval \"$(answer)\"; said=$__cuenv_said; eval \"$(answer)\"; echo \"[$CUENV_ACTIVE]\"";
    let mut command = as_me(&bed, "project");
    command.env("BIN", bed.path("data/bin/cuenv-shim"));
    let output = command.args(["-c", script]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.matches("it belongs to another user").count(), 1, "{output:?}");
    assert_eq!(output.stdout, b"[]\n");
}

#[test]
fn a_program_that_others_may_not_run_is_passed_over_as_execvp_does() {
    let Some(bed) = bed() else { return };
    // Root's alone, and a script whose interpreter is.
    bed.program("front/tool", "#!/bin/sh\necho front\n");
    mode(&bed, "front/tool", 0o744);
    let interpreter = bed.copy(Path::new("/bin/sh"), "closed");
    mode(&bed, "closed", 0o700);
    bed.program("second/tool", &format!("#!{}\necho second\n", interpreter.display()));
    let path =
        ["data/shims", "front", "second", "bin"].map(|part| bed.path(part).display().to_string());
    let run = |path: &[String]| {
        let mut command = as_me(&bed, "project");
        command.env("PATH", format!("{}:/usr/bin:/bin", path.join(":")));
        command.args(["-c", "exec tool"]).output().unwrap()
    };
    let ran = run(&path);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "[]\n", "{ran:?}");
    assert_eq!(ran.stderr, b"", "{ran:?}");
    // With nothing behind them it is their fault, and the first one's.
    let ran = run(&path[..3]);
    assert_eq!(ran.status.code(), Some(126), "{ran:?}");
    let said = format!("cuenv: {}: Permission denied\n", bed.path("front/tool").display());
    assert_eq!(String::from_utf8_lossy(&ran.stderr), said);
}
