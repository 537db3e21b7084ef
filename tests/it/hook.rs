//! The hook, in real shells on a real terminal.

use std::path::Path;
use std::process::Command;

use crate::support::bed::shared_object;
use crate::support::sandbox::{Sandbox, cuenv};
use crate::support::shells::{BASH, Dialect, FISH, ZSH, bed, each, shell, show};
use crate::support::terminal::is_installed;

#[test]
fn entering_sets_and_leaving_restores() {
    each(|sandbox, dialect, mut shell| {
        let name = dialect.name;
        let project = sandbox.project();
        let prefix = |toolchain: &str| {
            let target = shims::names::TARGET;
            sandbox
                .cuenv_home()
                .join("toolchains")
                .join(target)
                .join(toolchain)
                .display()
                .to_string()
        };
        let before = shell.ask("env | grep -v -e '^_=' -e PWD= -e SHLVL= | sort");
        assert_eq!(shell.ask(&show("CUDA_HOME")), "unset\n", "{name}");
        shell.line(&format!("cd {}/one", project.display()));
        assert_eq!(shell.ask(&show("CUDA_HOME")), format!("{}\n", prefix("11.8.0-a")), "{name}");
        assert_eq!(shell.ask(&show("LD_LIBRARY_PATH")), format!("{}/lib\n", prefix("11.8.0-a")));
        shell.line("cd inner");
        assert_eq!(shell.ask(&show("LD_LIBRARY_PATH")), format!("{}/lib\n", prefix("12.4.1-b")));
        shell.line("cd ../deep/er");
        assert_eq!(shell.ask(&show("CUDA_HOME")), format!("{}\n", prefix("11.8.0-a")));
        shell.line(&format!("cd {}/none", project.display()));
        shell.line("cd -");
        assert_eq!(shell.ask(&show("CUENV_ACTIVE")), "11.8.0-a\n", "{name}: cd -");
        shell.line(&format!("cd {}", sandbox.root().display()));
        let after = shell.ask("env | grep -v -e '^_=' -e PWD= -e SHLVL= | sort");
        assert_eq!(after, before, "{name}");
        let screen = shell.screen();
        assert!(screen.contains("cuenv: 11.8.0-a (`"), "{name}: {screen}");
        assert!(screen.contains("cuenv: left 11.8.0-a"), "{name}: {screen}");
    });
}

#[test]
fn a_pin_edited_in_place_is_seen_at_the_next_prompt() {
    each(|sandbox, dialect, mut shell| {
        shell.line(&format!("cd {}/none", sandbox.project().display()));
        assert_eq!(shell.ask(&show("CUENV_ACTIVE")), "unset\n");
        sandbox.write("none/.cuenv", "11.8\n");
        shell.line("");
        assert_eq!(shell.ask(&show("CUENV_ACTIVE")), "11.8.0-a\n", "{}: a new pin", dialect.name);
        sandbox.write("none/.cuenv", "12.4\n");
        shell.line("");
        assert_eq!(shell.ask(&show("CUENV_ACTIVE")), "12.4.1-b\n", "{}: an edit", dialect.name);
        sandbox.point("12.4", "11.8.0-a");
        shell.line("");
        assert_eq!(shell.ask(&show("CUENV_ACTIVE")), "11.8.0-a\n", "{}: an update", dialect.name);
        std::fs::remove_file(sandbox.project().join("none/.cuenv")).unwrap();
        shell.line("");
        assert_eq!(shell.ask(&show("CUENV_ACTIVE")), "unset\n", "{}: removed", dialect.name);
    });
}

#[test]
fn what_is_mended_is_seen_at_the_next_prompt() {
    each(|sandbox, dialect, mut shell| {
        let home = sandbox.cuenv_home();
        let prefix = home.join("toolchains").join(shims::names::TARGET).join("11.8.0-a");
        // No text changes when this comes back.
        std::fs::rename(prefix.join("lib"), prefix.join("aside")).unwrap();
        shell.line(&format!("cd {}/one", sandbox.project().display()));
        shell.line("");
        assert_eq!(shell.ask(&show("CUENV_ACTIVE")), "unset\n", "{}: damaged", dialect.name);
        std::fs::rename(prefix.join("aside"), prefix.join("lib")).unwrap();
        shell.line("");
        assert_eq!(shell.ask(&show("CUENV_ACTIVE")), "11.8.0-a\n", "{}: repaired", dialect.name);
        let settings = home.join("config/config.toml");
        std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
        std::fs::write(&settings, "venv = \"mabye\"\n").unwrap();
        shell.line("");
        shell.line("");
        assert_eq!(shell.ask(&show("CUENV_ACTIVE")), "unset\n", "{}: mistyped", dialect.name);
        std::fs::write(&settings, "venv = \"off\"\n").unwrap();
        shell.line("");
        assert_eq!(shell.ask(&show("CUENV_ACTIVE")), "11.8.0-a\n", "{}: corrected", dialect.name);
        let screen = shell.screen();
        for said in ["of the toolchain is missing", "`mabye` is not a value of `venv`"] {
            assert_eq!(screen.matches(said).count(), 1, "{}: {screen}", dialect.name);
        }
    });
}

