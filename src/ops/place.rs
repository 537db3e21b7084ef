//! `where`: the prefix that a spec, or what holds here, leads to.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use shims::locate::{self, Toolchain};

use super::selection;
use crate::context::Context;

/// Why there is no prefix.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Selection.
    #[error(transparent)]
    Selection(#[from] selection::Error),
    /// Nothing holds here.
    #[error("no pin and no default holds in `{}`", .0.display())]
    NoPin(PathBuf),
    /// `system` holds here.
    #[error("`system` holds here, from {0}: cuenv steps aside")]
    System(String),
    /// It is not installed.
    #[error("`{spec}` is not installed{}", via.as_ref().map(|via| format!(" (from {via})")).unwrap_or_default())]
    Missing {
        /// The spec.
        spec: String,
        /// Where it came from; absent when it was on the command line.
        via: Option<String>,
    },
}

/// Where a toolchain is.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The spec.
    pub spec: String,
    /// The prefix.
    pub prefix: PathBuf,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.prefix.display())
    }
}

/// Returns the prefix of `spec`, or of what holds here.
pub fn place(cx: &Context<'_>, spec: Option<&str>) -> Result<Report, Error> {
    let choice = selection::ask(cx, spec, false)
        .first()
        .map_err(selection::Error)?
        .ok_or_else(|| Error::NoPin(cx.cwd().to_owned()))?;
    match locate::toolchain(&cx.dirs, &choice, &mut Vec::new()).map_err(selection::Error)? {
        Toolchain::Installed(installed) => {
            // Through the link of the spec, to the prefix's own name.
            let prefix = fs_err::canonicalize(&installed.prefix).unwrap_or(installed.prefix);
            Ok(Report { spec: choice.spec, prefix })
        }
        Toolchain::System => Err(Error::System(choice.source.to_string())),
        Toolchain::Missing(_) => {
            let via = spec.is_none().then(|| choice.source.to_string());
            Err(Error::Missing { spec: choice.spec, via })
        }
    }
}
