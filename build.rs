//! Build script: compiles in the address of the index that is used when nothing else names one.
//!
//! The address is not written in this repository. It comes from `CUENV_DEFAULT_INDEX_URL`, else from the pip of
//! the machine that builds, which carries it; where there is neither, the program asks the user's pip.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a build script speaks to cargo through variables and standard output"
)]

use std::env;
use std::process::{Command, Stdio};

/// Prints pip's own default; it is asked at run time too.
const SCRIPT: &str = "src/platform/pip_default.py";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={SCRIPT}");
    println!("cargo::rerun-if-env-changed=CUENV_DEFAULT_INDEX_URL");
    let address = env::var("CUENV_DEFAULT_INDEX_URL")
        .ok()
        .filter(|value| !value.trim().is_empty())
        .or_else(ask_pip)
        .unwrap_or_default();
    println!("cargo::rustc-env=CUENV_BUILT_IN_INDEX={}", address.trim());
}

fn ask_pip() -> Option<String> {
    ["python3", "python"].iter().find_map(|python| {
        let output = Command::new(python)
            .args(["-I", SCRIPT])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let address = text.trim();
        (output.status.success() && address.starts_with("https://")).then(|| address.to_owned())
    })
}
