//! `cuenv export`: the toolchain in another engine's notation.

use clap::ValueEnum;

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::context::Context;
use crate::domain::spec::Spec;
use crate::ops::export::{self, Needs};
use crate::render::export::Supply;

/// Print the toolchain in another engine's notation
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The notation
    kind: Kind,
    /// The toolchain; what holds here when left out
    spec: Option<String>,
    /// The image to start from (dockerfile, apptainer, compose); it has glibc
    #[arg(long, value_name = "IMAGE", default_value = "debian:12-slim")]
    base: String,
    /// Take the wheels from this bundle instead of the index (dockerfile, apptainer)
    #[arg(long, value_name = "FILE")]
    bundle: Option<String>,
    /// The Python that the kernel runs (kernelspec); the project's environment when left out
    #[arg(long, value_name = "PATH")]
    python: Option<String>,
}

/// A notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// An image with the same wheels
    Dockerfile,
    /// An Apptainer (Singularity) definition
    Apptainer,
    /// A service that mounts the prefix of this machine
    Compose,
    /// A module for Lmod and Environment Modules
    Modulefile,
    /// A Slurm job script
    Slurm,
    /// A Jupyter kernel
    Kernelspec,
    /// Settings of a VS Code workspace
    Vscode,
    /// Lines for an `.envrc`
    Direnv,
}

impl Kind {
    fn needs(self) -> Needs {
        match self {
            Self::Compose | Self::Modulefile | Self::Vscode => Needs::Prefix,
            Self::Dockerfile | Self::Apptainer | Self::Slurm | Self::Kernelspec | Self::Direnv => {
                Needs::Spec
            }
        }
    }
}

pub(crate) fn run(cx: &Context<'_>, args: &Args, output: &Output) -> Result<Exit, Failure> {
    let spec = args.spec.as_ref().map(|text| text.parse::<Spec>()).transpose()?;
    let spec = spec.map(|spec| spec.to_string());
    // These two go into a file line by line; a line break would begin a line of its own.
    for text in std::iter::once(&args.base).chain(&args.bundle).chain(&args.python) {
        if text.contains(['\n', '\r']) {
            let error = format!("`{}` holds a line break", text.escape_debug());
            return Err(Failure::new(Exit::Usage, error));
        }
    }
    let handover = export::handover(cx, spec.as_deref(), args.kind.needs())?;
    let supply = args.bundle.as_deref().map_or_else(|| handover.supply(), Supply::Bundle);
    if matches!(args.kind, Kind::Dockerfile | Kind::Apptainer) {
        output.note(
            "The image will hold files that NVIDIA licenses to you: read them with `cuenv licenses` before you pass it on",
        );
    }
    output.raw(&match args.kind {
        Kind::Dockerfile => handover.dockerfile(&args.base, supply),
        Kind::Apptainer => handover.apptainer(&args.base, supply),
        Kind::Compose => handover.compose(&args.base),
        Kind::Modulefile => handover.modulefile(),
        Kind::Slurm => handover.slurm(),
        Kind::Kernelspec => {
            handover.kernelspec(&args.python.clone().unwrap_or_else(|| export::python(cx)))
        }
        Kind::Vscode => handover.vscode(),
        Kind::Direnv => handover.direnv(),
    })?;
    Ok(Exit::Ok)
}
