//! The manifests agree with themselves and with each other.

use std::collections::BTreeSet;

use super::{Catalog, FILES, ProjectCatalog};
use crate::domain::manifest::framework::CudnnWish;
use crate::domain::manifest::release::Coverage;
use crate::domain::target::Target;
use crate::domain::version::Version;

/// Calls `see` for every table inside a document.
fn walk(value: &toml::Value, see: &mut dyn FnMut(&toml::Table)) {
    match value {
        toml::Value::Table(table) => {
            see(table);
            table.values().for_each(|inner| walk(inner, see));
        }
        toml::Value::Array(items) => items.iter().for_each(|inner| walk(inner, see)),
        _ => {}
    }
}

#[test]
fn every_fact_has_a_source_and_every_source_is_used() {
    for (name, text) in FILES {
        let document: toml::Value = toml::from_str(text).unwrap();
        let known: BTreeSet<&str> =
            document["sources"].as_table().unwrap().keys().map(String::as_str).collect();
        let mut used = BTreeSet::new();
        walk(&document, &mut |table| {
            if let Some(keys) = table.get("source") {
                let keys = keys.as_array().unwrap();
                assert!(!keys.is_empty(), "{name}: {table}");
                used.extend(keys.iter().map(|key| key.as_str().unwrap().to_owned()));
            }
        });
        let used: BTreeSet<&str> = used.iter().map(String::as_str).collect();
        assert_eq!(used, known, "{name}");
    }
}

#[test]
fn no_manifest_names_an_index_host() {
    for (name, text) in FILES {
        assert!(!text.contains("://"), "{name}");
        assert!(!text.contains(&["pypi", "org"].join(".")), "{name}");
    }
}

#[test]
fn releases_are_in_order_and_complete() {
    let catalog = Catalog::builtin();
    let releases = catalog.releases();
    assert!(releases.windows(2).all(|pair| pair[0].version < pair[1].version));
    for release in releases {
        let name = &release.version;
        assert_eq!(release.version.parts().len(), 3, "{name}");
        let major = release.version.major();
        assert!(release.cc_min <= release.cc_max, "{name}");
        assert_ne!(release.linux_x86_64, Coverage::None, "{name}");
        for id in release.components.keys() {
            let component = catalog.component(id).unwrap_or_else(|| panic!("{name}: {id}"));
            assert!(component.build(major).is_some(), "{name}: {id} has no build for {major}");
            assert!(component.first_cuda.as_ref().unwrap() <= name, "{name}: {id}");
        }
        for component in catalog.components() {
            let expected = !component.axis
                && component.build(major).is_some()
                && component.first_cuda.as_ref().is_some_and(|first| first <= name);
            assert_eq!(
                release.components.contains_key(&component.id),
                expected,
                "{name}: {}",
                component.id
            );
        }
        for id in &release.floating {
            let distribution = catalog.distribution(id, major).unwrap();
            assert!(catalog.floating(distribution).is_some(), "{name}: {distribution}");
        }
    }
}

#[test]
fn no_release_names_a_wheel_that_must_not_be_used() {
    let catalog = Catalog::builtin();
    for release in catalog.releases() {
        for (id, version) in &release.components {
            let distribution = catalog.distribution(id, release.version.major()).unwrap();
            assert!(catalog.refusal(distribution, version).is_none());
            for target in Target::ALL {
                if let Some(entry) = catalog.override_for(distribution, version, target) {
                    let again = catalog.override_for(distribution, &entry.instead, target);
                    assert!(again.is_none(), "{distribution} {version} is replaced twice");
                }
            }
        }
    }
}

#[test]
fn components_point_at_each_other() {
    let catalog = Catalog::builtin();
    let mut carried = BTreeSet::new();
    for component in catalog.components() {
        assert_eq!(component.axis, component.extra.is_none(), "{}", component.id);
        assert!(component.id.chars().all(|c| c.is_ascii_lowercase()), "{}", component.id);
        for build in &component.builds {
            assert!(carried.insert(&build.distribution), "{} twice", build.distribution);
            for need in &build.needs {
                let other = catalog.component(need).unwrap_or_else(|| panic!("{need}"));
                assert!(other.build(build.cuda_major).is_some(), "{} -> {need}", component.id);
            }
        }
    }
    for tool in &catalog.tools().tool {
        let component = catalog.component(&tool.component).unwrap();
        for major in &tool.cuda_majors {
            assert!(component.build(*major).is_some(), "{}", tool.name);
        }
    }
    for (component, build) in catalog.builds() {
        for program in &build.tools {
            let known = catalog.tools().tool.iter().any(|tool| {
                tool.name == *program
                    && tool.component == component.id
                    && tool.cuda_majors.contains(&build.cuda_major)
            });
            assert!(known || program.starts_with("__"), "{program} of {}", build.distribution);
        }
    }
}

#[test]
fn shims_know_the_names_of_all_components() {
    let catalog = Catalog::builtin();
    let mut names: Vec<_> = catalog.components().iter().map(|one| one.id.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, shims::spec::COMPONENTS);
}

