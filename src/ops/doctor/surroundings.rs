//! Findings about the environment of this process and of the one that would be started.

use std::collections::BTreeSet;
use std::path::Path;

use super::predict::View;
use crate::context::Context;
use crate::domain::finding::{Finding, Severity};
use crate::domain::host::Host;
use crate::domain::manifest::gpu::Kind;
use crate::ops::launch::State;

/// All of them.
pub(super) fn check(cx: &Context<'_>, view: &View<'_>, host: &Host) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(empty_elements(cx));
    found.extend(stubs(cx));
    found.extend(driver_copies(view, host));
    found.extend(stale(cx, view));
    found.extend(not_applied(cx, view));
    found.extend(sudo(cx));
    found.extend(other_toolkit(cx, view));
    found.extend(majors(cx, view));
    found.extend(headers(view));
    found.extend(nccl(view));
    found.extend(ignorers(view));
    found.extend(switches(cx));
    found
}

fn elements<'a>(cx: &'a Context<'_>, name: &str) -> Vec<&'a str> {
    cx.process.var(name).map(|value| value.split(':').collect()).unwrap_or_default()
}

/// `text` as one word of a POSIX shell.
fn quoted(text: &str) -> String {
    String::from_utf8_lossy(&shims::quote::posix(std::ffi::OsStr::new(text))).into_owned()
}

fn without(elements: &[&str], drop: impl Fn(&str) -> bool) -> String {
    elements.iter().filter(|element| !drop(element)).copied().collect::<Vec<_>>().join(":")
}

/// An empty element is the current directory: whatever lies there is loaded into every program.
fn empty_elements(cx: &Context<'_>) -> Vec<Finding> {
    ["LD_LIBRARY_PATH", "PATH"]
        .into_iter()
        .filter_map(|name| {
            let list = elements(cx, name);
            if !list.contains(&"") {
                return None;
            }
            let clean = without(&list, str::is_empty);
            let fix = if clean.is_empty() {
                format!("unset {name}")
            } else {
                format!("export {name}={}", quoted(&clean))
            };
            Some(
                Finding::new(
                    "empty-element",
                    Severity::Warning,
                    format!("{name} has an empty element, which stands for the current directory"),
                )
                .proof(format!("{name}={}", list.join(":")))
                .fix(fix),
            )
        })
        .collect()
}

fn stubs(cx: &Context<'_>) -> Option<Finding> {
    let list = elements(cx, "LD_LIBRARY_PATH");
    let is_stub = |element: &str| element.trim_end_matches('/').ends_with("/stubs");
    let stub = list.iter().find(|element| is_stub(element))?;
    let clean = without(&list, is_stub);
    let fix = if clean.is_empty() {
        "unset LD_LIBRARY_PATH".to_owned()
    } else {
        format!("export LD_LIBRARY_PATH={}", quoted(&clean))
    };
    Some(
        Finding::new(
            "stub-driver",
            Severity::Error,
            "LD_LIBRARY_PATH names a directory of stubs: a program gets error 34, `CUDA driver is a stub library`",
        )
        .proof(format!("`{stub}`"))
        .fix(fix),
    )
}

/// Copies of the driver's own library: the compat package's works on data-center GPUs alone.
fn driver_copies(view: &View<'_>, host: &Host) -> Option<Finding> {
    let loader = view.start(view.launch.loader_environment()).ok()?;
    let (found, _) = loader.candidates("libcuda.so.1", 0);
    let winner = found.first()?;
    let distinct: BTreeSet<(u64, u64)> = found.iter().map(|copy| copy.object.identity).collect();
    let compat = winner.path.contains("/compat/");
    if distinct.len() < 2 && !compat {
        return None;
    }
    let consumer = host.gpus.iter().any(|gpu| gpu.kind == Some(Kind::Geforce));
    let (severity, what) = if compat && consumer {
        (
            Severity::Error,
            "a forward-compatibility `libcuda.so.1` wins, which GeForce GPUs refuse: errors 803 and 804",
        )
    } else {
        (
            Severity::Warning,
            "more than one `libcuda.so.1` is within reach, and only the driver's own fits the driver",
        )
    };
    let mut finding = Finding::new("driver-copies", severity, what);
    for copy in &found {
        finding = finding.proof(format!("`{}`, by {}", copy.path, copy.rule));
    }
    let directory = Path::new(&winner.path).parent().unwrap_or(Path::new("/"));
    Some(finding.fix(format!("take `{}` off LD_LIBRARY_PATH", directory.display())))
}

