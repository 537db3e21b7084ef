//! Reads the facts about this machine.
//!
//! Files first: they cost nothing and cannot hang. NVIDIA's libraries are asked in a child process with a time limit,
//! and only where files leave something open or everything was asked for. `CUENV_HOST_ROOT` puts another root before
//! every path that is read, so that a test, or a look into an image, sees another machine.

mod children;
mod fabric;
mod files;
mod libc;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::capability::{CapabilityError, ComputeCapability};
use crate::domain::found::{Found, Via};
use crate::domain::host::{Host, HostGpu, Probe};
use crate::domain::manifest::gpu::Kind;
use crate::domain::version::{Version, VersionError};
use crate::platform::process::Process;
use crate::platform::read;

use children::candidates;
pub use fabric::fabric;

/// Stands before every path that is read.
pub const ROOT_VARIABLE: &str = "CUENV_HOST_ROOT";
/// The driver to assume; `none` for no driver.
pub const DRIVER_VARIABLE: &str = "CUENV_DRIVER_VERSION";
/// The compute capabilities to assume, comma-separated; `none` for no GPU.
pub const CAPABILITY_VARIABLE: &str = "CUENV_COMPUTE_CAPABILITY";
/// Seconds after which a probe of the driver is given up.
pub const TIMEOUT_VARIABLE: &str = "CUENV_PROBE_TIMEOUT";
/// The hidden command whose process loads NVIDIA's libraries.
pub const PROBE_COMMAND: &str = "__probe";

/// A cold driver may take seconds to wake every GPU of a large machine.
const LIMIT: Duration = Duration::from_secs(5);

/// How much is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Files, and the management library where they leave driver or GPUs open.
    Enough,
    /// Also the driver API: what a program would see.
    Everything,
}

/// Why the facts could not be read.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The driver to assume is not a version.
    #[error("`{DRIVER_VARIABLE}` is not a driver version")]
    Driver(#[source] VersionError),
    /// The capability to assume is not one.
    #[error("`{CAPABILITY_VARIABLE}` is not a list of compute capabilities")]
    Capability(#[source] CapabilityError),
    /// The time limit is not a number of seconds.
    #[error("`{TIMEOUT_VARIABLE}` is `{0}`, expected a number of seconds")]
    Timeout(String),
}

/// A table of GPU names.
pub type Names<'a> = &'a dyn Fn(&str) -> Option<(ComputeCapability, Kind)>;

/// Where facts are read from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    process: &'a Process,
    root: Option<&'a Path>,
}

impl<'a> Place<'a> {
    fn new(process: &'a Process) -> Self {
        Self { process, root: process.var_os(ROOT_VARIABLE).map(Path::new) }
    }

    /// Puts the root before an absolute path.
    fn path(&self, absolute: &str) -> PathBuf {
        match self.root {
            Some(root) => root.join(absolute.trim_start_matches('/')),
            None => PathBuf::from(absolute),
        }
    }

    fn exists(&self, absolute: &str) -> bool {
        self.path(absolute).exists()
    }

    /// Reads a small file; one that is absent, unreadable or not text has no facts.
    fn read(&self, absolute: &str) -> Option<(String, Via)> {
        let path = self.path(absolute);
        let text = read::text(&path).ok()?;
        Some((text, Via::File(path.display().to_string())))
    }
}

/// Reads the facts about this machine.
pub fn probe(process: &Process, names: Names<'_>, depth: Depth) -> Result<Host, HostError> {
    let place = Place::new(process);
    let limit = match process.var(TIMEOUT_VARIABLE) {
        None => LIMIT,
        Some(text) => {
            let seconds =
                text.parse::<f64>().ok().filter(|seconds| (0.0..=600.0).contains(seconds));
            Duration::from_secs_f64(seconds.ok_or_else(|| HostError::Timeout(text.to_owned()))?)
        }
    };
    let assumed_driver = assumed_driver(process)?;
    let assumed_gpus = assumed_gpus(process)?;

    let mut host = files::read(&place);
    host.libc = libc::read(&place);
    name_gpus(&mut host.gpus, names);
    let open = (host.driver.is_none() && assumed_driver.is_none())
        || (assumed_gpus.is_none()
            && (host.gpus.is_empty() || host.gpus.iter().any(|gpu| gpu.cc.is_none())))
        || host.wsl.is_some()
        || host.jetson.is_some();
    let fully_assumed = assumed_driver.is_some() && assumed_gpus.is_some();
    if depth == Depth::Everything || (open && !fully_assumed && files::driver_may_be_there(&place))
    {
        children::ask(&place, &mut host, limit, depth);
        name_gpus(&mut host.gpus, names);
    }
    if let Some(assumed) = assumed_driver {
        host.driver_cuda = None;
        host.driver = match assumed {
            Assumed::NoDriver => None,
            Assumed::Driver(driver) => Some(Found::new(driver, Via::Variable(DRIVER_VARIABLE))),
        };
    }
    if let Some(gpus) = assumed_gpus {
        host.gpus = gpus;
    }
    if host.driver.is_some() || host.driver_cuda.is_some() {
        host.undriven.clear();
    }
    Ok(host)
}

/// Answers a probe in this process; for the child that [`PROBE_COMMAND`] starts.
pub fn answer_probe(process: &Process, probe: Probe) -> String {
    crate::platform::gpu::answer(probe, &candidates(&Place::new(process), probe)).to_text()
}

/// What a variable says about the driver.
enum Assumed {
    NoDriver,
    Driver(Version),
}

fn assumed_driver(process: &Process) -> Result<Option<Assumed>, HostError> {
    match process.var(DRIVER_VARIABLE) {
        None => Ok(None),
        Some("none") => Ok(Some(Assumed::NoDriver)),
        Some(text) => {
            text.parse().map(|driver| Some(Assumed::Driver(driver))).map_err(HostError::Driver)
        }
    }
}

fn assumed_gpus(process: &Process) -> Result<Option<Vec<HostGpu>>, HostError> {
    match process.var(CAPABILITY_VARIABLE) {
        None => Ok(None),
        Some("none") => Ok(Some(Vec::new())),
        Some(text) => text
            .split(',')
            .map(|part| {
                let cc = part.trim().parse().map_err(HostError::Capability)?;
                let cc = Some(Found::new(cc, Via::Variable(CAPABILITY_VARIABLE)));
                Ok(HostGpu { cc, ..HostGpu::default() })
            })
            .collect::<Result<_, _>>()
            .map(Some),
    }
}

fn name_gpus(gpus: &mut [HostGpu], names: Names<'_>) {
    for gpu in gpus {
        if let Some((cc, kind)) = gpu.name.as_deref().and_then(names) {
            gpu.kind = Some(kind);
            if gpu.cc.is_none() {
                gpu.cc = Some(Found::new(cc, Via::NameTable));
            }
        }
    }
}
