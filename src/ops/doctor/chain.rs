//! The chain from GPU to framework: one line each, and where it breaks.

use serde::Serialize;
use shims::prepare::PrepareError;

use super::predict::{Prediction, View};
use super::remedy;
use crate::domain::compat::{CudnnVerdict, DriverVerdict, GpuVerdict, Verdict};
use crate::domain::finding::{Finding, Severity};
use crate::domain::host::{Host, Libc};
use crate::domain::version::Version;
use crate::ops::launch::{Broken, Launch, State};

/// How one link stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// It holds.
    Good,
    /// Nothing is known, or nothing is there that could break.
    Unknown,
    /// It holds with limits.
    Limited,
    /// It is broken.
    Broken,
}

/// One link.
#[derive(Debug, Serialize)]
pub struct Link {
    /// Its name: `GPU`, `driver`, `runtime`, `cuDNN`, `framework`.
    pub name: &'static str,
    /// How it stands.
    pub health: Health,
    /// What is there.
    pub what: String,
    /// Where that was learnt.
    pub from: Option<String>,
}

impl Link {
    fn new(
        name: &'static str,
        health: Health,
        what: impl Into<String>,
        from: Option<String>,
    ) -> Self {
        Self { name, health, what: what.into(), from }
    }
}

/// The chain and what is to be said of its upper half; the lower half has findings of its own.
pub(super) fn chain(
    view: &View<'_>,
    host: &Host,
    predictions: &[Prediction],
) -> (Vec<Link>, Vec<Finding>) {
    let launch = view.launch;
    let mut findings = Vec::new();
    let cuda = launch.toolchain().and_then(|name| name.split('+').next()?.parse::<Version>().ok());
    let cudnn = launch.toolchain().and_then(|name| {
        name.split('+').find_map(|part| part.strip_prefix("cudnn"))?.parse::<Version>().ok()
    });
    let verdict = cuda.as_ref().and_then(|cuda| {
        let release = view.catalog.newest_matching(cuda)?;
        let knowledge = view.catalog.knowledge();
        let verdict = knowledge.judge(&host.machine(), release, cudnn.as_ref());
        Some(verdict)
    });
    let spec = launch.choice.as_ref().map(|choice| choice.spec.as_str());
    let pin = Pin { cuda: cuda.as_ref(), spec };
    // The newest that this machine runs, whatever is pinned.
    let machine = host.machine();
    let knowledge = view.catalog.knowledge();
    let runs = knowledge.newest_cuda_for(&machine, None).map(|(release, _)| &release.version);
    let mut links = vec![gpu(host, verdict.as_ref(), pin, &mut findings)];
    links.push(driver(host, verdict.as_ref(), pin, runs, &mut findings));
    links.push(runtime(launch, &mut findings));
    links.push(cudnn_link(launch, cudnn.as_ref(), verdict.as_ref(), predictions, &mut findings));
    links.push(framework(view, predictions));
    findings.extend(libc(host));
    (links, findings)
}

/// What is pinned.
#[derive(Clone, Copy)]
struct Pin<'a> {
    /// The CUDA release.
    cuda: Option<&'a Version>,
    /// The spec.
    spec: Option<&'a str>,
}

impl Pin<'_> {
    fn release(self) -> String {
        self.cuda.map(|cuda| format!("CUDA {cuda}")).unwrap_or_default()
    }

    /// The command that pins another CUDA and keeps the rest.
    fn moved(self, cuda: &Version) -> String {
        format!("cuenv use {}", remedy::with_cuda(self.spec, cuda))
    }
}

