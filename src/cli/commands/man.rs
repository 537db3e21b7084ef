//! `cuenv man`: manual pages, generated from the command tree.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory as _};
use fs_err as fs;

use crate::cli::args::Cli;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::context::Context;

/// Print a manual page (roff), or write all of them
#[derive(Debug, clap::Args)]
#[command(after_help = "To read one: cuenv man | man -l -")]
pub struct Args {
    /// The command, `self update` for example; cuenv itself when left out
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    command: Vec<String>,
    /// Write every page into this directory instead
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(cx: &Context<'_>, args: &Args, output: &Output) -> Result<Exit, Failure> {
    let io = |error: std::io::Error| Failure::new(Exit::Failed, error);
    let mut root = Cli::command();
    root.build();
    if let Some(directory) = &args.out {
        let directory = cx.process.cwd().unwrap_or(Path::new("/")).join(directory);
        fs::create_dir_all(&directory).map_err(io)?;
        for (name, text) in pages(&root) {
            fs::write(directory.join(format!("{name}.1")), text).map_err(io)?;
        }
        return Ok(Exit::Ok);
    }
    let name = std::iter::once("cuenv").chain(args.command.iter().map(String::as_str));
    let name = name.collect::<Vec<_>>().join("-");
    let page = pages(&root).into_iter().find(|(found, _)| *found == name);
    let Some((_, text)) = page else {
        let error = format!("there is no command `{}`", args.command.join(" "));
        return Err(Failure::new(Exit::Usage, error).hint("`cuenv --help` lists the commands"));
    };
    output.raw(&text)?;
    Ok(Exit::Ok)
}

/// Returns every page by its name, `cuenv-self-update`.
fn pages(root: &Command) -> Vec<(String, String)> {
    let mut pages = Vec::new();
    collect(root, "", &mut pages);
    pages
}

fn collect(command: &Command, above: &str, pages: &mut Vec<(String, String)>) {
    let name = if above.is_empty() {
        command.get_name().to_owned()
    } else {
        format!("{above}-{}", command.get_name())
    };
    let shown = command.clone().display_name(name.clone());
    let man = clap_mangen::Man::new(shown)
        .section("1")
        .date("")
        .source(concat!("cuenv ", env!("CARGO_PKG_VERSION")))
        .manual("cuenv");
    let mut bytes = Vec::new();
    man.render(&mut bytes).expect("writing to memory does not fail");
    let mut text = String::from_utf8(bytes).expect("roff of UTF-8 is UTF-8");
    if above.is_empty() {
        text.push_str(&exit_codes());
    }
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        collect(sub, &name, pages);
    }
    pages.push((name, text));
}

fn exit_codes() -> String {
    let mut text = String::from(".SH \"EXIT STATUS\"\n");
    for (exit, meaning) in Exit::ALL {
        let _ = writeln!(text, ".TP\n{}\n{}", exit.code(), meaning.replace('-', "\\-"));
    }
    text
}
