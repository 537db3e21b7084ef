//! The command line: the list of commands and the options they share. Each command's own arguments live with it.

use std::path::PathBuf;

use clap::{ArgAction, Parser, Subcommand, ValueEnum};

use super::commands;

/// CUDA and cuDNN toolchains per project, without root
#[derive(Debug, Parser)]
#[command(
    name = "cuenv",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    propagate_version = false
)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// Options that every command takes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
#[expect(clippy::struct_excessive_bools, reason = "this is what was typed, one field a switch")]
pub struct Global {
    /// Print the result only
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Print more; twice for all
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
    /// Print the result as one JSON document
    #[arg(long, global = true)]
    pub json: bool,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// Show no progress bars
    #[arg(long, global = true)]
    pub no_progress: bool,
    /// Use no network
    #[arg(long, global = true)]
    pub offline: bool,
    /// Answer yes to every question
    #[arg(short = 'y', long, global = true)]
    pub yes: bool,
    /// Run as if started in DIR
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    pub directory: Option<PathBuf>,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    Use(commands::r#use::Args),
    Install(commands::install::Args),
    Uninstall(commands::uninstall::Args),
    #[command(visible_alias = "prune")]
    Gc(commands::gc::Args),
    #[command(visible_alias = "ls")]
    List(commands::list::Args),
    Link(commands::link::Args),
    Resolve(commands::resolve::Args),
    Lock(commands::lock::Args),
    Update(commands::lock::UpdateArgs),
    Where(commands::r#where::Args),
    Verify(commands::verify::Args),
    Which(commands::which::Args),
    Doctor(commands::doctor::Args),
    Explain(commands::explain::Args),
    #[command(name = "__load", hide = true)]
    Load(commands::verify::Load),
    #[command(visible_alias = "show")]
    Current(commands::current::Args),
    #[command(visible_aliases = ["run", "x"])]
    Exec(commands::exec::Args),
    Shell(commands::shell::Args),
    Env(commands::env::Args),
    #[command(visible_aliases = ["activate", "init"])]
    Hook(commands::hook::Args),
    #[command(hide = true)]
    HookEnv(commands::hook::Ask),
    Shim(commands::shim::Args),
    Bundle(commands::bundle::Args),
    Export(commands::export::Args),
    Licenses(commands::licenses::Args),
    #[command(name = "self")]
    Own(commands::own::Args),
    Completions(commands::completions::Args),
    #[command(name = "__complete", hide = true)]
    Complete(commands::completions::Words),
    #[command(name = "__probe", hide = true)]
    Probe(commands::probe::Args),
    Man(commands::man::Args),
    Help(commands::help::Args),
}

impl Command {
    /// Returns the name of a command whose result is text for a shell, another program or a reader, and no document.
    pub fn without_document(&self) -> Option<&'static str> {
        match self {
            Self::Completions(_) => Some("completions"),
            Self::Man(_) => Some("man"),
            Self::Help(_) => Some("help"),
            Self::Export(_) => Some("export"),
            Self::Shell(_) => Some("shell"),
            Self::HookEnv(_) => Some("hook-env"),
            Self::Hook(args) => args.prints_text().then_some("hook"),
            _ => None,
        }
    }

    /// Returns how many wheels to work on at once, where a command takes that.
    pub fn jobs(&self) -> Option<usize> {
        match self {
            Self::Install(args) => args.jobs(),
            _ => None,
        }
    }
}
