//! Which files are mapped into this process, and into any, from `/proc/<pid>/maps`.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// Returns the files that are mapped into this process now.
pub fn mapped_files() -> io::Result<BTreeSet<PathBuf>> {
    Ok(parse(&fs_err::read_to_string("/proc/self/maps")?))
}

/// A file that a process has mapped: a library or program that runs now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// The file.
    pub path: PathBuf,
    /// The process's number.
    pub process: u32,
}

/// Returns the files below `root` that processes have mapped. Those of other users that cannot be looked into are not seen.
pub fn mapped_below(root: &Path) -> Vec<Mapped> {
    // The kernel names files by their real paths; what is compared with them is named by the layout.
    let real = fs_err::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let Ok(entries) = fs_err::read_dir("/proc") else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.filter_map(Result::ok) {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let Ok(maps) = fs_err::read(entry.path().join("maps")) else { continue };
        for path in parse(&String::from_utf8_lossy(&maps)) {
            if let Ok(inside) = path.strip_prefix(&real) {
                found.push(Mapped { path: root.join(inside), process });
            }
        }
    }
    found
}

/// The name of a process, as `ps` shows it.
pub fn process_name(process: u32) -> Option<String> {
    let text = fs_err::read(format!("/proc/{process}/comm")).ok()?;
    Some(String::from_utf8_lossy(&text).trim_end().to_owned())
}

fn parse(text: &str) -> BTreeSet<PathBuf> {
    // Five columns, then the path, which may hold blanks.
    text.lines()
        .filter_map(|line| line.find('/').map(|at| &line[at..]))
        .map(|path| Path::new(path).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{mapped_files, parse};
    use std::path::Path;

    #[test]
    fn this_process_maps_libc() {
        let files = mapped_files().expect("/proc");
        assert!(files.iter().any(|file| file.ends_with("libc.so.6")), "{files:?}");
    }

    #[test]
    fn paths_may_hold_blanks() {
        let text =
            "7f00-7f01 r-xp 00000000 fe:00 12 /a b/lib c.so\n7f02-7f03 rw-p 0 00:00 0 [heap]\n";
        let files = parse(text);
        assert_eq!(files.len(), 1);
        assert!(files.contains(Path::new("/a b/lib c.so")));
    }
}
