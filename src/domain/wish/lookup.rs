//! From a package to the table's entry for it.

use super::{CudaWish, Tables, Wish};
use crate::domain::evidence::requirements;
use crate::domain::evidence::{Package, Wanted};
use crate::domain::manifest::framework::{CudnnWish, FrameworkRelease};
use crate::domain::version::{PackageVersion, Version};

/// What the table says about a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked {
    /// The wish; without a place.
    pub wish: Wish,
    /// The framework's name.
    pub framework: String,
    /// Packages that decide instead of it; the wish itself says nothing then.
    pub via: Vec<Package>,
    /// NVIDIA's packages among the requirements of this build.
    pub requires: Vec<Package>,
}

impl Tables<'_> {
    /// Tells whether a distribution is a framework that these tables know.
    pub fn is_framework(&self, distribution: &str) -> bool {
        self.frameworks.release.iter().any(|entry| entry.distribution == distribution)
    }

    /// Looks a package up. `label` is that of the index it comes from, where the version itself carries none.
    pub fn look_up(&self, package: &Package, label: Option<&str>) -> Option<Looked> {
        let entries: Vec<&FrameworkRelease> = self
            .frameworks
            .release
            .iter()
            .filter(|entry| entry.distribution == package.distribution)
            .collect();
        if entries.is_empty() {
            return None;
        }
        let own_label = match &package.version {
            Wanted::Exact(version) => local_label(version),
            Wanted::Range(_) => None,
        };
        let label = own_label.as_deref().or(label);
        let who = match &package.version {
            Wanted::Exact(version) => format!("{} {version}", package.distribution),
            Wanted::Range(range) if range.is_empty() => package.distribution.clone(),
            Wanted::Range(range) => format!("{} {range}", package.distribution),
        };
        if let Some(kind) = label.filter(|label| *label == "cpu" || label.starts_with("rocm")) {
            let wish = Wish {
                who,
                verified: true,
                notes: vec![format!("a build without CUDA (`{kind}`): it will use no NVIDIA GPU")],
                ..Wish::default()
            };
            let framework = entries[0].framework.clone();
            return Some(Looked { wish, framework, via: Vec::new(), requires: Vec::new() });
        }
        let mut notes = Vec::new();
        let entry = choose(&entries, package, label, &mut notes)?;
        let mut wish = self.wish_of(entry, who);
        if wish.gpus.is_none() {
            // The list of GPUs stands with the build's label, also for the build on PyPI.
            let same = entries.iter().find(|other| {
                other.cuda == entry.cuda
                    && other.cc_min.is_some()
                    && bound(entry).is_some_and(|version| other.versions.contains(&version))
            });
            wish.gpus = same.and_then(|other| other.cc_min.zip(other.cc_max));
        }
        if let Some(label) = label.filter(|label| entry.local.as_deref() != Some(label)) {
            apply_label(label, &mut wish, &mut notes);
        }
        wish.verified &= notes.is_empty();
        wish.notes.extend(notes);
        Some(Looked {
            wish,
            framework: entry.framework.clone(),
            via: entry.via.iter().filter_map(|text| requirements::package(text, None)).collect(),
            requires: entry
                .requires
                .iter()
                .filter_map(|text| {
                    requirements::package(text.split(';').next().unwrap_or(text), None)
                })
                .collect(),
        })
    }

    fn wish_of(&self, entry: &FrameworkRelease, who: String) -> Wish {
        let pins = entry
            .requires
            .iter()
            .filter_map(|text| requirements::package(text.split(';').next().unwrap_or(text), None));
        let pins = self.read_pins(&pins.collect::<Vec<_>>());
        let cuda = entry.cuda.as_ref().map(|version| {
            let made_with = CudaWish::of_version(version);
            // Without a lower bound of its own a build wants at least what it was made with.
            let least = entry.cuda_min.clone().or_else(|| made_with.made_with.clone());
            CudaWish {
                least: least.filter(|least| least.minor() != Some(0)),
                most: entry.cuda_max.clone(),
                release: entry.release.clone(),
                ..made_with
            }
        });
        Wish {
            who,
            cuda: cuda.map(|cuda| CudaWish {
                least: cuda.least.max(pins.cuda.and_then(|pins| pins.least)),
                ..cuda
            }),
            cudnn: match &entry.cudnn {
                Some(CudnnWish::AtLeast(version)) => Some(version.clone()),
                _ => None,
            },
            no_cudnn: entry.cudnn == Some(CudnnWish::None),
            cudnn_optional: entry.cudnn_optional,
            axes: entry.nccl.iter().map(|nccl| ("nccl".to_owned(), nccl.clone())).collect(),
            compiles: entry.compiles,
            gpus: entry.cc_min.zip(entry.cc_max),
            verified: entry.verified,
            notes: entry.broken.iter().cloned().collect(),
            ..Wish::default()
        }
    }
}

