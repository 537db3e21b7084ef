//! Asks the pip of this machine which index it falls back to.
//!
//! Only for programs that were built where there was no pip: the answer is normally compiled in.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::process::Command;
use std::time::Duration;

use super::child::{How, run_limited};

/// A Python that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(20);

/// Prints the address; the build script runs the same program.
const SCRIPT: &str = include_str!("pip_default.py");

/// Returns pip's own default index, if a Python with a pip is on `path` (the value of `PATH`).
///
/// `-I` keeps the working directory and the user's variables out: entering a directory must run nothing of it.
pub fn default_index(path: &std::ffi::OsStr) -> Option<String> {
    // A relative element is the working directory's, whatever it holds.
    let path: Vec<_> = path
        .as_bytes()
        .split(|byte| *byte == b':')
        .filter(|element| element.starts_with(b"/"))
        .collect();
    let path = OsString::from_vec(path.join(&b':'));
    ["python3", "python"].iter().find_map(|python| {
        let mut command = Command::new(python);
        command
            .args(["-I", "-c", SCRIPT])
            .env("PATH", &path)
            // A shim named `python3` is to step aside: its toolchain may be what is being installed.
            .env("CUENV_TOOLCHAIN", "system");
        let ended = run_limited(command, LIMIT).ok()?;
        let address = ended.stdout.trim();
        let good = ended.how == How::Exited(0) && address.starts_with("https://");
        good.then(|| address.to_owned())
    })
}
