//! A child process with a time limit, for programs that may hang or crash.

use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How a child ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// What it printed, up to [`MAX_OUTPUT`] bytes.
    pub stdout: String,
    /// How it ended.
    pub how: How,
}

/// See [`Ended`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It returned this code.
    Exited(i32),
    /// A signal ended it.
    Killed(i32),
    /// It was still running when the time was over.
    TimedOut,
}

/// More than any probe has to say.
pub const MAX_OUTPUT: u64 = 64 * 1024;

/// Runs `command` with nothing on its standard input and its errors discarded.
///
/// A child that is still running after `limit` is killed and left behind: one that sleeps inside the kernel cannot be
/// killed at once, and waiting for it would hang as it does.
pub fn run_limited(mut command: Command, limit: Duration) -> std::io::Result<Ended> {
    let deadline = Instant::now() + limit;
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let stdout = child.stdout.take().expect("it is piped");
    let (sender, receiver) = mpsc::channel();
    // Not joined: it ends with the pipe, which a child that cannot be killed may keep open.
    std::thread::spawn(move || {
        let mut stdout = stdout;
        let mut bytes = [0; 4096];
        let mut left = MAX_OUTPUT;
        while let Ok(count) = stdout.read(&mut bytes) {
            let take = usize::try_from(left).map_or(count, |left| left.min(count));
            left -= take as u64;
            if count == 0 || sender.send(bytes[..take].to_vec()).is_err() {
                break;
            }
        }
    });
    let mut output = Vec::new();
    let mut open = true;
    while open {
        match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(bytes) => output.extend(bytes),
            Err(mpsc::RecvTimeoutError::Timeout) => break,
            Err(mpsc::RecvTimeoutError::Disconnected) => open = false,
        }
    }
    let stdout = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    // The pipe is closed by then, or the time is over: either way there is little to wait for.
    loop {
        if let Some(status) = child.try_wait()? {
            let how = match (status.code(), status.signal()) {
                (Some(code), _) => How::Exited(code),
                (None, signal) => How::Killed(signal.unwrap_or(0)),
            };
            return Ok(Ended { stdout: stdout(output), how });
        }
        if Instant::now() >= deadline {
            let _ = child.kill();
            // Reaps it where that works at once; a zombie ends with this process.
            std::thread::sleep(Duration::from_millis(10));
            let _ = child.try_wait();
            return Ok(Ended { stdout: stdout(output), how: How::TimedOut });
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn tells_how_a_child_ended() {
        let long = Duration::from_secs(20);
        let ended = run_limited(shell("echo one; echo two; exit 3"), long).unwrap();
        assert_eq!(ended, Ended { stdout: "one\ntwo\n".to_owned(), how: How::Exited(3) });
        let ended = run_limited(shell("echo x; kill -SEGV $$"), long).unwrap();
        assert_eq!(ended, Ended { stdout: "x\n".to_owned(), how: How::Killed(11) });
    }

    #[test]
    fn a_child_that_hangs_is_left_and_what_it_said_is_kept() {
        let start = Instant::now();
        let ended =
            run_limited(shell("echo x; exec sleep 30"), Duration::from_millis(200)).unwrap();
        assert_eq!(ended, Ended { stdout: "x\n".to_owned(), how: How::TimedOut });
        assert!(start.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_grandchild_that_keeps_the_pipe_open_does_not_hang_us() {
        let start = Instant::now();
        let ended = run_limited(shell("sleep 30 & echo x"), Duration::from_millis(300)).unwrap();
        assert_eq!(ended.stdout, "x\n");
        assert!(start.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_flood_is_cut() {
        let ended = run_limited(shell("yes | head -c 300000"), Duration::from_secs(20)).unwrap();
        assert_eq!(ended.stdout.len() as u64, MAX_OUTPUT);
        assert_eq!(ended.how, How::Exited(0));
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        assert!(run_limited(Command::new("/nonexistent"), Duration::from_secs(1)).is_err());
    }
}
