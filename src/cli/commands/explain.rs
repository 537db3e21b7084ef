//! `cuenv explain`: what an error line or a soname means, and what to do.

use std::io::Read as _;

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::context::Context;
use crate::ops::explain;

/// Explain an error line, a soname, or a whole log from standard input
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The text; standard input when left out or `-`
    text: Vec<String>,
}

/// No more of a log is read.
const MOST: u64 = 16 << 20;

pub(crate) fn run(cx: &Context<'_>, args: &Args, output: &Output) -> Result<Exit, Failure> {
    let mut text = args.text.join(" ");
    if args.text.is_empty() || text == "-" {
        let mut bytes = Vec::new();
        std::io::stdin()
            .lock()
            .take(MOST)
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::new(Exit::Failed, error))?;
        text = String::from_utf8_lossy(&bytes).into_owned();
    }
    output.report(&explain::explain(cx, &text)?)?;
    Ok(Exit::Ok)
}
