//! From a spec to exact wheels, each with its reason.
//!
//! 1. The CUDA release: the newest `cuda-toolkit` release on the index that the spec matches and this host can run.
//! 2. The version map: that metapackage's `all` extra pins every component. Ordinary dependency ranges are never
//!    followed, because they float to other releases.
//! 3. The components: the profile's, those the spec names, and what they need at run time.
//! 4. cuDNN, NCCL and the other axes: the newest release that the spec matches and that the pairing tables, the GPUs
//!    and the project's frameworks accept ("newest 9.x" alone would drop old GPUs).
//! 5. One wheel each, by platform tag (see `domain::listing`).

mod axis;
mod components;
mod error;
mod release;
mod report;
mod source;
mod wheels;

use std::collections::BTreeMap;

pub use error::ResolveError;
pub use release::{METAPACKAGE, three_parts};
pub use report::ResolveReport;
pub use source::{Shelf, Source};

use crate::catalog::Catalog;
use crate::domain::compat::Machine;
use crate::domain::listing::Fit;
use crate::domain::resolution::Resolution;
use crate::domain::spec::ToolchainSpec;
use crate::domain::target::Target;
use crate::domain::version::Version;
use crate::domain::wheel_name::Glibc;

/// What is asked for, and the world it must fit.
#[derive(Clone, Debug)]
pub struct Request {
    /// What the person wrote.
    pub spec: ToolchainSpec,
    /// The platform to resolve for.
    pub target: Target,
    /// The host's glibc; `None` when resolving for another machine.
    pub glibc: Option<Glibc>,
    /// The driver and GPUs to fit; empty where nothing is known.
    pub machine: Machine,
    /// Lowest acceptable version per component, with who asks for it (frameworks found in the project).
    pub least: BTreeMap<String, Least>,
}

/// A lower bound that somebody in the project sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Least {
    /// The version.
    pub version: Version,
    /// Who asks for it: `torch 2.5.1`.
    pub because: String,
}

/// Resolves `request` with what `source` lists.
pub fn resolve(
    catalog: &Catalog,
    source: &dyn Source,
    request: &Request,
) -> Result<Resolution, ResolveError> {
    let fit = Fit::Linux(request.target, request.glibc);
    let release = release::choose(catalog, source, request)?;
    let pins = release::pins(catalog, source, &release, request.target)?;
    let wanted = components::wanted(catalog, &release.version, &request.spec, request.target)?;

    source.prefetch(&wanted.iter().map(|want| want.distribution.as_str()).collect::<Vec<_>>())?;
    let mut choices = Vec::new();
    let mut notes = release.notes;
    for want in &wanted {
        let chosen = if want.axis {
            axis::choose(catalog, source, request, &release.version, want, fit)?
        } else {
            wheels::choose(catalog, source, request.target, &pins, want, fit)?
        };
        match chosen {
            wheels::Chosen::Wheel(choice, mut said) => {
                choices.push(choice);
                notes.append(&mut said);
            }
            // What the spec names is there or the spec has no answer.
            wheels::Chosen::Missing(_) if want.by_name => {
                let (id, target) = (&want.component, request.target);
                return Err(components::not_for(catalog, id, &release.version, target));
            }
            wheels::Chosen::Missing(note) => notes.push(note),
        }
    }
    let cuda = release.version;
    Ok(Resolution::new(&request.spec, request.target, cuda, release.reasons, choices, notes))
}