#[test]
fn drivers_and_releases_tell_the_same_story() {
    let catalog = Catalog::builtin();
    let branches = &catalog.drivers.branch;
    assert!(branches.windows(2).all(|pair| pair[0].branch < pair[1].branch));
    assert!(branches.windows(2).all(|pair| pair[0].max_cuda < pair[1].max_cuda));
    for branch in branches {
        if let Some(first) = &branch.first_driver {
            assert_eq!(first.major(), branch.branch);
        }
    }
    let mut previous: Option<&Version> = None;
    for release in catalog.releases() {
        let branch = branches.iter().find(|branch| branch.branch == release.driver_branch).unwrap();
        assert_eq!(branch.max_cuda, release.version.major_minor(), "{}", release.version);
        if let Some(driver) = &release.driver {
            assert_eq!(driver.major(), release.driver_branch, "{}", release.version);
            assert!(previous.is_none_or(|previous| previous <= driver), "{}", release.version);
            previous = Some(driver);
        }
        let floor = catalog.releases.minor_compat.iter();
        let floor = floor.filter(|entry| entry.cuda_major == release.version.major());
        assert_eq!(floor.count(), 1);
    }
    // No minor between the oldest and the newest branch is missing.
    let minors: BTreeSet<String> =
        branches.iter().map(|branch| branch.max_cuda.to_string()).collect();
    for (major, last) in [(11, 8), (12, 9), (13, 5)] {
        for minor in 0..=last {
            assert!(minors.contains(&format!("{major}.{minor}")), "{major}.{minor}");
        }
    }
}

#[test]
fn gpus_and_releases_tell_the_same_story() {
    let catalog = Catalog::builtin();
    let capabilities = &catalog.gpus.compute_capability;
    assert!(capabilities.windows(2).all(|pair| pair[0].cc < pair[1].cc));
    for gpu in &catalog.gpus.gpu {
        assert!(capabilities.iter().any(|known| known.cc == gpu.cc), "{}", gpu.model);
    }
    for release in catalog.releases().iter().filter(|release| release.cc_verified) {
        let minor = release.version.major_minor();
        let mut fitting = capabilities.iter().filter(|known| {
            known.first_cuda <= minor && known.last_cuda.as_ref().is_none_or(|last| minor <= *last)
        });
        assert_eq!(fitting.next().unwrap().cc, release.cc_min, "{}", release.version);
        assert_eq!(fitting.next_back().unwrap().cc, release.cc_max, "{}", release.version);
    }
}

#[test]
fn cudnn_releases_are_in_order_and_name_the_right_wheels() {
    let catalog = Catalog::builtin();
    let releases = catalog.cudnn_releases();
    assert!(releases.windows(2).all(|pair| pair[0].version < pair[1].version));
    for release in releases {
        assert_eq!(release.version.parts().len(), 4);
        for build in &release.builds {
            let name = format!("{} for CUDA {}", release.version, build.cuda_major);
            let expected = catalog.distribution("cudnn", build.cuda_major);
            assert_eq!(Some(build.distribution.as_str()), expected, "{name}");
            assert!(build.cuda_min <= build.cuda_max, "{name}");
            assert_eq!(build.cuda_min.major(), build.cuda_major, "{name}");
            assert_eq!(build.cuda_max.major(), build.cuda_major, "{name}");
            assert!(build.cc_min <= build.cc_max, "{name}");
            assert!(build.linux_x86_64.is_some() || build.linux_aarch64.is_some(), "{name}");
            for target in Target::ALL {
                if let Some(wheel) = build.wheel(target) {
                    assert!(release.version.matches(wheel.release()), "{name}: {wheel}");
                    assert!(catalog.refusal(&build.distribution, wheel).is_none(), "{name}");
                }
            }
            for known in &catalog.gpus.compute_capability {
                let dropped = known.last_cudnn.as_ref().is_some_and(|last| {
                    !last.matches(release.version.parts()) && release.version > *last
                });
                if dropped && known.last_cudnn_verified {
                    assert!(build.cc_min > known.cc, "{name}: {}", known.cc);
                }
            }
        }
    }
}

#[test]
fn framework_entries_can_be_met() {
    let catalog = Catalog::builtin();
    let project = ProjectCatalog::builtin();
    for entry in &project.frameworks.release {
        let name = format!("{} {}", entry.distribution, entry.versions);
        let known = project.frameworks.framework.iter();
        assert_eq!(known.filter(|known| known.id == entry.framework).count(), 1, "{name}");
        if let Some(release) = &entry.release {
            assert!(catalog.release(release).is_some(), "{name}");
            assert!(entry.cuda.as_ref().unwrap().matches(release.parts()), "{name}");
        }
        if let Some(cuda) = &entry.cuda {
            let newer = |release: &&crate::domain::manifest::release::Release| {
                release.version.major() == cuda.major() && release.version.major_minor() >= *cuda
            };
            assert!(catalog.releases().iter().any(|release| newer(&release)), "{name}");
        }
        if let (Some(CudnnWish::AtLeast(least)), Some(cuda)) = (&entry.cudnn, &entry.cuda) {
            // TensorRT's pages name one cuDNN for every CUDA; where it is optional, nothing hangs on it.
            let met = entry.cudnn_optional
                || catalog.cudnn_releases().iter().any(|release| {
                    release.version >= *least
                        && release.version.major() == least.major()
                        && release.build(cuda.major()).is_some()
                });
            assert!(met, "{name} wants cuDNN {least}");
        }
        for via in &entry.via {
            let target = via.split(['=', '<', '>', '~', '!']).next().unwrap();
            assert!(
                project.frameworks.release.iter().any(|other| other.distribution == target),
                "{name} -> {via}"
            );
        }
    }
}
