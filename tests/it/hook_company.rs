//! The hook beside others that change a shell: conda, prompt frameworks, and environments of every oddity.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use crate::support::sandbox::{Sandbox, cuenv};
use crate::support::shells::{BASH, FISH, bed, each, shell, show};
use crate::support::terminal::is_installed;

#[test]
fn a_conda_environment_activated_later_stays_and_goes_cleanly() {
    each(|sandbox, dialect, mut shell| {
        let conda = sandbox.root().join("conda");
        std::fs::create_dir_all(conda.join("conda-meta")).unwrap();
        std::fs::create_dir_all(conda.join("bin")).unwrap();
        let (name, conda) = (dialect.name, conda.display());
        let path = shell.ask(&show("PATH"));
        shell.line(&format!("cd {}/one", sandbox.project().display()));
        // What `conda activate` does: the environment's programs in front, and the variable.
        let (on, off) = if name == "fish" {
            (
                format!("set -gx CONDA_PREFIX {conda}; set -gx PATH {conda}/bin $PATH"),
                "set -e CONDA_PREFIX; set -e PATH[1]".to_owned(),
            )
        } else {
            (
                format!("export CONDA_PREFIX={conda} PATH={conda}/bin:$PATH"),
                "unset CONDA_PREFIX; export PATH=${PATH#*:}".to_owned(),
            )
        };
        shell.line(&on);
        let inside = shell.ask(&show("PATH"));
        assert!(inside.starts_with(&format!("{conda}/bin:")), "{name}: {inside}");
        assert!(inside.contains("11.8.0-a/bin:"), "{name}: {inside}");
        shell.line(&format!("cd {}", sandbox.root().display()));
        assert_eq!(shell.ask(&show("PATH")), format!("{conda}/bin:{path}"), "{name}: left");
        shell.line(&off);
        assert_eq!(shell.ask(&show("PATH")), path, "{name}: deactivated");
    });
}

#[test]
fn prompt_frameworks_that_come_later() {
    let keeps = "\nkept=$PROMPT_COMMAND; framework() { eval \"$kept\"; PS1='> '; }; PROMPT_COMMAND=framework\n";
    let sandbox = bed();
    let Some(mut terminal) = shell(&sandbox, &BASH, "") else { return };
    terminal.line(keeps);
    terminal.line(&format!("cd {}/one", sandbox.project().display()));
    assert_eq!(terminal.ask(&show("CUENV_ACTIVE")), "11.8.0-a\n", "one that keeps what was there");
    // One that does not: the hook is gone, and back when it is loaded again.
    terminal.line("PROMPT_COMMAND='PS1=\"> \"'");
    terminal.line(&format!("cd {}", sandbox.root().display()));
    assert_eq!(terminal.ask(&show("CUENV_ACTIVE")), "11.8.0-a\n", "not asked");
    terminal.line(&BASH.load.replace("CUENV", cuenv().to_str().unwrap()));
    assert_eq!(terminal.ask(&show("CUENV_ACTIVE")), "unset\n", "loaded again");
    terminal.line(&format!("cd {}/one", sandbox.project().display()));
    assert_eq!(terminal.ask(&show("CUENV_ACTIVE")), "11.8.0-a\n");
}

/// Runs a shell's hook with a variable, in and out of a project; returns what `sh` saw of it each time.
fn in_and_out(
    sandbox: &Sandbox,
    program: &str,
    variable: &str,
    value: &OsStr,
) -> (Vec<u8>, Vec<u8>) {
    let cli = cuenv().display().to_string();
    let load = match program {
        "fish" => format!("{cli} hook fish -q | source"),
        shell => format!("eval \"$({cli} hook {shell} -q)\""),
    };
    let see = format!("/bin/sh -c 'printf %s \"${variable}\"'");
    let script = format!(
        "{load}; cd {0}/one; __cuenv_hook; {see}; printf '\\0'; cd {0}; __cuenv_hook; {see}",
        sandbox.project().display()
    );
    let mut command = sandbox.command(program);
    let args: &[&str] = if program == "fish" { &["--no-config", "-c"] } else { &["-c"] };
    let output = command.args(args).arg(&script).env(variable, value).output().unwrap();
    let at = output.stdout.iter().position(|byte| *byte == 0);
    let at = at.unwrap_or_else(|| panic!("{program}: {value:?}: {output:?}"));
    (output.stdout[..at].to_vec(), output.stdout[at + 1..].to_vec())
}

