//! Runs a child process and hands over its lines, with a limit on the silence between two of them.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How a child ended.
#[derive(Debug)]
pub enum Ending {
    /// By itself, or by a signal.
    Ended(ExitStatus),
    /// It said nothing for too long and was killed.
    Silent,
}

/// What a child left behind.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub ending: Ending,
    /// The end of what it wrote on standard error.
    pub stderr: String,
}

/// No more than this is kept of a child's standard error.
const STDERR_KEPT: usize = 4096;

/// Runs `program` in the environment `env` alone; every line of its standard output goes to `each`.
pub fn run(
    program: &Path,
    args: &[OsString],
    env: impl IntoIterator<Item = (OsString, OsString)>,
    silence: Duration,
    each: &mut dyn FnMut(&str),
) -> io::Result<Finished> {
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(env);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let (sender, receiver) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        thread::spawn(move || {
            // Libraries print what they like, in any encoding.
            for line in BufReader::new(stdout).split(b'\n') {
                let Ok(line) = line else { return };
                let line = String::from_utf8_lossy(&line).into_owned();
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
    }
    let stderr = child.stderr.take().map(|mut stderr| {
        thread::spawn(move || {
            let mut kept = Vec::new();
            let mut piece = [0u8; 1024];
            while let Ok(length @ 1..) = stderr.read(&mut piece) {
                kept.extend_from_slice(&piece[..length]);
                let over = kept.len().saturating_sub(STDERR_KEPT);
                kept.drain(..over);
            }
            String::from_utf8_lossy(&kept).into_owned()
        })
    });
    let silent = loop {
        match receiver.recv_timeout(silence) {
            Ok(line) => each(&line),
            Err(mpsc::RecvTimeoutError::Disconnected) => break false,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                child.kill()?;
                break true;
            }
        }
    };
    let status = child.wait()?;
    let stderr = stderr.and_then(|thread| thread.join().ok()).unwrap_or_default();
    let ending = if silent { Ending::Silent } else { Ending::Ended(status) };
    Ok(Finished { ending, stderr })
}

#[cfg(test)]
mod tests {
    use super::{Ending, run};
    use std::path::Path;
    use std::time::Duration;

    fn sh(script: &str, silence: u64) -> (Vec<String>, super::Finished) {
        let mut lines = Vec::new();
        let env = [("PATH".into(), "/usr/bin:/bin".into())];
        let finished = run(
            Path::new("/bin/sh"),
            &["-c".into(), script.into()],
            env,
            Duration::from_millis(silence),
            &mut |line| lines.push(line.to_owned()),
        );
        (lines, finished.expect("sh"))
    }

    #[test]
    fn lines_come_until_the_child_ends() {
        let (lines, finished) = sh("echo one; echo two; echo bad >&2; exit 3", 5000);
        assert_eq!(lines, ["one", "two"]);
        assert_eq!(finished.stderr, "bad\n");
        assert!(matches!(finished.ending, Ending::Ended(status) if status.code() == Some(3)));
    }

    #[test]
    fn a_line_that_is_not_utf_8_ends_nothing() {
        let (lines, finished) = sh("printf 'caf\\351\\n'; echo two", 5000);
        assert_eq!(lines, ["caf\u{fffd}", "two"]);
        assert!(matches!(finished.ending, Ending::Ended(_)));
    }

    #[test]
    fn a_silent_child_is_killed() {
        let (lines, finished) = sh("echo one; exec sleep 60", 300);
        assert_eq!(lines, ["one"]);
        assert!(matches!(finished.ending, Ending::Silent));
    }
}
