//! The answer to a spec: the exact wheels of a toolchain, each with the reason it was chosen.

use std::collections::BTreeMap;

use serde::Serialize;

use super::digest::Digest;
use super::listing::Location;
use super::lock::{self, Lock, LockedWheel};
use super::spec::{Profile, ToolchainSpec};
use super::target::Target;
use super::version::{PackageVersion, Version};

/// Raised when a prefix built from the same wheels would look different, so that old prefixes are not taken for new.
pub const LAYOUT_VERSION: u32 = 1;

/// The wheels that answer a spec on one target.
#[derive(Clone, Debug, Serialize)]
pub struct Resolution {
    /// The target the wheels are for.
    pub target: Target,
    /// The profile they were chosen for.
    pub profile: Profile,
    /// The CUDA release.
    pub cuda: Version,
    /// Why this CUDA release.
    pub cuda_reasons: Vec<String>,
    /// The wheels, in order of component.
    pub choices: Vec<Choice>,
    /// Facts worth a line that do not stand in the way.
    pub notes: Vec<String>,
    /// Components asked for by name, in the order of the toolchain's name.
    #[serde(skip)]
    named: Vec<String>,
}

/// One chosen wheel.
#[derive(Clone, Debug, Serialize)]
pub struct Choice {
    /// The component it carries.
    pub component: String,
    /// The distribution, normalised.
    pub distribution: String,
    /// The version as the index spells it.
    pub version: String,
    /// The wheel's file name.
    pub file: String,
    /// Its size in bytes; absent when the index does not tell (HTML listings).
    pub size: Option<u64>,
    /// Its sha256; absent when the index does not tell.
    pub sha256: Option<Digest>,
    /// Where the index says it is; never written into a lock.
    #[serde(skip)]
    pub location: Location,
    /// Why this component is in, and why this version.
    pub reasons: Vec<String>,
}

impl Resolution {
    /// Builds a resolution; `spec` decides which components stand in the toolchain's name.
    pub fn new(
        spec: &ToolchainSpec,
        target: Target,
        cuda: Version,
        cuda_reasons: Vec<String>,
        mut choices: Vec<Choice>,
        notes: Vec<String>,
    ) -> Self {
        choices
            .sort_by(|a, b| (&a.component, &a.distribution).cmp(&(&b.component, &b.distribution)));
        let mut named: Vec<String> = spec.components.keys().cloned().collect();
        named.sort_by_key(|name| (name != "cudnn", name.clone()));
        Self { target, profile: spec.profile(), cuda, cuda_reasons, choices, notes, named }
    }

    /// Returns the toolchain's name: `12.4.1+cudnn9.1.0.70`.
    pub fn toolchain(&self) -> String {
        let mut name = self.cuda.to_string();
        for component in &self.named {
            if let Some(choice) = self.choices.iter().find(|choice| choice.component == *component)
            {
                name.push('+');
                name.push_str(component);
                name.push_str(&release_of(&choice.version));
            }
        }
        name
    }

    /// Returns the bytes to fetch if nothing is there; sizes the index does not tell count as zero.
    pub fn download_size(&self) -> u64 {
        self.choices.iter().filter_map(|choice| choice.size).fold(0, u64::saturating_add)
    }

    /// Returns the locked wheels; `None` while a size or sha256 is still unknown.
    pub fn locked_wheels(&self) -> Option<Vec<LockedWheel>> {
        self.choices
            .iter()
            .map(|choice| {
                Some(LockedWheel {
                    target: self.target,
                    component: choice.component.clone(),
                    distribution: choice.distribution.clone(),
                    version: choice.version.clone(),
                    file: choice.file.clone(),
                    size: choice.size?,
                    sha256: choice.sha256?,
                })
            })
            .collect()
    }
}

/// Returns the numbers of a package version: a post release has another number on another target (cuDNN 9.1.0.70 is
/// `9.1.0.70.post1` on aarch64), and one lock has one name.
fn release_of(version: &str) -> String {
    match version.parse::<PackageVersion>() {
        Ok(parsed) => parsed.release().iter().map(u64::to_string).collect::<Vec<_>>().join("."),
        Err(_) => version.to_owned(),
    }
}

