//! Findings about the environment of this process and of the one that would be started.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::paths::elements;
use super::predict::View;
use super::{nccl, paths, switches};
use crate::context::Context;
use crate::domain::finding::{Finding, Severity};
use crate::domain::host::Host;
use crate::domain::version::Version;
use crate::ops::launch::State;
use crate::ops::link;

/// All of them.
pub(super) fn check(cx: &Context<'_>, view: &View<'_>, host: &Host) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(paths::check(cx, view, host));
    found.extend(stale(cx, view));
    found.extend(not_applied(cx, view));
    found.extend(sudo(cx));
    found.extend(other_toolkit(cx, view));
    found.extend(headers(view));
    found.extend(two_nccls(view));
    found.extend(ignorers(view));
    found.extend(switches::check(cx, host));
    found.extend(nccl::check(cx, host));
    found.extend(secure(view));
    found
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
                "what is shown above holds for `cuenv exec`; this shell has neither the hook nor the shims, and what it starts does not get the toolchain",
            )
            .proof(format!("its own LD_LIBRARY_PATH lacks `{}`", lib.display()))
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
    let file = shims::quote::word(&real);
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

/// Headers of one CUDA, NVRTC of another.
fn headers(view: &View<'_>) -> Option<Finding> {
    let root = view.launch.var("CUDA_PATH").or_else(|| view.launch.var("CUDA_HOME"))?;
    let headers = link::headers_of(Path::new(root))?;
    let loader = view.start(view.launch.loader_environment()).ok()?;
    let names = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"];
    let winner = names.iter().find_map(|name| loader.candidates(name, 0).0.into_iter().next())?;
    let nvrtc = view.version(Path::new(&winner.path))?.parse::<Version>().ok()?.major_minor();
    if nvrtc == headers {
        return None;
    }
    Some(
        Finding::new(
            "headers-apart",
            Severity::Warning,
            format!(
                "headers are of CUDA {headers}, NVRTC is of {nvrtc}: kernels compiled at run time may fail"
            ),
        )
        .proof(format!("`{}`", Path::new(root).join(link::HEADER).display()))
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
