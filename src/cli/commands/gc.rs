//! `cuenv gc`: drop what nothing pins or runs.

use shims::quote::word;

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::context::Context;
use crate::ops::gc;

/// Show what nothing pins or runs; with -y, remove it
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Change nothing, even with -y
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Interrupted downloads too, which the next installation would go on with for two weeks
    #[arg(long)]
    downloads: bool,
}

pub(crate) fn run(
    cx: &Context<'_>,
    args: &Args,
    yes: bool,
    output: &Output,
) -> Result<Exit, Failure> {
    let request = gc::Request { dry_run: args.dry_run || !yes, downloads: args.downloads };
    let report = gc::gc(cx, &request)?;
    for gc::Unclear { project, why } in &report.unclear {
        let directory = word(project);
        output.note(&format!(
            "{why}: what it names is kept; `cuenv -C {directory} lock` writes it anew"
        ));
    }
    for path in &report.running {
        output.note(&format!("`{}` is kept: a process runs in it", path.display()));
    }
    output.result(&report)?;
    if report.dry_run && !report.items.is_empty() {
        let downloads = if request.downloads { " --downloads" } else { "" };
        output.note(&format!("nothing was removed; `cuenv gc{downloads} -y` removes it"));
    }
    if !request.downloads && report.kept.iter().any(|kept| kept.name.contains("download")) {
        output.note("`cuenv gc --downloads -y` removes the interrupted downloads as well");
    }
    Ok(Exit::Ok)
}
