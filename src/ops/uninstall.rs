//! `uninstall`: take toolchains away. Their wheels stay in the store until `gc`.
//!
//! What is taken away is first told apart: a spec that means several toolchains, and one that a program runs in, need a word.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::Serialize;

use super::{link, list, selection};
use crate::context::Context;
use crate::domain::spec::{Spec, SpecError, ToolchainSpec};
use crate::domain::target::Target;
use crate::domain::version::Version;
use crate::platform::maps;
use crate::prefix;

/// What to take away.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Specs, and names that `list` prints.
    pub specs: Vec<String>,
    /// Whether to change nothing.
    pub dry_run: bool,
    /// Whether several at once, and toolchains that programs run in, are meant.
    pub sure: bool,
}

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
    /// Neither a name nor a spec.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// More than one matches.
    #[error("`{spec}` matches {} toolchains: {}", names.len(), names.join(", "))]
    Several {
        /// What was asked for.
        spec: String,
        /// The names of the prefixes.
        names: Vec<String>,
    },
    /// A program runs in one.
    #[error("`{name}` is in use by {}", programs.join(", "))]
    Running {
        /// The prefix's name.
        name: String,
        /// The programs, with their numbers.
        programs: Vec<String>,
    },
    /// The prefix.
    #[error(transparent)]
    Prefix(#[from] prefix::Error),
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
    /// Whether the default leads to one of them.
    pub is_default: bool,
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

/// Takes away the toolchains that the specs match: all of them, or on an error none.
pub fn uninstall(cx: &Context<'_>, request: &Request) -> Result<Report, Error> {
    let installed = list::installed(cx).toolchains;
    let mut report = Report {
        removed: Vec::new(),
        dry_run: request.dry_run,
        used_by: Vec::new(),
        is_default: false,
    };
    let default = selection::default_spec(cx).ok().flatten().unwrap_or_default();
    let (mut chosen, mut linked) = (Vec::new(), Vec::new());
    for text in &request.specs {
        let place = cx.layout.links().join(text);
        if shims::spec::is_spec(text) && place.is_dir() {
            report.removed.push(place);
            report.used_by.extend(list::users(cx).remove(text).unwrap_or_default());
            report.is_default |= default == *text;
            linked.push(text.as_str());
            continue;
        }
        let found = meant(text, &installed)?;
        let names: Vec<String> = found.iter().map(|one| one.name.clone()).collect();
        match found.len() {
            0 => {
                let installed = installed.iter().map(|one| one.toolchain.clone()).collect();
                return Err(Error::NotInstalled { spec: text.clone(), installed });
            }
            1 => {}
            _ if request.sure || request.dry_run => {}
            _ => return Err(Error::Several { spec: text.clone(), names }),
        }
        chosen.extend(found);
    }
    chosen.sort_by(|a, b| a.prefix.cmp(&b.prefix));
    chosen.dedup_by(|a, b| a.prefix == b.prefix);
    if !request.sure && !request.dry_run {
        refuse_running(cx, &chosen)?;
    }
    for one in chosen {
        report.removed.push(one.prefix.clone());
        report.used_by.extend(one.projects.clone());
        report.is_default |= one.specs.contains(&default);
        if !request.dry_run {
            take_away(cx, one)?;
        }
    }
    if !request.dry_run {
        linked.into_iter().try_for_each(|name| link::unlink(cx, name).map(drop))?;
    }
    report.used_by.sort();
    report.used_by.dedup();
    Ok(report)
}

fn take_away(cx: &Context<'_>, one: &list::Installed) -> Result<(), Error> {
    for spec in &one.specs {
        match fs::remove_file(cx.layout.active(one.target).join(spec)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(prefix::discard(&cx.layout, &one.prefix)?)
}

/// A program that has some libraries open would fail when it opens the next one.
fn refuse_running(cx: &Context<'_>, chosen: &[&list::Installed]) -> Result<(), Error> {
    let mapped = maps::mapped_below(cx.layout.data());
    for one in chosen {
        let here = |file: &&maps::Mapped| file.path.starts_with(&one.prefix);
        let processes: BTreeSet<u32> =
            mapped.iter().filter(here).map(|file| file.process).collect();
        if processes.is_empty() {
            continue;
        }
        let programs = processes
            .into_iter()
            .map(|process| {
                let name = maps::process_name(process).unwrap_or_else(|| "a program".to_owned());
                format!("`{name}` (pid {process})")
            })
            .collect();
        return Err(Error::Running { name: one.name.clone(), programs });
    }
    Ok(())
}

/// The toolchains that a text means, by the first of these that any has: the prefix's name, or the start of just one; the
/// link of that very spec; the toolchain's name; every part of a partial spec.
fn meant<'a>(
    text: &str,
    installed: &'a [list::Installed],
) -> Result<Vec<&'a list::Installed>, Error> {
    let by = |holds: &dyn Fn(&list::Installed) -> bool| -> Vec<&'a list::Installed> {
        installed.iter().filter(|one| holds(one)).collect()
    };
    let text = text.strip_suffix('/').unwrap_or(text);
    let named = by(&|one| one.name == text || one.prefix == Path::new(text));
    if !named.is_empty() {
        return Ok(named);
    }
    let spec = match text.parse::<Spec>() {
        Ok(spec) => spec,
        Err(error) => {
            // The beginning of a name, down to its digest: no spec reads like that.
            let begun = by(&|one| text.contains('-') && one.name.starts_with(text));
            return if begun.is_empty() { Err(error.into()) } else { Ok(begun) };
        }
    };
    let spelt = spec.to_string();
    let linked = by(&|one| one.target == Target::host() && one.specs.contains(&spelt));
    if !linked.is_empty() {
        return Ok(linked);
    }
    let called = by(&|one| one.toolchain == spelt);
    if !called.is_empty() {
        return Ok(called);
    }
    match &spec {
        Spec::Toolchain(spec) => Ok(by(&|one| matches(spec, one))),
        _ => Ok(Vec::new()),
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
