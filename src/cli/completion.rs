//! What a shell offers after Tab: walks the same command tree that parses, so that completion cannot lag behind it.
//!
//! The scripts in `completion/` hand over the words up to the cursor; the answer is a line that says which of the shell's
//! own completions to add, then one candidate a line, `value<TAB>description`.

use clap::builder::ValueHint;
use clap::{Arg, Command};

use super::commands::help::TOPICS;

/// What the shell completes by itself, besides the candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fallback {
    /// Nothing.
    None,
    /// Paths of files.
    Files,
    /// Paths of directories.
    Directories,
    /// A command line of its own: a program, then its arguments.
    Command,
}

impl Fallback {
    /// Returns the word that the scripts know.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Files => "files",
            Self::Directories => "directories",
            Self::Command => "command",
        }
    }
}

/// One thing to offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// The whole word.
    pub(crate) value: String,
    /// What it means; may be empty.
    pub(crate) about: String,
}

/// What to offer for the last word.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    /// Words of the command line.
    pub(crate) candidates: Vec<Candidate>,
    /// Whether a spec may stand here, and for which command: the caller knows the specs.
    pub(crate) spec_for: Option<String>,
    /// Whether the name of a shim may stand here.
    pub(crate) shims: bool,
    /// What the shell adds.
    pub(crate) fallback: Fallback,
}

/// Completes the last of `words`; the first is the program's own name.
pub(crate) fn complete(root: &Command, words: &[String]) -> Completion {
    let mut done = Completion {
        candidates: Vec::new(),
        spec_for: None,
        shims: false,
        fallback: Fallback::None,
    };
    let Some((current, before)) = words.split_last() else { return done };
    let mut command = root;
    let mut pending: Option<&Arg> = None;
    let mut given = 0;
    let mut asked = Some(root);
    for word in before.iter().skip(1) {
        if pending.take().is_some() {
            continue;
        }
        if word == "--" {
            done.fallback = Fallback::Command;
            return done;
        }
        if let Some(arg) = option(root, command, word) {
            pending = (takes_value(arg) && !word.contains('=')).then_some(arg);
        } else if let Some(sub) = command.find_subcommand(word).filter(|_| given == 0) {
            command = sub;
        } else if !word.starts_with('-') {
            given += 1;
            asked = asked.and_then(|command| command.find_subcommand(word));
        }
    }
    if command.get_name() == "help" && pending.is_none() && !current.starts_with('-') {
        // Pages: the commands, and at first the topics.
        if let Some(asked) = asked {
            offer_subcommands(asked, current, &mut done);
        }
        let topics = TOPICS.iter().map(|topic| topic.name).chain(["topics"]);
        for name in topics.filter(|name| given == 0 && name.starts_with(current)) {
            if !done.candidates.iter().any(|known| known.value == name) {
                let about = "topic".to_owned();
                done.candidates.push(Candidate { value: name.to_owned(), about });
            }
        }
        return done;
    }
    if let Some(arg) = pending {
        offer_values(arg, command, current, "", &mut done);
    } else if let Some((name, value)) =
        current.split_once('=').filter(|_| current.starts_with("--"))
    {
        if let Some(arg) = option(root, command, name) {
            offer_values(arg, command, value, &format!("{name}="), &mut done);
        }
    } else if current.starts_with('-') {
        offer_options(root, command, current, &mut done);
    } else {
        if given == 0 {
            offer_subcommands(command, current, &mut done);
        }
        if let Some(arg) = positional(command, given) {
            offer_values(arg, command, current, "", &mut done);
        }
    }
    done
}

fn options<'a>(root: &'a Command, command: &'a Command) -> impl Iterator<Item = &'a Arg> {
    let global = root.get_arguments().filter(|arg| arg.is_global_set());
    command.get_arguments().chain(global).filter(|arg| !arg.is_positional() && !arg.is_hide_set())
}

fn option<'a>(root: &'a Command, command: &'a Command, word: &str) -> Option<&'a Arg> {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    options(root, command).find(|arg| match name.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        // In a bundle like `-qy` only the last letter can take a value.
        None => name
            .strip_prefix('-')
            .and_then(|letters| letters.chars().last())
            .is_some_and(|letter| arg.get_short() == Some(letter)),
    })
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

fn positional(command: &Command, given: usize) -> Option<&Arg> {
    let mut last = None;
    for (at, arg) in command.get_positionals().enumerate() {
        if at == given {
            return Some(arg);
        }
        last = Some(arg);
    }
    last.filter(|arg| arg.get_num_args().is_some_and(|range| range.max_values() > 1))
}

