//! `explain`: a soname or the lines of a log -> why, and the one thing to do. The deepest cause comes first.

mod advice;
mod host;
mod library;
mod numbers;

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use super::selection;
use crate::catalog::{Catalog, CatalogError, ProjectCatalog, SymptomCatalog};
use crate::context::Context;
use crate::domain::log::{api_number, missing, sonames};
use crate::domain::manifest::symptom::{Depth, Symptom};

/// What was recognised.
#[derive(Debug, Serialize)]
pub struct Report {
    /// One for each kind of line, the deepest cause first.
    pub explanations: Vec<Explanation>,
}

/// One recognised line.
#[derive(Debug, Serialize)]
pub struct Explanation {
    /// The name of the kind; `library` for sonames that were looked up.
    pub id: String,
    /// The line.
    pub line: String,
    /// Why it happens.
    pub cause: String,
    /// What to do; absent where nothing has to be done, or an explanation before it says it.
    pub fix: Option<String>,
    /// It follows from an explanation before it.
    pub follows: bool,
    #[serde(skip)]
    depth: Depth,
}

/// Why nothing could be explained.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The manifests.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// Nothing in the text is known.
    #[error("nothing in this text is known")]
    Unknown,
}

/// What explanations are made from.
struct Known<'a> {
    cx: &'a Context<'a>,
    catalog: Catalog,
    frameworks: ProjectCatalog,
    /// The pin that holds here.
    spec: Option<String>,
}

/// Explains `text`; a single soname counts as missing.
pub fn explain(cx: &Context<'_>, text: &str) -> Result<Report, Error> {
    let known = Known {
        cx,
        catalog: cx.catalog()?,
        frameworks: cx.project_catalog()?,
        spec: selection::here(cx).ok().flatten().map(|choice| choice.spec),
    };
    let symptoms = SymptomCatalog::load(&cx.layout.manifests())?.symptoms.symptom;
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut explanations = Vec::new();
    let mut absent = library::Absent::default();
    let alone = text.trim();
    let alone = !alone.contains(char::is_whitespace) && !sonames(alone).is_empty();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        let names = if alone { sonames(line) } else { missing(line) };
        if absent.take(&known, line, &names) {
            continue;
        }
        if alone && let Some(explanation) = host::driver_library(&known, line, &names) {
            explanations.push(explanation);
            continue;
        }
        let Some(symptom) = recognised(&symptoms, line) else { continue };
        if !seen.insert(symptom.id.clone()) {
            continue;
        }
        let rest = lines[index..].iter().take(FOLLOWING).copied().collect::<Vec<_>>().join("\n");
        explanations.push(
            numbers::explain(&known, symptom, &rest)
                .or_else(|| host::explain(&known, symptom, line))
                .unwrap_or_else(|| advice::plain(&known, symptom, line)),
        );
    }
    explanations.extend(absent.explain(&known));
    if explanations.is_empty() {
        return Err(Error::Unknown);
    }
    Ok(Report { explanations: ordered(explanations) })
}

/// A warning may go on over so many lines.
const FOLLOWING: usize = 8;

fn recognised<'a>(symptoms: &'a [Symptom], line: &str) -> Option<&'a Symptom> {
    // Texts first: a number may stand beside words that say more.
    symptoms.iter().find(|symptom| symptom.shows_in(line)).or_else(|| {
        let number = api_number(line)?;
        symptoms.iter().find(|symptom| symptom.codes.contains(&number))
    })
}

/// Puts causes before what follows from them, and says each thing to do once.
fn ordered(mut explanations: Vec<Explanation>) -> Vec<Explanation> {
    // A library that is missing explains the words of those who did not find it.
    explanations.sort_by_key(|one| (one.depth, one.id != library::ID));
    let has_cause = explanations.iter().any(|one| one.depth == Depth::Cause);
    let mut said: BTreeSet<String> = BTreeSet::new();
    for one in &mut explanations {
        let repeated = one.fix.as_ref().is_some_and(|fix| !said.insert(fix.clone()));
        one.follows = repeated || (has_cause && one.depth == Depth::Effect);
        if one.follows || one.depth == Depth::Harmless {
            one.fix = None;
        }
    }
    explanations
}

/// Lines of logs may be very long.
fn cut(line: &str) -> String {
    const MOST: usize = 300;
    match line.char_indices().nth(MOST) {
        None => line.to_owned(),
        Some((at, _)) => format!("{}…", &line[..at]),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, explanation) in self.explanations.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            writeln!(f, "{}", explanation.line)?;
            writeln!(f, "  why: {}", explanation.cause)?;
            match &explanation.fix {
                Some(fix) => writeln!(f, "  fix: {fix}")?,
                None if explanation.follows => writeln!(f, "  follows from the above")?,
                None => writeln!(f, "  nothing has to be done")?,
            }
        }
        Ok(())
    }
}
