//! `cuenv install`: make toolchains be there.

use std::path::PathBuf;

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::context::Context;
use crate::domain::spec::Spec;
use crate::ops::answer::{self, Freshness};
use crate::ops::bundle;
use crate::ops::project_install::{self, Request};

/// Install toolchains; without SPEC, what the pin and lock here say
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to install, such as `12.4+cudnn9`
    spec: Vec<String>,
    /// Fail with code 8 when the lock does not answer the pin, instead of writing it anew
    #[arg(long, conflicts_with = "spec")]
    locked: bool,
    /// Install what this bundle holds, without the network
    #[arg(long, value_name = "FILE", conflicts_with_all = ["spec", "locked"])]
    from: Option<PathBuf>,
    /// How many wheels to work on at once
    #[arg(short, long, value_name = "N")]
    jobs: Option<usize>,
}

impl Args {
    /// Returns how many wheels to work on at once.
    pub fn jobs(&self) -> Option<usize> {
        self.jobs
    }
}

pub(crate) fn run(cx: &Context<'_>, args: &Args, output: &Output) -> Result<Exit, Failure> {
    if let Some(file) = &args.from {
        let report = bundle::unpack(cx, file)?;
        output.result(&project_install::Installed { installed: vec![report] })?;
        return Ok(Exit::Ok);
    }
    if args.spec.is_empty() {
        output.result(&project_install::install(cx, &Request { locked: args.locked })?)?;
        return Ok(Exit::Ok);
    }
    let specs: Vec<Spec> = args.spec.iter().map(|spec| spec.parse()).collect::<Result<_, _>>()?;
    let mut reports = Vec::new();
    for spec in &specs {
        reports.push(answer::install(cx, spec, Freshness::Installed, None)?.0);
    }
    output.result(&project_install::Installed { installed: reports })?;
    Ok(Exit::Ok)
}
