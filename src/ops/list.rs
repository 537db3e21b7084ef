//! `list`: what is installed, how large it is, what it can do, who uses it; and what the index offers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::Serialize;
use shims::locate::{Choice, Source};

use super::link;
use super::machine;
use super::network::Network;
use super::resolve::{METAPACKAGE, three_parts};
use super::{verdict, verify};
use crate::context::Context;
use crate::domain::compat::Grade;
use crate::domain::digest::Digest;
use crate::domain::listing::Fit;
use crate::domain::size::megabytes;
use crate::domain::target::Target;
use crate::{index, prefix, project};

/// What is installed.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The toolchains, in order of name.
    pub toolchains: Vec<Installed>,
    /// Toolkits that cuenv did not install.
    pub linked: Vec<link::Report>,
}

/// One installed toolchain.
#[derive(Clone, Debug, Serialize)]
pub struct Installed {
    /// The toolchain's name.
    pub toolchain: String,
    /// The prefix's name.
    pub name: String,
    /// The platform.
    pub target: Target,
    /// The profile.
    pub profile: String,
    /// The prefix.
    pub prefix: PathBuf,
    /// Its unpacked bytes, shared or not.
    pub bytes: u64,
    /// The part of them that no other toolchain here shares.
    pub own_bytes: u64,
    /// What can be done with it.
    pub can: Vec<Ability>,
    /// How this machine's driver and GPUs take it, in one word; absent for another platform.
    pub grade: Option<Grade>,
    /// What decides about that; absent when nothing is known here.
    pub verdict: Option<String>,
    /// Files that programs are given are gone.
    pub is_damaged: bool,
    /// The command that brings them back.
    #[serde(skip)]
    pub mending: Option<String>,
    /// Specs that lead to it.
    pub specs: Vec<String>,
    /// Known projects whose lock or pin leads to it.
    pub projects: Vec<PathBuf>,
    /// Its wheels.
    #[serde(skip)]
    pub wheels: Vec<prefix::receipt::Wheel>,
}

/// What can be done with a toolchain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ability {
    /// Run programs.
    Run,
    /// Compile device code at run time (NVRTC).
    Jit,
    /// Compile device code with `nvcc`.
    Build,
}

impl Ability {
    const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Jit => "jit",
            Self::Build => "build",
        }
    }
}

impl Installed {
    /// The command that makes a damaged one whole, as doctor and the shims say it.
    fn mend(&self) -> Option<String> {
        // No spec leads to it, so that only an installation finds it.
        let Some(spec) = self.specs.first().cloned() else {
            return self.is_damaged.then(|| format!("cuenv install {}", self.toolchain));
        };
        let choice = Choice { spec, source: Source::Argument, venv: None };
        verify::mending(&prefix::glance(&self.prefix, None), &choice)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.toolchains.is_empty() && self.linked.is_empty() {
            return writeln!(f, "no toolchain is installed");
        }
        let width = self.toolchains.iter().map(|one| one.toolchain.len()).max().unwrap_or(0);
        for one in &self.toolchains {
            let can: Vec<_> = one.can.iter().map(|ability| ability.name()).collect();
            writeln!(
                f,
                "{:width$}  {:<8} {:>8} ({} of its own)  {}",
                one.toolchain,
                one.profile,
                megabytes(one.bytes),
                megabytes(one.own_bytes),
                can.join(", "),
            )?;
            if let Some(verdict) = &one.verdict {
                let runs =
                    if one.grade == Some(Grade::Impossible) { "cannot run here: " } else { "" };
                writeln!(f, "    {runs}{verdict}")?;
            }
            if let Some(command) = &one.mending {
                writeln!(f, "    damaged: `{command}` makes it whole")?;
            }
            if !one.specs.is_empty() {
                writeln!(f, "    answers {}", one.specs.join(", "))?;
            }
            for project in &one.projects {
                writeln!(f, "    used by {}", project.display())?;
            }
        }
        for linked in &self.linked {
            let cuda = linked.cuda.as_ref().map(|cuda| format!("CUDA {cuda}, "));
            let cuda = cuda.unwrap_or_default();
            writeln!(f, "{:width$}  {cuda}linked to {}", linked.name, linked.path.display())?;
        }
        Ok(())
    }
}

/// Lists what is installed, for every target.
pub fn installed(cx: &Context<'_>) -> Report {
    let mut toolchains = Vec::new();
    for target in Target::ALL {
        let Ok(entries) = fs::read_dir(cx.layout.toolchains(target)) else { continue };
        for entry in entries.flatten() {
            toolchains.extend(describe(target, &entry.path()));
        }
        let links = links(&cx.layout.active(target));
        for one in toolchains.iter_mut().filter(|one| one.target == target) {
            one.specs = links.get(&one.name).cloned().unwrap_or_default();
            one.mending = one.mend();
        }
    }
    // Bytes are shared by wheel: a wheel that two toolchains hold belongs to neither alone.
    let mut holders: BTreeMap<Digest, BTreeSet<String>> = BTreeMap::new();
    for one in &toolchains {
        for wheel in &one.wheels {
            holders.entry(wheel.sha256).or_default().insert(one.name.clone());
        }
    }
    let users = users(cx);
    for one in &mut toolchains {
        one.own_bytes = one
            .wheels
            .iter()
            // What lies in another's store takes no space here.
            .filter(|wheel| holders[&wheel.sha256].len() == 1)
            .filter(|wheel| cx.layout.store_entry(&wheel.sha256).exists())
            .map(|wheel| wheel.unpacked)
            .fold(0, u64::saturating_add);
        one.projects = users.get(&one.name).cloned().unwrap_or_default();
        for spec in &one.specs {
            one.projects.extend(users.get(spec).cloned().unwrap_or_default());
        }
        one.projects.sort();
        one.projects.dedup();
    }
    judge(cx, &mut toolchains);
    toolchains.sort_by(|a, b| a.name.cmp(&b.name));
    Report { toolchains, linked: link::all(cx) }
}

