//! The walk over directories for one name.

use std::rc::Rc;

use super::tokens::{self, Tokens};
use super::{Host, LoadError, Loaded, Loader, Object, Opened, Rule};
use crate::domain::elf::Class;

/// One directory of a search path: as written, and as searched (with its slash, tokens expanded).
#[derive(Clone, Debug)]
pub(super) struct Directory {
    entry: String,
    path: String,
}

/// A file that a search comes to.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The path as the loader would open it.
    pub path: String,
    /// The rule that leads there.
    pub rule: Rule,
    /// The file.
    pub object: Rc<Object>,
}

/// Where a walk shows what it comes to.
struct Sink<'s> {
    each: &'s mut dyn FnMut(Candidate) -> bool,
    /// A file of the other word size was passed over.
    other_class: bool,
}

/// Which search path of an object.
#[derive(Clone, Copy)]
enum Tag {
    Rpath,
    Runpath,
}

pub(super) fn defaults(host: &Host) -> Rc<[Directory]> {
    host.system_dirs
        .iter()
        .map(|path| Directory { entry: path.clone(), path: tokens::with_slash(path) })
        .collect()
}

impl Loader<'_> {
    /// All files that a search for `name` by the object `by` would come to, best first: the winner, then the losers.
    ///
    /// What is loaded already is not considered. An error stands at the end where the search would stop on one.
    pub fn candidates(&self, name: &str, by: usize) -> (Vec<Candidate>, Option<LoadError>) {
        let mut found = Vec::new();
        let mut each = |candidate| {
            found.push(candidate);
            false
        };
        let error = self.walk(name, by, &mut Sink { each: &mut each, other_class: false });
        (found, error.err())
    }

    /// The first file that a search for `name` (tokens expanded: `expanded`) by the object `by` comes to.
    pub(super) fn find(
        &self,
        name: &str,
        expanded: &str,
        by: usize,
    ) -> Result<Candidate, LoadError> {
        let mut found = None;
        let mut each = |candidate| {
            found = Some(candidate);
            true
        };
        let mut sink = Sink { each: &mut each, other_class: false };
        self.walk(expanded, by, &mut sink)?;
        let other_class = sink.other_class;
        let name = name.to_owned();
        match found {
            Some(candidate) => Ok(candidate),
            None if other_class => Err(LoadError::WrongClass { name }),
            None => Err(LoadError::Missing { name }),
        }
    }

    /// The name with its tokens (`$ORIGIN/libx.so`) replaced; `None` where it has none.
    pub(super) fn expanded(&self, name: &str, by: usize) -> Option<String> {
        if !name.contains('$') {
            return None;
        }
        self.tokens(&self.loaded[by]).expand(name)
    }

    pub(super) fn library_path_directories(&self) -> Rc<[Directory]> {
        if self.environment.secure || self.environment.library_path.is_empty() {
            return Rc::new([]);
        }
        self.directories(&self.environment.library_path, &[':', ';'], &self.loaded[0])
    }

    /// Shows every file on the way to the sink until that says enough.
    fn walk(&self, name: &str, by: usize, sink: &mut Sink<'_>) -> Result<(), LoadError> {
        let asker = &self.loaded[by];
        if name.contains('/') {
            return self.visit(name, &|| Rule::Path, sink).map(|_| ());
        }
        if asker.object.elf.runpath.is_none() && self.walk_rpaths(name, by, sink)? {
            return Ok(());
        }
        for directory in self.library_path.iter() {
            let rule = || Rule::LibraryPath { entry: directory.entry.clone() };
            if self.visit_directory(name, directory, &rule, sink)? {
                return Ok(());
            }
        }
        for directory in self.path_of(asker, Tag::Runpath).iter() {
            let rule = || Rule::Runpath { of: asker.path.clone(), entry: directory.entry.clone() };
            if self.visit_directory(name, directory, &rule, sink)? {
                return Ok(());
            }
        }
        let no_default = asker.object.elf.no_default_lib;
        if let Some(path) = self.host.cache.find(name, &self.host.hwcaps)
            && !(no_default && self.host.system_dirs.iter().any(|system| path.starts_with(system)))
            && self.visit(path, &|| Rule::Cache, sink)?
        {
            return Ok(());
        }
        if !no_default {
            for directory in self.defaults.iter() {
                let rule = || Rule::Default { directory: directory.entry.clone() };
                if self.visit_directory(name, directory, &rule, sink)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// `DT_RPATH` of the object, of its loaders up the chain, and of the program.
    fn walk_rpaths(&self, name: &str, by: usize, sink: &mut Sink<'_>) -> Result<bool, LoadError> {
        let mut chain = Vec::new();
        let mut at = Some(by);
        while let Some(index) = at {
            chain.push(index);
            at = self.loaded[index].loader;
        }
        if !chain.contains(&0) {
            chain.push(0);
        }
        for index in chain {
            let carrier = &self.loaded[index];
            for directory in self.path_of(carrier, Tag::Rpath).iter() {
                let rule =
                    || Rule::Rpath { of: carrier.path.clone(), entry: directory.entry.clone() };
                if self.visit_directory(name, directory, &rule, sink)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn visit_directory(
        &self,
        name: &str,
        directory: &Directory,
        rule: &dyn Fn() -> Rule,
        sink: &mut Sink<'_>,
    ) -> Result<bool, LoadError> {
        for place in self.subdirectories(&directory.path).iter() {
            if self.visit(&format!("{place}{name}"), rule, sink)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn visit(
        &self,
        path: &str,
        rule: &dyn Fn() -> Rule,
        sink: &mut Sink<'_>,
    ) -> Result<bool, LoadError> {
        match self.files.open(&tokens::absolute(&self.environment.cwd, path)) {
            Opened::Missing => Ok(false),
            Opened::Refused(reason) => Err(LoadError::Refused { path: path.to_owned(), reason }),
            Opened::File(object) => {
                // A file for another machine is passed over in silence.
                if object.elf.class != Class::Bits64 {
                    sink.other_class = true;
                    return Ok(false);
                }
                if object.elf.machine != self.host.machine {
                    return Ok(false);
                }
                Ok((sink.each)(Candidate { path: path.to_owned(), rule: rule(), object }))
            }
        }
    }

    /// The directory and those of its CPU-specific subdirectories that exist, in search order.
    fn subdirectories(&self, directory: &str) -> Rc<[String]> {
        if let Some(known) = self.subdirectories.borrow().get(directory) {
            return Rc::clone(known);
        }
        let exists = |path: &str| {
            self.files
                .is_directory(&tokens::absolute(&self.environment.cwd, path.trim_end_matches('/')))
        };
        let mut places = Vec::new();
        if directory.is_empty() || directory == "/" || exists(directory) {
            let best = format!("{directory}glibc-hwcaps/");
            if !self.host.hwcaps.is_empty() && exists(&best) {
                places.extend(self.host.hwcaps.iter().map(|level| format!("{best}{level}/")));
            }
            places.extend(self.host.legacy.iter().map(|level| format!("{directory}{level}/")));
            places.retain(|place| exists(place));
            places.push(directory.to_owned());
        }
        let places: Rc<[String]> = places.into();
        self.subdirectories.borrow_mut().insert(directory.to_owned(), Rc::clone(&places));
        places
    }

    fn path_of(&self, object: &Loaded, tag: Tag) -> Rc<[Directory]> {
        let (slot, text) = match tag {
            Tag::Rpath => (&object.rpath, object.object.elf.effective_rpath()),
            Tag::Runpath => (&object.runpath, object.object.elf.runpath.as_deref()),
        };
        let text = text.unwrap_or_default();
        if text.is_empty() {
            return Rc::new([]);
        }
        let known = slot.borrow().clone();
        known.unwrap_or_else(|| {
            let directories = self.directories(text, &[':'], object);
            *slot.borrow_mut() = Some(Rc::clone(&directories));
            directories
        })
    }

    fn tokens<'t>(&'t self, object: &'t Loaded) -> Tokens<'t> {
        Tokens {
            origin: &object.origin,
            lib: &self.host.lib,
            platform: self.host.platform.as_deref(),
            secure: self.environment.secure,
        }
    }

    /// Splits a search path. An element that was written empty is the current directory; one that expands to nothing
    /// is dropped, and so is the second of two equal ones.
    fn directories(&self, text: &str, separators: &[char], object: &Loaded) -> Rc<[Directory]> {
        let tokens = self.tokens(object);
        let mut found: Vec<Directory> = Vec::new();
        for entry in text.split(separators) {
            let path = if entry.is_empty() {
                String::new()
            } else {
                match tokens.expand(entry) {
                    Some(path) if !path.is_empty() && self.trusted(&path, entry, object) => {
                        tokens::with_slash(&path)
                    }
                    _ => continue,
                }
            };
            if !found.iter().any(|known| known.path == path) {
                found.push(Directory { entry: entry.to_owned(), path });
            }
        }
        found.into()
    }

    /// In a privileged process the program's own `$ORIGIN` counts only inside the default directories.
    fn trusted(&self, path: &str, entry: &str, object: &Loaded) -> bool {
        if !(self.environment.secure && object.is_program && entry.contains('$')) {
            return true;
        }
        let normal = format!("{}/", tokens::normal(path));
        self.host.system_dirs.iter().any(|system| normal.starts_with(system))
    }
}
