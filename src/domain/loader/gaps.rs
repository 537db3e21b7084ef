//! What would stop a process whose files were all found: versions and symbols that the winner does not have.

use super::{Loaded, Loader};

/// A symbol version that a loaded file wants and its winner lacks: the loader refuses to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionGap {
    /// The file that wants it.
    pub wanted_by: String,
    /// The file that answers for the name.
    pub winner: String,
    /// The version.
    pub version: String,
}

/// A versioned symbol that a loaded file wants and its winner lacks: `undefined symbol: S, version V`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolGap {
    /// The file that wants it.
    pub wanted_by: String,
    /// The file that answers for the name.
    pub winner: String,
    /// The symbol.
    pub symbol: String,
    /// Its version.
    pub version: String,
}

impl Loader<'_> {
    /// Versions that winners lack, over everything loaded. A winner without any version passes, as it does in the loader.
    pub fn version_gaps(&self) -> Vec<VersionGap> {
        let mut gaps = Vec::new();
        for object in &self.loaded {
            for need in object.object.elf.version_needs.iter().filter(|need| !need.weak) {
                let Some(winner) = self.answering(&need.file) else { continue };
                let defs = &winner.object.elf.version_defs;
                if !defs.is_empty() && !defs.iter().any(|def| def.version == need.version) {
                    gaps.push(VersionGap {
                        wanted_by: object.path.clone(),
                        winner: winner.path.clone(),
                        version: need.version.clone(),
                    });
                }
            }
        }
        gaps
    }

    /// Versioned symbols that the object `index` wants from a file for which `of` says yes, and that no file offers.
    pub fn symbol_gaps(&self, index: usize, of: &dyn Fn(&str) -> bool) -> Vec<SymbolGap> {
        let Some(object) = self.loaded.get(index) else { return Vec::new() };
        if !object.object.elf.version_needs.iter().any(|need| of(&need.file)) {
            return Vec::new();
        }
        let mut gaps = Vec::new();
        for import in self.files.imports(&self.whole(object)) {
            let Some((file, version)) = import.version.filter(|(file, _)| !import.weak && of(file))
            else {
                continue;
            };
            let Some(winner) = self.answering(&file) else { continue };
            if !self.files.defines(&self.whole(winner), &import.name, Some(&version)) {
                gaps.push(SymbolGap {
                    wanted_by: object.path.clone(),
                    winner: winner.path.clone(),
                    symbol: import.name,
                    version,
                });
            }
        }
        gaps
    }

    fn answering(&self, name: &str) -> Option<&Loaded> {
        self.by_name(name).map(|index| &self.loaded[index])
    }

    fn whole(&self, object: &Loaded) -> String {
        super::tokens::absolute(&self.environment.cwd, &object.path)
    }
}
