//! The specs that a shell offers after Tab: what is installed, what is linked, and what the catalog knows.

use std::collections::BTreeMap;
use std::path::Path;

use crate::catalog::Catalog;
use crate::context::Context;
use crate::domain::spec::Profile;
use crate::domain::target::Target;

/// Returns specs that begin with `typed`, each with what is known of it. With `installed_only`, none from the catalog.
///
/// Never fails: a Tab must not print an error, so what cannot be read is not offered.
pub fn complete(cx: &Context<'_>, typed: &str, installed_only: bool) -> Vec<(String, String)> {
    let target = Target::host();
    let mut found = BTreeMap::new();
    for name in names(&cx.layout.active(target)) {
        found.insert(name, "installed".to_owned());
    }
    for name in names(&cx.layout.toolchains(target)) {
        if let Some((toolchain, _digest)) = name.rsplit_once('-') {
            found.insert(toolchain.to_owned(), "installed".to_owned());
        }
    }
    for name in names(&cx.layout.links()) {
        found.insert(name, "linked".to_owned());
    }
    if !installed_only {
        let catalog = Catalog::load(&cx.layout.manifests()).unwrap_or_else(|_| Catalog::builtin());
        offer(&catalog, typed, target, &mut found);
    }
    // Newest first: 13.0 before 12.4, which no order of texts gives for 9 and 10.
    let mut list: Vec<_> = found.into_iter().filter(|(name, _)| name.starts_with(typed)).collect();
    list.sort_by(|(a, _), (b, _)| version_key(b).cmp(&version_key(a)).then_with(|| a.cmp(b)));
    list
}

fn version_key(spec: &str) -> Vec<u64> {
    let head = spec.split(['+', '@']).next().unwrap_or_default();
    head.split('.').map_while(|part| part.parse().ok()).collect()
}

fn offer(catalog: &Catalog, typed: &str, target: Target, found: &mut BTreeMap<String, String>) {
    let mut add = |name: String, about: String| {
        found.entry(name).or_insert(about);
    };
    if let Some((head, _)) = typed.rsplit_once('@') {
        for profile in [Profile::Base, Profile::Runtime, Profile::Devel] {
            add(format!("{head}@{profile}"), "profile".to_owned());
        }
        return;
    }
    if let Some((head, tail)) = typed.rsplit_once('+') {
        let major = version_key(head).first().copied();
        for component in catalog.components().iter().filter(|component| component.is_for(target)) {
            if major.is_none_or(|major| component.build(major).is_some()) {
                add(format!("{head}+{}", component.id), component.description.clone());
            }
        }
        for release in catalog.cudnn_releases() {
            let fits = major.is_none_or(|major| {
                release.build(major).is_some_and(|build| build.wheel(target).is_some())
            });
            if fits {
                let version = &release.version;
                add(format!("{head}+cudnn{}", version.major()), "newest that fits".to_owned());
                if tail.contains('.') || tail.starts_with("cudnn8") || tail.starts_with("cudnn9") {
                    add(format!("{head}+cudnn{}", version.major_minor()), "cuDNN".to_owned());
                }
            }
        }
        return;
    }
    for release in catalog.releases() {
        let version = &release.version;
        add(version.major_minor().to_string(), "CUDA".to_owned());
        if typed.matches('.').count() > 1 {
            add(version.to_string(), "CUDA".to_owned());
        }
    }
    add("auto".to_owned(), "the newest that this driver and GPU run".to_owned());
    add("system".to_owned(), "no toolchain".to_owned());
}

fn names(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs_err::read_dir(directory) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
}
