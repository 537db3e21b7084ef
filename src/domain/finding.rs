//! What a look at the chain from GPU to framework found.

use std::fmt;

use serde::Serialize;

/// How bad it is, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// It may go wrong, or goes wrong for some.
    Warning,
    /// It goes wrong.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// One result of a check: what is so, what proves it, and the one thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A name that stays the same from release to release.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is so.
    pub what: String,
    /// The files and numbers that prove it.
    pub proof: Vec<String>,
    /// The one command or step that mends it; a note may have none.
    pub fix: Option<String>,
}

impl Finding {
    /// Makes a finding without proof and fix.
    pub fn new(code: &'static str, severity: Severity, what: impl Into<String>) -> Self {
        Self { code, severity, what: what.into(), proof: Vec::new(), fix: None }
    }

    /// Adds a proof.
    #[must_use]
    pub fn proof(mut self, proof: impl Into<String>) -> Self {
        self.proof.push(proof.into());
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}
