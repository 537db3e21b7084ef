//! What is about to happen, in one line, and whether the disk can take it.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::{Error, Need, Wheel};
use crate::context::Context;
use crate::domain::size::megabytes;

/// Unpacked bytes for each byte of a wheel, as an estimate: libraries 1.4 to 1.7, all of a toolchain about 1.6
/// (measured over whole toolchains; a few wheels reach 4, and they are small or come with large ones).
const UNPACKED_TENTHS: u64 = 17;

/// Says what will be fetched and reused, and refuses when the space for it is not there.
pub(super) fn check(
    cx: &Context<'_>,
    toolchain: &str,
    needs: &[Need],
    fetch_bytes: u64,
    missing: &dyn Fn(&Wheel) -> bool,
) -> Result<(), Error> {
    if cx.layout.data().as_os_str().as_bytes().contains(&b':') {
        return Err(Error::Colon(cx.layout.data().to_owned()));
    }
    let fetched = needs.iter().filter(|need| missing(&need.wheel)).count();
    if fetched == 0 {
        return Ok(());
    }
    let reused = needs.len() - fetched;
    let needed = (fetch_bytes / 10).saturating_mul(UNPACKED_TENTHS);
    let free = free_space(cx.layout.data());
    let kept = match reused {
        0 => String::new(),
        count => format!(", {count} are here"),
    };
    let space = match free {
        Some(free) => format!(" ({} free)", megabytes(free)),
        None => String::new(),
    };
    let wheels = if fetched == 1 { "wheel" } else { "wheels" };
    cx.progress.note(&format!(
        "Installing `{toolchain}`: {fetched} {wheels} to fetch, {}{kept}; about {} on disk{space}",
        megabytes(fetch_bytes),
        megabytes(needed),
    ));
    match free {
        Some(free) if free < needed => {
            Err(Error::Space { path: cx.layout.data().to_owned(), needed, free })
        }
        _ => Ok(()),
    }
}

/// Returns the bytes free for this user on the file system that will hold `path`, asking its nearest existing parent.
fn free_space(path: &Path) -> Option<u64> {
    let existing = path.ancestors().find(|ancestor| ancestor.exists())?;
    let found = rustix::fs::statvfs(existing).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}
