//! Predicts which files glibc's dynamic loader maps for a program, and why, without running anything.
//!
//! The order, for a name without a slash that an object asks for (`dlopen` by that object, or its `DT_NEEDED`):
//!
//! ```text
//! 1  what is loaded already: by a name it was asked for under, by its path, by its soname
//! 2  DT_RPATH of the object, of the object that loaded that one, and so on up, then of the executable;
//!    skipped altogether where the object itself has DT_RUNPATH (which also silences its own DT_RPATH)
//! 3  LD_LIBRARY_PATH
//! 4  DT_RUNPATH of the object alone
//! 5  ld.so.cache          (not its entries in default directories for an object marked DF_1_NODEFLIB)
//! 6  default directories  (not for DF_1_NODEFLIB)
//! ```
//!
//! Steps 2 to 4 and 6 look into the `glibc-hwcaps` subdirectories of each directory first. A file of another word size or
//! machine is passed over; a file that is no ELF at all ends the search with an error. Two paths with the same device and
//! inode are one object. `$ORIGIN` of a shared library is the directory of the path it was opened by, links unresolved;
//! of the executable, the directory of its real path.
//!
//! Not modelled: audit libraries, namespaces other than the first, `DT_FILTER`/`DT_AUXILIARY`, and
//! `GLIBC_TUNABLES` that mask CPU features. Paths that are not UTF-8 are not found.

mod cache;
mod diagnostics;
mod gaps;
mod search;
mod tokens;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use super::elf::{Elf, Import, Kind};
pub use cache::Cache;
pub use diagnostics::from_diagnostics;
pub use gaps::{SymbolGap, VersionGap};
pub use search::Candidate;
use search::Directory;

/// What a path leads to.
#[derive(Clone, Debug)]
pub enum Opened {
    /// Nothing that can be opened.
    Missing,
    /// Something that the loader refuses, ending its search; the text is the loader's reason.
    Refused(String),
    /// An ELF file.
    File(Rc<Object>),
}

/// One ELF file on disk.
#[derive(Debug)]
pub struct Object {
    /// Device and inode: what tells two paths of one file from two files.
    pub identity: (u64, u64),
    /// Its facts.
    pub elf: Elf,
}

/// The few questions that the prediction asks of a file system. Paths are absolute.
pub trait Files {
    /// Opens a file, following links.
    fn open(&self, path: &str) -> Opened;
    /// Whether `path` leads to a directory.
    fn is_directory(&self, path: &str) -> bool;
    /// The path with every link resolved.
    fn real_path(&self, path: &str) -> Option<String>;
    /// Whether the file offers a symbol.
    fn defines(&self, path: &str, symbol: &str, version: Option<&str>) -> bool;
    /// The symbols that the file wants from others.
    fn imports(&self, path: &str) -> Vec<Import>;
}

/// What the host's dynamic loader was built with, and what it found out about the CPU.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// `e_machine` of the files it takes.
    pub machine: u16,
    /// Its own path, as executables name it.
    pub interpreter: String,
    /// Version of glibc: `(2, 36)`.
    pub glibc: (u32, u32),
    /// `glibc-hwcaps` subdirectories in use, best first: `x86-64-v3`.
    pub hwcaps: Vec<String>,
    /// Subdirectories of glibc before 2.37, in search order: `tls/x86_64`.
    pub legacy: Vec<String>,
    /// What `$PLATFORM` stands for.
    pub platform: Option<String>,
    /// What `$LIB` stands for.
    pub lib: String,
    /// Default directories, each with its slash at the end.
    pub system_dirs: Vec<String>,
    /// The cache that `ldconfig` wrote.
    pub cache: Cache,
}

/// What a process is started with.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// `LD_LIBRARY_PATH`; empty counts as unset, as it does for the loader.
    pub library_path: String,
    /// `LD_PRELOAD`.
    pub preload: String,
    /// The working directory, absolute.
    pub cwd: String,
    /// Set-user-id, set-group-id or file capabilities: the loader ignores the variables.
    pub secure: bool,
}

/// The rule by which a file was found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// The executable itself.
    Program,
    /// The dynamic loader that the executable names.
    Interpreter,
    /// The name holds a slash: it is a path.
    Path,
    /// It was in the process already.
    Loaded,
    /// `DT_RPATH` of the file `of`; `entry` as written there.
    Rpath {
        /// The file that carries it.
        of: String,
        /// The element as written.
        entry: String,
    },
    /// An element of `LD_LIBRARY_PATH`.
    LibraryPath {
        /// The element as written.
        entry: String,
    },
    /// `DT_RUNPATH` of the file `of`.
    Runpath {
        /// The file that carries it.
        of: String,
        /// The element as written.
        entry: String,
    },
    /// `/etc/ld.so.cache`.
    Cache,
    /// A default directory.
    Default {
        /// The directory.
        directory: String,
    },
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |entry: &str| {
            if entry.is_empty() {
                "(empty: the current directory)".to_owned()
            } else {
                entry.to_owned()
            }
        };
        match self {
            Self::Program => f.write_str("the program"),
            Self::Interpreter => f.write_str("the dynamic loader"),
            Self::Path => f.write_str("asked for by path"),
            Self::Loaded => f.write_str("already loaded"),
            Self::Rpath { of, entry } => write!(f, "RPATH `{}` of `{of}`", shown(entry)),
            Self::LibraryPath { entry } => write!(f, "LD_LIBRARY_PATH `{}`", shown(entry)),
            Self::Runpath { of, entry } => write!(f, "RUNPATH `{}` of `{of}`", shown(entry)),
            Self::Cache => f.write_str("/etc/ld.so.cache"),
            Self::Default { directory } => write!(f, "default directory `{directory}`"),
        }
    }
}

