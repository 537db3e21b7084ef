//! `symptoms.toml`: lines of logs, their causes and what to do.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Sources;

/// The file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Symptoms {
    /// The schema; this program reads [`super::SCHEMA`].
    pub schema: u32,
    /// The day the facts were collected.
    pub collected: String,
    /// Key -> the page, file or measurement it stands for.
    pub sources: BTreeMap<String, String>,
    /// The entries; the first that matches counts.
    pub symptom: Vec<Symptom>,
}

/// One kind of line.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Symptom {
    /// A name that stays the same.
    pub id: String,
    /// Texts that stand in such a line; `*` stands for any text.
    #[serde(rename = "match")]
    pub patterns: Vec<String>,
    /// Why it happens.
    pub cause: String,
    /// What to do.
    pub fix: String,
    /// Where this was learnt.
    pub source: Sources,
}

impl Symptom {
    /// Whether a line shows this symptom.
    pub fn shows_in(&self, line: &str) -> bool {
        let line = line.to_lowercase();
        self.patterns.iter().any(|pattern| stands_in(&pattern.to_lowercase(), &line))
    }
}

/// Whether the parts of `pattern` between its stars stand in `line` in order.
fn stands_in(pattern: &str, line: &str) -> bool {
    let mut rest = line;
    for part in pattern.split('*') {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// The names of shared libraries in a line: `libcudnn_ops.so.9`, without directories.
pub fn sonames(line: &str) -> Vec<&str> {
    let is_name = |next: char| next.is_ascii_alphanumeric() || "._-+".contains(next);
    let mut found = Vec::new();
    for word in line.split(|next: char| !is_name(next)) {
        let word = word.trim_end_matches(['.', '-']);
        let Some((stem, version)) = word.split_once(".so") else { continue };
        let plain = version.is_empty()
            || version.strip_prefix('.').is_some_and(|rest| {
                rest.split('.')
                    .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
            });
        if stem.starts_with("lib") && plain && !found.contains(&word) {
            found.push(word);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{sonames, stands_in};

    #[test]
    fn stars_stand_for_any_text_in_order() {
        assert!(stands_in("a*c", "xabcx"));
        assert!(!stands_in("c*a", "xabcx"));
        assert!(stands_in("", "x"));
    }

    #[test]
    fn names_of_libraries_are_found_in_lines() {
        assert_eq!(
            sonames("OSError: /a/b/libcublas.so.12: cannot open; see libfoo.so, libbar.so.1.2."),
            ["libcublas.so.12", "libfoo.so", "libbar.so.1.2"]
        );
        assert_eq!(sonames("{libcudnn_ops.so.9.1.0, libcudnn_ops.so.9}").len(), 2);
        assert!(sonames("libtorch.source lib.sox so.so.so").is_empty());
    }
}
