//! The little that a shim must know of a spec: which texts can be one, and one spelling for each.
//!
//! A spec's text is a file name under `active/<target>/`, so its characters are few and it is never `..`.
//! `cuenv` itself parses specs fully; a test there holds both to the same canonical text.

use std::fmt;

/// Longest spec that is read, in bytes.
pub const MAX: usize = 200;

/// Steps aside: no toolchain.
pub const SYSTEM: &str = "system";
/// Stands for the user's default.
pub const DEFAULT: &str = "default";

/// The names of components that a spec can hold; a test of cuenv's holds them to its manifests.
pub const COMPONENTS: &[&str] = &[
    "cccl",
    "crt",
    "cublas",
    "cudart",
    "cudla",
    "cudnn",
    "cufft",
    "cufile",
    "culibos",
    "cuobjdump",
    "cupti",
    "curand",
    "cusolver",
    "cusparse",
    "cusparselt",
    "cuxxfilt",
    "nccl",
    "npp",
    "nvcc",
    "nvdisasm",
    "nvfatbin",
    "nvjitlink",
    "nvjpeg",
    "nvml",
    "nvptxcompiler",
    "nvrtc",
    "nvshmem",
    "nvtx",
    "nvvm",
    "opencl",
    "profiler",
    "sanitizer",
    "tensorrt",
    "tileiras",
];

/// Why no toolchain can ever answer a text that has a spec's characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No version, `auto` or name.
    Version(String),
    /// No such component; the one that is spelt most like it.
    Component(String, Option<&'static str>),
    /// No such profile.
    Profile(String),
    /// Something added to a linked toolkit.
    Added(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(text) => write!(f, "`{text}` is no version"),
            Self::Component(name, None) => write!(f, "there is no component `{name}`"),
            Self::Component(name, Some(nearest)) => {
                write!(f, "there is no component `{name}`; the nearest is `{nearest}`")
            }
            Self::Profile(text) => {
                write!(f, "there is no profile `{text}`, only `base`, `runtime` and `devel`")
            }
            Self::Added(name) => {
                write!(f, "`{name}` would be a linked toolkit, and nothing can be added to one")
            }
        }
    }
}

/// Finds out why no toolchain can answer `spec`; `None` when one could. `names` are the components there are.
pub fn fault(spec: &str, names: &[&'static str]) -> Option<Fault> {
    let (body, profile) = match spec.split_once('@') {
        Some((body, profile)) => (body, Some(profile)),
        None => (spec, None),
    };
    let mut parts = body.split('+');
    let head = parts.next().unwrap_or_default();
    if head != "auto" && head.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return (head != spec).then(|| Fault::Added(head.to_owned()));
    }
    if head != "auto" && !is_version(head) {
        return Some(Fault::Version(head.to_owned()));
    }
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(part.len());
        let (name, version) = part.split_at(end);
        if name.is_empty() {
            return Some(Fault::Component(part.to_owned(), None));
        }
        if !names.is_empty() && !names.contains(&name) {
            return Some(Fault::Component(name.to_owned(), nearest(name, names)));
        }
        if !version.is_empty() && !is_version(version) {
            return Some(Fault::Version(version.to_owned()));
        }
    }
    let known = ["base", "runtime", "devel"];
    let profile = profile.filter(|profile| !known.contains(profile))?;
    Some(Fault::Profile(profile.to_owned()))
}

fn is_version(text: &str) -> bool {
    text.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The name that is spelt most like a word, if one is close.
pub fn nearest<'a>(word: &str, names: &[&'a str]) -> Option<&'a str> {
    let near = names.iter().map(|known| (distance(known, word), *known)).min()?;
    // A short word is near to many.
    (near.0 <= word.len().div_ceil(3).min(2)).then_some(near.1)
}

/// How many letters have to be put in, taken out or changed to make one word of the other.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.bytes().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, b) in other.bytes().enumerate() {
            let changed = before + usize::from(a != b);
            before = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(before + 1);
        }
    }
    row[other.len()]
}

/// Tells whether a text can be a spec: its characters, its first character and its length.
pub fn is_spec(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".+@_-".contains(&byte);
    !text.is_empty()
        && text.len() <= MAX
        && text.bytes().all(allowed)
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
}

/// Tells whether a text can be the name of a prefix: one path component with a spec's characters.
pub fn is_prefix_name(text: &str) -> bool {
    is_spec(text)
}

/// Returns the one spelling of a spec: cuDNN first, then the other components in order of name, then the profile.
pub fn canonical(text: &str) -> String {
    let (body, profile) = match text.split_once('@') {
        Some((body, profile)) => (body, Some(profile)),
        None => (text, None),
    };
    let mut parts = body.split('+');
    let mut out = parts.next().unwrap_or_default().to_owned();
    let mut components: Vec<&str> = parts.collect();
    // Names hold no digit, so the text up to the first digit is the name.
    let name = |part: &str| part.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    components.sort_unstable_by_key(|part| {
        let name = &part[..name(part)];
        (name != "cudnn", name.to_owned())
    });
    for component in components {
        out.push('+');
        out.push_str(component);
    }
    if let Some(profile) = profile {
        out.push('@');
        out.push_str(profile);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_are_specs() {
        for good in ["12.4+cudnn9", "auto", "system", "site-12.4", "12+cudnn9.1+nccl2@devel", "a_b"]
        {
            assert!(is_spec(good), "{good}");
        }
        for bad in ["", "..", ".x", "-n", "+x", "a/b", "a b", "$(id)", "a\nb", "ä", "@devel"] {
            assert!(!is_spec(bad), "{bad}");
        }
        assert!(!is_spec(&"1".repeat(MAX + 1)));
    }

    #[test]
    fn what_no_toolchain_answers_is_told() {
        let told = |text| fault(text, COMPONENTS).map(|fault| fault.to_string());
        let good = [
            "12.4+cudnn9.1+nccl@devel",
            "auto+cudnn9",
            "site-12.4",
            "99",
            "system",
            "12.4.1+cudnn9.1.0.70",
        ];
        for good in good {
            assert_eq!(told(good), None, "{good}");
        }
        for (bad, why) in [
            ("12.4+cudn9", "there is no component `cudn`; the nearest is `cudnn`"),
            ("12.4+tensorflow", "there is no component `tensorflow`"),
            ("12.4@big", "there is no profile `big`, only `base`, `runtime` and `devel`"),
            ("12..4", "`12..4` is no version"),
            ("12.4+cudnn9x", "`9x` is no version"),
            ("12.4+9", "there is no component `9`"),
            ("cu124+cudnn9", "`cu124` would be a linked toolkit, and nothing can be added to one"),
        ] {
            assert_eq!(told(bad).as_deref(), Some(why), "{bad}");
        }
        assert_eq!(fault("12.4+mine2", &[]), None);
    }

    #[test]
    fn one_spelling_for_each_spec() {
        assert_eq!(canonical("12.4+nccl2.21+cudnn9@devel"), "12.4+cudnn9+nccl2.21@devel");
        assert_eq!(canonical("12.4+nvshmem+nccl"), "12.4+nccl+nvshmem");
        assert_eq!(canonical("system"), "system");
        assert_eq!(canonical(""), "");
    }
}
