//! Findings about LD_LIBRARY_PATH and PATH of this process: what should not be on them.

use std::collections::BTreeSet;
use std::path::Path;

use shims::quote::word;

use super::predict::{Place, View};
use super::remedy;
use crate::context::Context;
use crate::domain::finding::{Finding, Severity};
use crate::domain::host::Host;
use crate::domain::manifest::gpu::Kind;

/// All of them.
pub(super) fn check(cx: &Context<'_>, view: &View<'_>, host: &Host) -> Vec<Finding> {
    let mut found = empty_elements(cx);
    found.extend(stubs(cx));
    found.extend(driver_copies(view, host));
    found.extend(other_libraries(cx, view));
    found.extend(majors(cx, view));
    found
}

pub(super) fn elements<'a>(cx: &'a Context<'_>, name: &str) -> Vec<&'a str> {
    cx.process.var(name).map(|value| value.split(':').collect()).unwrap_or_default()
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
                format!("export {name}={}", word(&clean))
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
        format!("export LD_LIBRARY_PATH={}", word(&clean))
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
        format!("export LD_LIBRARY_PATH={}", word(&clean))
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
