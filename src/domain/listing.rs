//! What an index lists for one distribution, and which wheel of it is the right one.
//!
//! The rule, learned from the real index:
//!
//! 1. Only wheels. Source archives of NVIDIA's distributions are placeholders that fail on purpose.
//! 2. Never a version `0.0.*` (placeholders) nor a pre-release; never a withdrawn (yanked) file, unless a lock
//!    names its digest, which goes through [`Listing::with_digest`].
//! 3. A wheel must carry a Linux tag for the target; `any` wheels serve the metapackage alone, because the
//!    placeholders of many distributions are `any` and would fit everywhere.
//! 4. The tag's glibc floor must not exceed the host's glibc.
//! 5. Of what is left: newest version (post-releases count), then highest floor, highest build tag, newest upload.

use std::cmp::Reverse;
use std::fmt;
use std::path::PathBuf;

use super::digest::Digest;
use super::target::Target;
use super::version::PackageVersion;
use super::wheel_name::{Glibc, WheelName};

/// Where the bytes of a wheel are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// On a server.
    Url(String),
    /// On this machine.
    File(PathBuf),
}

impl Location {
    /// Reads what [`Location`]'s `Display` writes: an absolute path or an address.
    pub fn parse(text: &str) -> Self {
        if text.starts_with('/') {
            Self::File(PathBuf::from(text))
        } else {
            Self::Url(text.to_owned())
        }
    }

    /// Returns it in a form for people: an address without its query, which may be a signature.
    pub fn shown(&self) -> String {
        match self {
            Self::File(path) => format!("`{}`", path.display()),
            Self::Url(url) => format!("`{}`", url.split(['?', '#']).next().unwrap_or(url)),
        }
    }
}

impl fmt::Display for Location {
    /// The whole address, signature included: for requests, not for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Url(url) => f.write_str(url),
        }
    }
}

/// What the index says about a separate metadata file (PEP 658).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetadataFile {
    /// Nothing.
    Unknown,
    /// It is there, beside the wheel.
    Beside(Option<Digest>),
}

/// One wheel that an index lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WheelFile {
    /// Its name, taken apart.
    pub name: WheelName,
    /// Where it is.
    pub location: Location,
    /// Its size in bytes, where the index says it.
    pub size: Option<u64>,
    /// Its digest, where the index says it.
    pub digest: Option<Digest>,
    /// Why it was withdrawn; the text may be empty. `None` for a file in good standing.
    pub yanked: Option<String>,
    /// When it was uploaded, as the index writes it (RFC 3339: the order of texts is the order of times).
    pub uploaded: Option<String>,
    /// Whether its metadata can be had without the wheel.
    pub metadata: MetadataFile,
}

/// Everything an index lists for one distribution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The distribution, normalised.
    pub distribution: String,
    /// Its wheels, for every platform.
    pub wheels: Vec<WheelFile>,
    /// How many files are listed that are not wheels.
    pub others: usize,
}

/// Which machine a wheel must run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// A Linux machine; the glibc is unknown when a lock is made for another one.
    Linux(Target, Option<Glibc>),
    /// Every machine: metapackages.
    Any,
}

/// Why no wheel of a distribution can be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no wheel of `{distribution}` can be used: {reason}")]
pub struct NoWheel {
    /// The distribution.
    pub distribution: String,
    /// What stands in the way of the nearest one.
    pub reason: Refusal,
}

/// Why the nearest wheel cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The index lists nothing that is a wheel.
    #[error("the index lists {others} source archives and no wheel")]
    NoWheels { others: usize },
    /// No listed version is wanted.
    #[error("none of its versions is the one asked for; the newest is {newest}")]
    OtherVersions { newest: PackageVersion },
    /// Only pre-releases or placeholders.
    #[error("{version} is a pre-release or a placeholder")]
    Unfinished { version: PackageVersion },
    /// Withdrawn by the publisher.
    #[error("{version} was withdrawn by its publisher{}", told(reason))]
    Yanked { version: PackageVersion, reason: String },
    /// There are wheels, for other machines.
    #[error("{version} exists, but not for {target}")]
    OtherTarget { version: PackageVersion, target: Target },
    /// This machine's C library is too old.
    #[error("{version} needs glibc {floor} or newer; this machine has {host}")]
    Glibc { version: PackageVersion, floor: Glibc, host: Glibc },
    /// A wheel without the form that cuenv reads.
    #[error("{version} has no wheel that is independent of Python")]
    BoundToPython { version: PackageVersion },
}

