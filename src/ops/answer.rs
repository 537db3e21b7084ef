//! From a spec to the lock that answers it, by the cheapest way: what is installed, else what the index offers.

use std::collections::BTreeMap;
use std::path::Path;

use super::detect;
use super::install::{self, InstallReport};
use super::machine;
use super::network::Network;
use super::resolve::{self, Least, Request, ResolveError, Shelf};
use crate::catalog::{Catalog, CatalogError};
use crate::context::Context;
use crate::domain::compat::Machine;
use crate::domain::lock::{Lock, LockedWheel};
use crate::domain::resolution::{Choice, Resolution, lock_of};
use crate::domain::spec::{Profile, Spec, ToolchainSpec};
use crate::domain::target::Target;
use crate::domain::wheel_name::normalise;
use crate::platform::host::HostError;
use crate::{index, prefix};

/// Why a spec could not be answered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Resolving.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// Installing.
    #[error(transparent)]
    Install(#[from] install::Error),
    /// A manifest of the user's own.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A variable about the host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The spec is `default`, `system` or a linked toolkit, which have no wheels.
    #[error("`{0}` names no CUDA release")]
    NotARelease(String),
    /// A lock needs digests, and the index gives none.
    #[error("the index gives no sha256 for `{0}`")]
    NoDigest(String),
}

impl From<index::Error> for Error {
    fn from(error: index::Error) -> Self {
        Self::Resolve(error.into())
    }
}

/// Where the wheels may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// What is installed for the same spec will do.
    Installed,
    /// Ask the index, even if something is installed.
    Newest,
}

/// Makes a toolchain that answers `spec` be there, and returns the lock that names it.
pub fn install(
    cx: &Context<'_>,
    spec: &Spec,
    freshness: Freshness,
    project: Option<&Path>,
) -> Result<(InstallReport, Lock), Error> {
    let toolchain = release(spec)?;
    let text = spec.to_string();
    if freshness == Freshness::Installed
        && let Some(lock) = installed(cx, &text, cx.target)
    {
        let report = install::install_lock(cx, &lock, cx.target)?;
        return Ok((report, lock));
    }
    let network = Network::open(cx);
    let resolution = resolve_with(cx, &network, toolchain, cx.target, project)?;
    Ok(install::install_resolution(cx, &network, &text, &resolution)?)
}

/// Returns the lock that answers `spec` on every one of `targets`, installing nothing.
pub fn lock(
    cx: &Context<'_>,
    spec: &Spec,
    targets: &[Target],
    project: Option<&Path>,
) -> Result<Lock, Error> {
    let toolchain = release(spec)?;
    let network = Network::open(cx);
    let mut wheels: Vec<LockedWheel> = Vec::new();
    let mut name = None;
    for target in targets {
        let resolution = resolve_with(cx, &network, toolchain, *target, project)?;
        let unknown = |choice: &&Choice| choice.sha256.is_none() || choice.size.is_none();
        if let Some(choice) = resolution.choices.iter().find(unknown) {
            return Err(Error::NoDigest(choice.file.clone()));
        }
        wheels.extend(resolution.locked_wheels().into_iter().flatten());
        name.get_or_insert_with(|| resolution.toolchain());
    }
    let profile = toolchain.profile();
    Ok(lock_of(&spec.to_string(), &name.unwrap_or_default(), profile, wheels))
}

/// Resolves `spec` for one target with what the index lists.
pub fn resolve(
    cx: &Context<'_>,
    spec: &Spec,
    target: Target,
    project: Option<&Path>,
) -> Result<Resolution, Error> {
    let toolchain = release(spec)?;
    let network = Network::open(cx);
    resolve_with(cx, &network, toolchain, target, project)
}

fn resolve_with(
    cx: &Context<'_>,
    network: &Network,
    spec: &ToolchainSpec,
    target: Target,
    project: Option<&Path>,
) -> Result<Resolution, Error> {
    let index = network.index();
    let shelf = Shelf::new(&index);
    let catalog = cx.catalog()?;
    let facts = machine::facts(cx, &catalog, target)?;
    let least = match project {
        Some(directory) => bounds(cx, &catalog, &facts.machine, directory, spec)?,
        None => BTreeMap::new(),
    };
    let request =
        Request { spec: spec.clone(), target, glibc: facts.glibc, machine: facts.machine, least };
    Ok(resolve::resolve(&catalog, &shelf, &request)?)
}

/// Returns what the frameworks of a project need at least: a cuDNN older than the one they were built with fails at the
/// first convolution.
fn bounds(
    cx: &Context<'_>,
    catalog: &Catalog,
    machine: &Machine,
    directory: &Path,
    spec: &ToolchainSpec,
) -> Result<BTreeMap<String, Least>, Error> {
    let request = detect::Request { directory: directory.to_owned(), ..detect::Request::default() };
    let found = detect::detect(cx.process, catalog, &cx.project_catalog()?, machine, &request);
    let least = |(component, (version, because))| (component, Least { version, because });
    Ok(found.least(spec).into_iter().map(least).collect())
}

fn release(spec: &Spec) -> Result<&ToolchainSpec, Error> {
    match spec {
        Spec::Toolchain(toolchain) => Ok(toolchain),
        other => Err(Error::NotARelease(other.to_string())),
    }
}

/// Returns the lock of the prefix that answers `spec` already.
pub fn installed(cx: &Context<'_>, spec: &str, target: Target) -> Option<Lock> {
    let link = cx.layout.active(target).join(shims::spec::canonical(spec));
    let receipt = prefix::Receipt::read(&link).ok()?;
    let catalog = cx.catalog().ok()?;
    let profile: Profile =
        Profile::ALL.into_iter().find(|profile| profile.name() == receipt.profile)?;
    let wheels = receipt
        .wheels
        .iter()
        .map(|wheel| {
            let distribution = normalise(&wheel.distribution);
            let (component, _) = catalog.carrier(&distribution)?;
            Some(LockedWheel {
                target,
                component: component.id.clone(),
                distribution,
                version: wheel.version.clone(),
                file: wheel.file.clone(),
                size: wheel.size,
                sha256: wheel.sha256,
            })
        })
        .collect::<Option<Vec<_>>>()?;
    let lock = lock_of(spec, &receipt.toolchain, profile, wheels);
    // A receipt that does not give back its own name was written by another cuenv.
    (lock.prefix.get(&target) == Some(&receipt.name)).then_some(lock)
}
