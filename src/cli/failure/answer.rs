//! Specs without an answer, and answers that cannot be installed.

use super::Failure;
use crate::cli::exit::Exit;
use crate::domain::listing::Refusal;
use crate::domain::size::megabytes;
use crate::domain::spec::meant;
use crate::domain::version::Version;
use crate::ops::resolve::ResolveError;
use crate::ops::{answer, install};

impl From<answer::Error> for Failure {
    fn from(error: answer::Error) -> Self {
        match error {
            answer::Error::Resolve(error) => error.into(),
            answer::Error::Install(error) => error.into(),
            answer::Error::Catalog(error) => error.into(),
            answer::Error::Host(error) => error.into(),
            answer::Error::NotARelease(ref text) => {
                let hint = match meant(text) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => "name a CUDA release, such as `12.4+cudnn9`".to_owned(),
                };
                Self::new(Exit::Usage, error).hint(hint)
            }
            answer::Error::NoDigest(_) => Self::new(Exit::Failed, error).hint(
                "`cuenv install` fetches it, computes the sha256 and writes it into the lock",
            ),
        }
    }
}

impl From<install::Error> for Failure {
    fn from(error: install::Error) -> Self {
        match error {
            install::Error::Index(error) => error.into(),
            install::Error::Store(error) => error.into(),
            install::Error::Prefix(error) => error.into(),
            install::Error::NotLockedFor { target, ref has } => {
                // What the option names is all that the lock will hold.
                let mut all = has.clone();
                all.push(target.to_string());
                let hint = format!("add it with `cuenv lock --platform {}`", all.join(","));
                Self::new(Exit::Drift, error).hint(hint)
            }
            install::Error::Space { ref path, needed, free } => {
                let message = format!(
                    "about {} are needed in `{}`, and {} are free",
                    megabytes(needed),
                    path.display(),
                    megabytes(free)
                );
                Self::new(Exit::Failed, message).hint(
                    "free some space (`cuenv gc` shows what can go), or set CUENV_HOME to a larger disk",
                )
            }
            install::Error::Colon(_) => Self::new(Exit::Usage, error)
                .hint("set CUENV_HOME to a directory without a colon in its path"),
            install::Error::UnknownWheel(_) => Self::new(Exit::Integrity, error).hint(
                "nothing was fetched; write the lock anew with `cuenv update`, or ask who wrote it",
            ),
            install::Error::Catalog(error) => error.into(),
            install::Error::Io(_) => Self::new(Exit::Failed, error),
        }
    }
}

impl From<ResolveError> for Failure {
    fn from(error: ResolveError) -> Self {
        use ResolveError as E;
        match error {
            E::Index(error) => error.into(),
            E::NoRelease { ref asked, ref nearest } => {
                let meant = meant(&asked.to_string());
                let hint = match nearest.as_slice() {
                    _ if meant.is_some() => {
                        format!("did you mean `{}`?", meant.unwrap_or_default())
                    }
                    [] => "the index lists no CUDA release at all; check CUENV_INDEX_URL".to_owned(),
                    [one] => format!("the nearest is {one}: try `cuenv use {}`", one.major_minor()),
                    [older, newer, ..] => format!(
                        "the nearest are {older} and {newer}; `cuenv list --available` shows all"
                    ),
                };
                Self::new(Exit::NoMatch, error).hint(hint)
            }
            E::Host { ref instead, ref driver, ref verdict, .. } => {
                let works = instead.as_ref().map(|release| {
                    format!("this machine runs CUDA {0}: try `cuenv use {0}`", release.major_minor())
                });
                // What no GPU here runs, no driver makes run.
                let helps = verdict.gpus.is_empty() || verdict.gpus.iter().any(|(_, gpu)| gpu.runs());
                let ask = driver.as_ref().filter(|_| helps).map(|driver| {
                    format!("or ask the administrator for driver {driver} or newer")
                });
                let failure = Self::new(Exit::Host, error);
                works.into_iter().chain(ask).fold(failure, Self::hint)
            }
            E::AutoWithoutDriver => Self::new(Exit::Host, error).hint(
                "name a release, such as `12.4+cudnn9`, or set CUENV_DRIVER_VERSION to the driver of the machine it will run on",
            ),
            E::UnknownComponent { ref nearest, .. } => {
                let hint = match nearest {
                    Some(name) => format!("did you mean `{name}`?"),
                    None => "`cuenv list --available` shows the components".to_owned(),
                };
                Self::new(Exit::NoMatch, error).hint(hint)
            }
            E::NotForRelease { ref component, ref release, ref nearest, .. } => {
                let nearest = nearest.as_ref().map(Version::major_minor).map(|nearest| {
                    format!("the nearest release that has it is {nearest}: try `cuenv use {nearest}+{component}`")
                });
                let own = (component == "nvcc").then(|| {
                    let release = release.major_minor();
                    format!(
                        "or adopt an installed toolkit (`cuenv link NAME /usr/local/cuda-{release}`); \
                         `{release}@devel` brings ptxas and the headers"
                    )
                });
                let failure = Self::new(Exit::NoMatch, error);
                nearest.into_iter().chain(own).fold(failure, Self::hint)
            }
            E::NoneFits { host, ref component, ref instead, .. } => {
                let exit = if host { Exit::Host } else { Exit::NoMatch };
                let hint = match instead.as_ref().and_then(|version| version.release().first().copied()) {
                    Some(major) => format!("ask for `{component}{major}`, or leave the version of `{component}` open"),
                    None => format!("leave the version of `{component}` open, and cuenv takes the newest that fits"),
                };
                Self::new(exit, error).hint(hint)
            }
            E::NoWheel { ref source, .. } => {
                let exit = match source.reason {
                    Refusal::Glibc { .. } | Refusal::OtherTarget { .. } => Exit::Host,
                    _ => Exit::NoMatch,
                };
                Self::new(exit, error)
            }
            E::Metadata { .. } => Self::new(Exit::Integrity, error),
        }
    }
}
