//! Which components a spec wants, and why.

use std::collections::BTreeMap;

use super::ResolveError;
use crate::catalog::Catalog;
use crate::domain::manifest::component::Component;
use crate::domain::spec::ToolchainSpec;
use crate::domain::target::Target;
use crate::domain::version::Version;

/// A component that the toolchain must hold.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// Its name.
    pub(super) component: String,
    /// The distribution that carries it for this CUDA major.
    pub(super) distribution: String,
    /// Versioned apart from CUDA.
    pub(super) axis: bool,
    /// The version the spec asks for.
    pub(super) version: Option<Version>,
    /// Why a missing wheel is no error.
    pub(super) optional: Option<String>,
    /// The spec names it.
    pub(super) by_name: bool,
    /// Why it is in.
    pub(super) reason: String,
}

/// Returns the components that `spec` wants of CUDA `release`, in order of name.
pub(super) fn wanted(
    catalog: &Catalog,
    release: &Version,
    spec: &ToolchainSpec,
    target: Target,
) -> Result<Vec<Wanted>, ResolveError> {
    let major = release.major();
    let mut wanted = BTreeMap::new();

    for (name, version) in &spec.components {
        let component = named(catalog, name)?;
        let one = build(component, major, target, version.clone(), "the spec names it".to_owned())
            .filter(|_| has(catalog, component, release, target))
            .ok_or_else(|| not_for(catalog, name, release, target))?;
        // What the spec names is never optional.
        wanted.insert(name.clone(), Wanted { optional: None, by_name: true, ..one });
    }
    let profile = spec.profile();
    for component in catalog.profile(profile, major) {
        let since = component.first_cuda.as_ref();
        if since.is_some_and(|first| *first > *release) || wanted.contains_key(&component.id) {
            continue;
        }
        let reason = format!("in profile `{profile}`");
        if let Some(one) = build(component, major, target, None, reason) {
            wanted.insert(component.id.clone(), one);
        }
    }
    let roots: Vec<String> = wanted.keys().cloned().collect();
    for root in roots {
        for need in catalog.needs(&root, major) {
            if wanted.contains_key(need) {
                continue;
            }
            let component = catalog.component(need);
            let reason = format!("{root} needs it at run time");
            if let Some(one) =
                component.and_then(|component| build(component, major, target, None, reason))
            {
                wanted.insert(need.to_owned(), one);
            }
        }
    }
    Ok(wanted.into_values().collect())
}

fn named<'a>(catalog: &'a Catalog, name: &str) -> Result<&'a Component, ResolveError> {
    catalog.component(name).ok_or_else(|| {
        let nearest = catalog
            .components()
            .iter()
            .map(|component| (distance(name, &component.id), &component.id))
            .min()
            .filter(|(distance, _)| *distance <= 3)
            .map(|(_, id)| id.clone());
        ResolveError::UnknownComponent { name: name.to_owned(), nearest }
    })
}

fn build(
    component: &Component,
    major: u64,
    target: Target,
    version: Option<Version>,
    reason: String,
) -> Option<Wanted> {
    let build = component.build(major).filter(|_| component.is_for(target))?;
    Some(Wanted {
        component: component.id.clone(),
        distribution: build.distribution.clone(),
        axis: component.axis,
        version,
        optional: component.optional.clone(),
        by_name: false,
        reason,
    })
}

/// Tells whether the wheels of a release have a component. One that is named for a program is not there without it: the
/// `nvcc` distributions of CUDA 11 and 12 hold ptxas alone.
fn has(catalog: &Catalog, component: &Component, release: &Version, target: Target) -> bool {
    let major = release.major();
    let program = catalog.tools().tool.iter().find(|tool| tool.name == component.id);
    component.is_for(target)
        && component.build(major).is_some()
        && component.first_cuda.as_ref().is_none_or(|first| first <= release)
        && program.is_none_or(|program| program.cuda_majors.contains(&major))
}

