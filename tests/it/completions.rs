//! The completion scripts, in the real shells.

use std::fs;
use std::process::Command;

use crate::support::sandbox::{Ran, Sandbox, cuenv};
use crate::support::terminal::Terminal;

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
    // Readline replaces the `@` and what follows it.
    assert_eq!(bash(&sandbox, "cuenv where 11.8+cudnn8@r"), ["@runtime"]);
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

/// An interactive shell on a terminal, with the completion loaded.
fn terminal(sandbox: &Sandbox, shell: &str) -> Option<Terminal> {
    let directory = sandbox.root().join("rc");
    fs::create_dir_all(&directory).unwrap();
    let load = match shell {
        "bash" => "source <(cuenv completions bash)",
        "zsh" => {
            "bindkey -e; unsetopt always_last_prompt; autoload -U compinit; compinit -u -D; source <(cuenv completions zsh)"
        }
        _ => "cuenv completions fish | source",
    };
    fs::write(directory.join(".zshrc"), format!("{load}\n")).unwrap();
    let directory = directory.display();
    let start = match shell {
        "bash" => format!("bash --noprofile --rcfile {directory}/.zshrc -i"),
        "zsh" => format!("ZDOTDIR={directory} zsh -i"),
        _ => format!("fish --no-config -i -C 'source {directory}/.zshrc'"),
    };
    let like = sandbox.command("true");
    Terminal::start(like, shell, &start, &sandbox.root().join("answers"))
}

/// What the line is after the keys: Ctrl-A and Ctrl-E put a `printf` in front of its words.
fn line_after(terminal: &mut Terminal, keys: &str) -> String {
    terminal.keys(keys);
    terminal.ask("\u{1}printf '%s|' \u{5}")
}

#[test]
fn a_tab_on_a_terminal_completes_specs_in_every_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let sandbox = sandbox();
        let Some(mut terminal) = terminal(&sandbox, shell) else { continue };
        for (keys, expected) in [
            ("cuenv self unin\t", "cuenv|self|uninstall|"),
            ("cuenv where 11.8+\t", "cuenv|where|11.8+cudnn8@runtime|"),
            ("cuenv use 12.4+cudnn9@d\t", "cuenv|use|12.4+cudnn9@devel|"),
            ("cuenv completions f\t", "cuenv|completions|fish|"),
        ] {
            assert_eq!(line_after(&mut terminal, keys), expected, "{shell}: {keys:?}");
        }
        // Several answers are listed: what is installed and what is to be had. fish's list wants a cleverer terminal.
        let listed = if shell == "fish" {
            terminal.ask("complete -C 'cuenv use 12.'")
        } else {
            terminal.keys("cuenv use 12.\t\t");
            assert!(terminal.wait_for("12.9"), "{shell}: {}", terminal.screen());
            terminal.keys("\u{3}");
            terminal.screen()
        };
        for candidate in ["12.4+cudnn9", "12.4+cudnn8", "12.9"] {
            assert!(listed.contains(candidate), "{shell}: {listed}");
        }
    }
}

#[test]
fn specs_are_offered_from_what_is_installed_and_what_is_to_be_had() {
    let sandbox = sandbox();
    let offered = bash(&sandbox, "cuenv use 12.");
    assert_eq!(offered.iter().filter(|spec| spec.starts_with("12.4+cudnn")).count(), 2);
    assert!(offered.iter().any(|spec| spec == "12.8"), "{offered:?}");
    assert!(offered.iter().all(|spec| spec.starts_with("12.")), "{offered:?}");
    // What must be there already is not offered from the catalog.
    assert_eq!(bash(&sandbox, "cuenv where 12."), ["12.4+cudnn8", "12.4+cudnn9"]);
}

#[test]
fn every_command_has_a_manual_page_that_groff_reads() {
    let sandbox = Sandbox::new();
    sandbox.cuenv(["man", "--out", "man"]).succeeds();
    let mut pages: Vec<_> = fs::read_dir(sandbox.project().join("man"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    pages.sort();
    let help = sandbox.cuenv(["--help"]).succeeds().stdout;
    let commands = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')))
        .map(|line| line.split(' ').next().unwrap());
    let mut seen = 0;
    for command in commands {
        seen += 1;
        let page = sandbox.project().join(format!("man/cuenv-{command}.1"));
        assert!(pages.contains(&page), "no page for `{command}`");
    }
    assert!(seen > 20, "{help}");
    for page in &pages {
        let Ok(out) =
            Command::new("groff").args(["-man", "-Tutf8", "-ww", "-z"]).arg(page).output()
        else {
            eprintln!("skipped: groff is not installed");
            return;
        };
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success() && said.is_empty(), "{}: {said}", page.display());
    }
}
