//! What the loader will do for each framework in the environment.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::consumers::{CONSUMERS, Consumer, Opens, cudnn_parts, tensorflow, usual};
use super::sites::Sites;
use crate::catalog::Catalog;
use crate::domain::elf::library_names;
use crate::domain::loader::{Environment, Host, LoadError, Loader, SymbolGap};
use crate::ops::launch::Launch;
use crate::platform::elf_file::ElfFile;
use crate::platform::loader::RealFiles;

/// Where a file belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The toolchain's prefix.
    Toolchain,
    /// The Python environment.
    Environment,
    /// Anywhere else.
    Elsewhere,
}

/// A library that a framework will get.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The name asked for.
    pub name: String,
    /// The file that wins.
    pub file: PathBuf,
    /// Its version, where something tells it.
    pub version: Option<String>,
    /// Where it belongs.
    pub place: Place,
    /// The rule that led to it.
    pub because: String,
}

/// A library that a framework asks for and does not get.
#[derive(Clone, Debug, Serialize)]
pub struct Miss {
    /// The name.
    pub name: String,
    /// The file that asks.
    pub asker: PathBuf,
    /// The loader's words.
    pub words: String,
}

/// What the loader will do for one framework.
#[derive(Debug, Serialize)]
pub struct Prediction {
    /// The framework.
    pub name: String,
    /// The distribution that brings it.
    pub distribution: String,
    /// Its version.
    pub version: String,
    /// The file that is opened.
    pub entry: PathBuf,
    /// NVIDIA's libraries that it gets, in order of loading.
    pub libraries: Vec<Row>,
    /// What it asks for and does not get.
    pub missing: Vec<Miss>,
    /// Symbols that a winner lacks.
    #[serde(skip)]
    pub symbol_gaps: Vec<SymbolGap>,
}

impl Prediction {
    /// A library of NVIDIA's that is looked at for its symbols is no framework, and of interest where it fails alone.
    pub(super) fn is_shown(&self) -> bool {
        !self.name.starts_with("nvidia-")
            || !self.missing.is_empty()
            || !self.symbol_gaps.is_empty()
    }
}

/// What all predictions share.
pub(super) struct View<'a> {
    pub(super) files: &'a RealFiles,
    pub(super) host: &'a Host,
    pub(super) catalog: &'a Catalog,
    pub(super) launch: &'a Launch,
    pub(super) sites: &'a Sites,
    /// Distribution → version of the toolchain's wheels.
    pub(super) wheels: &'a [(String, String)],
    /// The program, as something that the loader can start.
    pub(super) program: &'a str,
}