/// Why a name could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// No place has it.
    #[error("{name}: cannot open shared object file: No such file or directory")]
    Missing {
        /// The name asked for.
        name: String,
    },
    /// Only files of the other word size have that name.
    #[error("{name}: wrong ELF class: ELFCLASS32")]
    WrongClass {
        /// The name asked for.
        name: String,
    },
    /// A file of that name ended the search, for it cannot be loaded.
    #[error("{path}: {reason}")]
    Refused {
        /// The file.
        path: String,
        /// The loader's reason.
        reason: String,
    },
}

/// One object in the predicted process.
#[derive(Debug)]
pub struct Loaded {
    /// The path it was opened by.
    pub path: String,
    /// The file.
    pub object: Rc<Object>,
    /// How it was found.
    pub rule: Rule,
    /// The object whose need brought it in, as an index: the next link of the chain of `DT_RPATH`.
    ///
    /// None for what `dlopen` brought in: the caller's search paths count for that one file, not for what it needs.
    pub loader: Option<usize>,
    names: Vec<String>,
    origin: String,
    is_program: bool,
    rpath: RefCell<Option<Rc<[Directory]>>>,
    runpath: RefCell<Option<Rc<[Directory]>>>,
}

/// One question and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The name asked for.
    pub name: String,
    /// Who asked, as an index into [`Loader::loaded`].
    pub by: usize,
    /// The path of who asked; it stays true after a failed `dlopen` took its objects back.
    pub asker: String,
    /// Which object answered, and by which rule.
    pub answer: Result<(usize, Rule), LoadError>,
}

/// A process in prediction.
pub struct Loader<'a> {
    files: &'a dyn Files,
    host: &'a Host,
    environment: Environment,
    loaded: Vec<Loaded>,
    lookups: Vec<Lookup>,
    library_path: Rc<[Directory]>,
    defaults: Rc<[Directory]>,
    subdirectories: RefCell<BTreeMap<String, Rc<[String]>>>,
}

impl<'a> Loader<'a> {
    /// Predicts the start of `program`: the executable, what is preloaded, and all that these need.
    ///
    /// A needed name that nothing answers stays as a failed lookup in [`Loader::lookups`]; the real process would end.
    pub fn start(
        files: &'a dyn Files,
        host: &'a Host,
        environment: Environment,
        program: &str,
    ) -> Result<Self, LoadError> {
        let path = tokens::absolute(&environment.cwd, program);
        let object = match files.open(&path) {
            Opened::Missing => return Err(LoadError::Missing { name: path }),
            Opened::Refused(reason) => return Err(LoadError::Refused { path, reason }),
            Opened::File(object) => object,
        };
        let mut loader = Self {
            files,
            host,
            environment,
            loaded: Vec::new(),
            lookups: Vec::new(),
            library_path: Rc::new([]),
            defaults: Rc::new([]),
            subdirectories: RefCell::default(),
        };
        let real = files.real_path(&path).unwrap_or_else(|| path.clone());
        let interpreter = object.elf.interpreter.clone();
        loader.loaded.push(Loaded {
            origin: tokens::parent(&real).to_owned(),
            path,
            object,
            rule: Rule::Program,
            loader: None,
            names: Vec::new(),
            is_program: true,
            rpath: RefCell::default(),
            runpath: RefCell::default(),
        });
        if let Some(interpreter) = interpreter
            && let Opened::File(object) = files.open(&interpreter)
        {
            loader.push(interpreter.clone(), interpreter, object, Rule::Interpreter, None);
        }
        loader.library_path = loader.library_path_directories();
        loader.defaults = search::defaults(host);
        let mut fresh = vec![0];
        for name in loader.preloads() {
            // What cannot be preloaded is reported by the loader and otherwise ignored.
            if let Ok((index, _)) = loader.map(&name, 0)
                && !fresh.contains(&index)
            {
                fresh.push(index);
            }
        }
        loader.close(fresh);
        Ok(loader)
    }

