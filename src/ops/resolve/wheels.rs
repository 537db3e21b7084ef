//! The wheel of a component whose version the CUDA release decides.

use std::collections::BTreeMap;

use super::components::Wanted;
use super::release::Pin;
use super::{ResolveError, Source};
use crate::catalog::Catalog;
use crate::domain::listing::{Fit, Listing, WheelFile};
use crate::domain::resolution::Choice;
use crate::domain::target::Target;
use crate::domain::version::PackageVersion;

/// What came of one component.
pub(super) enum Chosen {
    /// A wheel, and notes.
    Wheel(Choice, Vec<String>),
    /// No wheel, which is no error: the note says why.
    Missing(String),
}

/// Chooses the wheel of `want`.
pub(super) fn choose(
    catalog: &Catalog,
    source: &dyn Source,
    target: Target,
    pins: &BTreeMap<String, Pin>,
    want: &Wanted,
    fit: Fit,
) -> Result<Chosen, ResolveError> {
    let Some(pin) = pins.get(&want.distribution).filter(|_| want.version.is_none()) else {
        return match &want.version {
            Some(_) => by_spec(catalog, source, want, fit),
            // The release has no such component: older releases lack some of a profile's.
            None => Ok(Chosen::Missing(format!(
                "`{}` is not part of this release ({})",
                want.component, want.reason
            ))),
        };
    };
    let listing = source.listing(&want.distribution)?;
    let accepts = |version: &PackageVersion| match pin {
        Pin::Requirement(requirement) => requirement.accepts(version),
        Pin::Exact(exact, _) => same_release(version, exact),
    };
    let reason = match pin {
        Pin::Requirement(requirement) => format!("the release pins {}", requirement.specifiers),
        Pin::Exact(_, reason) => reason.clone(),
    };
    // A pinned build that is known to be broken has a stand-in, also when the index still offers it.
    let pinned =
        listing.wheels.iter().map(|wheel| &wheel.name.version).filter(|v| accepts(v)).max();
    let stand_in = pinned.and_then(|pinned| {
        catalog
            .override_for(&want.distribution, &base(pinned), target)
            .or_else(|| catalog.override_for(&want.distribution, pinned, target))
    });
    let (picked, reason) = match stand_in {
        Some(entry) => {
            (listing.choose(fit, |version| *version == entry.instead), entry.reason.clone())
        }
        None => {
            let sound = |version: &PackageVersion| {
                accepts(version) && catalog.refusal(&want.distribution, version).is_none()
            };
            (listing.choose(fit, sound), reason)
        }
    };
    match picked {
        Ok(wheel) => {
            Ok(Chosen::Wheel(choice(want, wheel, vec![want.reason.clone(), reason]), Vec::new()))
        }
        Err(missing) => match &want.optional {
            Some(why) => {
                Ok(Chosen::Missing(format!("`{}` is left out: {missing} ({why})", want.component)))
            }
            None => {
                Err(ResolveError::NoWheel { component: want.component.clone(), source: missing })
            }
        },
    }
}

fn by_spec(
    catalog: &Catalog,
    source: &dyn Source,
    want: &Wanted,
    fit: Fit,
) -> Result<Chosen, ResolveError> {
    let listing = source.listing(&want.distribution)?;
    let asked = want.version.as_ref().expect("called for components with a version");
    let wheel = newest(catalog, &listing, want, fit, |version| asked.matches_package(version))?;
    let reasons = vec![want.reason.clone(), format!("newest that matches `{asked}`")];
    let note = format!(
        "`{}{asked}` is not the build that belongs to this CUDA release; the spec asks for it",
        want.component
    );
    Ok(Chosen::Wheel(choice(want, wheel, reasons), vec![note]))
}

fn newest<'a>(
    catalog: &Catalog,
    listing: &'a Listing,
    want: &Wanted,
    fit: Fit,
    accepts: impl Fn(&PackageVersion) -> bool,
) -> Result<&'a WheelFile, ResolveError> {
    listing
        .choose(fit, |version| {
            accepts(version) && catalog.refusal(&want.distribution, version).is_none()
        })
        .map_err(|source| ResolveError::NoWheel { component: want.component.clone(), source })
}

/// Writes down a wheel as the choice for `want`.
pub(super) fn choice(want: &Wanted, wheel: &WheelFile, reasons: Vec<String>) -> Choice {
    Choice {
        component: want.component.clone(),
        distribution: want.distribution.clone(),
        version: wheel.name.version.to_string(),
        file: wheel.name.file.clone(),
        size: wheel.size,
        sha256: wheel.digest,
        location: wheel.location.clone(),
        reasons,
    }
}

/// Tells whether `version` is `exact` or a rebuild of it (`12.4.127.post1`).
fn same_release(version: &PackageVersion, exact: &PackageVersion) -> bool {
    version == exact || (!version.any_prerelease() && base(version) == *exact)
}

fn base(version: &PackageVersion) -> PackageVersion {
    PackageVersion::new(version.release().iter().copied())
}
