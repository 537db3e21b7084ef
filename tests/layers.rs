//! The wall that Cargo does not give a single crate: no module may name a module of a higher floor, services may not
//! name each other, and `Context` stays above the services. The table is the law of CONTRIBUTING.md.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test stops at the first surprise"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// A module of the crate root, and the modules of the crate root it may name besides itself.
const FLOORS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("progress", &[]),
    ("platform", &["domain", "progress"]),
    ("render", &["domain"]),
    ("catalog", &["domain", "platform", "progress"]),
    ("settings", &["domain", "platform", "progress"]),
    ("project", &["domain", "platform", "progress"]),
    ("index", &["domain", "platform", "progress"]),
    ("store", &["domain", "platform", "progress"]),
    ("prefix", &["domain", "platform", "progress"]),
    ("context", &["domain", "platform", "progress", "catalog", "settings"]),
    (
        "ops",
        &[
            "domain", "platform", "progress", "render", "catalog", "settings", "project", "index",
            "store", "prefix", "context",
        ],
    ),
    ("cli", &["domain", "platform", "progress", "render", "catalog", "settings", "context", "ops"]),
];

/// The one place that may name every error below it: it maps each to a code and an advice.
const FAILURE: &str = "src/cli/failure";

fn rust_files(directory: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// Returns each crate-root module that `text` names, with its line number.
fn named_modules(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let code = line.trim_start();
        if code.starts_with("//") {
            continue;
        }
        for (at, _) in code.match_indices("crate::") {
            let rest = &code[at + "crate::".len()..];
            let names: Vec<&str> = match rest.strip_prefix('{') {
                Some(list) => list.split(',').collect(),
                None => vec![rest],
            };
            for name in names {
                let name = name.trim().trim_start_matches("r#");
                let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
                found.push((number + 1, name[..end.unwrap_or(name.len())].to_owned()));
            }
        }
    }
    found
}

#[test]
fn no_module_names_a_higher_floor() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    rust_files(&root.join("src"), &mut files);
    let known: Vec<&str> = FLOORS.iter().map(|(name, _)| *name).collect();
    let mut faults = Vec::new();
    for path in &files {
        let relative = path.strip_prefix(root).unwrap();
        let Some(module) = relative.components().nth(1) else { continue };
        let module = module.as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned();
        if ["main", "lib"].contains(&module.as_str()) || relative.starts_with(FAILURE) {
            continue;
        }
        let Some((_, allowed)) = FLOORS.iter().find(|(name, _)| *name == module) else {
            faults.push(format!("{}: `{module}` stands on no floor", relative.display()));
            continue;
        };
        for (line, name) in named_modules(&fs::read_to_string(path).unwrap()) {
            let name = name.as_str();
            if name != module && known.contains(&name) && !allowed.contains(&name) {
                faults.push(format!("{}:{line}: `{module}` names `{name}`", relative.display()));
            }
        }
    }
    assert!(files.len() > 10, "only {} files were read", files.len());
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Whatever is read may be a FIFO by now: `platform::read` opens it so that nothing blocks.
#[test]
fn files_are_read_through_one_door() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    rust_files(&root.join("src"), &mut files);
    let mut faults = Vec::new();
    for path in &files {
        let relative = path.strip_prefix(root).unwrap().display().to_string();
        // What `maps.rs` reads is the kernel's.
        let is_apart = ["src/platform/read.rs", "src/platform/maps.rs"].contains(&&*relative);
        if is_apart || relative.ends_with("tests.rs") {
            continue;
        }
        let text = fs::read_to_string(path).unwrap();
        // Tests stand at the foot of a file.
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap();
        for (number, line) in code.lines().enumerate() {
            let reads = ["fs::read(", "fs_err::read(", "read_to_string(\"", "fs::read_to_string("];
            let opens = line.contains("File::open(") && !line.contains("ElfFile::open(");
            if (opens || reads.iter().any(|call| line.contains(call))) && !line.contains("\"/proc/")
            {
                faults.push(format!("{relative}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn the_scan_sees_every_form_of_naming() {
    let text = "use crate::cli::exit;\n// crate::ops\nuse crate::{store::Store, ops};\nfn f() -> crate::r#index::X {}\n";
    let names: Vec<_> =
        named_modules(text).into_iter().map(|(line, name)| format!("{line}{name}")).collect();
    assert_eq!(names, ["1cli", "3store", "3ops", "4index"]);
}

#[test]
fn the_shim_has_no_dependency_and_the_lock_stays_short() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lock: toml::Table = fs::read_to_string(root.join("Cargo.lock")).unwrap().parse().unwrap();
    let packages = lock["package"].as_array().unwrap();
    let is_shim = |package: &&toml::Value| package["name"].as_str() == Some("cuenv-shim");
    let shim = packages.iter().find(is_shim).unwrap();
    assert!(shim.get("dependencies").is_none(), "{shim:?}");
    assert!(packages.len() <= 200, "{} packages in Cargo.lock", packages.len());
}
