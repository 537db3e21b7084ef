//! The activation file, `<prefix>/.cuenv/activation`: what a prefix asks of the environment, line by line.
//!
//! cuenv writes it when it builds a prefix; the shim reads it. Values are paths relative to the prefix, so that a
//! prefix can be moved; a linked toolkit's are absolute. The first three lines tell two prefixes apart.
//!
//! ```text
//! cuenv-activation 1
//! toolchain 12.4.1+cudnn9.1.0.70
//! prefix 12.4.1+cudnn9.1.0.70-3f2a91c0de44
//! set CUDA_HOME .
//! prepend PATH bin
//! prepend LD_LIBRARY_PATH lib
//! build prepend LIBRARY_PATH lib64
//! component cudnn .cuenv/lib/cudnn libcudnn.so.9 libcudnn_ops.so.9
//! ```
//!
//! `build` marks what only `cuenv env --build` asks for. A `component` line names a directory that shows the
//! libraries of one component alone, and their names: with it the `defer` policy can leave out a component as a
//! whole (see [`crate::venv`]). The directories are `<prefix>/.cuenv/lib/<component>/`, filled with links
//! `libX.so.N -> ../../../lib/libX.so.N` (and `libnvrtc.so` for NVRTC).

use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::read::{self, ReadError};

/// Where the file lies in a prefix.
pub const FILE: &str = ".cuenv/activation";
/// Where the directory of one component lies in a prefix, before the component's name.
pub const COMPONENT_DIRECTORY: &str = ".cuenv/lib";
/// The first line.
pub const HEADER: &str = "cuenv-activation 1";

const LIMIT: u64 = 64 * 1024;

/// Variables that no activation touches: they load code into programs, or hide GPUs.
const NEVER: [&str; 5] =
    ["LD_PRELOAD", "LD_AUDIT", "PYTHONPATH", "PYTHONHOME", "CUDA_VISIBLE_DEVICES"];

/// What a prefix asks of the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activation {
    /// The toolchain's name.
    pub toolchain: String,
    /// The prefix's name.
    pub prefix: String,
    /// What it sets and prepends, in order.
    pub changes: Vec<Change>,
    /// Its library components.
    pub components: Vec<Component>,
}

/// One line that changes a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Only for building against the toolchain.
    pub build: bool,
    /// What is done.
    pub verb: Verb,
    /// The variable.
    pub name: String,
    /// A path, relative to the prefix unless absolute.
    pub path: PathBuf,
}

/// What a line does to its variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Sets it to the path.
    Set,
    /// Puts the path in front of a list.
    Prepend,
}

/// The libraries of one component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// The component's name.
    pub name: String,
    /// The directory that shows its libraries alone.
    pub directory: PathBuf,
    /// The file names of its libraries.
    pub libraries: Vec<String>,
}

/// Why a text is not an activation, or an activation cannot be written.
#[derive(Debug)]
pub enum ActivationError {
    /// It could not be read.
    Read(ReadError),
    /// The first line is another version's.
    Version(String),
    /// A line that is not of the grammar, from 1.
    Line(usize),
    /// A variable that is never touched or is not a name.
    Variable(String),
    /// A path or name with a newline or a blank where there can be none.
    Unwritable(String),
}

impl fmt::Display for ActivationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Version(line) => {
                write!(f, "it starts with `{}`, not `{HEADER}`", line.escape_debug())
            }
            Self::Line(line) => write!(f, "line {line} is not understood"),
            Self::Variable(name) => {
                write!(f, "`{}` is not a variable it may change", name.escape_debug())
            }
            Self::Unwritable(text) => {
                write!(f, "`{}` cannot be written in it", text.escape_debug())
            }
        }
    }
}

impl std::error::Error for ActivationError {}

impl Change {
    /// Sets `name` to a path of the prefix.
    pub fn set(name: &str, path: impl Into<PathBuf>) -> Self {
        Self { build: false, verb: Verb::Set, name: name.to_owned(), path: path.into() }
    }

