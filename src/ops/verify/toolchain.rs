//! The toolchain to verify: its prefix and the environment that it computes.

use std::path::PathBuf;

use shims::locate::{self, Toolchain};
use shims::vars::Vars;
use shims::{environ, prepare};

use crate::context::Context;
use crate::ops::selection;

/// What is verified.
pub(super) struct Found {
    pub(super) toolchain: String,
    pub(super) prefix: PathBuf,
    pub(super) because: String,
    pub(super) environment: Vars,
}

/// Why there is nothing to verify.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither an argument nor a pin nor a default.
    #[error("no toolchain holds here")]
    None,
    /// The choice is `system`.
    #[error("`system` holds here, because of {because}")]
    System {
        /// What chose it.
        because: String,
    },
    /// It is not installed.
    #[error("`{spec}` is not installed")]
    NotInstalled {
        /// The spec.
        spec: String,
    },
    /// The selection failed.
    #[error("{0}")]
    Locate(String),
    /// The environment cannot be computed.
    #[error("{0}")]
    Prepare(String),
}

pub(super) fn find(cx: &Context<'_>, spec: Option<&str>) -> Result<Found, Error> {
    let vars = cx.process.env();
    let dirs = &cx.dirs;
    let choice = selection::ask(cx, spec, false)
        .first()
        .map_err(|error| Error::Locate(error.to_string()))?
        .ok_or(Error::None)?;
    let because = choice.source.to_string();
    let installed = match locate::toolchain(dirs, &choice, &mut Vec::new()) {
        Err(error) => return Err(Error::Locate(error.to_string())),
        Ok(Toolchain::System) => return Err(Error::System { because }),
        Ok(Toolchain::Missing(_)) => return Err(Error::NotInstalled { spec: choice.spec }),
        Ok(Toolchain::Installed(installed)) => installed,
    };
    // A tool of the prefix itself: a Python environment's libraries are no part of this question.
    let own_tool = installed.prefix.join("bin/cuenv");
    let prepared = prepare::prepare(&installed, &choice, vars, Some(&own_tool), false)
        .map_err(|error| Error::Prepare(error.to_string()))?;
    let changes = environ::enter(vars, &prepared.wanted, dirs);
    Ok(Found {
        toolchain: installed.activation.toolchain.clone(),
        prefix: installed.prefix,
        because,
        environment: environ::apply(vars, &changes),
    })
}
