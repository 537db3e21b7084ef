//! `which`: the file that would be used for a tool or a library, and the ones it beats.

use std::fmt;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::doctor::remedy::pin_with;
use super::launch::{Broken, Launch, Request, State};
use super::{machine, place, verdict};
use crate::context::Context;
use crate::domain::loader::{LoadError, Loader};
use crate::platform::loader::{RealFiles, probe_host};

/// What was asked and what was found.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The name asked for.
    pub name: String,
    /// The files, the one that is used first.
    pub candidates: Vec<Candidate>,
    /// What is to be known of it: that it belongs to the driver, how this machine takes the toolchain.
    pub notes: Vec<String>,
    /// Whether to show all of them.
    #[serde(skip)]
    pub all: bool,
}

/// One file.
#[derive(Debug, Serialize)]
pub struct Candidate {
    /// The file.
    pub path: PathBuf,
    /// Why it is there: the rule that leads to it.
    pub because: String,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A library of the driver, which is not here.
    #[error("no `{name}`: it comes with the NVIDIA driver, and no toolchain brings it")]
    OfDriver {
        /// The name.
        name: String,
    },
    /// No file of that name.
    #[error("no `{name}`: neither the toolchain nor {searched} has it")]
    NotFound {
        /// The name.
        name: String,
        /// Where was looked.
        searched: String,
        /// The toolchain that holds, if one is installed.
        toolchain: Option<String>,
        /// The command that pins a toolchain which has it.
        pin: Option<String>,
    },
    /// What holds here cannot be used.
    #[error(transparent)]
    Broken(Broken),
    /// The loader would stop on a file that is no library.
    #[error("{0}")]
    Refused(LoadError),
}

/// Finds `name`, seen from `from` (a program or library that asks for it) when that is given.
pub fn which(
    cx: &Context<'_>,
    name: &str,
    from: Option<&Path>,
    request: &Request,
    all: bool,
) -> Result<Report, Error> {
    // Without the toolchain that is asked for, every answer would be another program's.
    let launch = match Launch::new(cx, request) {
        Launch { state: State::Broken(error), .. } => return Err(Error::Broken(error)),
        Launch { state: State::Missing, choice: Some(choice), .. } => {
            return Err(Error::Broken(place::Error::Missing(choice).into()));
        }
        launch => launch,
    };
    // A list must not fail because a manifest of the user's own does.
    let catalog = cx.catalog().ok();
    let is_library = name.contains(".so");
    let candidates =
        if is_library { library(cx, &launch, name, from)? } else { tool(cx, &launch, name) };
    let of_driver = catalog.as_ref().is_some_and(|catalog| catalog.is_driver_library(name));
    if candidates.is_empty() && of_driver {
        return Err(Error::OfDriver { name: name.to_owned() });
    }
    if candidates.is_empty() {
        let spec = launch.choice.as_ref().map_or("12", |choice| choice.spec.as_str());
        let pin = catalog.as_ref().and_then(|catalog| pin_with(catalog, &[name], Some(spec)));
        return Err(Error::NotFound {
            pin,
            name: name.to_owned(),
            searched: if is_library { "the loader's search" } else { "PATH" }.to_owned(),
            toolchain: launch.toolchain().map(str::to_owned),
        });
    }
    let mut notes = Vec::new();
    if of_driver {
        notes.push(format!(
            "`{name}` comes with the NVIDIA driver: it has to fit the driver that runs, and no toolchain brings it"
        ));
    }
    let first = &candidates[0].path;
    if let (Some(catalog), Some(toolchain), Some(prefix)) =
        (&catalog, launch.toolchain(), launch.prefix())
        && first.starts_with(prefix)
        && let Ok(facts) = machine::facts(cx, catalog, cx.target)
        && let Some(line) = verdict::of_toolchain(catalog, &facts.machine, toolchain)
    {
        notes.extend(line.text().map(|words| format!("{toolchain}: {words}")));
    }
    Ok(Report { name: name.to_owned(), candidates, notes, all })
}

fn tool(cx: &Context<'_>, launch: &Launch, name: &str) -> Vec<Candidate> {
    let shims = cx.dirs.shims();
    let path = launch.var("PATH").unwrap_or_default();
    let mut found: Vec<Candidate> = Vec::new();
    for directory in path.split(':').map(Path::new).filter(|directory| directory.is_absolute()) {
        let file = directory.join(name);
        let runs = file
            .metadata()
            .is_ok_and(|seen| seen.is_file() && seen.permissions().mode() & 0o111 != 0);
        if directory == shims || !runs || found.iter().any(|other| other.path == file) {
            continue;
        }
        let inside = launch.prefix().is_some_and(|prefix| file.starts_with(prefix));
        let because = match (inside, launch.toolchain()) {
            (true, Some(toolchain)) => format!("toolchain {toolchain}"),
            _ => format!("PATH `{}`", directory.display()),
        };
        found.push(Candidate { path: file, because });
    }
    found
}

fn library(
    cx: &Context<'_>,
    launch: &Launch,
    name: &str,
    from: Option<&Path>,
) -> Result<Vec<Candidate>, Error> {
    let files = RealFiles::default();
    let host = probe_host(cx.target);
    let program = launch.program.display().to_string();
    let start = |program: &str| Loader::start(&files, &host, launch.loader_environment(), program);
    // An interpreter may be a script (other version managers have such); any program then does.
    let own = cx.process.exe().map(|exe| exe.display().to_string()).unwrap_or_default();
    let mut loader = start(&program).or_else(|_| start(&own)).map_err(Error::Refused)?;
    let asker = match from {
        None => 0,
        Some(from) => {
            let path = cx.cwd().join(from).display().to_string();
            match loader.dlopen(&path, 0) {
                Ok(index) => index,
                // A program is not opened but started.
                Err(LoadError::Refused { .. }) => {
                    loader = start(&path).map_err(Error::Refused)?;
                    0
                }
                Err(error) => return Err(Error::Refused(error)),
            }
        }
    };
    let (found, error) = loader.candidates(name, asker);
    if let (true, Some(error)) = (found.is_empty(), error) {
        return Err(Error::Refused(error));
    }
    let mut candidates: Vec<Candidate> = Vec::new();
    for candidate in found {
        let path = launch.cwd.join(&candidate.path);
        if !candidates.iter().any(|known| known.path == path) {
            candidates.push(Candidate { path, because: candidate.rule.to_string() });
        }
    }
    Ok(candidates)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.candidates.first() else { return Ok(()) };
        if !self.all {
            return writeln!(f, "{}", first.path.display());
        }
        for candidate in &self.candidates {
            writeln!(f, "{}  ({})", candidate.path.display(), candidate.because)?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "note: {note}"))
    }
}
