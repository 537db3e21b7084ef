//! What `cuenv resolve` shows: each choice with its reason.

use std::fmt;

use serde::Serialize;

use crate::domain::resolution::Resolution;
use crate::domain::spec::Spec;

/// A resolution as a report.
#[derive(Debug, Serialize)]
pub struct ResolveReport {
    /// The spec as it was read.
    pub spec: String,
    /// The toolchain's name.
    pub toolchain: String,
    /// Bytes to download if nothing is in the store.
    pub download_bytes: u64,
    /// The wheels with their reasons.
    #[serde(flatten)]
    pub resolution: Resolution,
}

impl ResolveReport {
    /// Reports how `spec` was answered.
    pub fn new(spec: &Spec, resolution: Resolution) -> Self {
        Self {
            spec: spec.to_string(),
            toolchain: resolution.toolchain(),
            download_bytes: resolution.download_size(),
            resolution,
        }
    }
}

impl fmt::Display for ResolveReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let resolution = &self.resolution;
        writeln!(f, "{} answers `{}`", self.toolchain, self.spec)?;
        writeln!(
            f,
            "  {:<12} {:<18} {}",
            "cuda",
            resolution.cuda,
            resolution.cuda_reasons.join("; ")
        )?;
        for choice in &resolution.choices {
            let reasons = choice.reasons.join("; ");
            writeln!(f, "  {:<12} {:<18} {reasons}", choice.component, choice.version)?;
        }
        let count = resolution.choices.len();
        writeln!(
            f,
            "{count} wheels for {}, profile {}, {} to download if nothing is there",
            resolution.target,
            resolution.profile,
            crate::domain::size::megabytes(self.download_bytes),
        )?;
        resolution.notes.iter().try_for_each(|note| writeln!(f, "note: {note}"))
    }
}
