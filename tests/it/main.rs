//! The black-box tests: one binary, one module a command or promise.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::pedantic,
    clippy::new_without_default,
    unreachable_pub,
    dead_code,
    reason = "a test stops at the first surprise, and its support is its own"
)]

#[path = "../support/mod.rs"]
mod support;

mod bundle;
mod catalog;
mod clusters;
mod completions;
mod detect;
mod docs;
mod doctor;
mod exec;
mod explain;
mod exports;
mod faults;
mod faults_odd;
mod faults_power;
mod faults_writes;
mod hook;
mod hook_company;
mod host;
mod installer;
mod launchers;
mod loader;
mod loader_wheels;
mod looks;
mod machines;
mod main_job;
mod mirror_install;
mod mirrors;
mod more_shells;
mod network;
mod odd_files;
mod packages;
mod pages;
mod pins;
mod recipes;
mod replay;
mod schemas;
mod uninstall;
mod usage;
mod venv;
mod verify;
mod which;

#[test]
fn no_test_file_is_forgotten() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let main = std::fs::read_to_string(directory.join("main.rs")).unwrap();
    for entry in std::fs::read_dir(directory).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if let Some(module) = name.strip_suffix(".rs").filter(|module| *module != "main") {
            assert!(main.contains(&format!("mod {module};")), "tests/it/{name} is not in main.rs");
        }
    }
}