fn told(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}

/// Whether a version is a finished release and not a placeholder.
pub fn is_release(version: &PackageVersion) -> bool {
    !version.any_prerelease() && !matches!(version.release(), [0] | [0, 0, ..])
}

impl Listing {
    /// Returns the wheel to take for every version that `accepts`, the newest version first.
    pub fn candidates(
        &self,
        fit: Fit,
        accepts: impl Fn(&PackageVersion) -> bool,
    ) -> Vec<&WheelFile> {
        let mut usable: Vec<&WheelFile> = self
            .wheels
            .iter()
            .filter(|wheel| accepts(&wheel.name.version) && refusal(wheel, fit).is_none())
            .collect();
        // A stable sort: what the index lists first stays first among equals.
        usable.sort_by(|a, b| {
            b.name.version.cmp(&a.name.version).then_with(|| rank(b, fit).cmp(&rank(a, fit)))
        });
        // 12.8.2 and 12.8.2.0 are one version (PEP 440).
        usable.dedup_by(|next, kept| next.name.version == kept.name.version);
        usable
    }

    /// Returns the right wheel of the newest version that `accepts`, or why there is none.
    pub fn choose(
        &self,
        fit: Fit,
        accepts: impl Fn(&PackageVersion) -> bool,
    ) -> Result<&WheelFile, NoWheel> {
        match self.candidates(fit, &accepts).first() {
            Some(wheel) => Ok(wheel),
            None => Err(NoWheel {
                distribution: self.distribution.clone(),
                reason: self.explain(fit, accepts),
            }),
        }
    }

    /// Returns the wheel with this digest, withdrawn or not: what a lock names is taken.
    pub fn with_digest(&self, digest: &Digest) -> Option<&WheelFile> {
        self.wheels.iter().find(|wheel| wheel.digest.as_ref() == Some(digest))
    }

    fn explain(&self, fit: Fit, accepts: impl Fn(&PackageVersion) -> bool) -> Refusal {
        let newest = |wheels: Vec<&WheelFile>| {
            wheels
                .into_iter()
                .max_by(|a, b| {
                    // The cause that the user can do most about comes first, then the newest version.
                    let weigh = |wheel: &WheelFile| {
                        refusal(wheel, fit).map(|found| Reverse(distance(&found)))
                    };
                    weigh(a).cmp(&weigh(b)).then_with(|| a.name.version.cmp(&b.name.version))
                })
                .cloned()
        };
        let accepted = self.wheels.iter().filter(|wheel| accepts(&wheel.name.version)).collect();
        if let Some(wheel) = newest(accepted) {
            return refusal(&wheel, fit)
                .unwrap_or(Refusal::OtherVersions { newest: wheel.name.version });
        }
        let finished = self.wheels.iter().filter(|wheel| is_release(&wheel.name.version));
        let newest = finished.max_by(|a, b| a.name.version.cmp(&b.name.version));
        match newest.or(self.wheels.first()) {
            Some(wheel) => Refusal::OtherVersions { newest: wheel.name.version.clone() },
            None => Refusal::NoWheels { others: self.others },
        }
    }
}

/// How far a wheel is from being usable; the nearest one's cause is reported.
fn distance(refusal: &Refusal) -> u8 {
    match refusal {
        Refusal::Glibc { .. } => 0,
        Refusal::Yanked { .. } => 1,
        Refusal::OtherTarget { .. } => 2,
        Refusal::BoundToPython { .. } => 3,
        Refusal::Unfinished { .. } => 4,
        Refusal::OtherVersions { .. } | Refusal::NoWheels { .. } => 5,
    }
}

