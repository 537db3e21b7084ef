//! A toolchain in the notation of another engine: container builds, environment modules, batch systems, notebooks, editors.
//!
//! What comes in is plain: a spec is made of a few harmless characters, and paths hold no line break ([`Handover::new`]
//! refuses them). Everything else is quoted by the notation's own rules.

mod cluster;
mod container;
mod editor;
mod quote;

use std::path::Path;

pub use container::Supply;

/// What another engine has to know.
#[derive(Clone, Debug)]
pub struct Handover {
    spec: String,
    toolchain: String,
    prefix: String,
    cuenv: String,
    project: String,
    locked: bool,
    variables: Vec<Variable>,
}

/// A variable that the toolchain sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// A path inside the prefix; `.` is the prefix itself.
    pub path: String,
    /// Whether the path is put in front of a list.
    pub list: bool,
}

/// The facts that [`Handover::new`] checks.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The spec that was asked for.
    pub spec: &'a str,
    /// The toolchain's name.
    pub toolchain: &'a str,
    /// The prefix.
    pub prefix: &'a Path,
    /// The program.
    pub cuenv: &'a Path,
    /// The directory of the pin, or where the command runs.
    pub project: &'a Path,
    /// Whether a pin and a lock lie in `project`.
    pub locked: bool,
}

/// A path that no notation can hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` cannot be written into another program's file")]
pub struct Unwritable(pub String);

impl Handover {
    /// Checks the facts.
    pub fn new(facts: &Facts<'_>, variables: Vec<Variable>) -> Result<Self, Unwritable> {
        let text = |path: &Path| match path.to_str() {
            Some(text) if !text.contains(['\n', '\r', '\0']) => Ok(text.to_owned()),
            _ => Err(Unwritable(path.to_string_lossy().into_owned())),
        };
        let prefix = text(facts.prefix)?;
        Ok(Self {
            spec: facts.spec.to_owned(),
            toolchain: facts.toolchain.to_owned(),
            prefix,
            cuenv: text(facts.cuenv)?,
            project: text(facts.project)?,
            locked: facts.locked,
            variables,
        })
    }

    /// Joins a path inside the prefix to `root`.
    fn below(root: &str, path: &str) -> String {
        if path == "." { root.to_owned() } else { format!("{root}/{path}") }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A toolchain whose paths need quoting everywhere.
    pub(crate) fn handover() -> Handover {
        let variable = |name: &str, path: &str, list| Variable {
            name: name.to_owned(),
            path: path.to_owned(),
            list,
        };
        let facts = Facts {
            spec: "12.4+cudnn9",
            toolchain: "12.4.1+cudnn9.1.0.70",
            prefix: Path::new("/h/a $x'b\"/toolchains/12.4.1+cudnn9.1.0.70-3f2a91c0de44"),
            cuenv: Path::new("/h/a $x'b\"/bin/cuenv"),
            project: Path::new("/h/a $x'b\"/proj"),
            locked: true,
        };
        let variables =
            vec![variable("CUDA_HOME", ".", false), variable("LD_LIBRARY_PATH", "lib", true)];
        Handover::new(&facts, variables).unwrap()
    }

    #[test]
    fn a_path_with_a_line_break_is_refused() {
        let facts = Facts {
            spec: "12.4",
            toolchain: "12.4.1",
            prefix: Path::new("/a\nRUN evil"),
            cuenv: Path::new("/cuenv"),
            project: Path::new("/"),
            locked: false,
        };
        assert!(Handover::new(&facts, Vec::new()).is_err());
    }
}
