//! A whole CUDA on a loopback index, made from the catalog: every component of every profile for a few releases, each
//! library a shared object that the real loader takes, each tool a script that says its name.

use cuenv::catalog::Catalog;
use cuenv::domain::manifest::component::{Build, Component};
use cuenv::domain::target::Target;

use super::elf::Library;
use super::index::Index;
use super::wheel::Builder;

const RELEASES: [&str; 5] = ["11.8.0", "12.4.1", "12.5.1", "12.8.1", "13.0.2"];
/// Component, CUDA major, version.
const AXES: [(&str, u64, &str); 8] = [
    ("cudnn", 11, "8.9.6.50"),
    ("cudnn", 12, "8.9.7.29"),
    ("cudnn", 12, "9.1.0.70"),
    ("cudnn", 13, "9.13.0.50"),
    ("nccl", 11, "2.21.5"),
    ("nccl", 12, "2.21.5"),
    ("nccl", 13, "2.27.7"),
    ("cusparselt", 12, "0.6.2"),
];

/// An index that has it for both targets.
pub fn index() -> Index {
    let index = Index::start();
    let catalog = Catalog::builtin();
    for target in [Target::LinuxX86_64, Target::LinuxAarch64] {
        fill(&index, &catalog, target);
    }
    index
}

fn fill(index: &Index, catalog: &Catalog, target: Target) {
    for release in RELEASES {
        let mut parts = release.split('.').map(|part| part.parse::<u64>().unwrap());
        let (major, minor) = (parts.next().unwrap(), parts.next().unwrap());
        let cuda = format!("{major}.{minor}");
        let known = catalog.releases().iter().find(|one| one.version.to_string() == release);
        let mut pins = Vec::new();
        for component in catalog.components().iter().filter(|component| !component.axis) {
            let since = component.first_cuda.as_ref();
            let exists = since.is_none_or(|since| since.to_string().as_str() <= release);
            let Some(build) = component.build(major).filter(|_| exists && component.is_for(target))
            else {
                continue;
            };
            if !pins.iter().any(|(name, _)| *name == build.distribution) {
                // Where the catalog knows better than the metapackage, it asks for a version of its own.
                let own = known.and_then(|known| known.components.get(&component.id));
                let version = own.map_or_else(|| format!("{cuda}.99"), ToString::to_string);
                index.add(&wheel(component, build, &version, &cuda, target).build());
                pins.push((build.distribution.clone(), version.clone()));
            }
        }
        let lines: Vec<String> = pins
            .iter()
            .map(|(name, version)| format!("{name}=={version}; extra == \"all\""))
            .collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        if target == Target::LinuxX86_64 {
            index.add(&Builder::metapackage("cuda-toolkit", release, &lines).build());
        }
    }
    for (name, major, version) in AXES {
        let component = catalog.component(name).unwrap();
        let build = component.build(major).filter(|_| component.is_for(target));
        // There is no cuDNN 8 for Arm.
        let exists = target == Target::LinuxX86_64 || !version.starts_with("8.");
        if let Some(build) = build.filter(|_| exists) {
            index.add(&wheel(component, build, version, &format!("{major}.0"), target).build());
        }
    }
}

fn wheel(
    component: &Component,
    build: &Build,
    version: &str,
    cuda: &str,
    target: Target,
) -> Builder {
    let major = cuda.split('.').next().unwrap();
    let own = component.id.as_str();
    // From CUDA 13 on the wheels share one directory.
    let place = if major == "13" && !component.axis { "cu13" } else { own };
    let mut wheel = Builder::new(&build.distribution, version)
        .tags(match target {
            Target::LinuxX86_64 => "py3-none-manylinux2014_x86_64",
            Target::LinuxAarch64 => "py3-none-manylinux2014_aarch64",
        })
        .file(&format!("nvidia/{place}/include/{own}.h"), format!("/* {own} {version} */\n"))
        .file(
            &format!("{}-{version}.dist-info/License.txt", build.distribution.replace('-', "_")),
            format!("The terms of {own}\n"),
        );
    for soname in &build.sonames {
        // The catalog lists the libraries of cuDNN 8 and 9 together; a wheel has those of one.
        let other = if version.starts_with("8.") { ".so.9" } else { ".so.8" };
        if own == "cudnn" && soname.ends_with(other) {
            continue;
        }
        let soname = soname.replace("{cuda}", cuda);
        let library = Library::new(&soname).bytes();
        wheel = wheel.file(&format!("nvidia/{place}/lib/{soname}"), library);
    }
    for tool in &build.tools {
        let script = format!("#!/bin/sh\necho \"{tool} {version}: $*\"\n");
        wheel = wheel.file_with_mode(&format!("nvidia/{place}/bin/{tool}"), script, 0o100_755);
    }
    wheel
}
