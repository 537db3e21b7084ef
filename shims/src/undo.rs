//! The record of one activation, `CUENV_UNDO`: enough to restore exactly what was there, and small even when
//! `PATH` is not. It holds no copy of a list, but what was put in front of it and what was taken out of it.
//!
//! ```text
//! 1;<identity>;s,<name>,<ours>,<previous>;l,<name>,<hash>,<was set>,<added>/<added>...,<at>/<removed>/...
//! ```
//!
//! Every text is percent-encoded, so that the record is one plain word. A variable that was unset is `-`, one that
//! was set is `=` and its text.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use crate::names;
use crate::vars::{Vars, var};

/// What an activation changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Tells one activation from another: equal identities make equal changes.
    pub identity: OsString,
    /// Variables that were set.
    pub set: Vec<SetRecord>,
    /// Lists that were changed.
    pub lists: Vec<ListRecord>,
}

/// One variable that was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetRecord {
    /// The variable.
    pub name: OsString,
    /// What it was set to.
    pub ours: OsString,
    /// What it was before.
    pub previous: Option<OsString>,
}

/// One list that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRecord {
    /// The variable.
    pub name: OsString,
    /// A hash of the value that was written: while it matches, the user has not touched the list.
    pub hash: u64,
    /// Whether the variable was set before.
    pub was_set: bool,
    /// What was put in front.
    pub added: Vec<OsString>,
    /// What was taken out, with its place in the previous list.
    pub removed: Vec<(usize, OsString)>,
}

impl Record {
    /// Reads the record of an environment; `None` when there is none or it is not understood.
    pub fn of(vars: &Vars) -> Option<Self> {
        Self::parse(var(vars, names::UNDO)?.as_bytes())
    }

    /// Writes the record as one plain word.
    pub fn render(&self) -> OsString {
        let mut out = String::from("1;");
        out.push_str(&encode(&self.identity));
        for set in &self.set {
            let previous = match &set.previous {
                None => "-".to_owned(),
                Some(value) => format!("={}", encode(value)),
            };
            let _ = write!(out, ";s,{},{},{previous}", encode(&set.name), encode(&set.ours));
        }
        for list in &self.lists {
            let added: Vec<String> = list.added.iter().map(|entry| encode(entry)).collect();
            let removed: Vec<String> =
                list.removed.iter().map(|(at, entry)| format!("{at}/{}", encode(entry))).collect();
            let was_set = if list.was_set { "=" } else { "-" };
            let _ = write!(
                out,
                ";l,{},{:x},{was_set},{},{}",
                encode(&list.name),
                list.hash,
                added.join("/"),
                removed.join("/")
            );
        }
        out.into()
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let mut items = text.split(';');
        if items.next()? != "1" {
            return None;
        }
        let mut record = Self { identity: decode(items.next()?)?, ..Self::default() };
        for item in items {
            let fields: Vec<&str> = item.split(',').collect();
            match *fields.as_slice() {
                ["s", name, ours, previous] => record.set.push(SetRecord {
                    name: decode(name)?,
                    ours: decode(ours)?,
                    previous: match previous.strip_prefix('=') {
                        Some(value) => Some(decode(value)?),
                        None => None,
                    },
                }),
                ["l", name, hash, was_set, added, removed] => {
                    let words =
                        |text: &str| text.split('/').map(decode).collect::<Option<Vec<_>>>();
                    let added = if added.is_empty() { Vec::new() } else { words(added)? };
                    let mut taken = Vec::new();
                    let mut parts = removed.split('/').filter(|_| !removed.is_empty());
                    while let Some(at) = parts.next() {
                        taken.push((at.parse().ok()?, decode(parts.next()?)?));
                    }
                    record.lists.push(ListRecord {
                        name: decode(name)?,
                        hash: u64::from_str_radix(hash, 16).ok()?,
                        was_set: was_set == "=",
                        added,
                        removed: taken,
                    });
                }
                _ => return None,
            }
        }
        Some(record)
    }
}

/// Returns a hash (FNV-1a) of a value; it guards against a user's edit, not against an attacker.
pub fn hash(value: &OsStr) -> u64 {
    value.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Percent-encodes a text: what is left has no meaning to any shell or to the record.
pub(crate) fn encode(text: &OsStr) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for byte in text.as_bytes() {
        if byte.is_ascii_alphanumeric() || b"._+@:-".contains(byte) {
            out.push(char::from(*byte));
        } else {
            let _ = write!(out, "%{byte:02x}");
        }
    }
    out
}

/// Reads what [`encode`] wrote.
pub(crate) fn decode(text: &str) -> Option<OsString> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let (high, low) = (digit(bytes.next()?)?, digit(bytes.next()?)?);
        out.push(u8::try_from(high * 16 + low).ok()?);
    }
    Some(OsString::from_vec(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        let record = Record {
            identity: "/a b;c".into(),
            set: vec![
                SetRecord { name: "A".into(), ours: "/x,y".into(), previous: None },
                SetRecord { name: "B".into(), ours: "%".into(), previous: Some(OsString::new()) },
                SetRecord {
                    name: "C".into(),
                    ours: OsString::new(),
                    previous: Some(OsString::from_vec(vec![0xff, b'\n', b'='])),
                },
            ],
            lists: vec![
                ListRecord {
                    name: "PATH".into(),
                    hash: u64::MAX,
                    was_set: true,
                    added: vec!["/p/bin".into(), "/q".into()],
                    removed: vec![(0, OsString::new()), (7, "/old".into())],
                },
                ListRecord {
                    name: "L".into(),
                    hash: 0,
                    was_set: false,
                    added: Vec::new(),
                    removed: Vec::new(),
                },
            ],
        };
        let text = record.render();
        assert!(
            text.to_str()
                .unwrap()
                .bytes()
                .all(|byte| b"._+@:-;,/=%".contains(&byte) || byte.is_ascii_alphanumeric())
        );
        assert_eq!(Record::parse(text.as_bytes()), Some(record));
    }

    #[test]
    fn what_is_not_a_record_is_none() {
        for text in [
            "",
            "2;x",
            "1",
            "1;%",
            "1;%zz",
            "1;x;q",
            "1;x;s,a,b",
            "1;x;l,a,zz,=,,",
            "1;x;l,a,1,=,,5",
        ] {
            assert_eq!(Record::parse(text.as_bytes()), None, "{text}");
        }
    }
}
