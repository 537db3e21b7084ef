//! The project's Python environment: where it is, and what its distributions say of themselves.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use shims::program::Program;
use shims::venv::PythonEnv;

use super::{Found, Rank, Request, Seen, native, shown};
use crate::domain::evidence::{Package, Wanted, metadata};
use crate::domain::wheel_name::normalise;
use crate::domain::wish::Tables;
use crate::platform::process::Process;

/// Metadata beyond this size is somebody's mistake.
const MAX_METADATA: u64 = 4 << 20;

/// Finds the environment and its package directories: the one that was named, the active one, the usual places in the
/// project, conda's.
pub(super) fn environment(process: &Process, request: &Request) -> Option<(PathBuf, Vec<PathBuf>)> {
    let environment = |root: PathBuf| {
        let sites = sites(&root);
        (!sites.is_empty()).then_some((root, sites))
    };
    if let Some(venv) = &request.venv {
        return environment(request.directory.join(venv));
    }
    if let Some(python) = &request.python {
        // The link is not followed: `venv/bin/python` names its venv, wherever it leads.
        let python = request.directory.join(python);
        return environment(python.parent()?.parent()?.to_owned())
            .or_else(|| of_interpreter(process, &python));
    }
    let of_variable = |name| process.var_os(name).map(PathBuf::from);
    let usual = [".venv", "venv", "env"].map(|name| request.directory.join(name));
    of_variable("VIRTUAL_ENV")
        .into_iter()
        .chain(usual)
        .chain(of_variable("CONDA_PREFIX"))
        .find_map(environment)
}

/// The packages of an interpreter outside of any environment: the system's, and the user's own.
fn of_interpreter(process: &Process, python: &Path) -> Option<(PathBuf, Vec<PathBuf>)> {
    let mut vars = process.env().clone();
    for name in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        vars.remove(OsStr::new(name));
    }
    let env = PythonEnv::find(&vars, Some(&Program::at(python)), None)?;
    Some((env.root, env.sites))
}

/// Returns the package directories of an environment.
pub(in crate::ops) fn sites(root: &Path) -> Vec<PathBuf> {
    let mut sites: Vec<PathBuf> = Vec::new();
    for lib in ["lib", "lib64"] {
        let Ok(entries) = fs_err::read_dir(root.join(lib)) else { continue };
        for entry in entries.flatten() {
            let is_python =
                entry.file_name().to_str().is_some_and(|name| name.starts_with("python3"));
            let site = entry.path().join("site-packages");
            if is_python && site.is_dir() {
                // `lib64` is often a link to `lib`.
                let real = fs_err::canonicalize(&site).unwrap_or(site);
                if !sites.contains(&real) {
                    sites.push(real);
                }
            }
        }
    }
    sites.sort();
    sites
}

/// Reads the distributions of an environment that matter here, and its native modules.
pub(super) fn read(root: &Path, sites: &[PathBuf], tables: &Tables<'_>, found: &mut Found) {
    for site in sites {
        found.looked_at.push(site.clone());
        let Ok(entries) = fs_err::read_dir(site) else { continue };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        for name in &names {
            let Some((distribution, version)) = of_directory(name) else { continue };
            if tables.is_nvidia(&distribution) {
                if let Ok(version) = version.parse() {
                    found.installed_nvidia.push(Package {
                        distribution,
                        extras: Vec::new(),
                        version: Wanted::Exact(version),
                        line: None,
                    });
                }
            } else if tables.is_framework(&distribution) {
                found.seen.extend(installed(site, name, tables, root));
            }
        }
        torch_version(site, found);
        native::read_modules(site, &names, tables, found);
    }
}

/// Splits `torch-2.5.1+cu124.dist-info`.
fn of_directory(name: &str) -> Option<(String, &str)> {
    let (distribution, version) = name.strip_suffix(".dist-info")?.split_once('-')?;
    Some((normalise(distribution), version))
}

fn installed(site: &Path, name: &str, tables: &Tables<'_>, root: &Path) -> Option<Seen> {
    let path = site.join(name).join("METADATA");
    let (text, _) = shims::read::text(&path, MAX_METADATA).ok()??;
    let installed = metadata::parse(&text)?;
    let package = installed.package();
    // Which extras were asked for is written nowhere. Requirements of an extra still tell what the build belongs to,
    // as long as they are of one kind (`cu12` and `cu13` side by side are a choice).
    let nvidia = |wanted: Option<&str>| {
        installed
            .requires
            .iter()
            .filter(|(required, extra)| {
                extra.as_deref() == wanted && tables.is_nvidia(&required.distribution)
            })
            .map(|(required, _)| required.clone())
            .collect::<Vec<_>>()
    };
    let mut requires = nvidia(None);
    if requires.is_empty() {
        let mut extras: Vec<&str> =
            installed.requires.iter().filter_map(|(_, extra)| extra.as_deref()).collect();
        extras.sort_unstable();
        extras.dedup();
        let of_extras: Vec<Vec<Package>> = extras
            .iter()
            .map(|extra| nvidia(Some(extra)))
            .filter(|list| !list.is_empty())
            .collect();
        let mut majors: Vec<u64> = of_extras
            .iter()
            .filter_map(|list| tables.read_pins(list).cuda.map(|cuda| cuda.major))
            .collect();
        majors.sort_unstable();
        majors.dedup();
        if majors.len() == 1 {
            requires = of_extras.concat();
        }
    }
    let place = shown(&site.join(name), root.parent().unwrap_or(root));
    Some(Seen { package, place, rank: Rank::Installed, label: None, requires })
}

/// Reads the CUDA that torch was built with from its own file, which says more than a version without a label.
fn torch_version(site: &Path, found: &mut Found) {
    let path = site.join("torch/version.py");
    let Ok(Some((text, _))) = shims::read::text(&path, MAX_METADATA) else { return };
    let Some(cuda) = metadata::torch_cuda(&text) else { return };
    let label = match cuda {
        Some(version) => format!("cu{}", version.to_string().replace('.', "")),
        None => "cpu".to_owned(),
    };
    for seen in &mut found.seen {
        if seen.package.distribution == "torch" && seen.rank == Rank::Installed {
            seen.label = Some(label.clone());
        }
    }
}
