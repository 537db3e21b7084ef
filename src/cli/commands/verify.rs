//! `cuenv verify`, and the hidden command of the child that it starts.

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::context::Context;
use crate::ops::verify;

/// Load every library of a toolchain, print its version and file; compute with each where there is a GPU
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The toolchain; what holds here when left out
    spec: Option<String>,
    /// Compare every file with its wheel instead of loading the libraries
    #[arg(long)]
    files: bool,
    /// Compare every file, fetch broken wheels again and build the prefix anew
    #[arg(long)]
    repair: bool,
    /// Load only; compute nothing, though there is a GPU
    #[arg(long)]
    no_gpu: bool,
}

/// Open libraries in this process and report each
#[derive(Debug, clap::Args)]
pub struct Load {
    /// Compute with them
    #[arg(long)]
    compute: bool,
    names: Vec<String>,
}

pub(crate) fn run(cx: &Context<'_>, args: &Args, output: &Output) -> Result<Exit, Failure> {
    if args.files || args.repair {
        let report = verify::check_files(cx, args.spec.as_deref(), args.repair)?;
        output.report(&report)?;
        let whole = report.faults.is_empty() || report.repaired;
        return Ok(if whole { Exit::Ok } else { Exit::Findings });
    }
    let report = verify::verify(cx, args.spec.as_deref(), !args.no_gpu)?;
    output.report(&report)?;
    Ok(if report.has_problems() { Exit::Findings } else { Exit::Ok })
}

pub(crate) fn load(args: &Load, output: &Output) -> Result<Exit, Failure> {
    let mut result = Ok(());
    let mut say = |event: &verify::Event| {
        let line = serde_json::to_string(event).expect("events are plain data");
        if result.is_ok() {
            result = output.raw(&line);
        }
    };
    if args.compute {
        verify::compute_with(&args.names, &mut say);
    } else {
        verify::load(&args.names, &mut say);
    }
    result.map(|()| Exit::Ok)
}
