//! `uninstall`: take toolchains away. Their wheels stay in the store until `gc`.

use std::fmt;
use std::path::PathBuf;

use fs_err as fs;
use serde::Serialize;

use super::{link, list};
use crate::context::Context;
use crate::domain::spec::{Spec, ToolchainSpec};
use crate::domain::target::Target;
use crate::domain::version::Version;
use crate::platform::fs::Staging;

/// Why nothing was taken away.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing installed matches.
    #[error("nothing installed matches `{spec}`")]
    NotInstalled {
        /// What was asked for.
        spec: String,
        /// What is installed.
        installed: Vec<String>,
    },
    /// Removing failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// What was taken away.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The prefixes.
    pub removed: Vec<PathBuf>,
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// Known projects that use one of them.
    pub used_by: Vec<PathBuf>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.dry_run { "Would remove" } else { "Removed" };
        self.removed.iter().try_for_each(|path| writeln!(f, "{verb} `{}`", path.display()))?;
        if !self.dry_run {
            writeln!(f, "Wheels stay in the store until `cuenv gc`")?;
        }
        Ok(())
    }
}

/// Takes away the toolchains that the specs match.
pub fn uninstall(cx: &Context<'_>, specs: &[Spec], dry_run: bool) -> Result<Report, Error> {
    let installed = list::installed(cx).toolchains;
    let mut report = Report { removed: Vec::new(), dry_run, used_by: Vec::new() };
    let mut chosen = Vec::new();
    for spec in specs {
        let text = spec.to_string();
        if let Spec::Linked(name) = spec {
            let place = cx.layout.links().join(name);
            if place.is_dir() {
                report.removed.push(place);
                if !dry_run {
                    link::unlink(cx, name)?;
                }
                continue;
            }
        }
        let found: Vec<_> = installed.iter().filter(|one| is_meant(spec, &text, one)).collect();
        if found.is_empty() {
            let installed = installed.iter().map(|one| one.toolchain.clone()).collect();
            return Err(Error::NotInstalled { spec: text, installed });
        }
        chosen.extend(found);
    }
    for one in chosen {
        if report.removed.contains(&one.prefix) {
            continue;
        }
        report.removed.push(one.prefix.clone());
        report.used_by.extend(one.projects.clone());
        if !dry_run {
            for spec in &one.specs {
                fs::remove_file(cx.layout.active(one.target).join(spec))?;
            }
            // Renamed away in one step, so that no reader sees half of it; then removed with the staging directory.
            let aside = Staging::new(&cx.layout.tmp(), "removed")?;
            fs::rename(&one.prefix, aside.path().join("prefix"))?;
        }
    }
    report.used_by.sort();
    report.used_by.dedup();
    Ok(report)
}

/// Tells whether a spec means an installed toolchain: the link of that very spec, the toolchain's or prefix's name, or a
/// partial spec whose every part matches.
fn is_meant(spec: &Spec, text: &str, one: &list::Installed) -> bool {
    if one.specs.iter().any(|known| known == text) || one.toolchain == text || one.name == text {
        return true;
    }
    match spec {
        Spec::Toolchain(spec) => matches(spec, one),
        _ => false,
    }
}

fn matches(spec: &ToolchainSpec, one: &list::Installed) -> bool {
    let mut parts = one.toolchain.split('+');
    let parse = |text: &str| text.parse::<Version>().ok();
    let cuda = parts.next().and_then(parse);
    let components: Vec<(&str, Option<Version>)> = parts
        .map(|part| {
            let at = part.find(|c: char| c.is_ascii_digit()).unwrap_or(part.len());
            (&part[..at], parse(&part[at..]))
        })
        .collect();
    let release = spec.cuda.as_ref().zip(cuda.as_ref());
    let same_release = release.is_some_and(|(asked, cuda)| asked.matches(cuda.parts()));
    let profile = spec.profile.is_none_or(|profile| profile.name() == one.profile);
    // `12.4` means the toolchain without cuDNN; taking more away than was named would surprise.
    let same_components = spec.components.len() == components.len()
        && spec.components.iter().all(|(name, asked)| {
            components.iter().any(|(known, version)| {
                known == name
                    && match (asked, version) {
                        (Some(asked), Some(version)) => asked.matches(version.parts()),
                        _ => true,
                    }
            })
        });
    one.target == Target::host() && same_release && profile && same_components
}
