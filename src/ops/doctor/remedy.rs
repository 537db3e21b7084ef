//! Commands that mend: the pin that would bring what is missing, another CUDA, a clean path, another policy, a new choice.

use std::collections::BTreeMap;
use std::path::Path;

use shims::names;
use shims::venv::RuleSource;

use crate::catalog::Catalog;
use crate::domain::spec::{Spec, ToolchainSpec};
use crate::domain::version::Version;
use crate::ops::launch::{Broken, Launch};
use crate::ops::{mend, place, selection};

/// The `cuenv use` command after which the named libraries are there; `None` where no toolchain brings them.
///
/// `current` is the spec that holds: what it says and the missing names do not contradict stays as it is.
pub(in crate::ops) fn pin_with(
    catalog: &Catalog,
    missing: &[&str],
    current: Option<&str>,
) -> Option<String> {
    let mut spec = match current.and_then(|text| text.parse().ok()) {
        Some(Spec::Toolchain(spec)) => spec,
        _ => ToolchainSpec { cuda: None, components: BTreeMap::new(), profile: None },
    };
    let mut majors: Option<Vec<u64>> = None;
    let mut extra = Vec::new();
    for name in missing {
        if let Some(major) = cudnn_major(name) {
            spec.components.insert("cudnn".to_owned(), Some(Version::from_parts(&[major])));
            continue;
        }
        let providers: Vec<_> = catalog.providers(name).collect();
        let first = providers.first()?;
        let here: Vec<u64> = providers.iter().map(|(_, build)| build.cuda_major).collect();
        majors = Some(match majors {
            None => here,
            Some(known) => known.into_iter().filter(|major| here.contains(major)).collect(),
        });
        match first.0.profile {
            Some(smallest) if !first.0.axis => {
                if smallest > spec.profile() {
                    spec.profile = Some(smallest);
                }
            }
            _ => extra.push(first.0.id.clone()),
        }
    }
    for component in extra {
        spec.components.entry(component).or_insert(None);
    }
    if let Some(majors) = majors {
        // Two names of different majors: no single pin brings both.
        let newest = *majors.iter().max()?;
        let fits = spec.cuda.as_ref().is_some_and(|cuda| majors.contains(&cuda.major()));
        if !fits {
            spec.cuda = Some(if newest == 11 {
                Version::from_parts(&[11, 8])
            } else {
                Version::from_parts(&[newest])
            });
        }
    }
    spec.cuda.as_ref()?;
    Some(format!("cuenv use {}", Spec::Toolchain(spec)))
}

/// The pin with another CUDA; a cuDNN that this CUDA has no build of moves to the one it has.
pub(in crate::ops) fn with_cuda(spec: Option<&str>, cuda: &Version) -> ToolchainSpec {
    let cuda = cuda.major_minor();
    let mut pin = match spec.and_then(|spec| spec.parse().ok()) {
        Some(Spec::Toolchain(pin)) => pin,
        _ => ToolchainSpec { cuda: None, components: BTreeMap::new(), profile: None },
    };
    if let Some(Some(cudnn)) = pin.components.get_mut("cudnn") {
        let major = if cuda.major() >= 13 { 9 } else { cudnn.major() };
        let same = pin.cuda.as_ref().is_some_and(|old| old.major() == cuda.major());
        // The exact release may not exist for another CUDA; its line does.
        if !same || major != cudnn.major() {
            *cudnn = Version::from_parts(&[major]);
        }
    }
    pin.cuda = Some(cuda);
    pin
}