impl View<'_> {
    pub(super) fn all(&self) -> Vec<Prediction> {
        CONSUMERS.iter().filter_map(|consumer| self.one(consumer)).collect()
    }

    pub(super) fn start(&self, environment: Environment) -> Result<Loader<'_>, LoadError> {
        Loader::start(self.files, self.host, environment, self.program)
    }

    fn one(&self, consumer: &Consumer) -> Option<Prediction> {
        let (distribution, version) = consumer
            .distributions
            .iter()
            .find_map(|name| Some((*name, self.sites.version(name)?.to_owned())))?;
        let entries: Vec<PathBuf> =
            consumer.entries.iter().flat_map(|pattern| self.sites.files(pattern)).collect();
        let entry = entries.last()?.clone();
        let mut loader = self.start(self.launch.loader_environment()).ok()?;
        for entry in &entries {
            let _ = loader.explore(&entry.display().to_string(), 0);
        }
        let caller = entries
            .iter()
            .rev()
            .find_map(|entry| loader.position(&entry.display().to_string()))
            .unwrap_or(0);
        self.open_by_name(consumer, &version, caller, &mut loader);
        let mut asked = BTreeSet::new();
        // A cuDNN opens its parts, each of which may bring more.
        while let Some(index) = (0..loader.loaded().len()).find(|index| !asked.contains(index)) {
            asked.insert(index);
            let name = file_name(&loader.loaded()[index].path).to_owned();
            for part in cudnn_parts(&name) {
                let _ = loader.explore(part, index);
            }
        }
        Some(Prediction {
            name: consumer.name.to_owned(),
            distribution: distribution.to_owned(),
            version,
            entry,
            libraries: self.rows(&loader),
            missing: self.missing(&loader),
            symbol_gaps: self.symbol_gaps(&loader),
        })
    }

    fn open_by_name(
        &self,
        consumer: &Consumer,
        version: &str,
        caller: usize,
        loader: &mut Loader<'_>,
    ) {
        let (cuda, cudnn) = match consumer.opens {
            Opens::Nothing => return,
            Opens::Constants(start) => {
                let objects = loader.loaded().iter().enumerate();
                let found = objects
                    .filter(|(_, object)| file_name(&object.path).starts_with(start))
                    .map(|(index, object)| (index, Self::constants(Path::new(&object.path))))
                    .collect::<Vec<_>>();
                for (index, names) in found {
                    for name in names.iter().filter(|name| self.is_nvidia(name)) {
                        let _ = loader.explore(name, index);
                    }
                }
                return;
            }
            Opens::Usual(cuda, cudnn) => (cuda, cudnn),
            Opens::Tensorflow => {
                let (cuda, cudnn) = tensorflow(version);
                (cuda, Some(cudnn))
            }
        };
        for name in usual(cuda) {
            let _ = loader.explore(name, caller);
        }
        if let Some(cudnn) = cudnn {
            let _ = loader.explore(&format!("libcudnn.so.{cudnn}"), caller);
        }
    }

    fn constants(path: &Path) -> BTreeSet<String> {
        let read = || {
            let file = ElfFile::open(path).ok()?;
            let elf = crate::domain::elf::Elf::parse(&file).ok()?;
            Some(library_names(&elf, &file))
        };
        read().unwrap_or_default()
    }

    /// Whether a toolchain can bring a library of that name.
    pub(super) fn is_nvidia(&self, name: &str) -> bool {
        name.starts_with("libcudnn") || self.catalog.providers(name).next().is_some()
    }

    fn rows(&self, loader: &Loader<'_>) -> Vec<Row> {
        let objects = loader.loaded().iter().skip(1);
        objects
            .filter(|object| self.is_nvidia(file_name(&object.path)))
            .map(|object| {
                let file = plain(&self.launch.cwd.join(&object.path));
                Row {
                    name: file_name(&object.path).to_owned(),
                    version: self.version(&file),
                    place: self.place(&file),
                    because: object.rule.to_string(),
                    file,
                }
            })
            .collect()
    }

    pub(super) fn place(&self, file: &Path) -> Place {
        // A venv's own copy may be searched through the prefix's list of directories; the file's place counts.
        if self.launch.prefix().is_some_and(|prefix| file.starts_with(prefix)) {
            Place::Toolchain
        } else if self.sites.holds(&plain(file)) || self.sites.holds(file) {
            Place::Environment
        } else {
            // By the link of a spec, or from before the toolchain was entered.
            let real = fs_err::canonicalize(file).unwrap_or_default();
            let prefix = self.launch.prefix().and_then(|prefix| fs_err::canonicalize(prefix).ok());
            match prefix {
                Some(prefix) if real.starts_with(&prefix) => Place::Toolchain,
                _ => Place::Elsewhere,
            }
        }
    }

    /// The version of a library's file: that of the wheel it came in, or the one in the name behind a link.
    pub(super) fn version(&self, file: &Path) -> Option<String> {
        let name = file.file_name()?.to_str()?;
        let mut distributions =
            self.catalog.providers(name).map(|(_, build)| build.distribution.as_str());
        match self.place(file) {
            Place::Toolchain => distributions.find_map(|wanted| {
                let found = self.wheels.iter().find(|(name, _)| name == wanted)?;
                Some(found.1.clone())
            }),
            Place::Environment => {
                let mut versions = distributions.filter_map(|name| self.sites.version(name));
                versions.next().map(str::to_owned)
            }
            Place::Elsewhere => None,
        }
        .or_else(|| {
            let cudnn =
                self.launch.toolchain()?.split('+').find_map(|part| part.strip_prefix("cudnn"))?;
            let own = name.starts_with("libcudnn") && self.place(file) == Place::Toolchain;
            own.then(|| cudnn.to_owned())
        })
        .or_else(|| {
            let real = fs_err::canonicalize(file).ok()?;
            let (_, version) = real.file_name()?.to_str()?.split_once(".so.")?;
            version.contains('.').then(|| version.to_owned())
        })
    }

    fn missing(&self, loader: &Loader<'_>) -> Vec<Miss> {
        let mut found: Vec<Miss> = Vec::new();
        for lookup in loader.lookups() {
            let Err(error) = &lookup.answer else { continue };
            // The failure of a part is told once, not again for what it was a part of.
            if found.iter().any(|known| known.name == lookup.name) {
                continue;
            }
            found.push(Miss {
                name: lookup.name.clone(),
                asker: self.launch.cwd.join(&lookup.asker),
                words: error.to_string(),
            });
        }
        found
    }

    fn symbol_gaps(&self, loader: &Loader<'_>) -> Vec<SymbolGap> {
        let ours = |file: &str| self.is_nvidia(file);
        (0..loader.loaded().len()).flat_map(|index| loader.symbol_gaps(index, &ours)).collect()
    }
}

pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The path without `.` and `..`, which search paths are full of.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                out.pop();
            }
            std::path::Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}
