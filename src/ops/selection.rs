//! Which toolchain holds here: the shims crate's answer, asked with this process's environment and directory.

use shims::locate::{self, Choice, LocateError, Question, Selection};

use crate::context::Context;

/// Why nothing could be selected.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(#[from] pub LocateError);

/// Returns the choice that holds here, if any.
pub fn here(cx: &Context<'_>) -> Result<Option<Choice>, Error> {
    Ok(ask(cx, None, false).first()?)
}

/// Asks with `argument` as the command line's spec; `all` goes on after the first answer.
pub fn ask(cx: &Context<'_>, argument: Option<&str>, all: bool) -> Selection {
    locate::select(&Question {
        dirs: &cx.dirs,
        vars: cx.process.env(),
        cwd: cx.process.cwd(),
        argument,
        // What this process inherited says nothing about the place that is asked about.
        inherit: false,
        all,
    })
}
