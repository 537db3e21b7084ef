//! A program that calls its own shim again, by `exec` or by a new process, gets what it got before; only what hands
//! over at once is passed over.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::dispatch::MANAGER;
use crate::support::{Bed, text};

/// A program of the system's own kind that does no more than run the command it is given.
const RUNS_ITS_ARGUMENTS: &str = "/usr/bin/env";

/// Directories below the bed as a `PATH`, the system's behind them.
fn path(bed: &Bed, parts: &[&str]) -> String {
    let parts: Vec<String> =
        parts.iter().map(|part| bed.path(part).display().to_string()).collect();
    format!("{}:/usr/bin:/bin", parts.join(":"))
}

/// A command that is ended when it loops.
fn limited(bed: &Bed, tool: &str) -> Command {
    let mut command = bed.command(Path::new("/usr/bin/timeout"));
    command.arg("60").arg(bed.path("data/shims").join(tool));
    command
}

/// A venv behind the shims and before the system; `None` where the system has no Python.
fn venv() -> Option<(Bed, PathBuf)> {
    if !Path::new("/usr/bin/python3").exists() {
        println!("skipped: no /usr/bin/python3");
        return None;
    }
    let bed = Bed::new();
    bed.shim("python3");
    let venv = bed.path("v");
    let mut make = bed.command(Path::new("/usr/bin/python3"));
    make.args(["-m", "venv", "--without-pip"]).arg(&venv);
    text(&mut make);
    Some((bed, venv))
}

const PREFIX: &str = "import sys; print(sys.prefix)";

#[test]
fn a_venvs_python_that_executes_itself_stays_in_the_venv() {
    let Some((bed, venv)) = venv() else { return };
    let prefix = format!("{}\n", venv.display());
    let again = format!("import os; os.execlp('python3', 'python3', '-c', '{PREFIX}')");
    let script = "import os, sys; os.execlp('bash', 'bash', '-c', 'true; exec python3 -c \"$0\"', sys.argv[1])";
    for args in [&["-c", &again][..], &["-c", script, PREFIX], &["-c", script, &again]] {
        let mut on_path = limited(&bed, "python3");
        on_path.args(args).env("PATH", path(&bed, &["data/shims", "v/bin"]));
        assert_eq!(text(&mut on_path), prefix, "{args:?}");
        let mut named = limited(&bed, "python3");
        named.args(args).env("PATH", path(&bed, &["data/shims"])).env("VIRTUAL_ENV", &venv);
        assert_eq!(text(&mut named), prefix, "{args:?}");
    }
}

#[test]
fn a_program_restarts_and_nests_as_often_as_it_likes() {
    let Some((bed, venv)) = venv() else { return };
    let restarts = bed.write(
        "restarts.py",
        "import os, sys\n\
         left = int(sys.argv[1])\n\
         if left: os.execvp('python3', ['python3', sys.argv[0], str(left - 1)])\n\
         print(sys.prefix)\n",
    );
    let nests = bed.write(
        "nests.py",
        "import subprocess, sys\n\
         left = int(sys.argv[1])\n\
         if left: sys.exit(subprocess.call(['python3', sys.argv[0], str(left - 1)]))\n\
         print(sys.prefix)\n",
    );
    for script in [nests, restarts] {
        let mut command = limited(&bed, "python3");
        command.arg(&script).arg("40").env("PATH", path(&bed, &["data/shims", "v/bin"]));
        assert_eq!(text(&mut command), format!("{}\n", venv.display()), "{}", script.display());
    }
}

#[test]
fn the_program_in_front_is_never_passed_over() {
    let bed = Bed::new();
    bed.copy(Path::new(RUNS_ITS_ARGUMENTS), "front/tool");
    bed.program("bin/tool", "#!/bin/sh\necho behind\n");
    bed.shim("tool");
    let mut command = limited(&bed, "tool");
    command.env("PATH", path(&bed, &["data/shims", "front", "bin"]));
    command.args(["tool"; 40]).args(["echo", "front"]);
    assert_eq!(text(&mut command), "front\n");
}

#[test]
fn an_environments_own_script_is_a_program() {
    let Some((bed, venv)) = venv() else { return };
    let python = venv.join("bin/python3");
    bed.program(
        "v/bin/torchrun",
        &format!(
            "#!{}\nimport os, sys\n\
             left = int(sys.argv[1])\n\
             if left: os.execvp('torchrun', ['torchrun', str(left - 1)])\n\
             print('front')\n",
            python.display()
        ),
    );
    bed.program("bin/torchrun", "#!/bin/sh\necho behind\n");
    bed.shim("torchrun");
    let mut command = limited(&bed, "torchrun");
    command.arg("40").env("PATH", path(&bed, &["data/shims", "v/bin", "bin"]));
    assert_eq!(text(&mut command), "front\n");
}

