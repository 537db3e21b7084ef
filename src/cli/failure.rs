//! From typed errors to what a person reads: the exit code and the advice.
//!
//! Advice is written here and in the files below, one for each area, and nowhere else, because advice names commands.
//! Errors of lower floors carry facts.

mod answer;
mod input;
mod network;
mod own;
mod project;
mod store;

use std::error::Error;
use std::fmt;

use super::exit::Exit;
use crate::domain::spec::SpecError;
use crate::ops::{self_uninstall, verify};

/// Why a command failed, with the code it ends with and what to do next.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    error: Box<dyn Error + Send + Sync>,
    excerpt: Option<String>,
    hints: Vec<String>,
}

impl Failure {
    /// Wraps an error.
    pub fn new(exit: Exit, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { exit, error: error.into(), excerpt: None, hints: Vec::new() }
    }

    /// Adds one piece of advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Shows the offending text below the message, with a caret under the character.
    #[must_use]
    pub fn excerpt(mut self, text: &str, column: usize) -> Self {
        self.excerpt = Some(format!("{text}\n{}^", " ".repeat(column)));
        self
    }

    /// Returns the offending text with its caret.
    pub fn excerpt_text(&self) -> Option<&str> {
        self.excerpt.as_deref()
    }

    /// Returns the exit code.
    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// Returns the message.
    pub fn message(&self) -> String {
        self.error.to_string()
    }

    /// Returns the chain of causes below the message.
    pub fn causes(&self) -> Vec<String> {
        let mut causes = Vec::new();
        let mut cause = self.error.source();
        while let Some(error) = cause {
            causes.push(error.to_string());
            cause = error.source();
        }
        causes
    }

    /// Returns the advice.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl From<SpecError> for Failure {
    fn from(error: SpecError) -> Self {
        let column = error.text[..error.at].chars().count();
        let text = error.text.clone();
        // A caret under an escaped text would point at the wrong place.
        let plain = !text.is_empty() && text.escape_debug().to_string() == text;
        let failure = Self::new(Exit::Usage, error);
        let failure = if plain { failure.excerpt(&text, column) } else { failure };
        failure.hint("a spec reads like `12.4+cudnn9`, `11.8+cudnn8@runtime` or `auto+cudnn9`")
    }
}

impl From<self_uninstall::Error> for Failure {
    fn from(error: self_uninstall::Error) -> Self {
        let hint = match &error {
            self_uninstall::Error::NotOurs { exe, .. } => Some(owner(exe)),
            self_uninstall::Error::OtherCopy { bin, .. } => {
                Some(format!("run `{}/cuenv` instead", bin.display()))
            }
            self_uninstall::Error::Receipt { .. } | self_uninstall::Error::Io(_) => None,
        };
        let failure = Self::new(Exit::Failed, error);
        if let Some(hint) = hint { failure.hint(hint) } else { failure }
    }
}

impl From<verify::Error> for Failure {
    fn from(error: verify::Error) -> Self {
        use verify::ToolchainError;
        let (exit, hint) = match &error {
            verify::Error::Toolchain(ToolchainError::None) => (
                Exit::NoMatch,
                Some("name one: `cuenv verify 12.4+cudnn9`, or pin one: `cuenv use`".to_owned()),
            ),
            verify::Error::Toolchain(ToolchainError::System { .. }) => (
                Exit::NoMatch,
                Some("cuenv steps aside here: name the toolchain to verify".to_owned()),
            ),
            verify::Error::Toolchain(ToolchainError::NotInstalled { spec }) => {
                (Exit::NoMatch, Some(format!("run `cuenv install {spec}`")))
            }
            verify::Error::Empty(_) => {
                (Exit::Integrity, Some("run `cuenv install` with this toolchain again".to_owned()))
            }
            _ => (Exit::Failed, None),
        };
        let failure = Self::new(exit, error);
        if let Some(hint) = hint { failure.hint(hint) } else { failure }
    }
}

/// Who else may have put the program where it is, and the command that updates or removes it there.
fn owner(exe: &std::path::Path) -> String {
    let path = exe.to_string_lossy();
    let command = if path.starts_with("/usr/bin/") || path.starts_with("/bin/") {
        "a package of the system: use its package manager (`apt-get install`, `apt-get remove`)"
    } else if path.contains("/uv/tools/") {
        "`uv tool`: `uv tool upgrade cuenv`, `uv tool uninstall cuenv`"
    } else if path.contains("/pipx/") {
        "`pipx`: `pipx upgrade cuenv`, `pipx uninstall cuenv`"
    } else if path.contains("/.cargo/bin/") {
        "cargo: `cargo uninstall cuenv-cli`"
    } else if path.ends_with("/bin/cuenv") && path.contains("venv") {
        "pip in that environment: `pip install --upgrade cuenv`, `pip uninstall cuenv`"
    } else {
        return "replace or remove the two files `cuenv` and `cuenv-shim` where you put them"
            .to_owned();
    };
    format!("it looks like the work of {command}")
}
