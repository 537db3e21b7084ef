//! The hook in the shells that ask their terminal questions: a real terminal multiplexer answers them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::sandbox::{Sandbox, cuenv};
use crate::support::terminal::is_installed;

/// A shell in a window of its own server of tmux.
struct Window {
    socket: String,
    directory: PathBuf,
    count: u32,
}

impl Window {
    fn open(sandbox: &Sandbox, line: &str) -> Self {
        let socket =
            format!("cuenv-test-{}", sandbox.root().file_name().unwrap().to_str().unwrap());
        let mut command = sandbox.command("tmux");
        command.args([
            "-L",
            &socket,
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "200",
            "-y",
            "50",
            line,
        ]);
        command.env("TERM", "screen").env("SHELL", "/bin/sh").current_dir(sandbox.root());
        assert!(command.status().unwrap().success());
        Self { socket, directory: sandbox.root().to_owned(), count: 0 }
    }

    fn tmux(&self, args: &[&str]) -> String {
        let mut command = Command::new("tmux");
        // A new window searches its command on the PATH of who asked for it.
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
        let output = command.args(["-L", &self.socket]).args(args).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn line(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
        self.tmux(&["send-keys", "Enter"]);
    }

    /// Waits until `sh` prints a variable as expected: these shells take their time to start and to answer.
    #[track_caller]
    fn expect(&mut self, name: &str, expected: &str, what: &str) {
        let start = Instant::now();
        let mut seen = String::new();
        while start.elapsed() < Duration::from_secs(40) {
            self.count += 1;
            let file = self.directory.join(format!("answer{}", self.count));
            self.line(&format!(
                "{} {name} {}",
                self.directory.join("show").display(),
                file.display()
            ));
            let asked = Instant::now();
            while asked.elapsed() < Duration::from_secs(2) {
                if let Ok(text) = std::fs::read_to_string(&file)
                    && text.ends_with('\n')
                {
                    seen = text.trim_end().to_owned();
                    break;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            if seen == expected {
                return;
            }
        }
        panic!(
            "{what}: {name} is `{seen}`, not `{expected}`\n{}",
            self.tmux(&["capture-pane", "-p"])
        );
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// Enters, edits, leaves. `load` is typed when it is not empty.
fn follows(shell: &str, start: &str, load: &str, sees_edits: bool) {
    for program in ["tmux", shell] {
        if !is_installed(program) {
            println!("skipped: no {program}");
            return;
        }
    }
    let sandbox = Sandbox::new();
    sandbox.shims(&[]);
    sandbox.toolchain("11.8.0-a", "11.8", &[]);
    sandbox.toolchain("12.4.1-b", "12.4", &[]);
    sandbox.write("a b's/.cuenv", "11.8\n");
    sandbox.program("show", "#!/bin/sh\neval \"echo \\\"\\${$1-unset}\\\"\" >\"$2\"\n");
    let name = Path::new(shell).file_name().unwrap().to_str().unwrap();
    let hook = sandbox.root().join("hook");
    let text = sandbox.command(cuenv()).args(["hook", name]).output().unwrap().stdout;
    std::fs::write(&hook, text).unwrap();
    let start = start.replace("HOOK", hook.to_str().unwrap()).replace("SHELL", shell);
    let mut window = Window::open(&sandbox, &start);
    window.expect("CUENV_ACTIVE", "unset", "at the start");
    window.line(&load.replace("CUENV", cuenv().to_str().unwrap()));
    let project = sandbox.project().display().to_string();
    window.line(&format!("cd \"{project}/a b's\""));
    window.expect("CUENV_ACTIVE", "11.8.0-a", "entering");
    let prefix =
        sandbox.cuenv_home().join("toolchains").join(shims::names::TARGET).join("11.8.0-a");
    window.expect("LD_LIBRARY_PATH", &format!("{}/lib", prefix.display()), "entering");
    if sees_edits {
        sandbox.write("a b's/.cuenv", "12.4\n");
        window.line("");
        window.expect("CUENV_ACTIVE", "12.4.1-b", "an edit");
    }
    window.line(&format!("cd \"{project}\""));
    window.expect("CUENV_ACTIVE", "unset", "leaving");
    window.expect("LD_LIBRARY_PATH", "unset", "leaving");
    window.expect("PATH", "/usr/local/bin:/usr/bin:/bin", "leaving");
}

#[test]
fn a_new_window_of_a_multiplexer_has_the_toolchain_of_its_directory() {
    if !is_installed("tmux") {
        println!("skipped: no tmux");
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.shims(&[]);
    sandbox.toolchain("11.8.0-a", "11.8", &[]);
    sandbox.write("one/.cuenv", "11.8\n");
    sandbox.program("show", "#!/bin/sh\neval \"echo \\\"\\${$1-unset}\\\"\" >\"$2\"\n");
    let rc = sandbox.root().join("rc");
    std::fs::write(&rc, format!("eval \"$({} hook bash)\"\n", cuenv().display())).unwrap();
    let start = format!("bash --noprofile --rcfile {} -i", rc.display());
    let mut window = Window::open(&sandbox, &start);
    let project = sandbox.project().join("one").display().to_string();
    window.line(&format!("cd {project}"));
    window.expect("CUENV_ACTIVE", "11.8.0-a", "the first window");
    // It starts in the directory of the window before, from the server's environment.
    window.tmux(&["new-window", "-c", &project, &start]);
    window.expect("CUENV_ACTIVE", "11.8.0-a", "the second window");
    window.line(&format!("cd {}", sandbox.root().display()));
    window.expect("CUENV_ACTIVE", "unset", "leaving");
    window.expect("PATH", "/usr/local/bin:/usr/bin:/bin", "leaving");
}

#[test]
fn tcsh_follows_the_directory() {
    follows("tcsh", "SHELL -f", "eval \"`CUENV hook tcsh`\"", false);
}

#[test]
fn elvish_follows_the_directory() {
    follows("elvish", "SHELL -norc", "eval (CUENV hook elvish | slurp)", true);
}

#[test]
fn xonsh_follows_the_directory() {
    follows("xonsh", "SHELL --no-rc", "execx($(CUENV hook xonsh))", true);
}

#[test]
fn nushell_follows_the_directory() {
    let nu = std::env::var("CUENV_TEST_NU").unwrap_or_else(|_| "nu".to_owned());
    follows(&nu, "SHELL --no-history --config HOOK", "", true);
}