/// The error for a component that a release does not have, with the next newer release that has it, or the last older.
pub(super) fn not_for(
    catalog: &Catalog,
    id: &str,
    release: &Version,
    target: Target,
) -> ResolveError {
    let component = catalog.component(id);
    let versions = || catalog.releases().iter().map(|release| &release.version);
    let fits = |version: &&Version| component.is_some_and(|one| has(catalog, one, version, target));
    let newer = versions().filter(|version| *version > release).find(fits);
    let nearest =
        newer.or_else(|| versions().rev().filter(|version| *version < release).find(fits));
    ResolveError::NotForRelease {
        component: id.to_owned(),
        release: release.clone(),
        target,
        nearest: nearest.cloned(),
    }
}

/// Levenshtein's distance: how many letters to insert, drop or change.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let change = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::spec::Spec;

    fn wants(release: &str, spec: &str) -> Vec<(String, String)> {
        let Ok(Spec::Toolchain(spec)) = spec.parse() else { panic!("{spec}") };
        let release = release.parse().unwrap();
        wanted(&Catalog::builtin(), &release, &spec, Target::LinuxX86_64)
            .unwrap()
            .into_iter()
            .map(|want| (want.component, want.distribution))
            .collect()
    }

    #[test]
    fn base_with_cudnn_brings_what_cudnn_needs() {
        let names: Vec<_> = wants("12.4.1", "12.4+cudnn9@base");
        for expected in [
            ("cudart", "nvidia-cuda-runtime-cu12"),
            ("nvrtc", "nvidia-cuda-nvrtc-cu12"),
            ("cublas", "nvidia-cublas-cu12"),
            ("cudnn", "nvidia-cudnn-cu12"),
        ] {
            assert!(
                names.contains(&(expected.0.to_owned(), expected.1.to_owned())),
                "{expected:?} in {names:?}"
            );
        }
        assert!(!names.iter().any(|(name, _)| name == "cufft"), "{names:?}");
    }

    #[test]
    fn cuda_13_drops_the_suffix_and_keeps_it_for_cudnn() {
        let names = wants("13.0.2", "13.0+cudnn9");
        assert!(names.contains(&("cublas".to_owned(), "nvidia-cublas".to_owned())), "{names:?}");
        assert!(names.contains(&("cudnn".to_owned(), "nvidia-cudnn-cu13".to_owned())));
    }

    #[test]
    fn a_component_that_a_release_lacks_leads_to_the_nearest_that_has_it() {
        let lacks = |release: &str, spec: &str| {
            let Ok(Spec::Toolchain(spec)) = spec.parse() else { panic!("{spec}") };
            let release = release.parse().unwrap();
            let result = wanted(&Catalog::builtin(), &release, &spec, Target::LinuxX86_64);
            let Err(ResolveError::NotForRelease { component, nearest, .. }) = result else {
                panic!("{result:?}")
            };
            (component, nearest.map(|version| version.to_string()).unwrap_or_default())
        };
        let nvcc = ("nvcc".to_owned(), "13.0.0".to_owned());
        // Their distributions of that name have ptxas and no nvcc.
        assert_eq!(lacks("11.8.0", "11.8+nvcc"), nvcc);
        assert_eq!(lacks("12.4.1", "12.4+nvcc12.4"), nvcc);
        assert_eq!(lacks("12.4.1", "12.4+nvvm").1, "13.0.0");
        assert_eq!(lacks("11.8.0", "11.8+nvjitlink").1, "12.0.0");
        assert!(wants("12.4.1", "12.4@devel").iter().any(|(name, _)| name == "nvcc"), "ptxas");
        assert!(wants("13.0.2", "13.0+nvcc").iter().any(|(name, _)| name == "nvcc"));
    }

    #[test]
    fn an_unknown_component_gets_the_nearest_name() {
        let Ok(Spec::Toolchain(spec)) = "12.4+cudn9".parse() else { panic!() };
        let release = "12.4.1".parse().unwrap();
        let error = wanted(&Catalog::builtin(), &release, &spec, Target::LinuxX86_64).unwrap_err();
        let ResolveError::UnknownComponent { nearest, .. } = error else { panic!("{error}") };
        assert_eq!(nearest.as_deref(), Some("cudnn"));
    }
}
