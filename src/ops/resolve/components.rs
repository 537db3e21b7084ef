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
            .ok_or_else(|| ResolveError::NotForRelease {
                component: name.clone(),
                release: release.clone(),
                target,
            })?;
        // What the spec names is never optional.
        wanted.insert(name.clone(), Wanted { optional: None, ..one });
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
        reason,
    })
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
    fn an_unknown_component_gets_the_nearest_name() {
        let Ok(Spec::Toolchain(spec)) = "12.4+cudn9".parse() else { panic!() };
        let release = "12.4.1".parse().unwrap();
        let error = wanted(&Catalog::builtin(), &release, &spec, Target::LinuxX86_64).unwrap_err();
        let ResolveError::UnknownComponent { nearest, .. } = error else { panic!("{error}") };
        assert_eq!(nearest.as_deref(), Some("cudnn"));
    }
}
