//! What is known of this machine.

use crate::catalog::Catalog;
use crate::domain::host::{Host, Probe};
use crate::platform::host::{self, Depth, HostError};
use crate::platform::process::Process;

/// Reads the facts about this machine; the catalog's table of names fills in what GPUs do not say themselves.
pub fn probe(process: &Process, catalog: &Catalog, depth: Depth) -> Result<Host, HostError> {
    let names = |device: &str| catalog.gpu(device).map(|gpu| (gpu.cc, gpu.kind));
    host::probe(process, &names, depth)
}

/// Answers a probe by loading NVIDIA's library into this process; called in a child only.
pub fn answer_probe(process: &Process, probe: Probe) -> String {
    host::answer_probe(process, probe)
}
