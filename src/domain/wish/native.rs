//! From the names that a native file asks the loader for to the CUDA major they belong to.

use std::collections::BTreeSet;

use super::{CudaWish, Tables};
use crate::domain::version::Version;

/// What library names say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NativeFacts {
    /// The CUDA majors in which every one of the names exists; empty when the names contradict each other.
    pub majors: BTreeSet<u64>,
    /// The cuDNN major, where a name tells it.
    pub cudnn_major: Option<u64>,
    /// The components that bring the names.
    pub components: BTreeSet<String>,
}

impl Tables<'_> {
    /// Reads library names; `None` when none of them is NVIDIA's.
    pub fn read_sonames<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Option<NativeFacts> {
        let mut facts: Option<NativeFacts> = None;
        for name in names {
            let mut majors = BTreeSet::new();
            let mut brought = None;
            for component in self.components {
                for build in component.builds.iter().filter(|build| build.brings(name)) {
                    majors.insert(build.cuda_major);
                    brought = Some(component.id.as_str());
                }
            }
            let Some(id) = brought else { continue };
            let known = facts.get_or_insert_with(|| NativeFacts {
                majors: majors.clone(),
                ..NativeFacts::default()
            });
            known.components.insert(id.to_owned());
            if id == "cudnn" {
                // cuDNN's name tells its own major; that of CUDA only as far as a build exists.
                let major = name.rsplit(".so.").next().and_then(|tail| tail.split('.').next());
                known.cudnn_major = known.cudnn_major.or_else(|| major?.parse().ok());
            }
            known.majors = known.majors.intersection(&majors).copied().collect();
        }
        facts
    }
}

impl NativeFacts {
    /// Returns the CUDA that is wished for, where the names leave only one major.
    pub fn cuda(&self) -> Option<CudaWish> {
        let mut majors = self.majors.iter();
        match (majors.next(), majors.next()) {
            (Some(major), None) => Some(CudaWish::of_major(*major)),
            _ => None,
        }
    }

    /// Returns the oldest cuDNN that will do.
    pub fn cudnn(&self) -> Option<Version> {
        self.cudnn_major.map(|major| Version::from_parts(&[major]))
    }
}

/// Returns the minor that nvJitLink's symbols ask for: `__nvJitLinkComplete_12_4` is 12.4.
pub fn nvjitlink_minor(symbol: &str) -> Option<Version> {
    let mut words = symbol.strip_prefix("__nvJitLink")?.rsplit('_');
    let minor = words.next()?.parse().ok()?;
    let major = words.next()?.parse().ok()?;
    Some(Version::from_parts(&[major, minor]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_of_nvjitlink_carry_a_minor() {
        assert_eq!(nvjitlink_minor("__nvJitLinkComplete_12_4"), Some("12.4".parse().unwrap()));
        assert_eq!(nvjitlink_minor("nvJitLinkVersion"), None);
    }
}
