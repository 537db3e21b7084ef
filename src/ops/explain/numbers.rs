//! Symptoms whose lines carry numbers that decide: two cuDNNs, a GPU and what a build has code for, a driver's CUDA.

use super::advice::{self, EXEC};
use super::{Explanation, Known};
use crate::domain::capability::ComputeCapability;
use crate::domain::log::{capabilities, cudnn_pair, unserved};
use crate::domain::manifest::framework::FrameworkRelease;
use crate::domain::manifest::symptom::Symptom;
use crate::domain::spec::{Profile, Spec};
use crate::domain::version::Version;
use crate::ops::doctor::remedy::with_cuda;
use crate::ops::selection;
use crate::project::Project;

/// Explains by the numbers; `text` is the line and some that follow.
pub(super) fn explain(known: &Known<'_>, symptom: &Symptom, text: &str) -> Option<Explanation> {
    let line = text.lines().next()?;
    let (cause, fix) = match symptom.id.as_str() {
        // Every toolchain sets it; only a build wants more.
        "cuda-home" if known.spec.is_some() => {
            let devel = advice::pin(known.spec.as_deref(), symptom.wants.as_deref()?)
                .map(|pin| format!(" (it sets CUDA_HOME; a build wants `cuenv use {pin}` first)"));
            (symptom.cause.clone(), format!("{EXEC}{}", devel.unwrap_or_default()))
        }
        "torch-cudnn-incompatible" | "tf-cudnn-older" | "jax-version" => {
            cudnn(known, symptom, line)?
        }
        "sm-capability" | "sm-too-old" => gpu(known, text)?,
        "ptxas-arch" | "nvrtc-arch" | "unsupported-arch" => compiler(known, symptom, line)?,
        _ => return None,
    };
    Some(advice::of(symptom, line, cause, fix))
}

/// The cuDNN that came first is older than the one of the build.
fn cudnn(known: &Known<'_>, symptom: &Symptom, line: &str) -> Option<(String, String)> {
    let (running, compiled) = cudnn_pair(line)?;
    let cause = format!(
        "cuDNN {running} was loaded, and the framework was compiled with {compiled}: it takes that minor or a later one of \
         the same major"
    );
    let wants = format!("auto+cudnn{}", compiled.major_minor());
    let pinned = known.spec.as_deref().is_some_and(|spec| spec.contains("+cudnn"));
    let locked = locked_cudnn(known)
        .filter(|locked| locked.major() == compiled.major() && locked.minor() < compiled.minor());
    // Without a cuDNN in the pin a stranger's came first: one of the environment's own fits.
    let fix = match (pinned, advice::pin(known.spec.as_deref(), &wants)) {
        (true, Some(pin)) => format!("cuenv use {pin}, then `{EXEC}`"),
        (true, None) if locked.is_some() => format!("cuenv update, then `{EXEC}`"),
        (true, None) => EXEC.to_owned(),
        _ => symptom.fix.clone(),
    };
    Some((cause, fix))
}

/// The cuDNN that the lock here holds for this machine.
fn locked_cudnn(known: &Known<'_>) -> Option<Version> {
    let choice = selection::here(known.cx).ok()??;
    let lock = Project::at(choice.pin_directory()?).read_lock().ok()??;
    let mut wheels = lock.wheels_for(known.cx.target);
    let wheel = wheels.find(|wheel| wheel.component == "cudnn")?;
    wheel.version.parse().ok().filter(|_| lock.answers(&choice.spec))
}

/// Which of the two is older decides which way to go.
fn gpu(known: &Known<'_>, text: &str) -> Option<(String, String)> {
    let found = unserved(text)?;
    let cc = found.gpu;
    let (least, most) = (found.built.iter().min(), found.built.iter().max());
    let record = known.catalog.knowledge().capability(cc).cloned();
    let last = record.as_ref().and_then(|record| record.last_cuda.clone());
    let lower = text.to_lowercase();
    let is_old = match (least, most) {
        (Some(least), Some(most)) if least != most => cc < *least,
        (Some(least), _) => cc < *least || lower.contains("too old"),
        _ => lower.contains("too old") || last.is_some(),
    };
    let fix = torch_for(known, cc)
        .unwrap_or_else(|| "install a build of torch with code for this GPU".to_owned());
    let cause = if is_old {
        let ends = last
            .map(|last| format!("; CUDA {last} is the last with code for it"))
            .unwrap_or_default();
        format!(
            "the GPU (compute capability {cc}) is older than this build of torch has code for{ends}"
        )
    } else {
        let first = record
            .map(|record| format!("; CUDA {} is the first with code for it", record.first_cuda));
        format!(
            "the GPU (compute capability {cc}) is newer than this build of torch has code for{}",
            first.unwrap_or_default()
        )
    };
    Some((cause, fix))
}

