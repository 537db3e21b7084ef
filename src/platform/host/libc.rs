//! Which C library this machine has.
//!
//! glibc's version is the newest `GLIBC_2.N` that its own library defines: that is what programs are checked against,
//! and it works for a machine seen through another root as well.

use std::path::{Path, PathBuf};

use super::Place;
use crate::domain::elf::Elf;
use crate::domain::found::{Found, Via};
use crate::domain::host::Libc;
use crate::domain::version::Version;
use crate::platform::elf_file::ElfFile;

const GLIBC: [&str; 7] = [
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/lib/aarch64-linux-gnu/libc.so.6",
    "/lib64/libc.so.6",
    "/usr/lib64/libc.so.6",
    "/usr/lib/x86_64-linux-gnu/libc.so.6",
    "/lib/libc.so.6",
    "/usr/lib/libc.so.6",
];
const MUSL: [&str; 2] = ["/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1"];

pub(super) fn read(place: &Place<'_>) -> Option<Found<Libc>> {
    // The library that this very process runs on cannot be the wrong one.
    let own = if place.root.is_none() { own_library() } else { None };
    let paths = own.into_iter().chain(GLIBC.iter().map(|path| place.path(path)));
    for path in paths {
        if let Some(version) = glibc_version(&path) {
            let via = Via::File(path.display().to_string());
            return Some(Found::new(Libc::Glibc(version), via));
        }
    }
    let path = MUSL.into_iter().map(|path| place.path(path)).find(|path| path.exists())?;
    Some(Found::new(Libc::Musl, Via::File(path.display().to_string())))
}

fn own_library() -> Option<PathBuf> {
    let maps = fs_err::read_to_string("/proc/self/maps").ok()?;
    let path = maps
        .lines()
        .filter_map(|line| line.find('/').map(|at| &line[at..]))
        .find(|path| path.ends_with("/libc.so.6"))?;
    Some(PathBuf::from(path))
}

fn glibc_version(path: &Path) -> Option<Version> {
    let elf = Elf::parse(&ElfFile::open(path).ok()?).ok()?;
    elf.version_defs
        .iter()
        .filter_map(|define| define.version.strip_prefix("GLIBC_"))
        .filter_map(|version| version.parse::<Version>().ok())
        .max()
}