#[test]
fn the_last_status_is_kept() {
    for (dialect, ask) in [(BASH, "echo $?"), (ZSH, "echo $?"), (FISH, "echo $status")] {
        let sandbox = bed();
        let Some(mut shell) = shell(&sandbox, &dialect, "") else { continue };
        shell.line("sh -c 'exit 42'");
        assert_eq!(shell.ask(ask), "42\n", "{}", dialect.name);
        let cd = format!("cd {}/one; sh -c 'exit 7'", sandbox.project().display());
        shell.line(&cd);
        assert_eq!(shell.ask(ask), "7\n", "{}: on a change", dialect.name);
    }
}

#[test]
fn a_strict_shell_survives_the_hook() {
    for dialect in [BASH, ZSH] {
        let sandbox = bed();
        let Some(mut shell) = shell(&sandbox, &dialect, "set -eu") else { continue };
        shell.line("! true");
        shell.line(&format!("cd {}/one", sandbox.project().display()));
        shell.line("! true");
        assert_eq!(shell.ask(&show("CUENV_ACTIVE")), "11.8.0-a\n", "{}", dialect.name);
    }
}

#[test]
fn loading_twice_is_loading_once() {
    for dialect in [BASH, ZSH, FISH] {
        let sandbox = bed();
        let load = dialect.load.replace("CUENV", cuenv().to_str().unwrap());
        let Some(mut shell) = shell(&sandbox, &dialect, &load) else { continue };
        shell.line(&format!("cd {}/one", sandbox.project().display()));
        assert_eq!(shell.ask(&show("CUENV_ACTIVE")), "11.8.0-a\n");
        assert_eq!(shell.screen().matches("cuenv: 11.8.0-a").count(), 1, "{}", dialect.name);
        let count = match dialect.name {
            "bash" => "echo \"$PROMPT_COMMAND\" | grep -o __cuenv_hook | wc -l",
            "zsh" => "print -l $precmd_functions | grep -c __cuenv_hook",
            _ => "echo 1",
        };
        assert_eq!(shell.ask(count).trim(), "1", "{}", dialect.name);
    }
}

#[test]
fn both_forms_of_the_prompt_command_stay() {
    for before in [
        "PROMPT_COMMAND='echo one:$? >>MARK; true'",
        "PROMPT_COMMAND=('echo one:$? >>MARK; true' 'echo two >>MARK')",
        "PROMPT_COMMAND=",
    ] {
        let sandbox = bed();
        let mark = sandbox.root().join("mark");
        let before = before.replace("MARK", mark.to_str().unwrap());
        let Some(mut shell) = shell(&sandbox, &BASH, &before) else { return };
        shell.line("sh -c 'exit 3'");
        shell.line(&format!("cd {}/one", sandbox.project().display()));
        assert_eq!(shell.ask(&show("CUENV_ACTIVE")), "11.8.0-a\n");
        if before.contains("one:") {
            let seen = std::fs::read_to_string(&mark).unwrap();
            assert!(seen.contains("one:3\n"), "{before}: {seen}");
            assert_eq!(seen.contains("two\n"), before.contains("two"));
        }
    }
}

#[test]
fn a_missing_binary_is_silent() {
    each(|sandbox, dialect, mut shell| {
        shell.ask("true");
        std::fs::remove_file(sandbox.cuenv_home().join("bin/cuenv-shim")).unwrap();
        let before = shell.screen();
        shell.line(&format!("cd {}/one", sandbox.project().display()));
        assert_eq!(shell.ask(&show("CUENV_ACTIVE")), "unset\n");
        let said = shell.screen()[before.len()..].to_owned();
        assert!(
            !said.contains("cuenv:") && !said.contains("not found"),
            "{}: {said}",
            dialect.name
        );
    });
}