/// Returns the name of the prefix that holds exactly these wheels: the toolchain's name and a digest over the profile,
/// the layout version and the wheels.
pub fn prefix_name<'a>(
    toolchain: &str,
    profile: Profile,
    wheels: impl IntoIterator<Item = &'a LockedWheel>,
) -> String {
    let mut digests: Vec<String> =
        wheels.into_iter().map(|wheel| format!("{} {}", wheel.component, wheel.sha256)).collect();
    digests.sort();
    let identity = format!("{LAYOUT_VERSION}\n{profile}\n{}", digests.join("\n"));
    format!("{toolchain}-{}", Digest::of(identity.as_bytes()).short())
}

/// Builds the lock that answers `spec` from one resolution per target; all must name the same toolchain.
pub fn lock_of(spec: &str, toolchain: &str, profile: Profile, wheels: Vec<LockedWheel>) -> Lock {
    let mut by_target: BTreeMap<Target, Vec<&LockedWheel>> = BTreeMap::new();
    for wheel in &wheels {
        by_target.entry(wheel.target).or_default().push(wheel);
    }
    let prefix = by_target
        .into_iter()
        .map(|(target, wheels)| (target, prefix_name(toolchain, profile, wheels)))
        .collect();
    let mut lock = Lock {
        version: lock::VERSION,
        spec: spec.to_owned(),
        toolchain: toolchain.to_owned(),
        prefix,
        profile,
        wheels,
    };
    lock.wheels.sort();
    lock
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::spec::Spec;

    fn choice(component: &str, version: &str) -> Choice {
        Choice {
            component: component.to_owned(),
            distribution: format!("nvidia-{component}-cu12"),
            version: version.to_owned(),
            file: format!("nvidia_{component}_cu12-{version}-py3-none-manylinux2014_x86_64.whl"),
            size: Some(10),
            sha256: Some(Digest::of(version.as_bytes())),
            location: Location::Url(String::new()),
            reasons: Vec::new(),
        }
    }

    fn resolution(text: &str, choices: Vec<Choice>) -> Resolution {
        let Ok(Spec::Toolchain(spec)) = text.parse::<Spec>() else { panic!("{text}") };
        let cuda = "12.4.1".parse().unwrap();
        Resolution::new(&spec, Target::LinuxX86_64, cuda, Vec::new(), choices, Vec::new())
    }

    #[test]
    fn the_name_holds_what_was_asked_for_cudnn_first() {
        let choices = vec![
            choice("cudart", "12.4.127"),
            choice("nccl", "2.21.5"),
            choice("cudnn", "9.1.0.70.post1"),
        ];
        let named = resolution("12.4+nccl2+cudnn9", choices.clone());
        assert_eq!(named.toolchain(), "12.4.1+cudnn9.1.0.70+nccl2.21.5");
        assert_eq!(resolution("12.4", choices).toolchain(), "12.4.1");
    }

    #[test]
    fn the_prefix_name_depends_on_profile_and_wheels_and_not_on_their_order() {
        let wheels = resolution("12.4", vec![choice("cudart", "1"), choice("nvrtc", "2")])
            .locked_wheels()
            .unwrap();
        let name = prefix_name("12.4.1", Profile::Runtime, &wheels);
        assert_eq!(name, prefix_name("12.4.1", Profile::Runtime, wheels.iter().rev()));
        assert_ne!(name, prefix_name("12.4.1", Profile::Base, &wheels));
        assert_ne!(name, prefix_name("12.4.1", Profile::Runtime, &wheels[..1]));
        let lock = lock_of("12.4", "12.4.1", Profile::Runtime, wheels);
        assert_eq!(lock.prefix[&Target::LinuxX86_64], name);
        assert_eq!(Lock::parse(&lock.render()).unwrap(), lock);
    }
}
