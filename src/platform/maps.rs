//! Which files are mapped into this process, from `/proc/self/maps`.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// Returns the files that are mapped into this process now.
pub fn mapped_files() -> io::Result<BTreeSet<PathBuf>> {
    Ok(parse(&fs_err::read_to_string("/proc/self/maps")?))
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
