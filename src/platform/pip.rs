//! Asks the pip of this machine which index it falls back to.
//!
//! Only for programs that were built where there was no pip: the answer is normally compiled in.

use std::process::{Command, Stdio};

/// Prints the address; the build script runs the same program.
const SCRIPT: &str = include_str!("pip_default.py");

/// Returns pip's own default index, if a Python with a pip is on `path` (the value of `PATH`).
///
/// `-I` keeps the working directory and the user's variables out: entering a directory must run nothing of it.
pub fn default_index(path: &std::ffi::OsStr) -> Option<String> {
    ["python3", "python"].iter().find_map(|python| {
        let output = Command::new(python)
            .args(["-I", "-c", SCRIPT])
            .env("PATH", path)
            // A shim named `python3` is to step aside: its toolchain may be what is being installed.
            .env("CUENV_TOOLCHAIN", "system")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let address = text.trim();
        (output.status.success() && address.starts_with("https://")).then(|| address.to_owned())
    })
}