#[test]
fn every_value_is_carried_and_restored_as_it_was() {
    let alphabet = b"'\"\\$`!\n \t;&|<>(){}[]*?#~=%^@,:-+ab0/.\r\xc3\xa9\xff";
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap()
    };
    let mut values: Vec<OsString> =
        ["$(touch owned)", "`touch owned`", "a;touch owned", ":a::b:", "'", "\\"]
            .map(OsString::from)
            .to_vec();
    for _ in 0..14 {
        let length = 1 + next() % 24;
        let bytes = (0..length).map(|_| alphabet[next() % alphabet.len()]).collect();
        values.push(OsString::from_vec(bytes));
    }
    let sandbox = bed();
    let library = format!("/toolchains/{}/11.8.0-a/lib", shims::names::TARGET);
    for program in ["bash", "zsh", "fish"] {
        if !is_installed(program) {
            println!("skipped: no {program}");
            continue;
        }
        for value in &values {
            let (inside, outside) = in_and_out(&sandbox, program, "LD_LIBRARY_PATH", value);
            let elements: Vec<&[u8]> = inside.split(|byte| *byte == b':').collect();
            assert!(elements[0].ends_with(library.as_bytes()), "{program}: {value:?}");
            let users: Vec<&[u8]> = value.as_bytes().split(|byte| *byte == b':').collect();
            let users: Vec<&[u8]> = users.into_iter().filter(|part| !part.is_empty()).collect();
            assert_eq!(elements[1..], users, "{program}: {value:?}");
            assert_eq!(OsStr::from_bytes(&outside), value, "{program}");
        }
    }
    for place in [sandbox.project(), sandbox.project().join("one"), sandbox.root().to_owned()] {
        assert!(!place.join("owned").exists(), "a value was run");
    }
}

#[test]
fn a_path_of_two_thousand_elements() {
    let sandbox = bed();
    let many: Vec<String> = (0..2000).map(|number| format!("/nowhere/{number}")).collect();
    let path = OsString::from(format!("/usr/bin:/bin:{}", many.join(":")));
    for program in ["bash", "zsh", "fish"] {
        if !is_installed(program) {
            println!("skipped: no {program}");
            continue;
        }
        let (inside, outside) = in_and_out(&sandbox, program, "PATH", &path);
        assert!(inside.ends_with(path.as_bytes()) && inside.len() > path.len(), "{program}");
        assert_eq!(OsStr::from_bytes(&outside), path, "{program}");
    }
    let mut command = sandbox.command("bash");
    let script = format!("eval \"$({} hook bash -q)\"; echo ${{#CUENV_UNDO}}", cuenv().display());
    let output =
        command.args(["-c", &script]).env("PATH", &path).current_dir(sandbox.project().join("one"));
    let length = String::from_utf8(output.output().unwrap().stdout).unwrap();
    assert!(length.trim().parse::<usize>().unwrap() < 2000, "the record holds no copy: {length}");
}

#[test]
fn the_small_program_answers_where_there_is_one() {
    let sandbox = Sandbox::new();
    let hook = |sandbox: &Sandbox| sandbox.cuenv(["hook", "bash"]).code(0).stdout;
    let beside = cuenv().with_file_name("cuenv-shim");
    assert!(hook(&sandbox).contains(&format!("__cuenv_bin={}\n", beside.display())));
    sandbox.shims(&[]);
    assert!(hook(&sandbox).contains("__cuenv_bin=[CUENV]/bin/cuenv-shim\n"));
}

#[test]
fn fish_keeps_a_list_a_list() {
    let sandbox = bed();
    let Some(mut terminal) = shell(&sandbox, &FISH, "") else { return };
    let before = terminal.ask("count $PATH");
    terminal.line(&format!("cd {}/one", sandbox.project().display()));
    let inside: u32 = terminal.ask("count $PATH").trim().parse().unwrap();
    assert_eq!(inside, before.trim().parse::<u32>().unwrap() + 1);
}
