//! `cuenv self`: the installation of cuenv itself.

use std::path::PathBuf;

use clap::Subcommand;

use crate::cli::args::Global;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::context::Context;
use crate::ops::{self_uninstall, self_update};

/// Update or remove cuenv itself
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Update(Update),
    Uninstall(Uninstall),
}

/// Replace cuenv by the newest release
#[derive(Debug, clap::Args)]
struct Update {
    /// Use this release archive; its SHA256SUMS lies beside it
    #[arg(long, value_name = "ARCHIVE", conflicts_with = "check")]
    from: Option<PathBuf>,
    /// Only say whether there is a newer one (code 100 when there is)
    #[arg(long)]
    check: bool,
}

/// Remove cuenv: its programs, its directories, its lines in start-up files
#[derive(Debug, clap::Args)]
struct Uninstall {
    /// Only say what would be removed
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Keep toolchains, cache and settings
    #[arg(long)]
    keep_data: bool,
}

pub(crate) fn run(
    cx: &Context<'_>,
    args: &Args,
    global: &Global,
    output: &Output,
) -> Result<Exit, Failure> {
    match &args.command {
        Command::Update(args) => update(cx, args, output),
        Command::Uninstall(args) => uninstall(cx, args, global, output),
    }
}

fn update(cx: &Context<'_>, args: &Update, output: &Output) -> Result<Exit, Failure> {
    let request = self_update::Request { from: args.from.clone(), check: args.check };
    let report = self_update::update(cx, &request)?;
    output.report(&report)?;
    let is_behind = !report.replaced && report.found != report.current;
    Ok(if args.check && is_behind { Exit::Updates } else { Exit::Ok })
}

fn uninstall(
    cx: &Context<'_>,
    args: &Uninstall,
    global: &Global,
    output: &Output,
) -> Result<Exit, Failure> {
    // Gigabytes go and cannot be had back without the network, so this wants a word; a dry run is that word's preview.
    let dry_run = args.dry_run || !global.yes;
    let request = self_uninstall::Request { dry_run, keep_data: args.keep_data };
    let report = self_uninstall::uninstall(cx, request)?;
    output.report(&report)?;
    if dry_run && !args.dry_run {
        output.note("Nothing was removed: say `cuenv self uninstall --yes` to do it");
    }
    Ok(Exit::Ok)
}
