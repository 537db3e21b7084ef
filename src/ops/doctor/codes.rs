//! Every code of a finding, the link of the chain that it breaks, and what it says: the table of the documentation.

use super::chain::Health;
use crate::domain::finding::{Finding, Severity};

/// One code.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    /// The code.
    pub code: &'static str,
    /// The link of the chain that shows it; empty: none does.
    pub link: &'static str,
    /// How bad it is at worst.
    pub severity: Severity,
    /// What it says.
    pub meaning: &'static str,
}

const fn code(
    code: &'static str,
    link: &'static str,
    severity: Severity,
    meaning: &'static str,
) -> Code {
    Code { code, link, severity, meaning }
}

use Severity::{Error, Note, Warning};

/// All of them, in the order of the chain.
pub const CODES: &[Code] = &[
    code("driver-not-loaded", "GPU", Error, "an NVIDIA GPU is there, and no driver for it"),
    code(
        "gpu-and-cuda",
        "GPU",
        Error,
        "the pinned CUDA has no code for this GPU: too old for it, or too new",
    ),
    code(
        "visible-devices",
        "GPU",
        Warning,
        "CUDA_VISIBLE_DEVICES names a GPU that is not here, which hides those behind it",
    ),
    code(
        "probe-failed",
        "driver",
        Warning,
        "a library of the driver crashed, hung or refused to answer",
    ),
    code("driver-too-old", "driver", Error, "the driver is older than the pinned CUDA needs"),
    code(
        "driver-jit-limited",
        "driver",
        Note,
        "minor-version compatibility: everything runs except PTX that the driver would have to compile",
    ),
    code(
        "driver-library-missing",
        "driver",
        Error,
        "a program wants `libcuda.so.1` or another library of the driver, and it is not here; a note where there is no driver at all",
    ),
    code("stub-driver", "driver", Error, "a directory of stubs is on LD_LIBRARY_PATH"),
    code(
        "driver-copies",
        "driver",
        Error,
        "more than one `libcuda.so.1` is within reach, or a forward-compatibility one on a GPU that refuses it",
    ),
    code("not-installed", "runtime", Error, "what is pinned here is not installed"),
    code(
        "selection",
        "runtime",
        Error,
        "the pin, a variable or the default cannot be read, or the policy cannot hold",
    ),
    code(
        "toolchain-damaged",
        "runtime",
        Error,
        "files of the toolchain are gone or have another size",
    ),
    code("lock-drift", "runtime", Warning, "the lock does not answer the pin"),
    code(
        "not-pinned",
        "runtime",
        Note,
        "nothing is pinned, and a part of the project wants CUDA from outside",
    ),
    code("gpu-and-cudnn", "cuDNN", Error, "the pinned cuDNN has no code for this GPU"),
    code("cudnn-mixed", "cuDNN", Error, "parts of two cuDNN releases would meet in one process"),
    code(
        "cudnn-older-than-compiled",
        "cuDNN",
        Error,
        "the cuDNN that wins has an older minor than the one the framework was compiled with",
    ),
    code(
        "no-single-pin",
        "framework",
        Error,
        "two parts of the project want what no single toolchain has",
    ),
    code(
        "pin-unfit",
        "framework",
        Error,
        "a part of the project wants another CUDA or cuDNN than the pin gives",
    ),
    code(
        "library-missing",
        "framework",
        Error,
        "a framework will not find one of NVIDIA's libraries",
    ),
    code(
        "system-library-missing",
        "framework",
        Error,
        "a framework will not find a library of the system",
    ),
    code(
        "symbol-missing",
        "framework",
        Error,
        "the library that wins lacks a symbol that another needs",
    ),
    code(
        "siblings-apart",
        "framework",
        Error,
        "`libcublas` and `libcublasLt` would come from two releases",
    ),
    code(
        "shadowed",
        "framework",
        Warning,
        "another copy beats the library that came with a framework",
    ),
    code(
        "secure-program",
        "framework",
        Error,
        "the interpreter runs with rights of its own, so the loader ignores LD_LIBRARY_PATH",
    ),
    code(
        "headers-apart",
        "",
        Warning,
        "CUDA_PATH has headers of one CUDA, and NVRTC is of another",
    ),
    code("nccl-twice", "", Warning, "two NCCL distributions in one environment write one file"),
    code(
        "nccl",
        "",
        Note,
        "more than one GPU, or variables of NCCL's: what NCCL builds its paths from",
    ),
    code("nccl-interface", "", Error, "NCCL_SOCKET_IFNAME names no interface of this machine"),
    code("nccl-adapter", "", Warning, "NCCL_IB_HCA names no adapter of this machine"),
    code("nccl-adapter-unused", "", Warning, "NCCL_IB_DISABLE keeps NCCL from an active adapter"),
    code("nccl-shared-memory", "", Warning, "`/dev/shm` is too small for several GPUs"),
    code(
        "ldconfig-only",
        "",
        Note,
        "a package looks libraries up in the system's cache, which LD_LIBRARY_PATH does not change",
    ),
    code("library-path", "", Warning, "LD_LIBRARY_PATH of this process holds another CUDA"),
    code(
        "cuda-majors-mixed",
        "",
        Warning,
        "LD_LIBRARY_PATH holds two CUDA majors, which share names",
    ),
    code(
        "empty-element",
        "",
        Warning,
        "an empty element of PATH or LD_LIBRARY_PATH stands for the current directory",
    ),
    code("other-toolkit", "", Note, "CUDA_HOME or CUDA_PATH of this process names another toolkit"),
    code("nvcc-elsewhere", "", Warning, "`nvcc` comes from outside the toolchain, of another CUDA"),
    code(
        "stale-activation",
        "",
        Warning,
        "this process was started for another toolchain than the one that holds here now",
    ),
    code("shims-bypassed", "", Warning, "`python` is found before cuenv's shims"),
    code("not-applied", "", Note, "this shell has neither the hook nor the shims"),
    code("sudo", "", Warning, "this runs under sudo, which drops LD_LIBRARY_PATH"),
    code("switches", "", Note, "variables are set that change results, speed or reach"),
    code("musl", "", Error, "this system has musl, and NVIDIA's libraries are made for glibc"),
];

/// The health that a finding leaves to a link.
pub(super) fn health(finding: &Finding, link: &str) -> Option<Health> {
    let code = CODES.iter().find(|code| code.code == finding.code && code.link == link)?;
    debug_assert!(!code.link.is_empty());
    match finding.severity {
        Error => Some(Health::Broken),
        Warning => Some(Health::Limited),
        Note => None,
    }
}
