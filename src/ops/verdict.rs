//! How a machine takes a toolchain, in a word and a line: what `list`, `current` and `which` show.

use serde::Serialize;

use crate::catalog::Catalog;
use crate::domain::compat::{Grade, Machine};
use crate::domain::version::Version;

/// The verdict on one toolchain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// In one word.
    pub grade: Grade,
    /// What decides, with the number; absent when nothing is known of the machine.
    pub words: Option<String>,
}

/// Judges a toolchain by its name, `12.4.1+cudnn9.1.0.70`; `None` for one that the catalog does not know.
pub fn of_toolchain(catalog: &Catalog, machine: &Machine, toolchain: &str) -> Option<Line> {
    let mut parts = toolchain.split('+');
    let cuda: Version = parts.next()?.parse().ok()?;
    let release = catalog.release(&cuda)?;
    let cudnn: Option<Version> = parts.find_map(|part| part.strip_prefix("cudnn")?.parse().ok());
    let verdict = catalog.knowledge().judge(machine, release, cudnn.as_ref());
    Some(Line { grade: verdict.grade, words: verdict.in_words(machine) })
}

impl Line {
    /// The words, and that it cannot run where that is so.
    pub fn text(&self) -> Option<String> {
        let words = self.words.as_ref()?;
        let cannot = if self.grade == Grade::Impossible { "cannot run here: " } else { "" };
        Some(format!("{cannot}{words}"))
    }
}
