//! `cuenv __probe`: loads one of NVIDIA's libraries and prints what it says. Hidden: cuenv starts it as a child with a
//! time limit, because a broken driver may hang or crash the process that loads its libraries.

use clap::ValueEnum;

use crate::cli::exit::Exit;
use crate::domain::host::Probe;
use crate::ops;
use crate::platform::process::Process;

/// Ask one of the driver's libraries
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The library
    library: Library,
}

/// The libraries that can be asked.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Library {
    /// NVIDIA's management library
    #[value(name = "NVML")]
    Nvml,
    /// The driver API
    Libcuda,
}

pub(crate) fn run(process: &Process, args: &Args) -> Exit {
    let probe = match args.library {
        Library::Nvml => Probe::Nvml,
        Library::Libcuda => Probe::Libcuda,
    };
    let text = ops::host::answer_probe(process, probe);
    // A parent that has gone away is no failure of this child.
    let _ = std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes());
    Exit::Ok
}
