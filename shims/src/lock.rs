//! The head of `.cuenv.lock`: the lines before the first table, read with a line scan, and what it answers.

use std::fmt;
use std::path::Path;

use crate::names;
use crate::read::{self, ReadError};
use crate::spec;

/// The format that this program reads.
pub const VERSION: u32 = 1;

/// The head is within the first bytes of the file; a head that is not is not one.
const HEAD_LIMIT: u64 = 4096;

/// What the head of a lock says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The format version.
    pub version: u32,
    /// The spec that the lock answers.
    pub spec: String,
    /// The toolchain's name.
    pub toolchain: String,
    /// The prefix name for each target.
    pub prefixes: Vec<(String, String)>,
}

/// What a lock says about the pin beside it, on this target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// There is no lock.
    None,
    /// The prefix that it names.
    Prefix(String),
    /// It does not answer.
    Stale(Stale),
}

/// Why a lock that is whole does not answer the pin beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stale {
    /// It answers another spec.
    Spec {
        /// What it answers.
        locked: String,
        /// What the pin says.
        pinned: String,
    },
    /// It is of other targets.
    Target,
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spec { locked, pinned } => {
                write!(f, "it answers `{locked}`, and the pin says `{pinned}`")
            }
            Self::Target => write!(f, "it has no wheels for {}", names::TARGET),
        }
    }
}

/// Why a lock cannot be used.
#[derive(Debug)]
pub enum LockFault {
    /// It could not be read.
    Read(ReadError),
    /// Two versions of it were merged, and somebody has yet to choose.
    Conflict,
    /// It is no lock.
    NotALock,
    /// A newer cuenv wrote it.
    Newer(u32),
}

impl fmt::Display for LockFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Conflict => f.write_str("it holds the marks of a merge conflict"),
            Self::NotALock => f.write_str("it is not a lockfile"),
            Self::Newer(version) => {
                write!(f, "its version {version} is newer than this cuenv reads ({VERSION})")
            }
        }
    }
}

impl std::error::Error for LockFault {}

/// Asks the lock at `path` for the prefix of what the pin beside it says.
pub fn ask(path: &Path, pinned: &str) -> Result<Answer, LockFault> {
    match read::head(path, HEAD_LIMIT).map_err(LockFault::Read)? {
        None => Ok(Answer::None),
        Some(text) => Head::parse(&text)?.answer(pinned),
    }
}

impl Head {
    /// Reads the head out of a lock's text.
    pub fn parse(text: &str) -> Result<Self, LockFault> {
        let mut head = Self::default();
        for line in text.lines() {
            if ["<<<<<<<", "=======", ">>>>>>>"].iter().any(|mark| line.starts_with(mark)) {
                return Err(LockFault::Conflict);
            }
            let line = line.trim();
            if line.starts_with('[') {
                break;
            }
            if line.starts_with('#') {
                continue;
            }
            let Some((key, value)) = line.split_once('=') else { continue };
            let (key, value) = (key.trim(), value.trim());
            if key == "version" {
                head.version = value.parse().map_err(|_| LockFault::NotALock)?;
                if head.version > VERSION {
                    return Err(LockFault::Newer(head.version));
                }
                continue;
            }
            let Some(value) = unquoted(value) else { continue };
            match key {
                "spec" => value.clone_into(&mut head.spec),
                "toolchain" => value.clone_into(&mut head.toolchain),
                _ => {
                    if let Some(target) = key.strip_prefix("prefix.") {
                        let target = unquoted(target).unwrap_or(target);
                        head.prefixes.push((target.to_owned(), value.to_owned()));
                    }
                }
            }
        }
        if head.spec.is_empty() { Err(LockFault::NotALock) } else { Ok(head) }
    }

    fn answer(self, pinned: &str) -> Result<Answer, LockFault> {
        if spec::canonical(&self.spec) != pinned {
            let pinned = pinned.to_owned();
            return Ok(Answer::Stale(Stale::Spec { locked: self.spec, pinned }));
        }
        let here = self.prefixes.into_iter().find(|(target, _)| target == names::TARGET);
        match here {
            None => Ok(Answer::Stale(Stale::Target)),
            // A path would lead anywhere.
            Some((_, name)) if !spec::is_prefix_name(&name) => Err(LockFault::NotALock),
            Some((_, name)) => Ok(Answer::Prefix(name)),
        }
    }
}

fn unquoted(value: &str) -> Option<&str> {
    let inner = value.strip_prefix('"')?;
    let end = inner.find('"')?;
    Some(&inner[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(prefixes: &str) -> String {
        format!(
            "# Written by cuenv\nversion = 1\nspec = \"12.4+cudnn9\"\ntoolchain = \"12.4.1+cudnn9.1.0.70\"\n\
             {prefixes}profile = \"runtime\"\n\n[[wheel]]\nspec = \"9.9\"\nprefix.{} = \"not-this\"\n",
            names::TARGET
        )
    }

    fn answer(text: &str, pinned: &str) -> Result<Answer, String> {
        let head = Head::parse(text).map_err(|fault| fault.to_string())?;
        head.answer(pinned).map_err(|fault| fault.to_string())
    }

    #[test]
    fn reads_the_lines_before_the_first_table() {
        let own = format!("prefix.other = \"x\"\nprefix.{} = \"12.4.1-3f2a\"\n", names::TARGET);
        let head = Head::parse(&lock(&own)).unwrap();
        assert_eq!((head.version, head.spec.as_str()), (1, "12.4+cudnn9"));
        assert_eq!(head.toolchain, "12.4.1+cudnn9.1.0.70");
        let found = answer(&lock(&own), "12.4+cudnn9");
        assert_eq!(found, Ok(Answer::Prefix("12.4.1-3f2a".to_owned())));
        let quoted = format!("prefix.\"{}\" = \"12.4.1-3f2a\"\n", names::TARGET);
        assert_eq!(answer(&lock(&quoted), "12.4+cudnn9"), found);
    }

    #[test]
    fn a_lock_of_something_else_is_stale() {
        let stale = |text: &str, pinned| match answer(text, pinned) {
            Ok(Answer::Stale(stale)) => stale.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(stale(&lock(""), "12.5"), "it answers `12.4+cudnn9`, and the pin says `12.5`");
        let said = format!("it has no wheels for {}", names::TARGET);
        assert_eq!(stale(&lock("prefix.linux-riscv64 = \"x\"\n"), "12.4+cudnn9"), said);
    }

    #[test]
    fn what_is_not_a_lock_is_a_fault() {
        let path = format!("prefix.{} = \"../../../evil\"\n", names::TARGET);
        for (text, told) in [
            (String::new(), "it is not a lockfile"),
            ("nonsense\n".to_owned(), "it is not a lockfile"),
            ("version = x\nspec = \"12.4+cudnn9\"\n".to_owned(), "it is not a lockfile"),
            (lock(&path), "it is not a lockfile"),
            (format!("<<<<<<< HEAD\n{}", lock("")), "it holds the marks of a merge conflict"),
            (lock("=======\n"), "it holds the marks of a merge conflict"),
            ("version = 2\n".to_owned(), "its version 2 is newer than this cuenv reads (1)"),
        ] {
            assert_eq!(answer(&text, "12.4+cudnn9"), Err(told.to_owned()), "{text}");
        }
    }
}
