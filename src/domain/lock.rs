//! The lockfile beside a pin: the exact wheels that answer it, per target.
//!
//! Goals, in this order: the same lock gives the same bytes on every machine; it can be read by a person and
//! reviewed as a small diff; a shim can read its head with a line scan; it can be checked without a network;
//! old files stay readable. It names no host: any index that serves a wheel with the same sha256 will do.
//!
//! The order of the first lines is part of the format (the shims crate reads them):
//!
//! ```toml
//! version = 1
//! spec = "12.4+cudnn9"
//! toolchain = "12.4.1+cudnn9.1.0.70"
//! prefix.linux-x86_64 = "12.4.1+cudnn9.1.0.70-3f2a91c0de44"
//! profile = "runtime"
//!
//! [[wheel]]
//! target = "linux-x86_64"
//! component = "cudart"
//! ...
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::resolution::prefix_name;
use super::spec::Profile;
use super::target::Target;
use super::wheel_name::{WheelName, normalise};

/// The lockfile version that is written.
pub const VERSION: u32 = 1;

const HEADER: &str = "# Written by cuenv: the exact wheels that answer the pin beside it. Keep it in version control.\n";

/// A lockfile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// The format version.
    pub version: u32,
    /// The pin's text that this lock answers.
    pub spec: String,
    /// The toolchain's name, `12.4.1+cudnn9.1.0.70`.
    pub toolchain: String,
    /// The prefix name for each target.
    pub prefix: BTreeMap<Target, String>,
    /// The profile the wheels were chosen for.
    pub profile: Profile,
    /// The wheels, ordered by target, then component, then distribution.
    #[serde(rename = "wheel", default)]
    pub wheels: Vec<LockedWheel>,
}

/// One wheel that a lock names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedWheel {
    /// The target it is for.
    pub target: Target,
    /// The component it carries.
    pub component: String,
    /// The distribution, normalised (PEP 503).
    pub distribution: String,
    /// The distribution's version as the index spells it.
    pub version: String,
    /// The wheel's file name.
    pub file: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its sha256.
    pub sha256: Digest,
}

/// Why a text is not a lockfile.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Not TOML, or not the fields of a lockfile.
    #[error("not a lockfile")]
    Syntax(#[source] Box<toml::de::Error>),
    /// Written by a newer cuenv.
    #[error("lockfile version {0} is newer than this cuenv reads ({VERSION})")]
    Newer(u32),
    /// A prefix name that is not the one its wheels give: the lock was edited or merged by hand.
    #[error("`prefix.{target}` is `{found}`, but its wheels give `{expected}`")]
    Prefix {
        /// The target.
        target: Target,
        /// What the lock says.
        found: String,
        /// What its wheels give.
        expected: String,
    },
    /// A field that could escape its directory or that contradicts another.
    #[error("{field} `{}` is not valid in a lockfile", value.escape_debug())]
    Field {
        /// The field's name.
        field: &'static str,
        /// Its value.
        value: String,
    },
}

#[derive(Deserialize)]
struct Head {
    version: u32,
}

impl Lock {
    /// Reads a lockfile.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        let syntax = |error| LockError::Syntax(Box::new(error));
        let head: Head = toml::from_str(text).map_err(syntax)?;
        if head.version > VERSION {
            return Err(LockError::Newer(head.version));
        }
        let mut lock: Self = toml::from_str(text).map_err(syntax)?;
        lock.check()?;
        lock.wheels.sort();
        Ok(lock)
    }

    fn check(&self) -> Result<(), LockError> {
        let fault = |field, value: &str| LockError::Field { field, value: value.to_owned() };
        // These become file names, so they may hold nothing that names another directory.
        for (field, value) in [("spec", &self.spec), ("toolchain", &self.toolchain)]
            .into_iter()
            .chain(self.prefix.values().map(|name| ("prefix", name)))
        {
            if !is_plain_name(value) {
                return Err(fault(field, value));
            }
        }
        let mut seen = BTreeSet::new();
        for wheel in &self.wheels {
            for (field, value) in [
                ("component", &wheel.component),
                ("distribution", &wheel.distribution),
                ("version", &wheel.version),
                ("file", &wheel.file),
            ] {
                if !is_plain_name(value) {
                    return Err(fault(field, value));
                }
            }
            // A file of another distribution would be fetched under a name that looks harmless.
            let is_its_file = |name: WheelName| name.distribution == normalise(&wheel.distribution);
            if !wheel.file.parse().is_ok_and(is_its_file) {
                return Err(fault("file", &wheel.file));
            }
            if !self.prefix.contains_key(&wheel.target) {
                return Err(fault("target", wheel.target.name()));
            }
            if !seen.insert((wheel.target, &wheel.distribution)) {
                return Err(fault("distribution", &wheel.distribution));
            }
        }
        // A prefix is found by its name alone, so a name that its wheels do not give could stand for another project's.
        for (target, found) in &self.prefix {
            let wheels = self.wheels_for(*target);
            let expected = prefix_name(&self.toolchain, self.profile, wheels);
            if *found != expected {
                return Err(LockError::Prefix { target: *target, found: found.clone(), expected });
            }
        }
        Ok(())
    }

    /// Tells whether this lock answers a pin's spec, in whatever order either names its components.
    pub fn answers(&self, spec: &str) -> bool {
        shims::spec::canonical(&self.spec) == shims::spec::canonical(spec)
    }

    /// Returns the wheels for `target`.
    pub fn wheels_for(&self, target: Target) -> impl Iterator<Item = &LockedWheel> {
        self.wheels.iter().filter(move |wheel| wheel.target == target)
    }

    /// Writes the lockfile: the same lock always gives the same bytes.
    pub fn render(&self) -> String {
        let mut out = String::from(HEADER);
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let _ = writeln!(out, "version = {}", self.version);
        let _ = writeln!(out, "spec = {}", quoted(&self.spec));
        let _ = writeln!(out, "toolchain = {}", quoted(&self.toolchain));
        for (target, name) in &self.prefix {
            let _ = writeln!(out, "prefix.{target} = {}", quoted(name));
        }
        let _ = writeln!(out, "profile = \"{}\"", self.profile);
        let mut wheels: Vec<_> = self.wheels.iter().collect();
        wheels.sort();
        for wheel in wheels {
            let _ = write!(
                out,
                "\n[[wheel]]\ntarget = \"{}\"\ncomponent = {}\ndistribution = {}\nversion = {}\nfile = {}\nsize = {}\nsha256 = \"{}\"\n",
                wheel.target,
                quoted(&wheel.component),
                quoted(&wheel.distribution),
                quoted(&wheel.version),
                quoted(&wheel.file),
                wheel.size,
                wheel.sha256,
            );
        }
        out
    }
}

