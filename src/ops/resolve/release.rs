//! The CUDA release, and what its metapackage pins.

use std::collections::BTreeMap;

use super::{Request, ResolveError, Source};
use crate::catalog::Catalog;
use crate::domain::compat::{Grade, Verdict};
use crate::domain::listing::{Fit, WheelFile};
use crate::domain::manifest::overrides::{FloatingRule, Remedy};
use crate::domain::manifest::release::Release;
use crate::domain::marker::Environment;
use crate::domain::requirement::{Metadata, Requirement};
use crate::domain::target::Target;
use crate::domain::version::{PackageVersion, Version};

/// The metapackage whose `all` extra pins every component of a CUDA release.
pub const METAPACKAGE: &str = "cuda-toolkit";

/// The extra that names every component.
const EXTRA: &str = "all";

/// The chosen release.
pub(super) struct Chosen {
    /// The three-part version.
    pub(super) version: Version,
    /// Why this one.
    pub(super) reasons: Vec<String>,
    /// What a person should know.
    pub(super) notes: Vec<String>,
    wheel: WheelFile,
}

/// What the release says about one distribution.
pub(super) enum Pin {
    /// The metapackage's requirement.
    Requirement(Requirement),
    /// An exact version from the catalog, with the reason.
    Exact(PackageVersion, String),
}

/// Chooses the newest release that the spec matches and the machine runs.
pub(super) fn choose(
    catalog: &Catalog,
    source: &dyn Source,
    request: &Request,
) -> Result<Chosen, ResolveError> {
    let listing = source.listing(METAPACKAGE)?;
    let usable = |version: &PackageVersion| {
        let never =
            |fault: &crate::domain::manifest::overrides::Metapackage| fault.remedy == Remedy::Never;
        !catalog.metapackage_fault(version).is_some_and(never)
    };
    let all = listing.candidates(Fit::Any, usable);
    let asked = request.spec.cuda.as_ref();
    if asked.is_none() && request.machine.driver.is_none() {
        return Err(ResolveError::AutoWithoutDriver);
    }
    let matching: Vec<&WheelFile> = all
        .iter()
        .copied()
        .filter(|wheel| asked.is_none_or(|asked| asked.matches_package(&wheel.name.version)))
        .collect();
    if matching.is_empty() {
        let asked = asked.cloned().unwrap_or_else(|| Version::from_parts(&[0]));
        let releases: Vec<Version> =
            all.iter().rev().map(|wheel| three_parts(&wheel.name.version)).collect();
        return Err(ResolveError::NoRelease { nearest: nearest(&asked, &releases), asked });
    }

    // The best grade wins; among equals the newest, which comes first.
    let knowledge = catalog.knowledge();
    let mut best: Option<(&WheelFile, Version, Verdict)> = None;
    for wheel in &matching {
        let version = three_parts(&wheel.name.version);
        let Some(record) = record(catalog, &version) else { continue };
        let verdict = knowledge.judge(&request.machine, record, None);
        if best.as_ref().is_none_or(|(_, _, known)| verdict.grade < known.grade) {
            best = Some((wheel, version, verdict));
        }
    }
    let Some((wheel, version, verdict)) = best else {
        // Older than everything in the catalog: nothing is known against it.
        let wheel = matching[0];
        return Ok(chosen(wheel, three_parts(&wheel.name.version), asked, matching.len()));
    };
    if verdict.grade == Grade::Impossible {
        return Err(refuse(catalog, request, version, verdict));
    }
    let mut chosen = chosen(wheel, version, asked, matching.len());
    let because = verdict.in_words(&request.machine);
    match verdict.grade {
        Grade::Native => chosen.reasons.extend(because),
        Grade::Unknown => {}
        _ => chosen.notes.extend(because),
    }
    if wheel.name.file != matching[0].name.file {
        let newest = three_parts(&matching[0].name.version);
        chosen.reasons.push(format!("{newest} is newer but fits this machine less well"));
    }
    Ok(chosen)
}

