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
    /// The numbers of the driver and runtime APIs that mean it.
    #[serde(default)]
    pub codes: Vec<u32>,
    /// Why it happens.
    pub cause: String,
    /// What to do; with `wants`, once the toolchain has that.
    pub fix: String,
    /// What a toolchain has to have: a spec, `auto` for any CUDA. What the pin already has is not asked for again.
    #[serde(default)]
    pub wants: Option<String>,
    /// How far it is from the cause.
    #[serde(default)]
    pub depth: Depth,
    /// Where this was learnt.
    pub source: Sources,
}

/// How far a line is from the cause of what went wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Depth {
    /// It names the cause.
    #[default]
    Cause,
    /// It follows from what another line of the log names, if there is one.
    Effect,
    /// Nothing is wrong.
    Harmless,
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

#[cfg(test)]
mod tests {
    use super::stands_in;

    #[test]
    fn stars_stand_for_any_text_in_order() {
        assert!(stands_in("a*c", "xabcx"));
        assert!(!stands_in("c*a", "xabcx"));
        assert!(stands_in("", "x"));
    }
}
