//! The manifests against the index: every component resolves for every release and target that claims it.

use cuenv::catalog::Catalog;
use cuenv::domain::manifest::release::Coverage;
use cuenv::domain::target::Target;

use crate::support::sandbox::{Ran, Sandbox};

/// Resolves for a machine about which nothing is known.
fn resolve(sandbox: &Sandbox, spec: &str, target: Target) -> Ran {
    sandbox.cuenv(["resolve", spec, "--platform", target.name(), "--json"])
}

fn sandbox() -> Sandbox {
    Sandbox::new()
        .with_env("CUENV_DRIVER_VERSION", "none")
        .with_env("CUENV_COMPUTE_CAPABILITY", "none")
}

/// The version chosen for a component in a `--json` answer.
fn chosen(answer: &serde_json::Value, component: &str) -> Option<String> {
    let choices = answer["choices"].as_array()?;
    let choice = choices.iter().find(|choice| choice["component"] == component)?;
    Some(choice["version"].as_str()?.to_owned())
}

fn equal(one: &str, other: &str) -> bool {
    let version = |text: &str| text.parse::<cuenv::domain::version::PackageVersion>().unwrap();
    version(one) == version(other)
}

#[test]
#[ignore = "needs the network"]
fn every_component_resolves_for_every_release_and_target_that_claims_it() {
    let (catalog, sandbox) = (Catalog::builtin(), sandbox());
    let (mut compared, mut wrong) = (0, Vec::new());
    for release in catalog.releases() {
        let major = release.version.major();
        for target in Target::ALL {
            let asked = ["npp", "sanitizer", "tileiras", "cudla", "opencl"].iter().filter(|id| {
                release.components.contains_key(**id)
                    && catalog.component(id).unwrap().is_for(target)
            });
            let extra: String = asked.map(|id| format!("+{id}")).collect();
            let spec = format!("{}{extra}@devel", release.version);
            let ran = resolve(&sandbox, &spec, target);
            let coverage = release.coverage(target);
            if ran.code != Some(0) {
                if coverage == Coverage::Full {
                    wrong.push(format!("{spec} for {target}: {}", ran.stderr));
                }
                continue;
            }
            if coverage == Coverage::None {
                wrong.push(format!("{spec} resolves for {target}, which is said to have nothing"));
            }
            let answer: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
            for (id, version) in &release.components {
                let component = catalog.component(id).unwrap();
                if !component.is_for(target) {
                    continue;
                }
                let distribution = catalog.distribution(id, major).unwrap();
                let expected = catalog
                    .override_for(distribution, version, target)
                    .map_or(version, |entry| &entry.instead)
                    .to_string();
                match chosen(&answer, id) {
                    Some(found) if equal(&found, &expected) => compared += 1,
                    None if component.optional.is_some() => {}
                    found => wrong.push(format!(
                        "{spec} for {target}: {id} is {found:?}, the manifest says {expected}"
                    )),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    println!(
        "{compared} wheels of {} releases are what the manifest says",
        catalog.releases().len()
    );
}

#[test]
#[ignore = "needs the network"]
fn every_cudnn_release_resolves_for_every_target_that_has_it() {
    let (catalog, sandbox) = (Catalog::builtin(), sandbox());
    let (mut compared, mut wrong) = (0, Vec::new());
    for release in catalog.cudnn_releases() {
        for build in &release.builds {
            for target in Target::ALL {
                // The oldest toolkits of a matrix are older than PyPI's first release.
                let cuda = build.cuda_max.clone().max("11.8".parse().unwrap());
                let spec = format!("{cuda}+cudnn{}@base", release.version);
                let ran = resolve(&sandbox, &spec, target);
                match build.wheel(target) {
                    None if ran.code == Some(0) => {
                        wrong.push(format!("{spec} for {target} resolves, and should not"));
                    }
                    None => {}
                    Some(_) if ran.code != Some(0) => {
                        wrong.push(format!("{spec} for {target}: {}", ran.stderr));
                    }
                    Some(wheel) => {
                        let answer: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
                        let found = chosen(&answer, "cudnn").unwrap();
                        if equal(&found, &wheel.to_string()) {
                            compared += 1;
                        } else {
                            wrong.push(format!("{spec} for {target}: {found}, not {wheel}"));
                        }
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    println!("{compared} cuDNN wheels are what the manifest says");
}