/// The first CUDA whose wheels hold nvcc.
const FIRST_NVCC: u64 = 13;

/// A compiler that does not know an architecture: the pin that has one which does.
fn compiler(known: &Known<'_>, symptom: &Symptom, line: &str) -> Option<(String, String)> {
    let cc = capabilities(line).into_iter().next()?;
    let knowledge = known.catalog.knowledge();
    let record = knowledge.capability(cc)?;
    let spec = known.spec.as_deref();
    let pinned = match spec.and_then(|spec| spec.parse().ok()) {
        Some(Spec::Toolchain(pin)) => pin.cuda,
        _ => None,
    };
    let ended = record
        .last_cuda
        .as_ref()
        .filter(|last| pinned.as_ref().is_some_and(|pinned| pinned.major_minor() > **last));
    let (bound, cause) = match ended {
        Some(last) => {
            (last, format!("code for compute capability {cc} can be made up to CUDA {last}"))
        }
        None => {
            let first = &record.first_cuda;
            (first, format!("code for compute capability {cc} can be made from CUDA {first} on"))
        }
    };
    let nvcc = symptom.id == "unsupported-arch";
    let (first, cause) = if nvcc {
        let wheels = Version::from_parts(&[FIRST_NVCC, 0]);
        let note = format!("{cause}; NVIDIA publishes nvcc as a wheel from CUDA {FIRST_NVCC} on");
        if record.last_cuda.as_ref().is_some_and(|last| last.major() < FIRST_NVCC) {
            let fix =
                "adopt an installed toolkit that knows it: `cuenv link NAME PATH`, then `cuenv use NAME`".to_owned();
            return Some((note, fix));
        }
        (bound.clone().max(wheels), note)
    } else {
        (bound.clone(), cause)
    };
    let mut pin = with_cuda(spec, &first);
    // NVRTC is in every profile, the other compilers are not.
    if symptom.id != "nvrtc-arch" {
        pin.profile = Some(Profile::Devel);
    }
    Some((cause, format!("cuenv use {pin}, then `{EXEC}`")))
}

/// The command that installs the newest torch with code for a GPU: the one on PyPI, or where none there has any the newest
/// of PyTorch's own index, whose address is PyTorch's to tell.
pub(super) fn torch_for(known: &Known<'_>, cc: ComputeCapability) -> Option<String> {
    let entries = known.frameworks.frameworks.release.iter();
    let (on_pypi, labelled): (Vec<&FrameworkRelease>, Vec<_>) = entries
        .filter(|entry| entry.distribution == "torch" && entry.broken.is_none())
        .partition(|entry| entry.local.is_none());
    let version = |entry: &FrameworkRelease| {
        entry.versions.iter().map(|specifier| specifier.version().clone()).max()
    };
    let has_code = |entry: &&FrameworkRelease| {
        let range = entry.cc_min.zip(entry.cc_max);
        range.is_some_and(|(least, most)| least <= cc && (cc <= most || cc.major == most.major))
    };
    let fitting: Vec<&FrameworkRelease> = labelled.into_iter().filter(has_code).collect();
    // What lies on PyPI is the build of one label, whose architectures it has.
    let same_build = |entry: &&FrameworkRelease| {
        let of = |label: &&FrameworkRelease| {
            label.cuda == entry.cuda
                && version(entry).is_some_and(|version| label.versions.contains(&version))
        };
        fitting.iter().any(of)
    };
    if let Some(newest) = on_pypi.into_iter().filter(same_build).max_by_key(|entry| version(entry))
    {
        return Some(format!("pip install 'torch=={}'", version(newest)?));
    }
    let newest = fitting.iter().max_by_key(|entry| (version(entry), entry.cuda.clone()))?;
    let (torch, label) = (version(newest)?, newest.local.as_ref()?);
    Some(format!(
        "install `torch=={torch}+{label}` from PyTorch's own index for {label}, which PyTorch's install page names: PyPI \
         does not have that build"
    ))
}