/// Chooses the entry that speaks of a package, saying what it had to assume.
fn choose<'a>(
    entries: &[&'a FrameworkRelease],
    package: &Package,
    label: Option<&str>,
    notes: &mut Vec<String>,
) -> Option<&'a FrameworkRelease> {
    let label_cuda = label.and_then(label_version).map(|(cuda, _)| cuda);
    // Best first: the build on PyPI where the label means no other (its own requirements were read), the label's own
    // entry, the extra's, the plain one.
    let rank = |entry: &FrameworkRelease| {
        let extra = entry.extra.as_ref().is_some_and(|extra| package.extras.contains(extra));
        let plain = entry.local.is_none() && entry.extra.is_none();
        let same = label_cuda.is_some() && entry.cuda == label_cuda && plain;
        let labelled = label.is_some() && entry.local.as_deref() == label;
        (same, labelled, extra, plain)
    };
    let usable = |entry: &&&FrameworkRelease| {
        let extra = entry.extra.as_ref().is_none_or(|extra| package.extras.contains(extra));
        extra && (entry.local.is_none() || entry.local.as_deref() == label)
    };
    match &package.version {
        Wanted::Exact(version) => {
            let plain = version.clone().without_local();
            let fitting =
                entries.iter().filter(usable).filter(|entry| entry.versions.contains(&plain));
            if let Some(entry) = fitting.max_by_key(|entry| rank(entry)) {
                return Some(entry);
            }
            // Not listed: the nearest older one, else the oldest.
            let older = entries
                .iter()
                .filter(usable)
                .filter(|entry| bound(entry).is_some_and(|bound| bound <= plain));
            let nearest = older.max_by_key(|entry| (bound(entry), rank(entry)));
            let entry = nearest
                .or_else(|| entries.iter().filter(usable).min_by_key(|entry| bound(entry)))?;
            notes.push(format!(
                "{plain} is not listed; taken as {} {}",
                entry.distribution, entry.versions
            ));
            Some(entry)
        }
        Wanted::Range(range) => {
            let fitting = entries.iter().filter(usable).filter(|entry| {
                range.is_empty() || bound(entry).is_some_and(|bound| range.contains(&bound))
            });
            let entry = fitting
                .max_by_key(|entry| (bound(entry), rank(entry)))
                .or_else(|| entries.iter().filter(usable).max_by_key(|entry| bound(entry)))?;
            // The only entry does not have to be assumed.
            if entries.iter().filter(usable).count() > 1 {
                notes.push(format!("its version is open; taken as {}", entry.versions));
            }
            Some(entry)
        }
    }
}

/// Returns the newest version an entry names.
fn bound(entry: &FrameworkRelease) -> Option<PackageVersion> {
    entry.versions.iter().map(|specifier| specifier.version().clone()).max()
}

/// Returns the local version label in the form that tables use.
fn local_label(version: &PackageVersion) -> Option<String> {
    version.is_local().then(|| version.to_string().split_once('+').map(|(_, l)| l.to_owned()))?
}

/// Reads the CUDA version of a label: `cu121` is 12.1, `cu118` is 11.8, jaxlib's `cuda12.cudnn89` is 12 with 8.9.
pub fn label_version(label: &str) -> Option<(Version, Option<Version>)> {
    if let Some(rest) = label.strip_prefix("cuda") {
        let (cuda, cudnn) = rest.split_once(".cudnn").unwrap_or((rest, ""));
        return Some((two_or_more(cuda, 2)?, two_or_more(cudnn, 1)));
    }
    let digits = label.strip_prefix("cu")?;
    let digits = &digits[..digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())];
    Some((two_or_more(digits, 2)?, None))
}

/// Splits digits that are written without a dot after the first `major` of them.
fn two_or_more(digits: &str, major: usize) -> Option<Version> {
    let (major, minor) = digits.split_at_checked(major).filter(|(major, _)| !major.is_empty())?;
    match minor {
        "" => major.parse().ok(),
        minor => format!("{major}.{minor}").parse().ok(),
    }
}

fn apply_label(label: &str, wish: &mut Wish, notes: &mut Vec<String>) {
    let Some((cuda, cudnn)) = label_version(label) else { return };
    let mut wished = CudaWish::of_version(&cuda);
    wished.least.clone_from(&wished.made_with);
    if wish
        .cuda
        .as_ref()
        .is_some_and(|known| known.made_with == wished.made_with && known.major == wished.major)
    {
        // The build on PyPI, under its full name.
        return;
    }
    if cudnn.is_some() {
        wish.cudnn = cudnn;
    } else {
        notes.push(format!(
            "the build `{label}` is not listed; its cuDNN is taken from the other builds"
        ));
    }
    wish.axes.clear();
    wish.cuda = Some(wished);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_versions_without_dots() {
        let read = |label| {
            label_version(label).map(|(cuda, cudnn)| {
                format!("{cuda} {}", cudnn.map_or("-".to_owned(), |cudnn| cudnn.to_string()))
            })
        };
        assert_eq!(read("cu121").as_deref(), Some("12.1 -"));
        assert_eq!(read("cu118").as_deref(), Some("11.8 -"));
        assert_eq!(read("cu123torch2.4").as_deref(), Some("12.3 -"));
        assert_eq!(read("cu12").as_deref(), Some("12 -"));
        assert_eq!(read("cuda12.cudnn89").as_deref(), Some("12 8.9"));
        assert_eq!(read("cuda11.cudnn86").as_deref(), Some("11 8.6"));
        assert_eq!(read("cpu"), None);
        assert_eq!(read("rocm6.0"), None);
        assert_eq!(read("cu"), None);
    }
}
