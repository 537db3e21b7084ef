//! The head of `.cuenv.lock`: the lines before the first table, read with a line scan.

use std::path::Path;

use crate::read::{self, ReadError};

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

impl Head {
    /// Reads the head out of a lock's text; `None` when it names no spec.
    pub fn parse(text: &str) -> Option<Self> {
        let mut head = Self::default();
        for line in text.lines() {
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
                head.version = value.parse().ok()?;
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
        (!head.spec.is_empty()).then_some(head)
    }

    /// Reads the head of a lockfile; `Ok(None)` when there is none.
    pub fn read(path: &Path) -> Result<Option<Self>, ReadError> {
        Ok(read::head(path, HEAD_LIMIT)?.as_deref().and_then(Self::parse))
    }

    /// Returns the prefix name for a target, when it is a name and not a path.
    pub fn prefix(&self, target: &str) -> Option<&str> {
        let (_, name) = self.prefixes.iter().find(|(for_target, _)| for_target == target)?;
        crate::spec::is_prefix_name(name).then_some(name)
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

    const LOCK: &str = r#"# Written by cuenv
version = 1
spec = "12.4+cudnn9"
toolchain = "12.4.1+cudnn9.1.0.70"
prefix.linux-x86_64 = "12.4.1+cudnn9.1.0.70-3f2a91c0de44"
prefix.linux-aarch64 = "../../../evil"
profile = "runtime"

[[wheel]]
spec = "9.9"
prefix.linux-x86_64 = "not-this"
"#;

    #[test]
    fn reads_the_lines_before_the_first_table() {
        let head = Head::parse(LOCK).unwrap();
        assert_eq!(head.version, 1);
        assert_eq!(head.spec, "12.4+cudnn9");
        assert_eq!(head.toolchain, "12.4.1+cudnn9.1.0.70");
        assert_eq!(head.prefix("linux-x86_64"), Some("12.4.1+cudnn9.1.0.70-3f2a91c0de44"));
        assert_eq!(head.prefix("linux-aarch64"), None, "a path is not a prefix name");
        assert_eq!(head.prefix("linux-riscv64"), None);
    }

    #[test]
    fn what_is_not_a_head_answers_nothing() {
        let text = "version = 1\nspec = \"12.4\"\n[prefix]\nlinux-x86_64 = \"x\"\n";
        assert_eq!(Head::parse(text).unwrap().prefix("linux-x86_64"), None);
        assert!(Head::parse("").is_none());
        assert!(Head::parse("<<<<<<< HEAD\n=======\n").is_none());
    }
}
