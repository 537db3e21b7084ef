//! The toolchain to verify: its prefix and the environment that it computes.

use std::path::PathBuf;

use shims::environ;
use shims::locate::Choice;
use shims::prepare::{self, PrepareError};
use shims::program::Program;
use shims::vars::Vars;

use crate::context::Context;
use crate::ops::place;

/// What is verified.
pub(super) struct Found {
    pub(super) toolchain: String,
    pub(super) prefix: PathBuf,
    /// The directories of its libraries; a linked toolkit's are not below the prefix.
    pub(super) libraries: Vec<PathBuf>,
    pub(super) because: String,
    pub(super) choice: Choice,
    pub(super) environment: Vars,
}

/// Why there is nothing to verify.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is none.
    #[error(transparent)]
    Place(#[from] place::Error),
    /// The environment cannot be computed.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
}

/// Finds the prefix alone; a damaged one may have no environment.
pub(super) fn prefix(cx: &Context<'_>, spec: Option<&str>) -> Result<PathBuf, Error> {
    Ok(place::find(cx.process, &cx.dirs, spec)?.installed()?.1.prefix)
}

pub(super) fn find(cx: &Context<'_>, spec: Option<&str>) -> Result<Found, Error> {
    let vars = cx.process.env();
    let (choice, installed) = place::find(cx.process, &cx.dirs, spec)?.installed()?;
    // A tool of the prefix itself: a Python environment's libraries are no part of this question.
    let own_tool = Program::at(installed.prefix.join("bin/cuenv"));
    let request = prepare::Request {
        installed: &installed,
        choice: &choice,
        vars,
        dirs: &cx.dirs,
        program: Some(&own_tool),
        build: false,
    };
    let prepared = prepare::prepare(&request)?;
    let changes = environ::enter(vars, &prepared.wanted, &cx.dirs);
    Ok(Found {
        toolchain: installed.activation.toolchain.clone(),
        libraries: installed
            .activation
            .directories(&installed.prefix, "LD_LIBRARY_PATH")
            .chain([installed.prefix.join("nvvm/lib64")])
            .collect(),
        prefix: installed.prefix,
        because: choice.source.to_string(),
        environment: environ::apply(vars, &changes),
        choice,
    })
}