#[test]
fn a_session_toolchain_outranks_the_pin() {
    each(|sandbox, dialect, mut shell| {
        shell.line(&format!("cd {}/one", sandbox.project().display()));
        shell.line("cuenv shell 12.4");
        assert_eq!(shell.ask(&show("CUENV_ACTIVE")), "12.4.1-b\n", "{}", dialect.name);
        shell.line("cuenv shell 99");
        assert_eq!(shell.ask(&show("CUENV_ACTIVE")), "12.4.1-b\n", "{}: a refusal", dialect.name);
        shell.line("cuenv shell --help");
        shell.line("cuenv shell --unset");
        assert_eq!(shell.ask(&show("CUENV_ACTIVE")), "11.8.0-a\n", "{}", dialect.name);
        let out = shell.ask("cuenv current -q");
        assert_eq!(out, "11.8\n", "{}: the function passes on", dialect.name);
    });
}

#[test]
fn what_is_not_installed_is_one_line_and_no_download() {
    each(|sandbox, dialect, mut shell| {
        sandbox.write("none/.cuenv", "12.6+cudnn9\n");
        shell.line(&format!("cd {}/none", sandbox.project().display()));
        shell.line("");
        shell.line("export X=1");
        assert_eq!(shell.ask(&show("CUDA_HOME")), "unset\n");
        let screen = shell.screen();
        let said = "is not installed: run `cuenv install`";
        assert_eq!(screen.matches(said).count(), 1, "{}: {screen}", dialect.name);
    });
}

#[test]
fn a_virtual_environment_activated_later_stays_and_goes_cleanly() {
    for (dialect, activate) in [(BASH, "activate"), (ZSH, "activate"), (FISH, "activate.fish")] {
        let sandbox = bed();
        let venv = sandbox.root().join("v");
        let made = Command::new("/usr/bin/python3")
            .args(["-m", "venv", "--without-pip"])
            .arg(&venv)
            .status();
        if !made.is_ok_and(|status| status.success()) {
            println!("skipped: no venv module");
            return;
        }
        let Some(mut shell) = shell(&sandbox, &dialect, "") else { continue };
        let path = shell.ask(&show("PATH"));
        let activate = format!("source {}", venv.join("bin").join(activate).display());
        shell.line(&format!("cd {}/one", sandbox.project().display()));
        shell.line(&activate);
        let inside = shell.ask(&show("PATH"));
        assert!(inside.contains(&format!("{}/bin:", venv.display())), "{}", dialect.name);
        assert!(inside.contains("11.8.0-a/bin"), "{}: {inside}", dialect.name);
        shell.line(&format!("cd {}", sandbox.root().display()));
        assert_eq!(
            shell.ask(&show("PATH")),
            format!("{}/bin:{path}", venv.display()),
            "{}",
            dialect.name
        );
        // Deactivation brings back the PATH of the project that was left.
        shell.line("deactivate");
        shell.line("");
        assert_eq!(shell.ask(&show("PATH")), path, "{}", dialect.name);
    }
}

#[test]
fn pushd_subshells_and_deleted_directories() {
    each(|sandbox, dialect, mut shell| {
        let (project, name) = (sandbox.project(), dialect.name);
        shell.line(&format!("pushd {}/one", project.display()));
        assert_eq!(shell.ask(&show("CUENV_ACTIVE")), "11.8.0-a\n", "{name}: pushd");
        assert!(
            shell.ask("sh -c 'cd / && echo $CUENV_ACTIVE'").contains("11.8.0-a"),
            "{name}: subshell"
        );
        shell.line("popd");
        assert_eq!(shell.ask(&show("CUENV_ACTIVE")), "unset\n", "{name}: popd");
        sandbox.write("gone/.cuenv", "12.4\n");
        shell.line(&format!("cd {}/gone", project.display()));
        assert_eq!(shell.ask(&show("CUENV_ACTIVE")), "12.4.1-b\n", "{name}");
        std::fs::remove_dir_all(project.join("gone")).unwrap();
        shell.line("");
        shell.line(&format!("cd {}", sandbox.root().display()));
        assert_eq!(shell.ask(&show("CUENV_ACTIVE")), "unset\n", "{name}: deleted");
    });
}