/// Adds how this machine takes each toolchain. A list must not fail because a probe or a manifest of the user's own does.
fn judge(cx: &Context<'_>, toolchains: &mut [Installed]) {
    let Ok(catalog) = cx.catalog() else { return };
    let Ok(facts) = machine::facts(cx, &catalog, cx.target) else { return };
    for one in toolchains.iter_mut().filter(|one| one.target == cx.target) {
        if let Some(line) = verdict::of_toolchain(&catalog, &facts.machine, &one.toolchain) {
            one.grade = Some(line.grade);
            one.verdict = line.words;
        }
    }
}

fn describe(target: Target, path: &Path) -> Option<Installed> {
    let receipt = prefix::Receipt::read(path).ok()?;
    let mut can = vec![Ability::Run];
    let holds = |part: &str| receipt.wheels.iter().any(|wheel| wheel.distribution.contains(part));
    if holds("nvrtc") {
        can.push(Ability::Jit);
    }
    if path.join("bin/nvcc").is_file() {
        can.push(Ability::Build);
    }
    Some(Installed {
        toolchain: receipt.toolchain,
        name: receipt.name,
        target,
        profile: receipt.profile,
        prefix: path.to_owned(),
        bytes: receipt.wheels.iter().map(|wheel| wheel.unpacked).fold(0, u64::saturating_add),
        own_bytes: 0,
        can,
        grade: None,
        verdict: None,
        is_damaged: !prefix::is_whole(path),
        mending: None,
        specs: Vec::new(),
        projects: Vec::new(),
        wheels: receipt.wheels,
    })
}

/// Prefix name -> the specs whose link leads to it.
fn links(active: &Path) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let Ok(entries) = fs::read_dir(active) else { return found };
    for entry in entries.flatten() {
        let Ok(to) = fs::read_link(entry.path()) else { continue };
        let (Some(name), Some(spec)) =
            (to.file_name(), entry.file_name().to_str().map(str::to_owned))
        else {
            continue;
        };
        found.entry(name.to_string_lossy().into_owned()).or_default().push(spec);
    }
    for specs in found.values_mut() {
        specs.sort();
    }
    found
}

/// Prefix name, or spec where no lock answers the pin -> the projects that want it.
pub(super) fn users(cx: &Context<'_>) -> BTreeMap<String, Vec<PathBuf>> {
    let mut found: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for project in project::known(&cx.layout) {
        let Ok(Some(pin)) = project.read_pin() else { continue };
        let spec = pin.spec();
        let lock = project.read_lock().ok().flatten();
        let answers = lock.filter(|lock| lock.answers(&spec));
        let keys: Vec<String> = match answers {
            Some(lock) => lock.prefix.into_values().collect(),
            None => vec![spec],
        };
        for key in keys {
            found.entry(key).or_default().push(project.directory().to_owned());
        }
    }
    found
}

/// What the index offers.
#[derive(Debug, Serialize)]
pub struct Available {
    /// CUDA releases, newest first.
    pub cuda: Vec<String>,
    /// cuDNN releases for each CUDA major, newest first.
    pub cudnn: BTreeMap<u64, Vec<String>>,
    /// The names of components that a spec can hold.
    pub components: Vec<String>,
}

impl fmt::Display for Available {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "CUDA        {}", self.cuda.join(" "))?;
        for (major, releases) in &self.cudnn {
            writeln!(f, "cuDNN       for CUDA {major}: {}", releases.join(" "))?;
        }
        writeln!(f, "components  {}", self.components.join(" "))
    }
}

/// Asks the index what there is.
pub fn available(cx: &Context<'_>) -> Result<Available, super::answer::Error> {
    let network = Network::open(cx);
    let index = network.index();
    let catalog = cx.catalog()?;
    let releases = index.listing(METAPACKAGE)?;
    let cuda = releases
        .candidates(Fit::Any, |_| true)
        .into_iter()
        .map(|wheel| three_parts(&wheel.name.version).to_string())
        .collect();
    let mut cudnn = BTreeMap::new();
    let builds = catalog.component("cudnn").map(|component| component.builds.clone());
    for build in builds.unwrap_or_default() {
        let listing = match index.listing(&build.distribution) {
            Err(index::Error::NotFound { .. }) => continue,
            listing => listing?,
        };
        let versions = listing
            .candidates(Fit::Linux(cx.target, None), |_| true)
            .into_iter()
            .map(|wheel| wheel.name.version.to_string())
            .collect();
        cudnn.insert(build.cuda_major, versions);
    }
    let components = catalog.components().iter().map(|one| one.id.clone()).collect();
    Ok(Available { cuda, cudnn, components })
}
