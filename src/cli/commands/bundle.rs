//! `cuenv bundle`: a lock and its wheels in one file.

use std::path::PathBuf;

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::context::Context;
use crate::domain::size::megabytes;
use crate::domain::target::Target;
use crate::ops::bundle::{self, Request};

/// Pack the lock here and its wheels into one file, for machines without a network
#[derive(Debug, clap::Args)]
#[command(after_help = "There: cuenv install --from FILE")]
pub struct Args {
    /// What to pack; what the pin and lock here say when left out
    spec: Option<String>,
    /// The file to write [default: the toolchain's name, `.tar.zst`, here]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Platforms, separated by commas: linux-x86_64, linux-aarch64
    #[arg(long, value_name = "PLATFORM", value_delimiter = ',')]
    platform: Vec<Target>,
}

pub(crate) fn run(cx: &Context<'_>, args: &Args, output: &Output) -> Result<Exit, Failure> {
    let request = Request {
        spec: args.spec.as_ref().map(|text| text.parse()).transpose()?,
        targets: args.platform.clone(),
        out: args.out.clone(),
    };
    let report = bundle::pack(cx, &request)?;
    output.report(&report)?;
    output.note(&format!(
        "Packed `{}`: {} wheels, {}",
        report.toolchain,
        report.wheels,
        megabytes(report.bytes)
    ));
    output.note("It holds files that NVIDIA licenses to you; their texts are inside the wheels");
    Ok(Exit::Ok)
}
