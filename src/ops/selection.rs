//! Which toolchain holds here: the shims crate's answer, asked with this process's environment and directory.

use std::path::PathBuf;

use shims::dirs::Dirs;
use shims::locate::{self, Choice, LocateError, Question, Selection};
use shims::pin::Pin;

use crate::context::Context;
use crate::platform::process::Process;

/// Why nothing could be selected.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(#[from] pub LocateError);

/// The default file is there and cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the default `{}`: {reason}", path.display())]
pub struct DefaultError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// Returns the choice that holds here, if any.
pub fn here(cx: &Context<'_>) -> Result<Option<Choice>, Error> {
    Ok(ask(cx.process, &cx.dirs, None, false).first()?)
}

/// Asks with `argument` as the command line's spec; `all` goes on after the first answer.
pub fn ask(process: &Process, dirs: &Dirs, argument: Option<&str>, all: bool) -> Selection {
    locate::select(&Question {
        dirs,
        vars: process.env(),
        cwd: process.cwd(),
        argument,
        // What this process inherited says nothing about the place that is asked about.
        inherit: false,
        all,
    })
}

/// Returns the spec of the default file, whatever holds here; `None` when there is no such file.
pub fn default_spec(cx: &Context<'_>) -> Result<Option<String>, DefaultError> {
    let path = cx.dirs.default_file();
    let failed = |reason: String| DefaultError { path: path.clone(), reason };
    let text =
        shims::read::text(&path, shims::pin::LIMIT).map_err(|error| failed(error.to_string()))?;
    let pin = text.map(|(text, _)| Pin::parse(&text)).transpose();
    Ok(pin.map_err(|error| failed(error.to_string()))?.map(|pin| pin.spec()))
}
