//! A real shell on a real terminal: `script` gives the terminal, the test types lines.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long a shell may take for one line on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// An interactive shell.
pub struct Terminal {
    child: Child,
    stdin: ChildStdin,
    screen: Arc<Mutex<Vec<u8>>>,
    answers: PathBuf,
    count: u32,
    /// Writes one answer: `%` stands for the file.
    redirect: &'static str,
}

impl Terminal {
    /// Starts a shell's command line on a terminal; `None` when the shell is not installed.
    pub fn start(mut like: Command, shell: &str, line: &str, answers: &Path) -> Option<Self> {
        if !is_installed(shell) {
            println!("skipped: no {shell}");
            return None;
        }
        let mut command = Command::new("script");
        command.args(["-qfec", line, "/dev/null"]);
        if let Some(directory) = like.get_current_dir() {
            command.current_dir(directory);
        }
        command.env_clear();
        for (name, value) in like.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        like = command;
        like.env("TERM", "dumb");
        let mut child = like
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("util-linux has `script`");
        let stdin = child.stdin.take().unwrap();
        let screen = Arc::new(Mutex::new(Vec::new()));
        let mut stdout = child.stdout.take().unwrap();
        let into = Arc::clone(&screen);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count) = stdout.read(&mut bytes) {
                if count == 0 {
                    break;
                }
                into.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        std::fs::create_dir_all(answers).unwrap();
        let answers = answers.to_owned();
        Some(Self { child, stdin, screen, answers, count: 0, redirect: " >%" })
    }

    /// Uses another way to write an answer to a file: `%` stands for the file.
    pub fn redirecting(mut self, redirect: &'static str) -> Self {
        self.redirect = redirect;
        self
    }

    /// Types keys, without Enter.
    pub fn keys(&mut self, keys: &str) {
        self.stdin.write_all(keys.as_bytes()).unwrap();
        self.stdin.flush().unwrap();
    }

    /// Types a line.
    pub fn line(&mut self, line: &str) {
        self.keys(&format!("{line}\n"));
    }

    /// Types a command and returns what it prints.
    #[track_caller]
    pub fn ask(&mut self, command: &str) -> String {
        self.count += 1;
        let file = self.answers.join(format!("answer{}", self.count));
        let done = self.answers.join(format!("done{}", self.count));
        let quoted = format!("{}", file.display());
        self.line(&format!("{command}{}", self.redirect.replace('%', &quoted)));
        self.line(&format!("echo done{}", self.redirect.replace('%', &done.display().to_string())));
        let start = Instant::now();
        while !std::fs::read(&done)
            .is_ok_and(|bytes| bytes.ends_with(b"done\n") || bytes.ends_with(b"done"))
        {
            assert!(start.elapsed() < PATIENCE, "no answer to `{command}`:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(5));
        }
        String::from_utf8_lossy(&std::fs::read(&file).unwrap_or_default()).into_owned()
    }

    /// Returns what the terminal showed so far.
    pub fn screen(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().unwrap()).into_owned()
    }

    /// Waits until the terminal has shown a text.
    pub fn wait_for(&self, text: &str) -> bool {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if self.screen().contains(text) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.stdin.write_all(b"exit\nexit\n");
        let start = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if start.elapsed() > Duration::from_secs(3) {
                let _ = self.child.kill();
                let _ = self.child.wait();
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Tells whether a program is on the test machine.
pub fn is_installed(program: &str) -> bool {
    program.contains('/') && Path::new(program).exists()
        || ["/usr/local/bin", "/usr/bin", "/bin"]
            .iter()
            .any(|bin| Path::new(bin).join(program).exists())
}
