//! Findings about the environment of this process and of the one that would be started.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::predict::{Place, View};
use super::{nccl, remedy, switches};
use crate::context::Context;
use crate::domain::finding::{Finding, Severity};
use crate::domain::host::Host;
use crate::domain::manifest::gpu::Kind;
use crate::domain::version::Version;
use crate::ops::launch::State;
use crate::ops::link;

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
    found.extend(two_nccls(view));
    found.extend(ignorers(view));
    found.extend(switches::check(cx, host));
    found.extend(nccl::check(cx, host));
    found.extend(secure(view));
    found.extend(other_libraries(cx, view));
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
    Some(finding.fix(remedy::off_path(&view.launch.inherited, &[directory])))
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
    found.extend(nvcc(cx, view, prefix));
    found
}

/// A compiler of another CUDA: what it builds does not fit the toolchain.
fn nvcc(cx: &Context<'_>, view: &View<'_>, prefix: &Path) -> Option<Finding> {
    let pinned: Version = view.launch.toolchain()?.split('+').next()?.parse().ok()?;
    if prefix.join("bin/nvcc").is_file() {
        return None;
    }
    // cuenv's own shim is no compiler: it leads to the toolchain's, or to the next one on PATH.
    let mut bins = elements(cx, "PATH").into_iter().map(Path::new);
    let bin = bins.find(|bin| *bin != cx.layout.shims() && bin.join("nvcc").is_file())?;
    let version = bin.parent().and_then(toolkit_version);
    let same =
        version.as_ref().is_some_and(|version| version.major_minor() == pinned.major_minor());
    if same {
        return None;
    }
    let of = version.map_or_else(String::new, |version| format!(" of CUDA {version}"));
    let fix = if pinned.major() >= 13 {
        format!("cuenv use {}", with_devel(view))
    } else {
        format!(
            "install a CUDA {} toolkit with nvcc (no wheel has it before 13), and adopt it: `cuenv link NAME PATH`",
            pinned.major_minor()
        )
    };
    Some(
        Finding::new(
            "nvcc-elsewhere",
            Severity::Warning,
            format!("`nvcc`{of} comes from outside of the toolchain {pinned}: what it builds may not fit"),
        )
        .proof(format!("`{}`", bin.join("nvcc").display()))
        .fix(fix),
    )
}

/// The pin that holds, with a compiler.
fn with_devel(view: &View<'_>) -> String {
    let spec = view.launch.choice.as_ref().map_or("", |choice| choice.spec.as_str());
    format!("{}@devel", spec.split('@').next().unwrap_or(spec))
}

/// The CUDA of a toolkit, from its own file or its directory's name.
fn toolkit_version(root: &Path) -> Option<Version> {
    let of_file = || link::release_of(root)?.parse().ok();
    let of_name = || {
        let real = fs_err::canonicalize(root).ok()?;
        real.file_name()?.to_str()?.strip_prefix("cuda-")?.parse().ok()
    };
    of_file().or_else(of_name)
}

/// The interpreter runs with rights of its own, so nothing that is set reaches its loader.
fn secure(view: &View<'_>) -> Option<Finding> {
    if !view.launch.is_secure {
        return None;
    }
    let program = view.launch.program.display().to_string();
    let real =
        fs_err::canonicalize(&view.launch.program).unwrap_or_else(|_| program.clone().into());
    let mode = fs_err::metadata(&real).map_or(0, |seen| seen.permissions().mode());
    let file = quoted(&real.display().to_string());
    let (what, fix) = match mode & 0o6000 {
        0 => ("has capabilities of its own", format!("sudo setcap -r {file}")),
        0o2000 => ("changes the group it runs as", format!("chmod g-s {file}")),
        _ => ("changes the user it runs as", format!("chmod u-s,g-s {file}")),
    };
    Some(
        Finding::new(
            "secure-program",
            Severity::Error,
            format!("`{program}` {what}, so the loader ignores LD_LIBRARY_PATH"),
        )
        .proof(format!("`{}`, mode {:o}", real.display(), mode & 0o7777))
        .fix(fix),
    )
}

