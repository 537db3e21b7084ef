//! The completion scripts, in the real shells.

use std::fs;
use std::process::Command;

use crate::support::sandbox::{Ran, Sandbox, cuenv};

/// A sandbox with `cuenv` on PATH and two toolchains that look installed.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let bin = cuenv().parent().unwrap().display();
    let sandbox = sandbox.with_env("PATH", format!("{bin}:/usr/bin:/bin"));
    let target = format!("linux-{}", std::env::consts::ARCH);
    let active = sandbox.cuenv_home().join("active").join(target);
    for spec in ["12.4+cudnn9", "12.4+cudnn8", "11.8+cudnn8@runtime"] {
        fs::create_dir_all(active.join(spec)).unwrap();
    }
    fs::write(sandbox.project().join("a file"), "").unwrap();
    fs::write(sandbox.root().join("script"), sandbox.cuenv(["completions", "bash"]).stdout)
        .unwrap();
    sandbox
}

/// What bash puts in COMPREPLY for a command line with the cursor at its end.
fn bash(sandbox: &Sandbox, line: &str) -> Vec<String> {
    let driver = r#"
        . "$1"
        COMP_LINE=$2 COMP_POINT=${#2}
        # As readline splits it: COMP_WORDBREAKS has = : and @.
        _cuenv cuenv
        for reply in "${COMPREPLY[@]}"; do printf '%s\n' "$reply"; done"#;
    let mut command = sandbox.command("bash");
    command.args(["-c", driver, "bash"]).arg(sandbox.root().join("script")).arg(line);
    let ran = Ran::of(&mut command, sandbox).succeeds();
    assert_eq!(ran.stderr, "", "{line}");
    ran.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_specs() {
    let sandbox = sandbox();
    assert_eq!(bash(&sandbox, "cuenv complet"), ["completions"]);
    assert_eq!(bash(&sandbox, "cuenv self uninstall --ke"), ["--keep-data"]);
    assert_eq!(bash(&sandbox, "cuenv --color=al"), ["always"]);
    assert_eq!(bash(&sandbox, "cuenv where 12.4+"), ["12.4+cudnn8", "12.4+cudnn9"]);
    // Readline replaces only what follows the `@`.
    assert_eq!(bash(&sandbox, "cuenv where 11.8+cudnn8@r"), ["runtime"]);
    assert_eq!(bash(&sandbox, "cuenv -C a"), Vec::<String>::new());
    assert_eq!(bash(&sandbox, "cuenv exec 12.4 -- ./a"), ["./a file"]);
    assert_eq!(bash(&sandbox, "cuenv nonsense "), Vec::<String>::new());
}

#[test]
fn every_script_is_read_by_its_shell() {
    let sandbox = sandbox();
    for (shell, options) in [("bash", &["-n"][..]), ("zsh", &["-n"]), ("fish", &["--no-execute"])] {
        let script = sandbox.root().join(shell);
        fs::write(&script, sandbox.cuenv(["completions", shell]).succeeds().stdout).unwrap();
        let Ok(out) = Command::new(shell).args(options).arg(&script).output() else {
            eprintln!("skipped: {shell} is not installed");
            continue;
        };
        assert!(out.status.success(), "{shell}: {}", String::from_utf8_lossy(&out.stderr));
    }
}

#[test]
fn fish_completes_specs_with_what_they_are() {
    let sandbox = sandbox();
    if Command::new("fish").arg("-v").output().is_err() {
        eprintln!("skipped: fish is not installed");
        return;
    }
    let mut command = sandbox.command("fish");
    command.args(["-c", "cuenv completions fish | source; complete -C 'cuenv where 12.4+'"]);
    let ran = Ran::of(&mut command, &sandbox).succeeds();
    assert_eq!(ran.stdout, "12.4+cudnn8\tinstalled\n12.4+cudnn9\tinstalled\n");
}

#[test]
fn zsh_completes_specs() {
    let sandbox = sandbox();
    if Command::new("zsh").arg("--version").output().is_err() {
        eprintln!("skipped: zsh is not installed");
        return;
    }
    // A real line editor on a pseudo-terminal: zsh's completion runs nowhere else.
    let driver = r#"
        zmodload zsh/zpty
        zpty z 'zsh -f -i'
        zpty -w z "PS1=; unsetopt prompt_sp prompt_cr zle_bracketed_paste 2>/dev/null; autoload -U compinit; compinit -u -d $1/dump; source $1/script.zsh; print READY"
        zpty -r -m z line '*READY*' || exit 1
        zpty -n -w z $'cuenv self unin\t\C-Aprint -r -- "\C-E"\n'
        zpty -r -m z line '*uninstall *' && print -r -- "$line""#;
    let script = sandbox.root().join("script.zsh");
    fs::write(&script, sandbox.cuenv(["completions", "zsh"]).succeeds().stdout).unwrap();
    let mut command = sandbox.command("timeout");
    command.args(["20", "zsh", "-f", "-c", driver, "zsh"]).arg(sandbox.root());
    let ran = Ran::of(&mut command, &sandbox).succeeds();
    assert!(ran.stdout.contains("cuenv self uninstall"), "{}", ran.stdout);
}