    /// Predicts `dlopen(name)` called from code of the object `caller`.
    ///
    /// Where a part is missing the whole call fails and leaves nothing behind, except for its lookups.
    pub fn dlopen(&mut self, name: &str, caller: usize) -> Result<usize, LoadError> {
        let before = self.loaded.len();
        let asked = self.lookups.len();
        let index = self.explore(name, caller)?;
        let failed = self.lookups[asked..].iter().find_map(|lookup| lookup.answer.clone().err());
        match failed {
            None => Ok(index),
            Some(error) => {
                self.loaded.truncate(before);
                Err(error)
            }
        }
    }

    /// The same, except that everything stays that was found although a part is missing: for a look at what would be
    /// there once the part is.
    pub fn explore(&mut self, name: &str, caller: usize) -> Result<usize, LoadError> {
        let before = self.loaded.len();
        let answer = self.map(name, caller);
        let asker = self.loaded[caller].path.clone();
        self.lookups.push(Lookup {
            name: name.to_owned(),
            by: caller,
            asker,
            answer: answer.clone(),
        });
        let (index, _) = answer?;
        if index >= before {
            self.loaded[index].loader = None;
            self.close(vec![index]);
        }
        Ok(index)
    }

    /// Everything in the process, in the order of loading; the program first.
    pub fn loaded(&self) -> &[Loaded] {
        &self.loaded
    }

    /// Every question asked so far, in order. After a failed `dlopen` its indices may point past [`Loader::loaded`].
    pub fn lookups(&self) -> &[Lookup] {
        &self.lookups
    }

    /// The object that was loaded by this path.
    pub fn position(&self, path: &str) -> Option<usize> {
        self.loaded.iter().position(|object| object.path == path)
    }

    /// Loads what the objects `fresh` need, breadth first.
    fn close(&mut self, mut fresh: Vec<usize>) {
        let mut at = 0;
        while let Some(&by) = fresh.get(at) {
            at += 1;
            let object = Rc::clone(&self.loaded[by].object);
            for name in &object.elf.needed {
                let known = self.loaded.len();
                // A needed name is expanded before it is looked for, a name given to `dlopen` while it is.
                let expanded = self.expanded(name, by);
                let answer = self.map(expanded.as_deref().unwrap_or(name), by);
                if let Ok((index, _)) = &answer
                    && *index >= known
                {
                    fresh.push(*index);
                }
                let asker = self.loaded[by].path.clone();
                self.lookups.push(Lookup { name: name.clone(), by, asker, answer });
            }
        }
    }

    /// Finds the object for `name`, and loads it (without what it needs) where it is not there yet.
    fn map(&mut self, name: &str, by: usize) -> Result<(usize, Rule), LoadError> {
        let expanded = self.expanded(name, by);
        if let Some(index) = self.by_name(expanded.as_deref().unwrap_or(name)) {
            return Ok((index, Rule::Loaded));
        }
        let candidate = self.find(name, expanded.as_deref().unwrap_or(name), by)?;
        let Candidate { path, rule, object } = candidate;
        let known = self.loaded.iter().position(|other| other.object.identity == object.identity);
        if let Some(index) = known {
            self.loaded[index].names.push(name.to_owned());
            return Ok((index, Rule::Loaded));
        }
        let reason = match object.elf.kind {
            Kind::Executable => Some("cannot dynamically load executable"),
            Kind::Shared if object.elf.pie => {
                Some("cannot dynamically load position-independent executable")
            }
            Kind::Other => Some("only ET_DYN and ET_EXEC can be loaded"),
            Kind::Shared => None,
        };
        if let Some(reason) = reason {
            return Err(LoadError::Refused { path, reason: reason.to_owned() });
        }
        let index = self.push(path, name.to_owned(), object, rule.clone(), Some(by));
        Ok((index, rule))
    }

    fn by_name(&self, name: &str) -> Option<usize> {
        self.loaded.iter().position(|object| {
            object.names.iter().any(|known| known == name)
                || (!object.is_program && object.path == name)
                || object.object.elf.soname.as_deref() == Some(name)
        })
    }

    fn push(
        &mut self,
        path: String,
        name: String,
        object: Rc<Object>,
        rule: Rule,
        loader: Option<usize>,
    ) -> usize {
        let whole = tokens::absolute(&self.environment.cwd, &path);
        self.loaded.push(Loaded {
            origin: tokens::parent(&whole).to_owned(),
            path,
            object,
            rule,
            loader,
            names: vec![name],
            is_program: false,
            rpath: RefCell::default(),
            runpath: RefCell::default(),
        });
        self.loaded.len() - 1
    }

    fn preloads(&self) -> Vec<String> {
        let names = self.environment.preload.split([' ', ':']).filter(|name| !name.is_empty());
        // A privileged process takes no preload by path.
        names
            .filter(|name| !self.environment.secure || !name.contains('/'))
            .map(str::to_owned)
            .collect()
    }
}

#[cfg(test)]
mod tests;
