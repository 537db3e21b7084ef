//! Which machine, boot and process this is, so that a lock or a journal can be told to be stale.

use std::path::Path;

use fs_err as fs;

/// Returns the identity of this boot of this machine; empty where the kernel does not tell.
pub fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}

/// Returns the host's name.
pub fn host() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

/// Tells whether a process of this host runs.
pub fn is_running(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_itself() {
        assert!(is_running(std::process::id()));
        assert!(!is_running(u32::MAX));
        assert!(!host().is_empty());
    }
}