#[test]
fn a_shell_started_inside_leaves_too() {
    each(|sandbox, dialect, mut shell| {
        let name = dialect.name;
        let before = shell.ask(&show("PATH"));
        shell.line(&format!("cd {}/one", sandbox.project().display()));
        assert_eq!(shell.ask(&show("CUENV_ACTIVE")), "11.8.0-a\n");
        // As a terminal multiplexer or a nested shell does: everything is inherited, the hook's own memory is not.
        let rc = sandbox.root().join("rc/.zshrc");
        let start = dialect
            .start
            .replace("%d", rc.parent().unwrap().to_str().unwrap())
            .replace('%', rc.to_str().unwrap());
        shell.line(&start.replace("ZDOTDIR=", "env ZDOTDIR="));
        shell.line(&format!("cd {}", sandbox.root().display()));
        assert_eq!(shell.ask(&show("CUENV_ACTIVE")), "unset\n", "{name}");
        assert_eq!(shell.ask(&show("PATH")), before, "{name}");
    });
}

#[test]
fn it_applies_once_when_it_is_loaded() {
    for (program, args) in [("bash", ["-c"]), ("zsh", ["-c"]), ("fish", ["-c"])] {
        if !is_installed(program) {
            println!("skipped: no {program}");
            continue;
        }
        let sandbox = bed();
        let cli = cuenv().display().to_string();
        let load = match program {
            "fish" => format!("{cli} hook fish | source; env"),
            shell => format!("eval \"$({cli} hook {shell})\"; env"),
        };
        let mut command = sandbox.command(program);
        let output =
            command.args(args).arg(&load).current_dir(sandbox.project().join("one")).output();
        let seen = String::from_utf8(output.unwrap().stdout).unwrap();
        assert!(seen.contains("CUENV_ACTIVE=11.8.0-a\n"), "{program}: {seen}");
    }
}

#[test]
fn what_follows_a_cd_on_its_line_is_told_of_the_toolchain() {
    let sandbox = bed();
    for (shell, load) in [
        ("bash", "eval \"$(CUENV hook bash)\""),
        ("zsh", "eval \"$(CUENV hook zsh)\""),
        ("fish", "CUENV hook fish | source"),
    ] {
        if !is_installed(shell) {
            println!("skipped: no {shell}");
            continue;
        }
        let load = load.replace("CUENV", &cuenv().display().to_string());
        let script =
            format!("{load}; cd one && cuenv doctor --json; cd inner && cuenv current --json");
        let output = sandbox.command(shell).args(["-c", &script]).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(!said.contains("not-applied"), "{shell}: {said}");
        assert!(said.contains("\"active\": \"12.4.1-b\""), "{shell}: {said}");
    }
}

#[test]
fn the_line_on_a_change_can_be_turned_off() {
    for (program, load) in [
        ("bash", "eval \"$(CUENV hook bash FLAG)\""),
        ("zsh", "eval \"$(CUENV hook zsh FLAG)\""),
        ("fish", "CUENV hook fish FLAG | source"),
    ] {
        if !is_installed(program) {
            println!("skipped: no {program}");
            continue;
        }
        let sandbox = bed();
        let said = |flag: &str, variable: &str| {
            let load = load.replace("CUENV", cuenv().to_str().unwrap()).replace("FLAG", flag);
            let mut command = sandbox.command(program);
            command.args(["-c", &load]).current_dir(sandbox.project().join("one"));
            let output = command.env("CUENV_HOOK_QUIET", variable).output().unwrap();
            String::from_utf8(output.stderr).unwrap()
        };
        assert!(said("", "").starts_with("cuenv: 11.8.0-a (`"), "{program}");
        assert_eq!(said("--quiet", ""), "", "{program}");
        assert_eq!(said("", "1"), "", "{program}");
    }
}

#[test]
fn directories_with_odd_names() {
    each(|sandbox, dialect, mut shell| {
        for (place, written) in [
            ("with space", "'with space'"),
            ("quo'te", "\"quo'te\""),
            ("dol$(id)lar", "'dol$(id)lar'"),
            ("back\\slash", "'back\\\\slash'"),
            ("star*?[", "'star*?['"),
        ] {
            if place.contains('\\') && dialect.name != "fish" {
                continue;
            }
            sandbox.write(&format!("{place}/.cuenv"), "12.4\n");
            shell.line(&format!("cd {}/{written}", sandbox.project().display()));
            assert_eq!(shell.ask(&show("CUENV_ACTIVE")), "12.4.1-b\n", "{}: {place}", dialect.name);
            shell.line(&format!("cd {}", sandbox.root().display()));
            assert_eq!(shell.ask(&show("CUENV_ACTIVE")), "unset\n", "{}: {place}", dialect.name);
        }
    });
}