fn gpu(host: &Host, verdict: Option<&Verdict>, pin: Pin<'_>, findings: &mut Vec<Finding>) -> Link {
    let Some(first) = host.gpus.first() else {
        for fault in &host.faults {
            // Absence is the ordinary case of a machine without a GPU.
            if !matches!(fault.fault, crate::domain::host::Fault::Absent) {
                findings.push(
                    Finding::new("probe-failed", Severity::Warning, format!("{} {}", fault.probe.name(), fault.fault))
                        .proof(fault.path.clone().unwrap_or_else(|| fault.probe.file().to_owned()))
                        .fix("ask the administrator to look at the driver: `nvidia-smi` will fail the same way"),
                );
            }
        }
        let health = if host.undriven.is_empty() { Health::Unknown } else { Health::Broken };
        if let Some(device) = host.undriven.first() {
            findings.push(
                Finding::new("driver-not-loaded", Severity::Error, "there is an NVIDIA GPU, and no driver is loaded for it")
                    .proof(device.to_string())
                    .fix("ask the administrator to install or load the NVIDIA driver (`modprobe nvidia`)"),
            );
            return Link::new(
                "GPU",
                health,
                "an NVIDIA device without a driver",
                Some(device.via.to_string()),
            );
        }
        return Link::new("GPU", health, "none seen here", None);
    };
    let mut health = Health::Good;
    for (cc, verdict) in verdict.iter().flat_map(|verdict| &verdict.gpus) {
        let release = pin.release();
        let (what, fix) = match verdict {
            GpuVerdict::TooNew { first_cuda } => (
                format!(
                    "{release} is older than the GPU: compute capability {cc} needs CUDA {first_cuda} or later"
                ),
                pin.moved(first_cuda),
            ),
            GpuVerdict::TooOld { last_cuda } => (
                format!(
                    "{release} no longer knows the GPU: compute capability {cc} ends with CUDA {last_cuda}"
                ),
                pin.moved(last_cuda),
            ),
            _ => continue,
        };
        health = Health::Broken;
        findings.push(
            Finding::new("gpu-and-cuda", Severity::Error, what)
                .proof(format!("compute capability {cc}"))
                .fix(fix),
        );
    }
    let cc = first
        .cc
        .as_ref()
        .map(|cc| format!(", compute capability {}", cc.value))
        .unwrap_or_default();
    let count =
        if host.gpus.len() > 1 { format!("{} × ", host.gpus.len()) } else { String::new() };
    let name = first.name.as_deref().unwrap_or("NVIDIA GPU");
    Link::new(
        "GPU",
        health,
        format!("{count}{name}{cc}"),
        first.cc.as_ref().map(|cc| cc.via.to_string()),
    )
}

fn driver(
    host: &Host,
    verdict: Option<&Verdict>,
    pin: Pin<'_>,
    runs: Option<&Version>,
    findings: &mut Vec<Finding>,
) -> Link {
    let Some(driver) = &host.driver else {
        let what = if host.container.is_some() {
            "none in this container; start it with `--gpus all` where a GPU is wanted"
        } else {
            "none here: programs run on the CPU, or on another machine"
        };
        return Link::new(
            "driver",
            Health::Unknown,
            what,
            host.container.as_ref().map(|found| found.via.to_string()),
        );
    };
    let release = pin.release();
    let up_to = |driver_cuda: &Version| format!("{}, runs CUDA up to {driver_cuda}", driver.value);
    let from = Some(driver.via.to_string());
    let proof = driver.to_string();
    match verdict.map(|verdict| &verdict.driver) {
        Some(DriverVerdict::Native { driver_cuda }) => {
            Link::new("driver", Health::Good, up_to(driver_cuda), from)
        }
        Some(DriverVerdict::MinorCompat { driver_cuda, native_from }) => {
            let native = native_from
                .as_ref()
                .map(|from| format!(" (driver {from} would)"))
                .unwrap_or_default();
            findings.push(
                Finding::new(
                    "driver-jit-limited",
                    Severity::Note,
                    format!("{release} is newer than the driver's CUDA {driver_cuda}: everything runs except PTX that the driver has to compile{native}"),
                )
                .proof(proof),
            );
            Link::new("driver", Health::Limited, up_to(driver_cuda), from)
        }
        Some(
            DriverVerdict::ForwardCompat { driver_cuda, needs }
            | DriverVerdict::TooOld { driver_cuda, needs },
        ) => {
            let ends = driver_cuda
                .as_ref()
                .map(|cuda| format!(": it runs CUDA up to {cuda}"))
                .unwrap_or_default();
            let fix = match runs {
                Some(cuda) => pin.moved(cuda),
                None => format!("ask the administrator for driver {needs} or later"),
            };
            findings.push(
                Finding::new(
                    "driver-too-old",
                    Severity::Error,
                    format!(
                        "driver {} is too old for {release}, which needs {needs} or later{ends}",
                        driver.value
                    ),
                )
                .proof(proof)
                .fix(fix),
            );
            let what = driver_cuda.as_ref().map_or_else(|| driver.value.to_string(), up_to);
            Link::new("driver", Health::Broken, what, from)
        }
        Some(DriverVerdict::Unknown) | None => {
            let own = host.driver_cuda.as_ref().map(|cuda| up_to(&cuda.value));
            Link::new("driver", Health::Good, own.unwrap_or_else(|| driver.value.to_string()), from)
        }
    }
}

