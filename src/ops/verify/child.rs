//! What the child process does: opens one library after the other and says what came of it, one JSON document a line.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::gpu::Gpu;
use super::{compute, versions};
use crate::platform::dlopen::Library;
use crate::platform::maps::mapped_files;

/// One line of the child.
#[derive(Debug, Serialize, Deserialize)]
pub enum Event {
    /// It is about to open this library.
    Begin(String),
    /// What came of it.
    Loaded(Loaded),
    /// There is no GPU to compute with, and why.
    NoGpu(String),
    /// What came of a computation.
    Computed(Computed),
}

/// What came of a computation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Computed {
    /// The library's file name.
    pub library: String,
    /// What was computed.
    pub what: String,
    /// What went wrong; absent: the result is right.
    pub error: Option<String>,
}

/// What came of opening one library.
#[derive(Debug, Serialize, Deserialize)]
pub struct Loaded {
    /// The name as asked for.
    pub name: String,
    /// The version by its own word.
    pub version: Option<String>,
    /// The function that told it, or why none did.
    pub via: Option<String>,
    /// The files of that name that are mapped.
    pub files: Vec<PathBuf>,
    /// The loader's words where it did not open.
    pub error: Option<String>,
}

/// Opens the libraries in turn, in this process, and keeps them open. Every event goes out before the next step.
pub fn load(names: &[String], say: &mut dyn FnMut(&Event)) {
    let mut open = Vec::new();
    for name in names {
        say(&Event::Begin(name.clone()));
        let mut loaded =
            Loaded { name: name.clone(), version: None, via: None, files: Vec::new(), error: None };
        match Library::open(name) {
            Err(error) => loaded.error = Some(error.to_string()),
            Ok(library) => {
                if let Some(told) = versions::ask(name, &library) {
                    loaded.version = told.version;
                    loaded.via = Some(told.via);
                }
                loaded.files = files_called(name);
                open.push(library);
            }
        }
        say(&Event::Loaded(loaded));
    }
}

/// Computes something with each of the libraries, in this process.
pub fn compute_with(names: &[String], say: &mut dyn FnMut(&Event)) {
    let gpu = match Gpu::open() {
        Ok(gpu) => gpu,
        Err(why) => {
            say(&Event::NoGpu(why));
            return;
        }
    };
    for name in names {
        say(&Event::Begin(name.clone()));
        let what = compute::step_for(name).map_or("", |step| step.name).to_owned();
        let error = compute::run(&gpu, name).err();
        say(&Event::Computed(Computed { library: name.clone(), what, error }));
    }
}

/// The mapped files of a library: those of its name, and those of a longer version (`libcudart.so.12.4.127`) that a link of
/// its name leads to.
fn files_called(name: &str) -> Vec<PathBuf> {
    let wanted = Path::new(name).file_name().map(|name| name.to_string_lossy().into_owned());
    let Some(wanted) = wanted else { return Vec::new() };
    let is_called = |file: &PathBuf| {
        let found = file.file_name().and_then(|found| found.to_str()).unwrap_or_default();
        found.strip_prefix(&wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    mapped_files().unwrap_or_default().into_iter().filter(is_called).collect()
}