/// This process carries the activation of another toolchain than the one that holds here.
fn stale(cx: &Context<'_>, view: &View<'_>) -> Option<Finding> {
    let active = cx.process.var(shims::names::ACTIVE)?;
    let holds = view.launch.toolchain()?;
    if active == holds {
        return None;
    }
    Some(
        Finding::new(
            "stale-activation",
            Severity::Warning,
            format!("this process was started for {active}; {holds} holds here now"),
        )
        .proof(format!("{}={active}", shims::names::ACTIVE))
        .fix("start it anew through `cuenv exec -- COMMAND`, or restart the kernel or editor that started it"),
    )
}

/// A toolchain holds, and what is started from this process would not get it.
fn not_applied(cx: &Context<'_>, view: &View<'_>) -> Option<Finding> {
    let State::Installed(installed) = &view.launch.state else { return None };
    let lib = installed.prefix.join("lib");
    let applied = elements(cx, "LD_LIBRARY_PATH").iter().any(|element| Path::new(element) == lib);
    if applied {
        return None;
    }
    let shims = cx.dirs.shims();
    let path = elements(cx, "PATH");
    let at = path.iter().position(|element| Path::new(element) == shims);
    let first = path.iter().position(|element| Path::new(element).join("python").is_file());
    match (at, first) {
        (Some(at), Some(first)) if first < at => Some(
            Finding::new(
                "shims-bypassed",
                Severity::Warning,
                "`python` is found before cuenv's shims, so it runs without the toolchain's libraries",
            )
            .proof(format!("`{}/python` comes before `{}` on PATH", path[first], shims.display()))
            .fix("cuenv exec -- python"),
        ),
        (Some(_), _) => None,
        (None, _) => Some(
            Finding::new(
                "not-applied",
                Severity::Note,
                "this shell has neither the hook nor the shims: programs get the toolchain through `cuenv exec` alone",
            )
            .proof(format!("`{}` is not on LD_LIBRARY_PATH", lib.display()))
            .fix("cuenv exec -- COMMAND"),
        ),
    }
}

fn sudo(cx: &Context<'_>) -> Option<Finding> {
    let user = cx.process.var("SUDO_USER")?;
    Some(
        Finding::new(
            "sudo",
            Severity::Warning,
            format!(
                "this runs under sudo, which drops LD_LIBRARY_PATH and the settings of `{user}`"
            ),
        )
        .proof(format!("SUDO_USER={user}"))
        .fix("sudo \"$(command -v cuenv)\" exec -- COMMAND"),
    )
}

/// `CUDA_HOME` or `nvcc` of another toolkit.
fn other_toolkit(cx: &Context<'_>, view: &View<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let Some(prefix) = view.launch.prefix() else { return found };
    for name in ["CUDA_HOME", "CUDA_PATH"] {
        let Some(value) = cx.process.var(name) else { continue };
        let inside = Path::new(value).starts_with(cx.layout.data());
        if Path::new(value) != prefix && !inside {
            found.push(
                Finding::new(
                    "other-toolkit",
                    Severity::Note,
                    format!("{name} of this process names another toolkit; `cuenv exec` and the shims set it anew"),
                )
                .proof(format!("{name}={value}")),
            );
            break;
        }
    }
    let own = prefix.join("bin/nvcc");
    let path = elements(cx, "PATH");
    // cuenv's own shim is no compiler: it leads to the toolchain's, or to the next one on PATH.
    let nvcc = path
        .iter()
        .map(Path::new)
        .filter(|element| *element != cx.layout.shims())
        .map(|element| element.join("nvcc"))
        .find(|file| file.is_file());
    if let (false, Some(nvcc)) = (own.is_file(), nvcc) {
        found.push(
            Finding::new(
                "nvcc-elsewhere",
                Severity::Warning,
                "`nvcc` comes from outside the toolchain, so what is built may not fit it",
            )
            .proof(format!("`{}`", nvcc.display()))
            .fix("pin a toolchain with a compiler (`cuenv use 13.0@devel`), or adopt that toolkit: `cuenv link`"),
        );
    }
    found
}

/// Libraries of two CUDA majors on one library path: names that both have are mixed in silence.
fn majors(cx: &Context<'_>, view: &View<'_>) -> Option<Finding> {
    let mut seen: BTreeSet<u64> = BTreeSet::new();
    let mut proof = Vec::new();
    for element in elements(cx, "LD_LIBRARY_PATH").into_iter().filter(|element| !element.is_empty())
    {
        for (major, name) in
            [(11, "libcublas.so.11"), (12, "libcublas.so.12"), (13, "libcublas.so.13")]
        {
            if Path::new(element).join(name).exists() && seen.insert(major) {
                proof.push(format!("`{element}/{name}`"));
            }
        }
    }
    if seen.len() < 2 {
        return None;
    }
    let fix = if view.launch.prefix().is_some() {
        "take all of them off LD_LIBRARY_PATH: cuenv puts the pinned one there itself"
    } else {
        "keep one CUDA on LD_LIBRARY_PATH, or none: `cuenv use` pins one for this project"
    };
    let mut finding = Finding::new(
        "cuda-majors-mixed",
        Severity::Warning,
        "LD_LIBRARY_PATH holds two CUDA majors, which share names such as `libcusolver.so.11` and `libcurand.so.10`",
    );
    finding.proof = proof;
    Some(finding.fix(fix))
}