/// The command after which none of these directories is on LD_LIBRARY_PATH of this process.
pub(super) fn off_path(inherited: &str, directories: &[&Path]) -> String {
    let is_gone = |element: &str| {
        let same = |directory: &&Path| {
            let real = |path: &Path| fs_err::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            Path::new(element) == *directory || real(Path::new(element)) == real(directory)
        };
        element.is_empty() || directories.iter().any(same)
    };
    let all: Vec<&str> = inherited.split(':').collect();
    let kept: Vec<&str> = all.iter().copied().filter(|element| !is_gone(element)).collect();
    if kept.len() == all.len() || inherited.is_empty() {
        // It is found by the system's cache or by a search path of its own.
        let names: Vec<String> =
            directories.iter().map(|directory| format!("`{}`", directory.display())).collect();
        return format!(
            "ask whoever put {} into the system's search to take it out",
            names.join(", ")
        );
    }
    if kept.is_empty() {
        return "unset LD_LIBRARY_PATH".to_owned();
    }
    format!("export LD_LIBRARY_PATH={}", shims::quote::word(kept.join(":")))
}

/// The command after which the environment's own libraries win over the toolchain's.
pub(super) fn defer(launch: &Launch) -> String {
    match launch.libraries.as_ref().map(|libraries| &libraries.rule.source) {
        Some(RuleSource::Variable) => format!("unset {}", names::VENV),
        _ => match &launch.choice {
            Some(choice) => format!("cuenv use {} --venv defer", choice.spec),
            None => "cuenv use --detect --venv defer".to_owned(),
        },
    }
}

/// What mends a choice that cannot be used.
pub(super) fn selection(broken: &Broken) -> String {
    match broken {
        Broken::Place(place::Error::Selection(selection::Error(error))) => {
            mend::selection(error).fix()
        }
        Broken::Place(place::Error::Missing(choice)) => shims::hook::install_command(choice),
        Broken::Place(place::Error::NoPin(_) | place::Error::System(_)) => {
            "pin one: `cuenv use 12.4+cudnn9`, for example".to_owned()
        }
        Broken::Prepare(error) => mend::environment(error).fix(),
    }
}

/// The cuDNN major of a library of cuDNN.
pub(in crate::ops) fn cudnn_major(name: &str) -> Option<u64> {
    let rest = name.strip_prefix("libcudnn")?;
    let (_, version) = rest.split_once(".so.")?;
    version.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{off_path, pin_with, with_cuda};
    use crate::catalog::Catalog;

    #[test]
    fn names_lead_to_pins() {
        let catalog = Catalog::builtin();
        let pin = |missing: &[&str], current: Option<&str>| {
            pin_with(&catalog, missing, current).unwrap_or_default()
        };
        assert_eq!(pin(&["libcudnn.so.8"], Some("12.4+cudnn9")), "cuenv use 12.4+cudnn8");
        assert_eq!(pin(&["libcublasLt.so.11"], Some("12.4+cudnn8")), "cuenv use 11.8+cudnn8");
        assert_eq!(pin(&["libcublas.so.12", "libcudnn.so.9"], None), "cuenv use 12+cudnn9");
        assert_eq!(pin(&["libnccl.so.2"], Some("12.4+cudnn9")), "cuenv use 12.4+cudnn9+nccl");
        assert_eq!(pin(&["libfoo.so.1"], Some("12.4")), "");
        assert_eq!(pin(&["libcublas.so.11", "libcudart.so.12"], None), "");
    }

    #[test]
    fn another_cuda_keeps_what_it_can() {
        let with = |spec, cuda: &str| with_cuda(Some(spec), &cuda.parse().unwrap()).to_string();
        assert_eq!(with("12.4+cudnn9.1@devel", "12.8.1"), "12.8+cudnn9.1@devel");
        assert_eq!(with("12.4+cudnn8", "13.0"), "13.0+cudnn9");
        assert_eq!(with("12.4+cudnn9.10", "11.8"), "11.8+cudnn9");
        assert_eq!(with("site", "12.4"), "12.4");
    }

    #[test]
    fn a_directory_leaves_the_list_and_the_rest_stays() {
        let off = |list, directory| off_path(list, &[Path::new(directory)]);
        assert_eq!(off("/a:/no where:/b", "/a"), "export LD_LIBRARY_PATH='/no where:/b'");
        assert_eq!(off("/a/:", "/a"), "unset LD_LIBRARY_PATH");
        assert!(off("/b", "/a").starts_with("ask whoever put `/a`"));
    }
}
