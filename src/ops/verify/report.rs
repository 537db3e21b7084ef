//! What `verify` found, for people and for programs.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use super::child::Computed;
use crate::prefix::PathFault;

/// The verdict on a toolchain.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The toolchain.
    pub toolchain: String,
    /// Its prefix.
    pub prefix: PathBuf,
    /// Why this toolchain: what chose it.
    pub because: String,
    /// Files that are gone or have another size; nothing is read for that.
    pub faults: Vec<PathFault>,
    /// The command that makes such a toolchain whole; absent where nothing is wrong with its files.
    pub mending: Option<String>,
    /// Its libraries, by name.
    pub libraries: Vec<Library>,
    /// What was computed.
    pub gpu: Gpu,
}

/// What was computed on the GPU.
#[derive(Debug, Default, Serialize)]
pub struct Gpu {
    /// Why nothing was computed; absent: there is a GPU.
    pub missing: Option<String>,
    /// The computations.
    pub computed: Vec<Computed>,
}

/// The verdict on one library.
#[derive(Debug, Serialize)]
pub struct Library {
    /// Its file name.
    pub name: String,
    /// Its version, by its own word.
    pub version: Option<String>,
    /// The function that told the version, or why none did.
    pub via: Option<String>,
    /// The prefix's file that was loaded.
    pub file: Option<PathBuf>,
    /// The verdict.
    pub verdict: Verdict,
    /// What belongs to the verdict: the foreign file, the missing library, the loader's words.
    pub detail: Option<String>,
}

/// What became of a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Loaded from the prefix.
    Ok,
    /// Not loaded, for want of a library of the driver or of an optional plugin: no fault of the toolchain.
    NeedsHost,
    /// Loaded from somewhere else, or twice.
    Foreign,
    /// The loader refused it.
    Failed,
    /// It ended the process, or hung.
    Crashed,
}

impl Library {
    pub(super) fn broken(name: &str, verdict: Verdict, detail: String) -> Self {
        let name = name.rsplit('/').next().unwrap_or(name).to_owned();
        Self { name, version: None, via: None, file: None, verdict, detail: Some(detail) }
    }

    /// Whether this is a problem.
    pub fn is_problem(&self) -> bool {
        !matches!(self.verdict, Verdict::Ok | Verdict::NeedsHost)
    }
}

impl Report {
    /// Whether anything is wrong.
    pub fn has_problems(&self) -> bool {
        !self.faults.is_empty()
            || self.libraries.iter().any(Library::is_problem)
            || self.gpu.computed.iter().any(|computed| computed.error.is_some())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} in {}, because of {}",
            self.toolchain,
            self.prefix.display(),
            self.because
        )?;
        for PathFault { path, fault } in &self.faults {
            writeln!(f, "  `{path}` {fault}")?;
        }
        if let Some(command) = &self.mending {
            writeln!(f, "  fix: {command}")?;
        }
        let width = self.libraries.iter().map(|library| library.name.len()).max().unwrap_or(0);
        for library in &self.libraries {
            let version = library.version.as_deref().unwrap_or("-");
            write!(f, "  {:width$}  {version:<9}  ", library.name)?;
            let detail = library.detail.as_deref().unwrap_or_default();
            match library.verdict {
                Verdict::Ok => {
                    let file = library.file.as_deref();
                    let short = file.map(|file| file.strip_prefix(&self.prefix).unwrap_or(file));
                    write!(
                        f,
                        "{}",
                        short.map(|file| file.display().to_string()).unwrap_or_default()
                    )?;
                    if let (None, Some(via)) = (&library.version, &library.via) {
                        write!(f, "  ({via})")?;
                    }
                    writeln!(f)?;
                }
                Verdict::NeedsHost => {
                    writeln!(f, "note: needs `{detail}`, which this host does not have")?;
                }
                Verdict::Foreign => writeln!(f, "WRONG: loaded from {detail}")?,
                Verdict::Failed => writeln!(f, "FAILED: {detail}")?,
                Verdict::Crashed => writeln!(f, "CRASHED: {detail}")?,
            }
        }
        let count = |wanted: fn(&Library) -> bool| {
            self.libraries.iter().filter(|library| wanted(library)).count()
        };
        let good = count(|library| library.verdict == Verdict::Ok);
        let notes = count(|library| library.verdict == Verdict::NeedsHost);
        let bad = count(Library::is_problem);
        write!(f, "{good} loaded from the prefix")?;
        if notes > 0 {
            write!(f, ", {notes} could not be tried here")?;
        }
        if bad > 0 {
            write!(f, ", {bad} wrong")?;
        }
        writeln!(f)?;
        let wrong = self.gpu.computed.iter().filter(|computed| computed.error.is_some()).count();
        for computed in &self.gpu.computed {
            write!(f, "  {:width$}  {}: ", computed.library, computed.what)?;
            match &computed.error {
                None => writeln!(f, "right")?,
                Some(error) => writeln!(f, "WRONG: {error}")?,
            }
        }
        match &self.gpu.missing {
            Some(why) => writeln!(f, "nothing was computed, for there is no GPU here ({why})"),
            None if self.gpu.computed.is_empty() => Ok(()),
            None => {
                writeln!(f, "{} computations on the GPU, {wrong} wrong", self.gpu.computed.len())
            }
        }
    }
}