/// LD_LIBRARY_PATH of this process holds another CUDA: programs that are started without cuenv get that one.
fn other_libraries(cx: &Context<'_>, view: &View<'_>) -> Option<Finding> {
    const KNOWN: [&str; 5] =
        ["libcudart.so", "libcublas.so", "libcudnn.so", "libnvrtc.so", "libcufft.so"];
    let list = elements(cx, "LD_LIBRARY_PATH");
    let is_other = |element: &str| {
        let directory = Path::new(element);
        let foreign = directory.is_absolute()
            && view.place(directory) == Place::Elsewhere
            && !element.trim_end_matches('/').ends_with("/stubs")
            && !element.contains("/compat");
        foreign && holds_any(directory, &KNOWN)
    };
    let first = list.iter().find(|element| is_other(element))?;
    let own = Path::new(first).starts_with(cx.layout.data());
    let what = if own {
        format!(
            "LD_LIBRARY_PATH holds the libraries of a toolchain that does not hold here: `{first}`"
        )
    } else {
        format!(
            "LD_LIBRARY_PATH holds another CUDA: `{first}`; programs that are started without cuenv get it"
        )
    };
    let clean = without(&list, |element| element.is_empty() || is_other(element));
    let fix = if clean.is_empty() {
        "unset LD_LIBRARY_PATH".to_owned()
    } else {
        format!("export LD_LIBRARY_PATH={}", quoted(&clean))
    };
    Some(
        Finding::new("library-path", Severity::Warning, what)
            .proof(format!("LD_LIBRARY_PATH={}", list.join(":")))
            .fix(fix),
    )
}

/// Whether a directory holds a file whose name begins as one of these.
fn holds_any(directory: &Path, starts: &[&str]) -> bool {
    let Ok(entries) = fs_err::read_dir(directory) else { return false };
    entries.flatten().any(|entry| {
        let name = entry.file_name();
        name.to_str().is_some_and(|name| starts.iter().any(|start| name.starts_with(start)))
    })
}

/// Libraries of two CUDA majors on one library path: names that both have are mixed in silence.
fn majors(cx: &Context<'_>, view: &View<'_>) -> Option<Finding> {
    let mut seen: BTreeSet<u64> = BTreeSet::new();
    let mut proof = Vec::new();
    let mut directories = Vec::new();
    for element in elements(cx, "LD_LIBRARY_PATH").into_iter().filter(|element| !element.is_empty())
    {
        for (major, name) in
            [(11, "libcublas.so.11"), (12, "libcublas.so.12"), (13, "libcublas.so.13")]
        {
            if Path::new(element).join(name).exists() && seen.insert(major) {
                proof.push(format!("`{element}/{name}`"));
                directories.push(Path::new(element));
            }
        }
    }
    if seen.len() < 2 {
        return None;
    }
    // With a pin cuenv puts the right one there itself; without one the first is what programs get now.
    let drop = if view.launch.prefix().is_some() { &directories[..] } else { &directories[1..] };
    let fix = remedy::off_path(&view.launch.inherited, drop);
    let mut finding = Finding::new(
        "cuda-majors-mixed",
        Severity::Warning,
        "LD_LIBRARY_PATH holds two CUDA majors, which share names such as `libcusolver.so.11` and `libcurand.so.10`",
    );
    finding.proof = proof;
    Some(finding.fix(fix))
}

/// `cuda.h` has a megabyte.
const MAX_HEADER: u64 = 16 << 20;

/// Headers of one CUDA, NVRTC of another.
fn headers(view: &View<'_>) -> Option<Finding> {
    let root = view.launch.var("CUDA_PATH").or_else(|| view.launch.var("CUDA_HOME"))?;
    let header = Path::new(root).join("include/cuda.h");
    let (text, _) = shims::read::text(&header, MAX_HEADER).ok()??;
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
        .fix("cuenv exec -- COMMAND (it sets CUDA_PATH and the library path together)"),
    )
}

fn two_nccls(view: &View<'_>) -> Option<Finding> {
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
    let names: Vec<(&str, &str)> = view.sites.starting("nvidia-nccl-cu").collect();
    // The one that torch requires, else the one for the newest CUDA.
    let required = names.iter().find(|(name, _)| view.sites.required("torch", name).is_some());
    let (keep, version) = required.or(names.last())?;
    let others: Vec<&str> =
        names.iter().map(|(name, _)| *name).filter(|name| name != keep).collect();
    Some(finding.fix(format!(
        "pip uninstall -y {} && pip install --force-reinstall --no-deps {keep}=={version}",
        others.join(" ")
    )))
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