fn chosen(wheel: &WheelFile, version: Version, asked: Option<&Version>, matching: usize) -> Chosen {
    let reason = match asked {
        Some(asked) if matching > 1 => {
            format!("newest of {matching} releases that match `{asked}`")
        }
        Some(asked) => format!("the release that matches `{asked}`"),
        None => "newest release for this machine".to_owned(),
    };
    Chosen { version, reasons: vec![reason], notes: Vec::new(), wheel: wheel.clone() }
}

/// The catalog's record of a release, or of the last one before it when the catalog is older than the index.
fn record<'a>(catalog: &'a Catalog, version: &Version) -> Option<&'a Release> {
    catalog.releases().iter().rev().find(|release| release.version <= *version)
}

fn refuse(
    catalog: &Catalog,
    request: &Request,
    version: Version,
    verdict: Verdict,
) -> ResolveError {
    let knowledge = catalog.knowledge();
    let because = verdict
        .in_words(&request.machine)
        .unwrap_or_else(|| format!("CUDA {version} cannot run on this machine"));
    let instead = knowledge
        .newest_cuda_for(&request.machine, None)
        .filter(|(_, grade)| *grade != Grade::ForwardCompat)
        .map(|(release, _)| release.version.clone());
    let driver = record(catalog, &version)
        .and_then(|release| knowledge.driver_to_ask_for(release, &verdict.driver));
    ResolveError::Host { release: version, because, verdict: Box::new(verdict), instead, driver }
}

/// Returns up to three releases around `asked`: the closest older and newer ones.
fn nearest(asked: &Version, releases: &[Version]) -> Vec<Version> {
    let split = releases.partition_point(|release| release < asked);
    let from = split.saturating_sub(1);
    releases[from..(split + 1).min(releases.len())].to_vec()
}

/// Returns the name people use: `12.8.2.0` and `12.8.2` are both 12.8.2.
pub fn three_parts(version: &PackageVersion) -> Version {
    let part = |index| version.release().get(index).copied().unwrap_or(0);
    Version::from_parts(&[part(0), part(1), part(2)])
}

/// Reads what the release pins for `target`: distribution -> version.
pub(super) fn pins(
    catalog: &Catalog,
    source: &dyn Source,
    chosen: &Chosen,
    target: Target,
) -> Result<BTreeMap<String, Pin>, ResolveError> {
    let mut pins = BTreeMap::new();
    let major = chosen.version.major();
    let from_catalog = |reason: &str, only: Option<&[String]>, pins: &mut BTreeMap<String, Pin>| {
        let Some(release) = catalog.release(&chosen.version) else { return };
        for (component, version) in &release.components {
            if only.is_some_and(|only| !only.contains(component)) {
                continue;
            }
            if let Some(distribution) = catalog.distribution(component, major) {
                pins.insert(
                    distribution.to_owned(),
                    Pin::Exact(version.clone(), reason.to_owned()),
                );
            }
        }
    };
    if let Some(fault) = catalog.metapackage_fault(&chosen.wheel.name.version) {
        from_catalog(&fault.reason, None, &mut pins);
        return Ok(pins);
    }

    let text = source.metadata(&chosen.wheel)?;
    let metadata = Metadata::parse(&text).map_err(|source| ResolveError::Metadata {
        file: chosen.wheel.name.file.clone(),
        source,
    })?;
    let environment = Environment { target, extra: EXTRA };
    for requirement in metadata.requires_in(&environment) {
        let pin = match catalog.floating(&requirement.distribution) {
            Some(FloatingRule::LowerBound) => closed(requirement),
            None => Pin::Requirement(requirement.clone()),
        };
        pins.insert(requirement.distribution.clone(), pin);
    }
    Ok(pins)
}

/// Closes a range such as `<14,>=13.5.37`: the lower bound is the build that belongs to the release.
fn closed(requirement: &Requirement) -> Pin {
    let lower = requirement
        .specifiers
        .iter()
        .find(|specifier| *specifier.operator() == pep440_rs::Operator::GreaterThanEqual);
    match lower {
        Some(specifier) => Pin::Exact(
            specifier.version().clone(),
            "the lower bound of the release's range: ranges float to other releases".to_owned(),
        ),
        None => Pin::Requirement(requirement.clone()),
    }
}
