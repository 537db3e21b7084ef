//! `doctor`: the chain from GPU to framework, the library that wins at every step, and one fix for each thing that is wrong.
//!
//! Nothing of the project is run or imported: distributions are read from directory names and metadata, libraries from
//! their ELF tables, and what the loader will do is predicted.

mod chain;
pub mod codes;
mod consumers;
mod damage;
mod libraries;
mod nccl;
mod paths;
mod predict;
mod project;
pub(super) mod remedy;
mod report;
mod sites;
mod surroundings;
mod switches;

pub use report::{Report, Style};

use std::path::Path;

use super::launch::{Launch, Request, State};
use super::{drift, host};
use crate::catalog::CatalogError;
use crate::context::Context;
use crate::domain::finding::{Finding, Severity};
use crate::platform::host::{Depth, HostError};
use crate::platform::loader::{RealFiles, probe_host};
use crate::prefix::Receipt;
use predict::{Prediction, View};
use project::Project;
use sites::Sites;

/// Why nothing could be looked at.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The manifests.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The machine's facts.
    #[error(transparent)]
    Host(#[from] HostError),
}

/// Looks at everything.
pub fn doctor(cx: &Context<'_>, request: &Request) -> Result<Report, Error> {
    let catalog = cx.catalog()?;
    let host = host::probe(cx.process, &catalog, Depth::Enough)?;
    let launch = Launch::new(cx, request);
    let sites = Sites::read(&launch.sites);
    let wheels = launch.prefix().map(wheels).unwrap_or_default();
    let files = RealFiles::default();
    let loader_host = probe_host(cx.target);
    let program = launch.program.display().to_string();
    let own = cx.process.exe().map(|exe| exe.display().to_string()).unwrap_or_default();
    let mut view = View {
        files: &files,
        host: &loader_host,
        catalog: &catalog,
        launch: &launch,
        sites: &sites,
        wheels: &wheels,
        program: &program,
    };
    // An interpreter that is a script (other version managers have such) cannot be looked at; any program does then.
    if view.start(launch.loader_environment()).is_err() {
        view.program = &own;
    }
    let frameworks = view.all();
    let project = Project::look(cx, &catalog, &host.machine(), &launch);
    let (mut chain, mut findings) = chain::chain(&view, &host, &frameworks);
    findings.extend(damage::check(cx, &view));
    let spec = launch.choice.as_ref().map(|choice| choice.spec.as_str());
    let asked = libraries::Asked { project: project.as_ref(), spec, driver: host.driver.is_some() };
    let mut found: Vec<_> = frameworks
        .iter()
        .flat_map(|prediction| libraries::check(&view, prediction, &asked))
        .collect();
    let of_project = project.map(|project| project.check(&view, &mut found));
    findings.extend(found);
    findings.extend(of_project.into_iter().flatten());
    findings.extend(surroundings::check(cx, &view, &host));
    // A lock that stops the selection has been told.
    let holds = launch.choice.as_ref().filter(|_| !matches!(launch.state, State::Broken(_)));
    if let Some(drift) = holds.and_then(drift::of) {
        findings.push(
            Finding::new("lock-drift", Severity::Warning, "the lock does not answer the pin")
                .proof(format!("`{}`: {}", shims::shown::path(&drift.lock), drift.what))
                .fix(drift.fix),
        );
    }
    // Two frameworks may meet the same fault; it is told once.
    let mut seen = std::collections::BTreeSet::new();
    findings.retain(|finding| seen.insert((finding.code, finding.what.clone())));
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    fold(&mut findings);
    for link in &mut chain {
        let worst = findings.iter().filter_map(|finding| codes::health(finding, link.name)).max();
        link.health = worst.map_or(link.health, |worst| worst.max(link.health));
    }
    Ok(Report {
        toolchain: launch.toolchain().map(str::to_owned),
        prefix: launch.prefix().map(Path::to_owned),
        program: launch.program.clone(),
        environment: launch.env.as_ref().map(|env| env.root.clone()),
        chain,
        frameworks,
        findings,
    })
}

/// Takes out what only says in other words what a worse finding said already, and would have mended the same way.
fn fold(findings: &mut Vec<Finding>) {
    const OTHER_WORDS: [&str; 2] = ["shadowed", "library-path"];
    let mut said: Vec<String> = Vec::new();
    findings.retain(|finding| {
        let known = finding.fix.as_ref().is_some_and(|fix| said.contains(fix));
        said.extend(finding.fix.clone());
        !(known && OTHER_WORDS.contains(&finding.code))
    });
}

/// Distributions and versions of a prefix.
fn wheels(prefix: &Path) -> Vec<(String, String)> {
    let receipt = Receipt::read(prefix).ok();
    let wheels = receipt.into_iter().flat_map(|receipt| receipt.wheels);
    wheels
        .map(|wheel| (wheel.distribution.replace('_', "-").to_ascii_lowercase(), wheel.version))
        .collect()
}

/// Whether parts of two cuDNNs would meet in one process.
fn has_two_cudnns(prediction: &Prediction) -> bool {
    libraries::cudnn_sources(prediction).len() > 1
}
