//! The project's own files: lists of dependencies, locks, Dockerfiles.

use std::path::{Path, PathBuf};

use super::{Found, Rank, Seen, shown};
use crate::domain::evidence::{Package, conda, dockerfile, image, locks, pyproject, requirements};
use crate::domain::manifest::image::Images;
use crate::domain::spec::Profile;
use crate::domain::version::Version;
use crate::domain::wish::{CudaWish, Wish};

/// Lists of dependencies are small; locks of large projects have a few megabytes.
const MAX_FILE: u64 = 32 << 20;
const MAX_INCLUDES: usize = 20;

/// Reads the files that lie in the project's directory.
pub(super) fn read(directory: &Path, images: &Images, found: &mut Found) {
    let Ok(entries) = fs_err::read_dir(directory) else { return };
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    // An index that is named anywhere in the project is where its builds come from.
    let before = found.seen.len();
    let mut label = None;
    for name in &names {
        let path = directory.join(name);
        let lower = name.to_ascii_lowercase();
        let has =
            |extension: &str| Path::new(&lower).extension().is_some_and(|found| found == extension);
        if lower.starts_with("requirements") && (has("txt") || has("in")) {
            requirements_file(directory, &path, found, &mut label);
        } else if lower == "requirements" && path.is_dir() {
            requirements_directory(directory, &path, found, &mut label);
        } else if lower == "pyproject.toml" {
            if let Some(project) = text(&path, found).and_then(|text| pyproject::parse(&text)) {
                label = label.or(project.label);
                push(directory, &path, project.packages, Rank::Asked, found);
            }
        } else if ["uv.lock", "poetry.lock", "pdm.lock"].contains(&lower.as_str()) {
            if let Some(packages) = text(&path, found).and_then(|text| locks::parse(&text)) {
                push(directory, &path, packages, Rank::Locked, found);
            }
        } else if lower.starts_with("environment") && (has("yml") || has("yaml")) {
            conda_file(directory, &path, found);
        } else if lower.starts_with("dockerfile")
            || lower.starts_with("containerfile")
            || has("dockerfile")
        {
            docker_file(directory, &path, images, found);
        }
    }
    for seen in &mut found.seen[before..] {
        seen.label.clone_from(&label);
    }
}

fn text(path: &Path, found: &mut Found) -> Option<String> {
    let (text, _) = shims::read::text(path, MAX_FILE).ok()??;
    found.looked_at.push(path.to_owned());
    Some(text)
}

fn place(directory: &Path, path: &Path, line: Option<usize>) -> String {
    match line {
        Some(line) => format!("{}:{line}", shown(path, directory)),
        None => shown(path, directory),
    }
}

fn push(directory: &Path, path: &Path, packages: Vec<Package>, rank: Rank, found: &mut Found) {
    for package in packages {
        let place = place(directory, path, package.line);
        found.seen.push(Seen { package, place, rank, label: None, requires: Vec::new() });
    }
}

fn requirements_directory(
    directory: &Path,
    path: &Path,
    found: &mut Found,
    label: &mut Option<String>,
) {
    let Ok(entries) = fs_err::read_dir(path) else { return };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    for file in files {
        requirements_file(directory, &file, found, label);
    }
}

/// Reads a requirements file and those it includes, as long as they lie in the project.
fn requirements_file(directory: &Path, path: &Path, found: &mut Found, label: &mut Option<String>) {
    let mut open = vec![path.to_owned()];
    let mut done: Vec<PathBuf> = Vec::new();
    while let Some(file) = open.pop() {
        let inside = file.starts_with(directory)
            && !file.components().any(|part| part == std::path::Component::ParentDir);
        if !inside
            || done.contains(&file)
            || found.looked_at.contains(&file)
            || done.len() >= MAX_INCLUDES
        {
            continue;
        }
        let Some(text) = text(&file, found) else { continue };
        let list = requirements::parse(&text);
        *label = label.take().or(list.label);
        push(directory, &file, list.packages, Rank::Asked, found);
        let parent = file.parent().unwrap_or(directory).to_owned();
        open.extend(list.includes.iter().map(|include| parent.join(include)));
        done.push(file);
    }
}

fn conda_file(directory: &Path, path: &Path, found: &mut Found) {
    let Some(text) = text(path, found) else { return };
    let environment = conda::parse(&text);
    push(directory, path, environment.packages, Rank::Asked, found);
    let who = |named: &conda::Named| format!("{}={}", named.package, named.version);
    for named in &environment.cuda {
        let mut cuda = CudaWish::of_version(&named.version);
        cuda.least.clone_from(&cuda.made_with);
        let line = Some(named.line);
        found.wishes.push(Wish {
            who: who(named),
            place: place(directory, path, line),
            cuda: Some(cuda),
            verified: true,
            ..Wish::default()
        });
    }
    for named in &environment.cudnn {
        found.wishes.push(Wish {
            who: who(named),
            place: place(directory, path, Some(named.line)),
            cudnn: Some(named.version.clone()),
            verified: true,
            ..Wish::default()
        });
    }
}

fn docker_file(directory: &Path, path: &Path, images: &Images, found: &mut Found) {
    let Some(text) = text(path, found) else { return };
    let stages = dockerfile::images(&text);
    let inside: Vec<_> = stages
        .iter()
        .filter_map(|stage| Some((stage, image::read(&stage.image, images)?)))
        .collect();
    // The last stage is what runs; the others only build.
    let Some((stage, last)) = inside.last() else { return };
    let builds = inside.iter().any(|(_, inside)| inside.profile == Some(Profile::Devel));
    let cuda = last.cuda.as_ref().map(|version| {
        let mut cuda = CudaWish::of_version(version);
        cuda.least.clone_from(&cuda.made_with);
        // NVIDIA's build number (`12.5.0.23`) is no part of the release.
        let parts = version.parts();
        cuda.release = (parts.len() >= 3).then(|| Version::from_parts(&parts[..3]));
        cuda
    });
    found.wishes.push(Wish {
        who: stage.image.clone(),
        place: place(directory, path, Some(stage.line)),
        cuda,
        cudnn: last.cudnn.clone(),
        profile: builds.then_some(Profile::Devel),
        verified: last.verified,
        notes: if last.verified {
            Vec::new()
        } else {
            vec!["what is in this image was inferred from its neighbours".to_owned()]
        },
        ..Wish::default()
    });
}