    /// Puts a path of the prefix in front of the list `name`.
    pub fn prepend(name: &str, path: impl Into<PathBuf>) -> Self {
        Self { build: false, verb: Verb::Prepend, name: name.to_owned(), path: path.into() }
    }

    /// Makes it count for building only.
    #[must_use]
    pub fn for_build(mut self) -> Self {
        self.build = true;
        self
    }
}

impl Activation {
    /// Returns the directories that it puts in front of the list `variable`, for a prefix at `prefix`. A linked toolkit's lie
    /// elsewhere.
    pub fn directories(&self, prefix: &Path, variable: &str) -> impl Iterator<Item = PathBuf> {
        let prefix = prefix.to_owned();
        self.changes
            .iter()
            .filter(move |change| change.verb == Verb::Prepend && change.name == variable)
            .filter(|change| !change.build)
            .map(move |change| prefix.join(&change.path))
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// Returns the activation of an ordinary prefix, with the variables that every toolchain sets.
    pub fn standard(toolchain: &str, prefix: &str, has_cudnn: bool) -> Self {
        let mut changes: Vec<Change> = ["CUDA_HOME", "CUDA_PATH", "CUDAToolkit_ROOT"]
            .into_iter()
            .map(|name| Change::set(name, "."))
            .collect();
        if has_cudnn {
            changes.push(Change::set("CUDNN_PATH", "."));
        }
        changes.push(Change::prepend("PATH", "bin"));
        changes.push(Change::prepend("LD_LIBRARY_PATH", "lib"));
        changes.push(Change::prepend("CPATH", "include").for_build());
        changes.push(Change::prepend("LIBRARY_PATH", "lib64").for_build());
        Self {
            toolchain: toolchain.to_owned(),
            prefix: prefix.to_owned(),
            changes,
            components: Vec::new(),
        }
    }

    /// Writes the file's text.
    pub fn render(&self) -> Result<String, ActivationError> {
        let word = |text: &str| {
            if text.is_empty() || text.contains(char::is_whitespace) {
                return Err(ActivationError::Unwritable(text.to_owned()));
            }
            Ok(text.to_owned())
        };
        let line = |path: &Path| match path.to_str() {
            Some(text)
                if !text.is_empty() && !text.contains(['\n', '\r']) && text.trim() == text =>
            {
                Ok(text.to_owned())
            }
            _ => Err(ActivationError::Unwritable(path.to_string_lossy().into_owned())),
        };
        let mut out = format!("{HEADER}\n");
        let _ = writeln!(out, "toolchain {}", word(&self.toolchain)?);
        let _ = writeln!(out, "prefix {}", word(&self.prefix)?);
        for change in &self.changes {
            check_variable(&change.name)?;
            let build = if change.build { "build " } else { "" };
            let verb = match change.verb {
                Verb::Set => "set",
                Verb::Prepend => "prepend",
            };
            let _ = writeln!(out, "{build}{verb} {} {}", change.name, line(&change.path)?);
        }
        for component in &self.components {
            let directory = word(&line(&component.directory)?)?;
            let _ = write!(out, "component {} {directory}", word(&component.name)?);
            for library in &component.libraries {
                let _ = write!(out, " {}", word(library)?);
            }
            out.push('\n');
        }
        Ok(out)
    }

    /// Reads the file's text.
    pub fn parse(text: &str) -> Result<Self, ActivationError> {
        let mut lines = text.lines().enumerate();
        let first = lines.next().map_or("", |(_, line)| line);
        if first != HEADER {
            return Err(ActivationError::Version(first.chars().take(40).collect()));
        }
        let mut activation = Self::default();
        for (at, line) in lines {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let fault = || ActivationError::Line(at + 1);
            let (verb, rest) = line.split_once(' ').ok_or_else(fault)?;
            match verb {
                "toolchain" => rest.clone_into(&mut activation.toolchain),
                "prefix" => rest.clone_into(&mut activation.prefix),
                "build" => {
                    let change = parse_change(rest).ok_or_else(fault)?;
                    activation.changes.push(change.for_build());
                }
                "set" | "prepend" => {
                    activation.changes.push(parse_change(line).ok_or_else(fault)?);
                }
                "component" => {
                    let mut words = rest.split(' ');
                    let (name, directory) =
                        (words.next().ok_or_else(fault)?, words.next().ok_or_else(fault)?);
                    activation.components.push(Component {
                        name: name.to_owned(),
                        directory: PathBuf::from(directory),
                        libraries: words.map(str::to_owned).collect(),
                    });
                }
                // A later cuenv of the same format version may add lines; a shim of today leaves them.
                _ => {}
            }
        }
        for change in &activation.changes {
            check_variable(&change.name)?;
        }
        Ok(activation)
    }

    /// Reads the activation of a prefix; `Ok(None)` when the prefix is not there.
    pub fn of_prefix(prefix: &Path) -> Result<Option<Self>, ActivationError> {
        match read::text(&prefix.join(FILE), LIMIT).map_err(ActivationError::Read)? {
            Some((text, _)) => Self::parse(&text).map(Some),
            None => Ok(None),
        }
    }
}

fn parse_change(text: &str) -> Option<Change> {
    let (verb, rest) = text.split_once(' ')?;
    let verb = match verb {
        "set" => Verb::Set,
        "prepend" => Verb::Prepend,
        _ => return None,
    };
    let (name, path) = rest.split_once(' ')?;
    (!path.is_empty()).then(|| Change {
        build: false,
        verb,
        name: name.to_owned(),
        path: PathBuf::from(path),
    })
}

fn check_variable(name: &str) -> Result<(), ActivationError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let good = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(plain)
        && !name.starts_with("CUENV_")
        && !NEVER.contains(&name);
    if good { Ok(()) } else { Err(ActivationError::Variable(name.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Activation {
        let mut sample = Activation::standard("12.4.1+cudnn9.1.0.70", "12.4.1-abc", true);
        sample.components.push(Component {
            name: "cudnn".to_owned(),
            directory: ".cuenv/lib/cudnn".into(),
            libraries: vec!["libcudnn.so.9".to_owned(), "libcudnn_ops.so.9".to_owned()],
        });
        sample.changes.push(Change::set("X", "/opt/with blank"));
        sample
    }

    #[test]
    fn render_and_parse_round_trip() {
        let text = sample().render().unwrap();
        assert!(text.starts_with(
            "cuenv-activation 1\ntoolchain 12.4.1+cudnn9.1.0.70\nprefix 12.4.1-abc\n"
        ));
        assert_eq!(Activation::parse(&text).unwrap(), sample());
    }

    #[test]
    fn nothing_is_written_that_cannot_be_read_back() {
        for path in ["a\nset LD_PRELOAD x", " a", "a ", ""] {
            let mut bad = sample();
            bad.changes.push(Change::set("Y", path));
            assert!(matches!(bad.render(), Err(ActivationError::Unwritable(_))), "{path:?}");
        }
        let mut bad = sample();
        bad.components[0].directory = "a b".into();
        assert!(bad.render().is_err());
    }

    #[test]
    fn some_variables_are_never_touched() {
        for name in
            ["LD_PRELOAD", "PYTHONPATH", "CUDA_VISIBLE_DEVICES", "CUENV_UNDO", "A-B", "1A", ""]
        {
            let text = format!("{HEADER}\nset {name} .\n");
            assert!(Activation::parse(&text).is_err(), "{name}");
        }
    }

    #[test]
    fn other_versions_and_broken_lines_are_refused() {
        assert!(matches!(
            Activation::parse("cuenv-activation 2\n"),
            Err(ActivationError::Version(_))
        ));
        assert!(matches!(Activation::parse(""), Err(ActivationError::Version(_))));
        for line in ["set", "set X", "prepend X ", "build X y", "component x"] {
            let text = format!("{HEADER}\n\n# note\n{line}\n");
            assert!(matches!(Activation::parse(&text), Err(ActivationError::Line(4))), "{line}");
        }
        assert!(Activation::parse(&format!("{HEADER}\nlater thing\n")).is_ok());
    }
}
