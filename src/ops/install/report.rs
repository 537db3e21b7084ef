//! What an installation reports.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::Fetched;
use crate::domain::lock::Lock;
use crate::domain::size::megabytes;
use crate::domain::target::Target;
use crate::store::How;

/// One toolchain that is there now.
#[derive(Clone, Debug, Serialize)]
pub struct InstallReport {
    /// The spec that asked for it.
    pub spec: String,
    /// The toolchain's name.
    pub toolchain: String,
    /// The platform.
    pub target: Target,
    /// The prefix.
    pub prefix: PathBuf,
    /// Whether it was there before.
    pub present: bool,
    /// Wheels that were fetched.
    pub fetched: usize,
    /// Their bytes.
    pub fetched_bytes: u64,
    /// Wheels that were in the store.
    pub reused: usize,
    /// Wheels that another process fetched meanwhile.
    pub awaited: usize,
    /// Wheels whose files were linked from where somebody had unpacked them.
    pub adopted: usize,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// Facts worth a line.
    pub notes: Vec<String>,
}

impl InstallReport {
    pub(super) fn new(
        lock: &Lock,
        target: Target,
        prefix: PathBuf,
        present: bool,
        took: Duration,
    ) -> Self {
        Self {
            spec: lock.spec.clone(),
            toolchain: lock.toolchain.clone(),
            target,
            prefix,
            present,
            fetched: 0,
            fetched_bytes: 0,
            reused: 0,
            awaited: 0,
            adopted: 0,
            seconds: took.as_secs_f64(),
            notes: Vec::new(),
        }
    }

    pub(super) fn count(&mut self, fetched: &[Fetched]) {
        for Fetched { wheel, how } in fetched {
            match how {
                How::Present => self.reused += 1,
                How::Awaited => self.awaited += 1,
                How::Adopted => self.adopted += 1,
                How::Fetched => {
                    self.fetched += 1;
                    self.fetched_bytes += wheel.size;
                }
            }
        }
    }
}

impl fmt::Display for InstallReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.present {
            write!(f, "`{}` is installed", self.toolchain)?;
            return self.notes.iter().try_for_each(|note| write!(f, "\nnote: {note}"));
        }
        write!(f, "Installed `{}` in {:.1} s", self.toolchain, self.seconds)?;
        let mut parts = Vec::new();
        if self.fetched > 0 {
            parts.push(format!("{} fetched, {}", self.fetched, megabytes(self.fetched_bytes)));
        }
        if self.reused > 0 {
            parts.push(format!("{} from the store", self.reused));
        }
        if self.adopted > 0 {
            parts.push(format!("{} unpacked on this machine already", self.adopted));
        }
        if self.awaited > 0 {
            parts.push(format!("{} fetched by another cuenv", self.awaited));
        }
        write!(f, " ({})", parts.join("; "))?;
        self.notes.iter().try_for_each(|note| write!(f, "\nnote: {note}"))
    }
}
