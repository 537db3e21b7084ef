//! Symptoms that the driver and the GPU of a machine decide: what this machine says is looked at, and numbers in the line
//! count more, for a log may come from elsewhere.

use super::advice::{self, EXEC};
use super::numbers::torch_for;
use super::{Explanation, Known, cut};
use crate::domain::capability::ComputeCapability;
use crate::domain::compat::{GpuVerdict, Machine};
use crate::domain::log::driver_cuda;
use crate::domain::manifest::symptom::{Depth, Symptom};
use crate::domain::spec::{Spec, ToolchainSpec};
use crate::domain::version::Version;
use crate::ops::doctor::remedy::with_cuda;
use crate::ops::machine;

/// Explains what depends on the machine.
pub(super) fn explain(known: &Known<'_>, symptom: &Symptom, line: &str) -> Option<Explanation> {
    let (cause, fix) = match symptom.id.as_str() {
        "driver-insufficient" | "torch-old-driver" | "ptx-version" => driver(known, symptom, line)?,
        "no-kernel-image" | "device-symbol" => gpu(known, symptom)?,
        _ => return None,
    };
    Some(advice::of(symptom, line, cause, fix))
}

/// A library of the driver that was asked for by its name alone.
pub(super) fn driver_library(known: &Known<'_>, line: &str, names: &[&str]) -> Option<Explanation> {
    let name = names.iter().find(|name| known.catalog.is_driver_library(name))?;
    Some(Explanation {
        id: "driver-library".to_owned(),
        line: cut(line),
        cause: format!("`{name}` comes with the NVIDIA driver: no toolchain brings it, and none may"),
        fix: Some(
            "run on a machine with the driver; in a container, start it with `--gpus all`; under WSL2 it lies in `/usr/lib/wsl/lib`"
                .to_owned(),
        ),
        follows: false,
        depth: Depth::Cause,
    })
}

fn machine(known: &Known<'_>) -> Machine {
    let facts = machine::facts(known.cx, &known.catalog, known.cx.target);
    facts.map(|facts| facts.machine).unwrap_or_default()
}

fn pinned(known: &Known<'_>) -> Option<ToolchainSpec> {
    match known.spec.as_deref()?.parse() {
        Ok(Spec::Toolchain(spec)) => Some(spec),
        _ => None,
    }
}

/// The driver is older than the CUDA of the program: what it allows, and the pin or build that it runs.
fn driver(known: &Known<'_>, symptom: &Symptom, line: &str) -> Option<(String, String)> {
    let knowledge = known.catalog.knowledge();
    let here = machine(known);
    let told = driver_cuda(line);
    let of_here = || {
        here.driver_cuda.clone().or_else(|| knowledge.driver_cuda(here.driver.as_ref()?).cloned())
    };
    let (newest, whose) = match told {
        Some(told) => (told, "the driver of this log".to_owned()),
        None => {
            let driver = here.driver.as_ref().map(ToString::to_string).unwrap_or_default();
            (of_here()?, format!("driver {driver} here"))
        }
    };
    let machine =
        Machine { driver: None, driver_cuda: Some(newest.clone()), gpus: here.gpus.clone() };
    let (release, _) = knowledge.newest_cuda_for(&machine, None)?;
    let allowed = release.version.major_minor();
    let next = newest.major() + 1;
    let cause = if symptom.id == "ptx-version" {
        format!("{whose} supports CUDA up to {newest}, and cannot compile the PTX of a newer one")
    } else {
        format!(
            "{whose} supports CUDA up to {newest}: it runs every CUDA {}, and no CUDA {next}",
            newest.major()
        )
    };
    let too_new = |pin: &Version| match symptom.id.as_str() {
        "ptx-version" => pin.minor().is_none() || pin.major_minor() > newest,
        _ => pin.major() > newest.major(),
    };
    let pin = pinned(known).and_then(|pin| pin.cuda).filter(too_new);
    let fix = match pin {
        Some(_) => {
            let pin = with_cuda(known.spec.as_deref(), &allowed);
            format!("cuenv use {pin}, then `{EXEC}`")
        }
        None => {
            let needs = knowledge.oldest_driver(next);
            let ask = needs
                .map(|needs| format!(", or ask the administrator for driver {needs} or later"));
            format!(
                "install the build of the program for CUDA {}{}",
                newest.major(),
                ask.unwrap_or_default()
            )
        }
    };
    Some((cause, fix))
}

/// Whether the pin or the program is what does not know the GPU here.
fn gpu(known: &Known<'_>, symptom: &Symptom) -> Option<(String, String)> {
    let here = machine(known);
    let cc = here.gpus.first()?.cc;
    let knowledge = known.catalog.knowledge();
    let verdict = || {
        let pin = pinned(known)?.cuda?;
        let release = known.catalog.newest_matching(&pin)?;
        let (word, bound) = match knowledge.judge_gpu(cc, release) {
            GpuVerdict::TooNew { first_cuda } => ("needs", first_cuda),
            GpuVerdict::TooOld { last_cuda } => ("ends with", last_cuda),
            _ => return None,
        };
        let cause = format!(
            "the pin is CUDA {pin}, and the GPU here (compute capability {cc}) {word} CUDA {bound}"
        );
        let pin = with_cuda(known.spec.as_deref(), &bound);
        Some((cause, format!("cuenv use {pin}, then `{EXEC}`")))
    };
    let builds = symptom.id == "no-kernel-image";
    verdict().or_else(|| builds.then(|| build(known, cc))?)
}

/// The pin is not at fault, so the program is: the build of it that has code for the GPU here.
fn build(known: &Known<'_>, cc: ComputeCapability) -> Option<(String, String)> {
    let knowledge = known.catalog.knowledge();
    let record = knowledge.capability(cc)?;
    let makers = match &record.last_cuda {
        Some(last) => format!("{} to {last} make", record.first_cuda),
        None => format!("{} and newer make", record.first_cuda),
    };
    let cause = format!(
        "the program was built without code for the GPU here (compute capability {cc}); CUDA {makers} such code"
    );
    let torch =
        torch_for(known, cc).map(|torch| format!("for torch: {torch}; ")).unwrap_or_default();
    let code = cc.to_string().replace('.', "");
    let fix = format!(
        "{torch}for what you build yourself: build it anew with `-gencode arch=compute_{code},code=sm_{code}` (torch \
         extensions: with TORCH_CUDA_ARCH_LIST={cc} set)"
    );
    Some((cause, fix))
}
