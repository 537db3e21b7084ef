//! What a person wrote: specs, settings, manifests of their own.

use std::path::Path;

use super::Failure;
use crate::catalog::CatalogError;
use crate::cli::exit::Exit;
use crate::domain::spec::{SpecError, meant};
use crate::domain::target::TargetError;
use crate::platform::host::HostError;
use crate::settings;

impl From<SpecError> for Failure {
    fn from(error: SpecError) -> Self {
        let column = error.text[..error.at].chars().count();
        let text = error.text.clone();
        // A caret under an escaped text would point at the wrong place.
        let plain = !text.is_empty() && text.escape_debug().to_string() == text;
        let failure = Self::new(Exit::Usage, error);
        let failure = if plain { failure.excerpt(&text, column) } else { failure };
        if let Some(meant) = meant(&text) {
            return failure.hint(format!("did you mean `{meant}`?"));
        }
        failure.hint("a spec reads like `12.4+cudnn9`, `11.8+cudnn8@runtime` or `auto+cudnn9`")
    }
}

impl From<TargetError> for Failure {
    fn from(error: TargetError) -> Self {
        Self::new(Exit::Usage, error)
    }
}

impl From<settings::Error> for Failure {
    fn from(error: settings::Error) -> Self {
        let exit = match &error {
            settings::Error::File { .. } | settings::Error::Value { .. } => Exit::Usage,
            settings::Error::Io(_) => Exit::Failed,
        };
        Self::new(exit, error)
    }
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Self {
        Self::new(Exit::Usage, error)
    }
}

impl From<CatalogError> for Failure {
    fn from(error: CatalogError) -> Self {
        Self::new(Exit::Failed, error).hint(
            "move that file out of the `manifests` configuration directory to use the built-in one",
        )
    }
}

impl Failure {
    /// The command line cannot be parsed; `text` is what the parser says, of several paragraphs.
    pub(crate) fn unparsed(text: &str) -> Self {
        let message: Vec<&str> = text
            .lines()
            .take_while(|line| !line.trim().is_empty() && !line.trim_start().starts_with("tip:"))
            .map(str::trim)
            .collect();
        let message = message.join(" ");
        let message = message.strip_prefix("error: ").unwrap_or(&message).to_owned();
        let tips = text.lines().filter_map(|line| line.trim_start().strip_prefix("tip: "));
        tips.fold(Self::new(Exit::Usage, message), Self::hint)
    }

    /// The command's result is text.
    pub(crate) fn no_document(command: &str) -> Self {
        Self::new(
            Exit::Usage,
            format!("`cuenv {command}` prints text, and `--json` has no form for it"),
        )
        .hint("leave `--json` out")
    }

    /// `CUENV_HOME` would name another directory in every directory.
    pub fn relative_home(home: &Path) -> Self {
        let message = format!("CUENV_HOME is `{}`, which is no absolute path", home.display());
        Self::new(Exit::Usage, message).hint("set it to a path that begins with `/`, or unset it")
    }

    /// Something else is where the data directory is to be.
    pub fn home_is_no_directory(home: &Path) -> Self {
        let message =
            format!("`{}` is not a directory, and cuenv keeps its data in it", home.display());
        Self::new(Exit::Usage, message)
            .hint("set CUENV_HOME to a directory (it is made where there is none), or move that file away")
    }

    /// Neither a variable nor the password database says where this user's files are.
    pub fn no_home() -> Self {
        Self::new(Exit::Failed, "no home directory is known for this user")
            .hint("set CUENV_HOME to a directory that you may write")
    }
}