/// Headers of one CUDA, NVRTC of another.
fn headers(view: &View<'_>) -> Option<Finding> {
    let root = view.launch.var("CUDA_PATH").or_else(|| view.launch.var("CUDA_HOME"))?;
    let header = Path::new(root).join("include/cuda.h");
    let text = fs_err::read_to_string(&header).ok()?;
    let define = text.lines().find_map(|line| line.trim().strip_prefix("#define CUDA_VERSION"))?;
    let number: u64 = define.trim().parse().ok()?;
    let headers = (number / 1000, number % 1000 / 10);
    let loader = view.start(view.launch.loader_environment()).ok()?;
    let names = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"];
    let winner = names.iter().find_map(|name| loader.candidates(name, 0).0.into_iter().next())?;
    let version = view.version(Path::new(&winner.path))?;
    let mut parts = version.split('.').map(|part| part.parse::<u64>().unwrap_or(0));
    let nvrtc = (parts.next()?, parts.next()?);
    if nvrtc == headers {
        return None;
    }
    Some(
        Finding::new(
            "headers-apart",
            Severity::Warning,
            format!(
                "headers are of CUDA {}.{}, NVRTC is of {}.{}: kernels compiled at run time may fail",
                headers.0, headers.1, nvrtc.0, nvrtc.1
            ),
        )
        .proof(format!("`{}` says CUDA_VERSION {number}", header.display()))
        .proof(format!("`{}`, by {}", winner.path, winner.rule))
        .fix("let both come from one toolchain: `cuenv exec -- COMMAND` sets CUDA_PATH and the library path together"),
    )
}

fn nccl(view: &View<'_>) -> Option<Finding> {
    let all: Vec<String> = view
        .sites
        .starting("nvidia-nccl-cu")
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    if all.len() < 2 {
        return None;
    }
    let mut finding = Finding::new(
        "nccl-twice",
        Severity::Warning,
        "two NCCL distributions write one file, `nvidia/nccl/lib/libnccl.so.2`: the one installed last is there",
    );
    finding.proof = all;
    Some(
        finding.fix(
            "pip uninstall the one that the framework does not require, then reinstall the other",
        ),
    )
}

/// Packages that look for libraries by means that LD_LIBRARY_PATH does not reach.
fn ignorers(view: &View<'_>) -> Option<Finding> {
    let known = [("transformer-engine", "`ldconfig -p`"), ("triton", "`ldconfig -p` for libcuda")];
    let here: Vec<String> = known
        .iter()
        .filter_map(|(name, how)| Some(format!("{name} {} asks {how}", view.sites.version(name)?)))
        .collect();
    let only_triton = here.len() == 1 && here[0].starts_with("triton");
    if here.is_empty() || only_triton {
        return None;
    }
    let mut finding = Finding::new(
        "ldconfig-only",
        Severity::Note,
        "a package here looks libraries up in the system's cache, which LD_LIBRARY_PATH does not change",
    );
    finding.proof = here;
    Some(finding.fix(
        "run it through `cuenv exec`, which also sets CUDA_HOME and CUDNN_PATH for such packages",
    ))
}

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
    ("NCCL_P2P_DISABLE", "keeps NCCL from using direct GPU links"),
    ("NCCL_IB_DISABLE", "keeps NCCL from using InfiniBand"),
    ("NCCL_SHM_DISABLE", "keeps NCCL from using shared memory"),
    ("NCCL_SOCKET_IFNAME", "limits NCCL to these network interfaces"),
    ("LD_PRELOAD", "loads these libraries into every program, before all others"),
    ("LD_AUDIT", "lets a library watch and redirect the loader, which doctor does not predict"),
];

fn switches(cx: &Context<'_>) -> Option<Finding> {
    let set: Vec<String> = SWITCHES
        .iter()
        .filter_map(|(name, does)| Some(format!("{name}={} {does}", cx.process.var(name)?)))
        .collect();
    let hidden = cx.process.env().get(std::ffi::OsStr::new("CUDA_VISIBLE_DEVICES"));
    let hidden = hidden.filter(|value| value.is_empty() || *value == "-1");
    if set.is_empty() && hidden.is_none() {
        return None;
    }
    let mut finding = Finding::new(
        "switches",
        Severity::Note,
        "variables that change results, speed or reach are set",
    );
    finding.proof = set;
    if hidden.is_some() {
        finding = finding.proof("CUDA_VISIBLE_DEVICES hides every GPU");
    }
    Some(finding)
}