/// Why this wheel cannot be taken, if it cannot.
fn refusal(wheel: &WheelFile, fit: Fit) -> Option<Refusal> {
    let version = || wheel.name.version.clone();
    if !is_release(&wheel.name.version) {
        return Some(Refusal::Unfinished { version: version() });
    }
    if !wheel.name.is_python_independent() {
        return Some(Refusal::BoundToPython { version: version() });
    }
    match fit {
        Fit::Any if wheel.name.is_any() => {}
        Fit::Any => {
            return Some(Refusal::OtherTarget { version: version(), target: Target::host() });
        }
        Fit::Linux(target, host) => match (wheel.name.floor(target), host) {
            (None, _) => return Some(Refusal::OtherTarget { version: version(), target }),
            (Some(floor), Some(host)) if floor > host => {
                return Some(Refusal::Glibc { version: version(), floor, host });
            }
            _ => {}
        },
    }
    let reason = wheel.yanked.clone()?;
    Some(Refusal::Yanked { version: version(), reason })
}

/// Orders the wheels of one version: highest floor, highest build tag, newest upload.
fn rank(wheel: &WheelFile, fit: Fit) -> impl Ord {
    let floor = match fit {
        Fit::Linux(target, _) => wheel.name.floor(target),
        Fit::Any => None,
    };
    (floor, wheel.name.build.clone(), wheel.uploaded.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    const X86: Target = Target::LinuxX86_64;
    const HOST: Fit = Fit::Linux(X86, Some(Glibc::new(2, 31)));

    fn wheel(file: &str) -> WheelFile {
        WheelFile {
            name: file.parse().unwrap(),
            location: Location::Url(format!("https://files.example/{file}")),
            size: None,
            digest: Some(Digest::of(file.as_bytes())),
            yanked: None,
            uploaded: None,
            metadata: MetadataFile::Unknown,
        }
    }

    fn listing(wheels: impl IntoIterator<Item = WheelFile>) -> Listing {
        let wheels = wheels.into_iter().collect();
        Listing { distribution: "a".to_owned(), wheels, others: 3 }
    }

    fn chosen(files: &[&str], fit: Fit, wanted: &str) -> Result<String, Refusal> {
        let requirement: crate::domain::requirement::Requirement =
            format!("a{wanted}").parse().unwrap();
        let listing = listing(files.iter().map(|file| wheel(file)));
        listing
            .choose(fit, |version| requirement.accepts(version))
            .map(|wheel| wheel.name.file.clone())
            .map_err(|error| error.reason)
    }

    #[test]
    fn highest_floor_that_the_host_meets_then_build_tag() {
        let files = [
            "a-1-py3-none-manylinux1_x86_64.whl",
            "a-1-py3-none-manylinux2014_x86_64.whl",
            "a-1-py3-none-manylinux_2_28_x86_64.whl",
            "a-1-9-py3-none-manylinux_2_28_x86_64.whl",
            "a-1-10-py3-none-manylinux_2_28_x86_64.whl",
            "a-1-py3-none-manylinux_2_35_x86_64.whl",
            "a-1-py3-none-manylinux_2_28_aarch64.whl",
            "a-1-py3-none-win_amd64.whl",
        ];
        assert_eq!(chosen(&files, HOST, "").unwrap(), files[4]);
        let old = Fit::Linux(X86, Some(Glibc::new(2, 17)));
        assert_eq!(chosen(&files, old, "").unwrap(), files[1]);
        let unknown = Fit::Linux(X86, None);
        assert_eq!(chosen(&files, unknown, "").unwrap(), files[5]);
    }

    #[test]
    fn newest_version_with_a_wheel_for_this_machine() {
        let files = [
            "a-9.1.0.70-py3-none-manylinux2014_x86_64.whl",
            "a-9.1.0.70.post1-py3-none-manylinux2014_aarch64.whl",
            "a-9.10.2.21-py3-none-manylinux_2_27_x86_64.whl",
            "a-9.26.0.33.dev63203437-py3-none-manylinux_2_27_x86_64.whl",
            "a-0.0.0a0-py3-none-any.whl",
            "a-0.0.1-py3-none-manylinux_2_27_x86_64.whl",
        ];
        assert_eq!(chosen(&files, HOST, "").unwrap(), files[2]);
        assert_eq!(chosen(&files, HOST, "==9.1.*").unwrap(), files[0]);
        let arm = Fit::Linux(Target::LinuxAarch64, None);
        assert_eq!(chosen(&files, arm, "==9.1.*").unwrap(), files[1]);
    }

    #[test]
    fn post_releases_replace_withdrawn_files() {
        let mut broken = wheel("a-12.4.127-py3-none-manylinux2014_x86_64.whl");
        broken.yanked = Some("Broken release".to_owned());
        let mended = wheel("a-12.4.127.post1-py3-none-manylinux2014_x86_64.whl");
        let digest = broken.digest.unwrap();
        let listing = listing([broken, mended]);
        let wanted: pep440_rs::VersionSpecifiers = "==12.4.127.*".parse().unwrap();
        let found = listing.choose(HOST, |version| wanted.contains(version)).unwrap();
        assert_eq!(found.name.version.to_string(), "12.4.127.post1");
        // The exact version names the withdrawn file alone, and a withdrawn file is not taken …
        let exact: pep440_rs::VersionSpecifiers = "==12.4.127".parse().unwrap();
        let refused = listing.choose(HOST, |version| exact.contains(version)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "no wheel of `a` can be used: 12.4.127 was withdrawn by its publisher: Broken release"
        );
        // … unless a lock names its digest.
        assert!(listing.with_digest(&digest).is_some_and(|wheel| wheel.yanked.is_some()));
    }

    #[test]
    fn equal_versions_are_one_and_the_newest_upload_wins() {
        let mut old = wheel("a-12.8.2-py3-none-any.whl");
        old.uploaded = Some("2025-01-01T00:00:00Z".to_owned());
        let mut new = wheel("a-12.8.2.0-py3-none-any.whl");
        new.uploaded = Some("2026-01-01T00:00:00Z".to_owned());
        let listing = listing([old, new]);
        let found = listing.candidates(Fit::Any, |_| true);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].name.file, "a-12.8.2.0-py3-none-any.whl");
    }

    #[test]
    fn an_any_wheel_serves_the_metapackage_alone() {
        assert!(chosen(&["a-1-py2.py3-none-any.whl"], Fit::Any, "").is_ok());
        assert!(chosen(&["a-1-py2.py3-none-any.whl"], HOST, "").is_err());
        assert!(chosen(&["a-1-py3-none-manylinux1_x86_64.whl"], Fit::Any, "").is_err());
    }

    #[test]
    fn the_nearest_cause_is_told() {
        for (files, wanted, told) in [
            (
                &["a-1-py3-none-win_amd64.whl", "a-1-py3-none-manylinux_2_40_x86_64.whl"][..],
                "",
                "1 needs glibc 2.40 or newer; this machine has 2.31",
            ),
            (&["a-1-py3-none-win_amd64.whl"], "", "1 exists, but not for linux-x86_64"),
            (
                &["a-2-py3-none-manylinux1_x86_64.whl", "a-3rc1-py3-none-manylinux1_x86_64.whl"],
                "==9",
                "none of its versions is the one asked for; the newest is 2",
            ),
            (
                &["a-3rc1-py3-none-manylinux1_x86_64.whl"],
                "==3rc1",
                "3rc1 is a pre-release or a placeholder",
            ),
            (
                &["a-3-cp311-cp311-manylinux1_x86_64.whl"],
                "",
                "3 has no wheel that is independent of Python",
            ),
            (&[], "", "the index lists 3 source archives and no wheel"),
        ] {
            assert_eq!(chosen(files, HOST, wanted).unwrap_err().to_string(), told);
        }
    }
}