fn is_plain_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 255
        && !text.starts_with('.')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._+-@!".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock() -> Lock {
        let mut lock = Lock {
            version: VERSION,
            spec: "12.4+cudnn9".to_owned(),
            toolchain: "12.4.1+cudnn9.1.0.70".to_owned(),
            prefix: BTreeMap::new(),
            profile: Profile::Runtime,
            wheels: vec![LockedWheel {
                target: Target::LinuxX86_64,
                component: "cudart".to_owned(),
                distribution: "nvidia-cuda-runtime-cu12".to_owned(),
                version: "12.4.127".to_owned(),
                file: "nvidia_cuda_runtime_cu12-12.4.127-py3-none-manylinux2014_x86_64.whl"
                    .to_owned(),
                size: 883_698,
                sha256: Digest::of(b"wheel"),
            }],
        };
        let name = prefix_name(&lock.toolchain, lock.profile, &lock.wheels);
        lock.prefix.insert(Target::LinuxX86_64, name);
        lock
    }

    #[test]
    fn reads_what_it_writes() {
        let text = lock().render();
        assert_eq!(Lock::parse(&text).unwrap(), lock());
        assert_eq!(Lock::parse(&text).unwrap().render(), text);
    }

    #[test]
    fn the_head_can_be_read_with_a_line_scan() {
        let text = lock().render();
        let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).take(4).collect();
        assert_eq!(
            lines,
            [
                "version = 1",
                "spec = \"12.4+cudnn9\"",
                "toolchain = \"12.4.1+cudnn9.1.0.70\"",
                &format!("prefix.linux-x86_64 = \"{}\"", lock().prefix[&Target::LinuxX86_64]),
            ]
        );
    }

    #[test]
    fn refuses_what_could_escape_or_contradicts() {
        let text = lock().render();
        let prefix = lock().prefix[&Target::LinuxX86_64].clone();
        for (from, to) in [
            (prefix.as_str(), "../../../etc"),
            // A name that stands for other wheels: another project's prefix.
            (prefix.as_str(), "12.4.1+cudnn9.1.0.70-3f2a91c0de44"),
            ("component = \"cudart\"", "component = \"cublas\""),
            ("profile = \"runtime\"", "profile = \"base\""),
            ("nvidia_cuda_runtime_cu12-12.4.127-py3-none-manylinux2014_x86_64.whl", "../x.whl"),
            // Another distribution's file under a name that looks harmless.
            ("file = \"nvidia_cuda_runtime_cu12-", "file = \"evil-"),
            ("target = \"linux-x86_64\"", "target = \"linux-aarch64\""),
            ("size = 883698", "size = -1"),
            ("version = 1\n", "version = 2\n"),
            ("profile = \"runtime\"", "profile = \"runtime\"\nurl = \"x\""),
        ] {
            assert!(text.contains(from), "{from}");
            assert!(Lock::parse(&text.replacen(from, to, 1)).is_err(), "{from} -> {to}");
        }
        let head = &text[..text.find("\n[[wheel]]").unwrap()];
        assert!(Lock::parse(head).is_err(), "no wheels give another name");
        let twice = format!("{text}{}", &text[text.find("\n[[wheel]]").unwrap()..]);
        assert!(Lock::parse(&twice).is_err());
    }

    #[test]
    fn never_panics_on_a_damaged_lock() {
        let text = lock().render();
        arbtest::arbtest(|u| {
            let mut bytes = text.clone().into_bytes();
            for _ in 0..u.int_in_range(1..=8)? {
                let at = u.int_in_range(0..=bytes.len() - 1)?;
                bytes[at] = u.arbitrary()?;
            }
            if let Ok(text) = String::from_utf8(bytes) {
                let _ = Lock::parse(&text);
            }
            Ok(())
        });
    }
}
