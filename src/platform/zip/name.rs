//! Which member names are safe to join to a directory.

use std::fmt;

/// What is wrong with a member's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameFault {
    /// No name at all.
    Empty,
    /// Begins at the root.
    Absolute,
    /// Has a `..`, `.` or empty part.
    Traversal,
    /// Has a backslash, a control character or a NUL.
    Character,
    /// Longer than any file system takes.
    Length,
    /// Begins with `.cuenv`, which is how the store names its own files.
    Reserved,
}

impl fmt::Display for NameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "is empty",
            Self::Absolute => "is absolute",
            Self::Traversal => "has a part that is empty, `.` or `..`",
            Self::Character => "has a backslash or a control character",
            Self::Length => "is too long",
            Self::Reserved => "is kept for the store's own files",
        })
    }
}

/// Checks one member name; a directory's name ends with one slash.
pub fn check(name: &str) -> Result<(), NameFault> {
    let bare = name.strip_suffix('/').unwrap_or(name);
    if name.is_empty() {
        return Err(NameFault::Empty);
    }
    if name.starts_with('/') {
        return Err(NameFault::Absolute);
    }
    if name.chars().any(|c| c == '\\' || c.is_control()) {
        return Err(NameFault::Character);
    }
    if bare.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(NameFault::Traversal);
    }
    if name.len() > 1024 || bare.split('/').any(|part| part.len() > 255) {
        return Err(NameFault::Length);
    }
    if bare.starts_with(".cuenv") {
        return Err(NameFault::Reserved);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_every_way_out() {
        for (name, fault) in [
            ("", NameFault::Empty),
            ("/etc/passwd", NameFault::Absolute),
            ("/", NameFault::Absolute),
            ("../x", NameFault::Traversal),
            ("a/../../x", NameFault::Traversal),
            ("a/..", NameFault::Traversal),
            ("a//b", NameFault::Traversal),
            ("a//", NameFault::Traversal),
            ("./a", NameFault::Traversal),
            ("..\\x", NameFault::Character),
            ("C:\\x", NameFault::Character),
            ("a\0b", NameFault::Character),
            ("a\nb", NameFault::Character),
            (".cuenv-wheel", NameFault::Reserved),
            (".cuenv/activation", NameFault::Reserved),
        ] {
            assert_eq!(check(name), Err(fault), "{name:?}");
        }
        assert_eq!(check(&"a".repeat(256)), Err(NameFault::Length));
        assert_eq!(check(&"a/".repeat(600)), Err(NameFault::Length));
    }

    #[test]
    fn accepts_what_wheels_have() {
        for name in
            ["nvidia/__init__.py", "a/b..c", "a/...", "nvidia/cuda_cccl/include/nv/target", "d/"]
        {
            assert_eq!(check(name), Ok(()), "{name:?}");
        }
    }
}