#[test]
fn a_manager_that_is_a_program_is_passed_over() {
    // It hands back at once, without what it took for itself: the first argument.
    for manager in ["mise", "ccache"] {
        let bed = Bed::new();
        bed.copy(Path::new(RUNS_ITS_ARGUMENTS), &format!("opt/{manager}"));
        bed.program("bin/tool", "#!/bin/sh\necho \"behind $*\"\n");
        bed.shim("tool");
        std::fs::create_dir_all(bed.path("manager")).unwrap();
        std::os::unix::fs::symlink(format!("../opt/{manager}"), bed.path("manager/tool")).unwrap();
        let mut command = limited(&bed, "tool");
        command.args(["tool", "x"]).env("PATH", path(&bed, &["data/shims", "manager", "bin"]));
        assert_eq!(text(&mut command), "behind x\n");
    }
}

#[test]
fn a_program_behind_a_script_manager_calls_it_again() {
    let bed = Bed::new();
    bed.program("manager/tool", MANAGER);
    bed.copy(Path::new(RUNS_ITS_ARGUMENTS), "bin/tool");
    bed.shim("tool");
    for order in [["data/shims", "manager", "bin"], ["manager", "data/shims", "bin"]] {
        let mut command = bed.command(Path::new("/usr/bin/timeout"));
        command.arg("60").arg(bed.path(order[0]).join("tool")).args(["tool"; 3]);
        command.args(["echo", "real"]).env("PATH", path(&bed, &order));
        assert_eq!(text(&mut command), "real\n", "{order:?}");
    }
}

#[test]
fn a_script_that_starts_itself_anew_is_not_passed_over() {
    let bed = Bed::new();
    // As a wrapper does that sets something up and then runs in it.
    bed.program(
        "front/tool",
        "#!/bin/sh\n[ \"$SET_UP\" ] || { SET_UP=1; export SET_UP; exec tool \"$@\"; }\necho \"front $*\"\n",
    );
    bed.program("bin/tool", "#!/bin/sh\necho behind\n");
    bed.shim("tool");
    let mut command = limited(&bed, "tool");
    command.arg("x").env("PATH", path(&bed, &["data/shims", "front", "bin"]));
    assert_eq!(text(&mut command), "front x\n");
}

#[test]
fn a_manager_that_gives_a_bare_name_is_passed_over_all_the_same() {
    let bed = Bed::new();
    // As old pyenv does: it finds the shim by its path, and tells it the tool's bare name.
    let manager =
        MANAGER.replace("#!/bin/sh", "#!/bin/bash").replace("exec \"$d", "exec -a tool \"$d");
    bed.program("manager/tool", &manager);
    bed.program("bin/tool", "#!/bin/sh\necho \"behind $*\"\n");
    bed.shim("tool");
    let mut command = limited(&bed, "tool");
    command.arg("x").env("PATH", path(&bed, &["data/shims", "manager", "bin"]));
    assert_eq!(text(&mut command), "behind x\n");
}

#[test]
fn scripts_that_call_each_other_for_ever_are_shown() {
    let bed = Bed::new();
    bed.shim("one");
    bed.shim("two");
    let one = bed.program("bin/one", "#!/bin/sh\ntwo; exit $?\n");
    let two = bed.program("bin/two", "#!/bin/sh\none; exit $?\n");
    let output = limited(&bed, "one").output().unwrap();
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("one: stopped after 32 shims in a row, a loop:"), "{said}");
    for file in [one, two] {
        assert_eq!(said.matches(&format!("-> {}\n", file.display())).count(), 16, "{said}");
    }
}

#[test]
fn a_manager_that_nobody_knows_ends_all_the_same() {
    let bed = Bed::new();
    let tool = bed.copy(Path::new(RUNS_ITS_ARGUMENTS), "bin/tool");
    bed.shim("tool");
    let mut command = limited(&bed, "tool");
    let output = command.args(vec!["tool"; 1100]).args(["echo", "end"]).output().unwrap();
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    let why = "cuenv: tool: stopped: 1000 programs came one from the other within 60 seconds, a loop through";
    assert_eq!(said, format!("{why} `{}`\n", tool.display()));
}
