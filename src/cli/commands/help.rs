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
        let Some(found) = command.find_subcommand_mut(word) else {
            let error = format!("there is no command and no topic `{word}`");
            return Err(Failure::new(Exit::Usage, error).hint(
                "topics are nvcc, venv, driver, hpc and docker; `cuenv --help` lists the commands",
            ));
        };
        command = found;
    }
    output.text(&command.render_long_help().to_string())?;
    Ok(Exit::Ok)
}
