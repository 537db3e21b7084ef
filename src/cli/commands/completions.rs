//! `cuenv completions`: the script that a shell sources, and the hidden command that the script asks.

use std::fmt::Write as _;

use clap::{CommandFactory as _, ValueEnum};

use crate::cli::args::Cli;
use crate::cli::completion::{Candidate, complete};
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::context::Context;
use crate::ops;

/// Print the completion script of a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
bash: cuenv completions bash > ~/.local/share/bash-completion/completions/cuenv
zsh:  cuenv completions zsh > DIR/_cuenv, with DIR in $fpath
fish: cuenv completions fish > ~/.config/fish/completions/cuenv.fish")]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// A shell with programmable completion.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// What the completion scripts call; not for people.
#[derive(Debug, clap::Args)]
pub struct Words {
    /// The words up to the cursor, the program's own name first
    #[arg(last = true)]
    words: Vec<String>,
}

/// Commands whose spec names something that is there already.
const ON_INSTALLED: [&str; 6] = ["uninstall", "where", "verify", "licenses", "exec", "env"];

pub(crate) fn run(args: &Args, output: &Output) -> Result<Exit, Failure> {
    output.raw(match args.shell {
        Shell::Bash => include_str!("../completion/cuenv.bash"),
        Shell::Zsh => include_str!("../completion/cuenv.zsh"),
        Shell::Fish => include_str!("../completion/cuenv.fish"),
    })?;
    Ok(Exit::Ok)
}

pub(crate) fn answer(cx: &Context<'_>, args: &Words, output: &Output) -> Result<Exit, Failure> {
    let mut root = Cli::command();
    root.build();
    let mut found = complete(&root, &args.words);
    if let Some(command) = &found.spec_for {
        let typed = args.words.last().map_or("", String::as_str);
        let installed_only = ON_INSTALLED.contains(&command.as_str());
        let specs = ops::complete::complete(cx, typed, installed_only);
        found.candidates.extend(specs.into_iter().map(|(value, about)| Candidate { value, about }));
    }
    if found.shims {
        let typed = args.words.last().map_or("", String::as_str);
        let shims = ops::shim::list(&cx.dirs, None).map(|report| report.shims).unwrap_or_default();
        let about = "shim".to_owned();
        let named = shims.into_iter().filter(|value| value.starts_with(typed));
        found.candidates.extend(named.map(|value| Candidate { value, about: about.clone() }));
    }
    let mut text = format!("{}\n", found.fallback.word());
    for Candidate { value, about } in found.candidates {
        let about = about.lines().next().unwrap_or_default();
        let _ = writeln!(text, "{value}\t{about}");
    }
    output.raw(&text)?;
    Ok(Exit::Ok)
}
