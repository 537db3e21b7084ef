//! `explain`: a soname or the lines of a log -> why, and the one thing to do.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use super::doctor::remedy::{cudnn_major, pin_with};
use super::selection;
use crate::catalog::{Catalog, CatalogError, SymptomCatalog};
use crate::context::Context;
use crate::domain::manifest::symptom::sonames;

/// What was recognised.
#[derive(Debug, Serialize)]
pub struct Report {
    /// One for each kind of line, in order of their first line.
    pub explanations: Vec<Explanation>,
}

/// One recognised line.
#[derive(Debug, Serialize)]
pub struct Explanation {
    /// The name of the kind; `library` for a soname that was looked up.
    pub id: String,
    /// The line.
    pub line: String,
    /// Why it happens.
    pub cause: String,
    /// What to do.
    pub fix: String,
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

/// Words that say that a library is missing, and not merely named.
const MISSING: [&str; 8] = [
    "cannot open",
    "could not load",
    "unable to load",
    "failed to load",
    "not found",
    "cannot be loaded",
    "could not open",
    "no such file",
];

/// Explains `text`; a single soname counts as missing.
pub fn explain(cx: &Context<'_>, text: &str) -> Result<Report, Error> {
    let catalog = cx.catalog()?;
    let symptoms = SymptomCatalog::load(&cx.layout.manifests())?;
    let spec = selection::here(cx).ok().flatten().map(|choice| choice.spec);
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut explanations = Vec::new();
    let alone = text.trim();
    let alone = !alone.contains(char::is_whitespace) && !sonames(alone).is_empty();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let lower = line.to_lowercase();
        let missing = alone || MISSING.iter().any(|words| lower.contains(words));
        let names = if missing { sonames(line) } else { Vec::new() };
        if let Some(explanation) = library(&catalog, line, &names, spec.as_deref()) {
            if seen.insert(explanation.cause.clone()) {
                explanations.push(explanation);
            }
            continue;
        }
        if let Some(symptom) =
            symptoms.symptoms.symptom.iter().find(|symptom| symptom.shows_in(line))
            && seen.insert(symptom.id.clone())
        {
            explanations.push(Explanation {
                id: symptom.id.clone(),
                line: cut(line),
                cause: symptom.cause.clone(),
                fix: symptom.fix.clone(),
            });
        }
    }
    if explanations.is_empty() { Err(Error::Unknown) } else { Ok(Report { explanations }) }
}

/// What is known of a missing library that a toolchain brings.
fn library(
    catalog: &Catalog,
    line: &str,
    names: &[&str],
    spec: Option<&str>,
) -> Option<Explanation> {
    let (name, providers) = names.iter().find_map(|name| {
        let known: Vec<_> = catalog.providers(name).collect();
        (!known.is_empty() && !catalog.is_driver_library(name)).then_some((*name, known))
    })?;
    let component = providers.first()?.0;
    let majors: Vec<String> =
        providers.iter().map(|(_, build)| build.cuda_major.to_string()).collect();
    let release = match cudnn_major(name) {
        Some(major) => format!("cuDNN {major}"),
        None => format!("CUDA {}", majors.join(" or ")),
    };
    let command = pin_with(catalog, &[name], spec.or(Some("12")))?;
    let holds = spec.is_some_and(|spec| command == format!("cuenv use {spec}"));
    let fix = if holds {
        "cuenv exec -- COMMAND (the pin here has it, and the program was started without it)"
            .to_owned()
    } else {
        format!("{command}, then `cuenv exec -- COMMAND`")
    };
    Some(Explanation {
        id: "library".to_owned(),
        line: cut(line),
        cause: format!(
            "`{name}` belongs to {} of {release} and is not on the library path",
            component.id
        ),
        fix,
    })
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
            writeln!(f, "  fix: {}", explanation.fix)?;
        }
        Ok(())
    }
}