fn offer_options(root: &Command, command: &Command, current: &str, done: &mut Completion) {
    let mut seen = Vec::new();
    for arg in options(root, command) {
        let about = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let long = arg.get_long().map(|long| format!("--{long}"));
        let short = arg.get_short().map(|letter| format!("-{letter}"));
        // A short form is only worth a line when there is no long one or the person asked for exactly it.
        let name = match (long, short) {
            (_, Some(short)) if current == short => short,
            (Some(long), _) => long,
            (None, Some(short)) => short,
            (None, None) => continue,
        };
        if name.starts_with(current) && !seen.contains(&name) {
            seen.push(name.clone());
            done.candidates.push(Candidate { value: name, about });
        }
    }
    if "--help".starts_with(current) && !seen.iter().any(|name| name == "--help") {
        done.candidates
            .push(Candidate { value: "--help".to_owned(), about: "Print help".to_owned() });
    }
}

fn offer_subcommands(command: &Command, current: &str, done: &mut Completion) {
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        if sub.get_name().starts_with(current) {
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            done.candidates.push(Candidate { value: sub.get_name().to_owned(), about });
        }
    }
}

fn offer_values(arg: &Arg, command: &Command, current: &str, before: &str, done: &mut Completion) {
    let possible = arg.get_possible_values();
    for value in possible.iter().filter(|value| !value.is_hide_set()) {
        if value.get_name().starts_with(current) {
            let about = value.get_help().map(ToString::to_string).unwrap_or_default();
            done.candidates
                .push(Candidate { value: format!("{before}{}", value.get_name()), about });
        }
    }
    if !possible.is_empty() {
        return;
    }
    let name = arg
        .get_value_names()
        .and_then(|names| names.first())
        .map_or_else(|| arg.get_id().as_str().to_uppercase(), ToString::to_string);
    match (arg.get_value_hint(), name.as_str()) {
        (ValueHint::DirPath, _) | (_, "DIR") => done.fallback = Fallback::Directories,
        (ValueHint::AnyPath | ValueHint::FilePath, _) | (_, "FILE" | "PATH" | "ARCHIVE") => {
            done.fallback = Fallback::Files;
        }
        (ValueHint::CommandName | ValueHint::CommandWithArguments, _) | (_, "COMMAND" | "CMD") => {
            done.fallback = Fallback::Command;
        }
        (_, "TOOLS") if command.get_name() == "remove" => done.shims = true,
        (_, "SPEC" | "SPECS") => done.spec_for = Some(command.get_name().to_owned()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::args::Cli;

    fn at(line: &str) -> Completion {
        let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
        let mut root = Cli::command();
        root.build();
        complete(&root, &words)
    }

    fn values(line: &str) -> Vec<String> {
        at(line).candidates.into_iter().map(|candidate| candidate.value).collect()
    }

    #[test]
    fn offers_subcommands_and_their_values() {
        assert_eq!(values("cuenv compl"), ["completions"]);
        assert_eq!(values("cuenv completions z"), ["zsh"]);
        assert_eq!(values("cuenv -q completions "), ["bash", "zsh", "fish"]);
        assert_eq!(values("cuenv self un"), ["uninstall"]);
        assert!(!values("cuenv ").iter().any(|value| value.starts_with("__")));
    }

    #[test]
    fn offers_options_of_the_command_and_global_ones() {
        assert_eq!(values("cuenv self uninstall --keep"), ["--keep-data"]);
        assert_eq!(values("cuenv self uninstall --off"), ["--offline"]);
        assert_eq!(values("cuenv --color a"), ["auto", "always"]);
        assert_eq!(values("cuenv --color=n"), ["--color=never"]);
        assert_eq!(values("cuenv where --he"), ["--help"]);
    }

    #[test]
    fn knows_where_a_spec_a_directory_or_a_program_stands() {
        assert_eq!(at("cuenv where 12").spec_for.as_deref(), Some("where"));
        assert_eq!(at("cuenv -C ").fallback, Fallback::Directories);
        assert_eq!(at("cuenv -C x where ").spec_for.as_deref(), Some("where"));
        assert!(at("cuenv shim remove nv").shims);
        assert_eq!(at("cuenv help ").fallback, Fallback::None);
        assert_eq!(values("cuenv help do"), ["doctor", "docker"]);
        assert_eq!(values("cuenv help self un"), ["uninstall"]);
        assert_eq!(at("cuenv exec 12.4 -- py").fallback, Fallback::Command);
    }
}
