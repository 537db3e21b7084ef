//! `cuenv help`: the help of a command, or what to know about a topic.

use std::fmt::Write as _;

use clap::CommandFactory as _;

use crate::cli::args::Cli;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output::Output;

/// Print help on a command, or on a topic such as nvcc, venv or docker; `help topics` lists them
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A command or a topic; all commands when left out
    #[arg(value_name = "COMMAND")]
    about: Vec<String>,
}

/// What to know about one thing; also a page of the book.
pub struct Topic {
    /// Its name, which is also the page's.
    pub name: &'static str,
    /// Other words for it.
    pub aliases: &'static [&'static str],
    /// The page.
    pub text: &'static str,
}

/// The topics, in the order of the list.
pub const TOPICS: [Topic; 10] = [
    topic("nvcc", &["ptxas"], include_str!("../../../docs/topics/nvcc.md")),
    topic("venv", &["python", "conda"], include_str!("../../../docs/topics/venv.md")),
    topic("driver", &["gpu"], include_str!("../../../docs/topics/driver.md")),
    topic("shims", &["shim"], include_str!("../../../docs/topics/shims.md")),
    topic("hook", &["hooks"], include_str!("../../../docs/topics/hook.md")),
    topic("lock", &["locks"], include_str!("../../../docs/topics/lock.md")),
    topic("offline", &["mirrors", "mirror"], include_str!("../../../docs/topics/offline.md")),
    topic("space", &["gc"], include_str!("../../../docs/topics/space.md")),
    topic("hpc", &["slurm", "mpi"], include_str!("../../../docs/topics/hpc.md")),
    topic("docker", &["containers"], include_str!("../../../docs/topics/docker.md")),
];

const fn topic(name: &'static str, aliases: &'static [&'static str], text: &'static str) -> Topic {
    Topic { name, aliases, text }
}

pub(crate) fn run(args: &Args, output: &Output) -> Result<Exit, Failure> {
    let mut root = Cli::command();
    root.build();
    let mut text = String::new();
    let mut command = Some(&mut root);
    for word in &args.about {
        command = command.and_then(|command| command.find_subcommand_mut(word));
    }
    if let Some(command) = command {
        text = command.render_long_help().to_string();
    }
    if let [word] = args.about.as_slice() {
        if word == "topics" {
            output.text(&list())?;
            return Ok(Exit::Ok);
        }
        // `shim`, `hook`, `lock` and `gc` are commands as well: what there is to know follows their help.
        let known = |topic: &&Topic| topic.name == word || topic.aliases.contains(&word.as_str());
        if let Some(topic) = TOPICS.iter().find(known) {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(topic.text);
        }
    }
    if text.is_empty() {
        return Err(unknown(&args.about.join(" ")));
    }
    output.text(&text)?;
    Ok(Exit::Ok)
}

fn list() -> String {
    let mut text = String::from("Topics, for `cuenv help TOPIC`:\n\n");
    for topic in &TOPICS {
        let title = topic.text.lines().next().unwrap_or_default().trim_start_matches("# ");
        let _ = writeln!(text, "  {:8} {title}", topic.name);
    }
    text
}

fn unknown(asked: &str) -> Failure {
    let root = Cli::command();
    let commands = root.get_subcommands().filter(|command| !command.is_hide_set());
    let names = commands.map(clap::Command::get_name).chain(TOPICS.iter().map(|topic| topic.name));
    let hint = match shims::spec::nearest(asked, &names.collect::<Vec<_>>()) {
        Some(name) => format!("did you mean `cuenv help {name}`?"),
        None => "`cuenv help topics` lists the topics, `cuenv --help` the commands".to_owned(),
    };
    let error = format!("there is no command and no topic `{asked}`");
    Failure::new(Exit::Usage, error).hint(hint)
}
