//! Reads what the dynamic loader would read of an ELF file: soname, needed, search paths, version tables, symbols.
//!
//! An own reader, because the questions are few and the files are huge: `libcublasLt.so.12` has 750 MB, of which the
//! answers take a few kilobytes. A general reader (`object`, `goblin`) wants the whole file mapped, and mapping needs
//! `unsafe`; this one asks a [`ReadAt`] for small ranges and adds no package.
//!
//! Invariants: never panics and never allocates in proportion to a number found in the file without a bound, whatever
//! the bytes are. Only little-endian 64-bit files have their dynamic section read; for every other class the header
//! alone is kept, since a 64-bit loader skips such a file and goes on searching.

mod dynamic;
mod read;
mod strings;
mod symbols;
mod versions;

pub use read::ReadAt;
pub use strings::library_names;
pub use symbols::Import;
pub use versions::{VersionDef, VersionNeed};

use dynamic::Tables;
use read::Reader;

/// Word size of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// `ELFCLASS32`.
    Bits32,
    /// `ELFCLASS64`.
    Bits64,
}

/// What the file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `ET_EXEC`: an executable at a fixed address.
    Executable,
    /// `ET_DYN`: a shared object, or a position-independent executable.
    Shared,
    /// Anything else: a relocatable object, a core dump.
    Other,
}

/// `e_machine` of x86_64.
pub const MACHINE_X86_64: u16 = 62;
/// `e_machine` of aarch64.
pub const MACHINE_AARCH64: u16 = 183;

/// The facts of one ELF file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elf {
    /// Word size.
    pub class: Class,
    /// `e_machine`.
    pub machine: u16,
    /// What the file is for.
    pub kind: Kind,
    /// The dynamic loader that the file names (`PT_INTERP`); shared objects rarely have one.
    pub interpreter: Option<String>,
    /// `DT_SONAME`.
    pub soname: Option<String>,
    /// `DT_NEEDED`, in order.
    pub needed: Vec<String>,
    /// `DT_RPATH` as written; a loader ignores it where [`Elf::runpath`] is present.
    pub rpath: Option<String>,
    /// `DT_RUNPATH` as written.
    pub runpath: Option<String>,
    /// `DF_1_NODEFLIB`: the default directories are not searched for what this file needs.
    pub no_default_lib: bool,
    /// `DF_1_PIE`: an executable, which `dlopen` refuses.
    pub pie: bool,
    /// `DT_VERNEED`: the symbol versions wanted, by file.
    pub version_needs: Vec<VersionNeed>,
    /// `DT_VERDEF`: the symbol versions offered.
    pub version_defs: Vec<VersionDef>,
    tables: Tables,
}

/// Why a file is not one that a loader would take; the text is the loader's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElfError {
    /// Shorter than an ELF header.
    #[error("file too short")]
    TooShort,
    /// No ELF magic: a script, an archive, a linker script.
    #[error("invalid ELF header")]
    NotElf,
    /// Big-endian data.
    #[error("ELF file data encoding not little-endian")]
    BigEndian,
    /// `EI_VERSION` or `e_version` is not 1.
    #[error("ELF file version does not match current one")]
    Version,
    /// An operating system's ABI that is neither System V nor GNU.
    #[error("ELF file OS ABI invalid")]
    OsAbi,
    /// The program headers cannot be read or have a foreign size.
    #[error("ELF file's phentsize not the expected size")]
    ProgramHeaders,
}

impl Elf {
    /// Reads the facts from `source`.
    pub fn parse(source: &dyn ReadAt) -> Result<Self, ElfError> {
        let reader = Reader::new(source);
        let mut ident = [0u8; 64];
        // The class decides how long the header is; 52 bytes are the shorter one.
        if !reader.fill(0, &mut ident[..52]) {
            return Err(ElfError::TooShort);
        }
        if ident[..4] != *b"\x7fELF" {
            return Err(ElfError::NotElf);
        }
        let class = match ident[4] {
            1 => Class::Bits32,
            2 => Class::Bits64,
            _ => return Err(ElfError::NotElf),
        };
        if ident[5] != 1 {
            return Err(ElfError::BigEndian);
        }
        let kind = match u16::from_le_bytes([ident[16], ident[17]]) {
            2 => Kind::Executable,
            3 => Kind::Shared,
            _ => Kind::Other,
        };
        let mut elf = Self {
            class,
            machine: u16::from_le_bytes([ident[18], ident[19]]),
            kind,
            interpreter: None,
            soname: None,
            needed: Vec::new(),
            rpath: None,
            runpath: None,
            no_default_lib: false,
            pie: false,
            version_needs: Vec::new(),
            version_defs: Vec::new(),
            tables: Tables::default(),
        };
        if class == Class::Bits32 {
            return Ok(elf);
        }
        if !reader.fill(0, &mut ident) {
            return Err(ElfError::TooShort);
        }
        if ident[6] != 1 || ident[20..24] != [1, 0, 0, 0] {
            return Err(ElfError::Version);
        }
        if !matches!(ident[7], 0 | 3) {
            return Err(ElfError::OsAbi);
        }
        dynamic::read(&reader, &ident, &mut elf)?;
        Ok(elf)
    }

    /// The search path that counts as `DT_RPATH`: none where `DT_RUNPATH` is present.
    pub fn effective_rpath(&self) -> Option<&str> {
        if self.runpath.is_some() { None } else { self.rpath.as_deref() }
    }

    /// Whether the file offers the symbol `name`, of the given version if one is asked for.
    ///
    /// A file without version definitions answers for every version, as the loader does.
    pub fn defines(&self, source: &dyn ReadAt, name: &str, version: Option<&str>) -> bool {
        symbols::defines(&Reader::new(source), self, name, version)
    }

    /// The symbols that the file wants from others, with the version and file they are bound to.
    pub fn imports(&self, source: &dyn ReadAt) -> Vec<Import> {
        symbols::imports(&Reader::new(source), self)
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
#[path = "../../tests/support/elf.rs"]
pub(crate) mod writer;
