//! `cuenv help`: the help of a command, or what to know about a topic.

use clap::CommandFactory as _;

use crate::cli::args::Cli;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;

/// Print help on a command or a topic: nvcc, venv, driver, hpc, docker
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A command or a topic; all commands when left out
    #[arg(value_name = "COMMAND")]
    about: Vec<String>,
}

/// The topics, which are also pages of the book.
pub const TOPICS: [(&str, &str); 5] = [
    ("nvcc", include_str!("../../../docs/topics/nvcc.md")),
    ("venv", include_str!("../../../docs/topics/venv.md")),
    ("driver", include_str!("../../../docs/topics/driver.md")),
    ("hpc", include_str!("../../../docs/topics/hpc.md")),
    ("docker", include_str!("../../../docs/topics/docker.md")),
];

/// Neither a command nor a topic: names the nearest one.
fn unknown(word: &str, command: &clap::Command, args: &Args) -> Failure {
    let names =
        command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(clap::Command::get_name);
    let topics = TOPICS.iter().map(|(name, _)| *name).filter(|_| args.about.len() == 1);
    let names: Vec<&str> = names.chain(topics).collect();
    let failure = match args.about.as_slice() {
        [_] => Failure::new(Exit::Usage, format!("there is no command and no topic `{word}`")),
        _ => Failure::new(Exit::Usage, format!("there is no command `{}`", args.about.join(" "))),
    };
    match shims::spec::nearest(word, &names) {
        Some(near) => failure.hint(format!("did you mean `cuenv help {near}`?")),
        None => failure.hint(
            "topics are nvcc, venv, driver, hpc and docker; `cuenv --help` lists the commands",
        ),
    }
}

pub(crate) fn run(args: &Args, output: &Output) -> Result<Exit, Failure> {
    let mut root = Cli::command();
    root.build();
    if let [topic] = args.about.as_slice()
        && let Some((_, text)) = TOPICS.iter().find(|(name, _)| name == topic)
    {
        output.text(text)?;
        return Ok(Exit::Ok);
    }
    let mut command = &mut root;
    for word in &args.about {
        if command.find_subcommand(word).is_none() {
            return Err(unknown(word, command, args));
        }
        command = command.find_subcommand_mut(word).expect("it was found above");
    }
    output.text(&command.render_long_help().to_string())?;
    Ok(Exit::Ok)
}