fn runtime(launch: &Launch, findings: &mut Vec<Finding>) -> Link {
    let because = launch.choice.as_ref().map(|choice| format!("because of {}", choice.source));
    match &launch.state {
        State::Installed(installed) => {
            let what = format!(
                "CUDA {}",
                installed.activation.toolchain.split('+').next().unwrap_or_default()
            );
            Link::new("runtime", Health::Good, what, because)
        }
        State::System => {
            Link::new("runtime", Health::Unknown, "`system`: cuenv steps aside", because)
        }
        State::Nothing => {
            Link::new("runtime", Health::Unknown, "no toolchain is pinned here", None)
        }
        State::Missing => {
            let spec = launch.choice.as_ref().map(|choice| choice.spec.clone()).unwrap_or_default();
            let mut finding = Finding::new(
                "not-installed",
                Severity::Error,
                format!("`{spec}` holds here and is not installed"),
            )
            .proof(because.clone().unwrap_or_default());
            finding.fix = launch.choice.as_ref().map(shims::hook::install_command);
            findings.push(finding);
            Link::new("runtime", Health::Broken, format!("`{spec}`, not installed"), because)
        }
        State::Broken(broken) => {
            let code = match broken {
                Broken::Prepare(PrepareError::Damaged { .. }) => "toolchain-damaged",
                _ => "selection",
            };
            let what = broken.to_string();
            let short = what.split(": run `").next().unwrap_or(&what).to_owned();
            findings.push(
                Finding::new(code, Severity::Error, short.clone()).fix(remedy::selection(broken)),
            );
            Link::new("runtime", Health::Broken, short, because)
        }
    }
}

fn cudnn_link(
    launch: &Launch,
    pinned: Option<&Version>,
    verdict: Option<&Verdict>,
    predictions: &[Prediction],
    findings: &mut Vec<Finding>,
) -> Link {
    let mut health = if pinned.is_some() { Health::Good } else { Health::Unknown };
    for (cc, verdict) in verdict.iter().flat_map(|verdict| &verdict.cudnn) {
        let (what, bound) = match verdict {
            CudnnVerdict::TooNew { first } => ("has no code yet for", first),
            CudnnVerdict::TooOld { last } => ("no longer has code for", last),
            _ => continue,
        };
        health = Health::Broken;
        let version = pinned.map(ToString::to_string).unwrap_or_default();
        let cuda = launch.toolchain().and_then(|name| name.split('+').next()).unwrap_or("12");
        findings.push(
            Finding::new(
                "gpu-and-cudnn",
                Severity::Error,
                format!(
                    "cuDNN {version} {what} compute capability {cc}; a pin of its major alone picks one that has"
                ),
            )
            .proof(format!("the bound is {bound}"))
            .fix(format!("cuenv use {cuda}+cudnn{}", pinned.map_or(9, Version::major))),
        );
    }
    let mixed = predictions.iter().any(super::has_two_cudnns);
    if mixed {
        health = Health::Broken;
    }
    let supplied =
        predictions.iter().flat_map(|prediction| &prediction.libraries).find_map(|row| {
            let is_shim = row.name.starts_with("libcudnn.so.");
            is_shim.then(|| (row.version.clone(), row.because.clone()))
        });
    match (pinned, supplied) {
        (_, Some((Some(version), because))) => {
            let health = if mixed { health } else { Health::Good.max(health.min(Health::Broken)) };
            let health = if health == Health::Unknown { Health::Good } else { health };
            Link::new("cuDNN", health, version, Some(because))
        }
        (Some(pinned), _) => {
            Link::new("cuDNN", health, pinned.to_string(), Some("the toolchain".to_owned()))
        }
        (None, _) => Link::new("cuDNN", health, "none", None),
    }
}

fn framework(view: &View<'_>, predictions: &[Prediction]) -> Link {
    let names: Vec<String> = predictions
        .iter()
        .filter(|prediction| prediction.is_shown())
        .map(|prediction| format!("{} {}", prediction.name, prediction.version))
        .collect();
    let from = view.launch.env.as_ref().map(|env| env.root.display().to_string());
    let broken = predictions.iter().any(|prediction| {
        prediction.missing.iter().any(|miss| view.is_nvidia(&miss.name))
            || !prediction.symbol_gaps.is_empty()
    });
    match (names.is_empty(), from) {
        (true, None) => Link::new("framework", Health::Unknown, "no Python environment here", None),
        (true, from) => Link::new("framework", Health::Unknown, "none that uses CUDA", from),
        (false, from) => {
            let health = if broken { Health::Broken } else { Health::Good };
            Link::new("framework", health, names.join(", "), from)
        }
    }
}

fn libc(host: &Host) -> Option<Finding> {
    let found = host.libc.as_ref()?;
    match &found.value {
        Libc::Musl => Some(
            Finding::new(
                "musl",
                Severity::Error,
                "this system has musl, and NVIDIA's libraries are made for glibc",
            )
            .proof(found.to_string())
            .fix("use a glibc system: Debian, Ubuntu, Fedora, or an image based on one"),
        ),
        Libc::Glibc(_) => None,
    }
}
