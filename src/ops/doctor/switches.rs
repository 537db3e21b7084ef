//! Variables of this process that change results, speed or reach.

use crate::context::Context;
use crate::domain::finding::{Finding, Severity};
use crate::domain::host::Host;

/// Variables that change results or reach; nothing is wrong with them, but people forget that they are set.
const SWITCHES: &[(&str, &str)] = &[
    ("NVIDIA_TF32_OVERRIDE", "forces TF32 arithmetic on or off in all NVIDIA libraries"),
    ("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "lets torch's matrix products use TF32"),
    ("CUBLAS_WORKSPACE_CONFIG", "fixes cuBLAS workspaces, for results that repeat"),
    ("CUBLAS_LOGINFO_DBG", "makes cuBLAS write a log"),
    ("CUDNN_LOGLEVEL_DBG", "makes cuDNN write a log"),
    ("TF_ENABLE_ONEDNN_OPTS", "switches TensorFlow's CPU kernels"),
    ("TF_DETERMINISTIC_OPS", "makes TensorFlow slower and repeatable"),
    ("TF_CUDNN_USE_AUTOTUNE", "switches TensorFlow's search for cuDNN algorithms"),
    ("XLA_FLAGS", "changes XLA's behaviour"),
    ("CUDA_LAUNCH_BLOCKING", "makes every kernel launch wait: slow, for debugging"),
    ("CUDA_MODULE_LOADING", "changes when kernels are loaded"),
    ("CUDA_CACHE_DISABLE", "compiles PTX anew in every process"),
    ("CUDA_FORCE_PTX_JIT", "ignores compiled kernels and compiles PTX"),
    ("PYTORCH_CUDA_ALLOC_CONF", "tunes torch's allocator"),
    ("LD_PRELOAD", "loads these libraries into every program, before all others"),
    ("LD_AUDIT", "lets a library watch and redirect the loader, which doctor does not predict"),
];

pub(super) fn check(cx: &Context<'_>, host: &Host) -> Vec<Finding> {
    let mut found: Vec<Finding> = visible(host).into_iter().collect();
    let set: Vec<String> = SWITCHES
        .iter()
        .filter_map(|(name, does)| Some(format!("{name}={} {does}", cx.process.var(name)?)))
        .collect();
    let hidden = host.visible_devices.as_deref().is_some_and(hides_all);
    if set.is_empty() && !hidden {
        return found;
    }
    let mut finding = Finding::new(
        "switches",
        Severity::Note,
        "variables that change results, speed or reach are set",
    );
    finding.proof = set;
    if hidden {
        finding = finding.proof("CUDA_VISIBLE_DEVICES hides every GPU");
    }
    found.push(finding);
    found
}

fn hides_all(value: &str) -> bool {
    value.is_empty() || value.trim() == "-1"
}

/// A GPU is named that is not there: the driver stops reading at it, so that those behind it are hidden as well.
fn visible(host: &Host) -> Option<Finding> {
    const NAME: &str = "CUDA_VISIBLE_DEVICES";
    let value = host.visible_devices.as_deref().filter(|value| !hides_all(value))?;
    if host.gpus.is_empty() {
        return None;
    }
    let is_there = |entry: &str| match entry.parse::<usize>() {
        Ok(number) => number < host.gpus.len(),
        Err(_) if entry.starts_with("GPU-") => {
            let known = || host.gpus.iter().filter_map(|gpu| gpu.uuid.as_deref());
            known().count() < host.gpus.len() || known().any(|uuid| uuid.starts_with(entry))
        }
        // Parts of a GPU (MIG) are not listed here.
        Err(_) => true,
    };
    let entries: Vec<&str> = value.split(',').map(str::trim).collect();
    let wrong = entries.iter().position(|entry| !is_there(entry))?;
    let good = &entries[..wrong];
    let seen = match good.len() {
        0 => "so programs see no GPU".to_owned(),
        count => format!("so programs see the {count} before it"),
    };
    let fix = if good.is_empty() {
        format!("unset {NAME}")
    } else {
        format!("export {NAME}={}", good.join(","))
    };
    Some(
        Finding::new(
            "visible-devices",
            Severity::Warning,
            format!("{NAME} names `{}`, which is not here, {seen}", entries[wrong]),
        )
        .proof(format!("{NAME}={value}"))
        .proof(format!("GPUs here: {}", host.gpus.len()))
        .fix(fix),
    )
}
