//! Hands the toolchain that holds here, or a spec's, to another engine: gathers the facts, `render::export` writes them.

use std::path::{Path, PathBuf};

use shims::activation::{Activation, Verb};

use super::{place, selection};
use crate::context::Context;
use crate::domain::lock::Lock;
use crate::prefix::Receipt;
use crate::project::{self, Project};
use crate::render::export::{Facts, Handover, Unwritable, Variable};

/// Whether the text names the prefix on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// It does, so the toolchain must be installed.
    Prefix,
    /// It holds the spec alone; the toolchain may be missing here.
    Spec,
}

/// Why nothing can be handed over.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No toolchain.
    #[error(transparent)]
    Place(#[from] place::Error),
    /// The project's files.
    #[error(transparent)]
    Project(#[from] project::Error),
    /// A path that other programs' files cannot hold.
    #[error(transparent)]
    Unwritable(#[from] Unwritable),
    /// The prefix is a toolkit that was linked, and no activation of cuenv's says what it sets.
    #[error("`{0}` is not a toolchain that cuenv installed")]
    Foreign(PathBuf),
}

/// Gathers what another engine has to know.
pub fn handover(cx: &Context<'_>, spec: Option<&str>, needs: Needs) -> Result<Handover, Error> {
    let choice = selection::ask(cx.process, &cx.dirs, spec, false)
        .first()
        .map_err(|error| place::Error::from(selection::Error(error)))?
        .ok_or_else(|| place::Error::NoPin(cx.cwd().to_owned()))?;
    let pinned = choice.pin_directory().map(Path::to_owned);
    let lock = match &pinned {
        Some(directory) => Project::at(directory).read_lock()?,
        None => None,
    }
    .filter(|lock| lock.answers(&choice.spec));
    let (prefix, activation) = match place::place(cx, spec) {
        Ok(found) => {
            let activation = Activation::of_prefix(&found.prefix)
                .ok()
                .flatten()
                .ok_or_else(|| Error::Foreign(found.prefix.clone()))?;
            (found.prefix, activation)
        }
        Err(place::Error::Missing(_)) if needs == Needs::Spec => {
            not_installed(cx, &choice.spec, lock.as_ref())
        }
        Err(error) => return Err(error.into()),
    };
    let toolchain = match Receipt::read(&prefix) {
        Ok(receipt) => receipt.toolchain,
        Err(_) => activation.toolchain.clone(),
    };
    let variables = activation
        .changes
        .iter()
        .filter(|change| !change.build && change.path.is_relative())
        .map(|change| Variable {
            name: change.name.clone(),
            path: change.path.to_string_lossy().into_owned(),
            list: change.verb == Verb::Prepend,
        })
        .collect();
    let facts = Facts {
        spec: &choice.spec,
        toolchain: &toolchain,
        prefix: &prefix,
        cuenv: cx.process.exe().unwrap_or(Path::new("cuenv")),
        project: pinned.as_deref().unwrap_or(cx.cwd()),
        locked: lock.is_some(),
    };
    Ok(Handover::new(&facts, variables)?)
}

/// What an installed toolchain of this spec would set.
fn not_installed(cx: &Context<'_>, spec: &str, lock: Option<&Lock>) -> (PathBuf, Activation) {
    let toolchain = lock.map_or(spec, |lock| lock.toolchain.as_str());
    let name = lock.and_then(|lock| lock.prefix.get(&cx.target)).map_or(toolchain, String::as_str);
    let has_cudnn = toolchain.contains("+cudnn");
    (cx.layout.prefix(cx.target, name), Activation::standard(toolchain, name, has_cudnn))
}

/// Returns the Python that the project's notebooks and tests mean: the active environment's, or `.venv` beside the pin.
pub fn python(cx: &Context<'_>) -> String {
    let active = cx.process.var("VIRTUAL_ENV").or_else(|| cx.process.var("CONDA_PREFIX"));
    let beside = cx.cwd().join(".venv");
    let candidates = active.map(PathBuf::from).into_iter().chain([beside]);
    candidates
        .map(|root| root.join("bin/python"))
        .find(|python| python.exists())
        .and_then(|python| python.to_str().map(str::to_owned))
        .unwrap_or_else(|| "python3".to_owned())
}