#[test]
fn an_unchanged_prompt_starts_no_process() {
    if !is_installed("strace") {
        println!("skipped: no strace");
        return;
    }
    for dialect in [BASH, ZSH, FISH] {
        let sandbox = bed();
        let log = sandbox.root().join("trace");
        let traced = Dialect {
            start: Box::leak(
                format!(
                    "exec strace -f -e trace=process -e signal=none -o {} {}",
                    log.display(),
                    dialect.start.replace("ZDOTDIR=", "env ZDOTDIR=")
                )
                .into_boxed_str(),
            ),
            ..dialect
        };
        // fish's own prompt starts processes.
        let prompt =
            if dialect.name == "fish" { "function fish_prompt; echo '> '; end" } else { "" };
        let Some(mut shell) = shell(&sandbox, &traced, prompt) else { continue };
        shell.line(&format!("cd {}/one", sandbox.project().display()));
        if shell.ask(&show("CUENV_ACTIVE")) != "11.8.0-a\n" {
            println!("skipped: strace cannot trace here");
            return;
        }
        let forks = || {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            // fish reads a file and a line in threads of its own; those are not processes.
            let starts = |line: &&str| {
                ["clone", "fork"].iter().any(|call| line.contains(call))
                    && !line.contains("CLONE_THREAD")
                    && !line.contains("resumed")
            };
            text.lines().filter(starts).count()
        };
        // Settle, then press Enter ten times; only builtins run in between.
        shell.ask("echo settle");
        let before = forks();
        for _ in 0..10 {
            shell.line("");
        }
        shell.ask("echo still");
        assert_eq!(forks(), before, "{}: a process at an unchanged prompt", dialect.name);
        shell.ask("sh -c :");
        assert!(forks() > before, "{}: a process is seen when there is one", dialect.name);
    }
}

#[test]
fn a_start_up_file_is_edited_and_cleaned() {
    for (shell, file) in
        [("bash", ".bashrc"), ("zsh", ".zshrc"), ("fish", ".config/fish/config.fish")]
    {
        let sandbox = Sandbox::new();
        let path = sandbox.home().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        // A start-up file that is a link into a collection of such files stays a link.
        let real = sandbox.root().join("dotfiles");
        std::fs::write(&real, "# mine\n").unwrap();
        std::os::unix::fs::symlink(&real, &path).unwrap();
        for _ in 0..2 {
            sandbox.cuenv(["hook", shell, "--install"]).code(0);
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.matches("# >>> cuenv hook >>>").count(), 1);
        assert!(std::fs::symlink_metadata(&path).unwrap().is_symlink());
        sandbox.cuenv(["hook", shell, "--uninstall"]).code(0);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "# mine\n");
    }
}

#[test]
fn the_installed_line_works_and_is_silent_without_cuenv() {
    let sandbox = bed();
    sandbox.cuenv(["hook", "bash", "--install"]).code(0);
    let rc = std::fs::read_to_string(sandbox.home().join(".bashrc")).unwrap();
    let output = sandbox
        .command("bash")
        .args(["-c", &format!("{rc}\nenv")])
        .current_dir(sandbox.project().join("one"))
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("CUENV_ACTIVE=11.8.0-a"));
    let gone = rc.replace(cuenv().to_str().unwrap(), "/nonexistent/cuenv");
    let output =
        sandbox.command("bash").args(["-euc", &format!("{gone}\necho on")]).output().unwrap();
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"on\n"[..], &b""[..]));
}

#[test]
fn the_scripts_pass_their_checkers() {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/render/shells");
    for (checker, args, file) in [
        ("bash", &["-n"][..], "hook.bash"),
        ("zsh", &["-n"], "hook.zsh"),
        ("fish", &["--no-execute"], "hook.fish"),
        ("shellcheck", &["-s", "bash", "-e", "SC2034,SC2154,SC2178,SC2128"], "hook.bash"),
    ] {
        if !is_installed(checker) {
            println!("skipped: no {checker}");
            continue;
        }
        let output = Command::new(checker).args(args).arg(scripts.join(file)).output().unwrap();
        assert!(output.status.success(), "{checker}: {}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn a_made_library_can_be_made() {
    // The other tests of activation ask the real loader; this says why they would fail.
    let sandbox = Sandbox::new();
    assert!(shared_object(&sandbox.root().join("libx.so.1"), "libx.so.1", "x"), "no gcc");
}
