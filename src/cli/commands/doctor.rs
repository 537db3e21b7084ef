//! `cuenv doctor`: what is wrong between GPU and framework, and the one command that mends it.

use std::path::PathBuf;

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::context::Context;
use crate::ops::doctor::{self, Style};
use crate::ops::launch::Request;

/// Check the whole chain, GPU to framework, and name one fix for each thing that is wrong
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The toolchain to look at; what holds here when left out
    spec: Option<String>,
    /// The virtual environment to look at
    #[arg(long, value_name = "DIR")]
    venv: Option<PathBuf>,
    /// The interpreter to look at
    #[arg(long, value_name = "FILE", conflicts_with = "venv")]
    python: Option<PathBuf>,
}

pub(crate) fn run(cx: &Context<'_>, args: &Args, output: &Output) -> Result<Exit, Failure> {
    let request =
        Request { spec: args.spec.clone(), venv: args.venv.clone(), python: args.python.clone() };
    let report = doctor::doctor(cx, &request)?;
    if output.json {
        output.json(&report)?;
    } else {
        let style = Style {
            colour: output.colour_stdout,
            verbose: output.verbose > 0,
            columns: output.columns,
        };
        output.text(&report.render(style))?;
    }
    Ok(if report.has_errors() { Exit::Findings } else { Exit::Ok })
}
