//! The words of the command line, before they are parsed: where `exec`'s own end and a program's begin, and what is wanted
//! when they cannot be parsed at all.

use std::ffi::{OsStr, OsString};

/// The names of the command that runs a program.
const EXEC: [&str; 3] = ["exec", "run", "x"];
/// Options that take the word behind them.
const WITH_VALUE: [&str; 3] = ["-C", "--directory", "--color"];

/// Puts the `--` in front of a program that `exec` was given without one: `exec python train.py --lr 1` means the same as
/// `exec -- python train.py --lr 1`, and so with a spec before it.
pub(super) fn separate(args: &[OsString]) -> Vec<OsString> {
    let mut args = args.to_vec();
    let Some(exec) = command(&args).filter(|at| is_exec(&args[*at])) else { return args };
    let Some(first) = positional(&args, exec + 1) else { return args };
    let is_separator = |at: usize| args.get(at).is_some_and(|word| word == "--");
    if is_separator(first) || is_separator(first + 1) {
        return args;
    }
    let at = if reads_like_a_spec(&args[first]) { first + 1 } else { first };
    if at < args.len() {
        args.insert(at, "--".into());
    }
    args
}

/// Tells whether the words ask for a program to be run: then cuenv's own failures have a code of their own.
pub(super) fn runs_a_program(args: &[OsString]) -> bool {
    command(args).is_some_and(|at| is_exec(&args[at]))
}

/// Tells whether the words ask for JSON.
pub(super) fn wants_json(args: &[OsString]) -> bool {
    args.iter().take_while(|word| *word != "--").any(|word| word == "--json")
}

/// The place of the command.
fn command(args: &[OsString]) -> Option<usize> {
    positional(args, 1).filter(|at| args[*at] != "--")
}

/// The place of the first word from `from` on that is no option and no option's value; `--` counts as one.
fn positional(args: &[OsString], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(word) = args.get(at) {
        let text = word.to_string_lossy();
        if text == "--" || text == "-" || !text.starts_with('-') {
            return Some(at);
        }
        at += if WITH_VALUE.contains(&text.as_ref()) { 2 } else { 1 };
    }
    None
}

fn is_exec(word: &OsStr) -> bool {
    EXEC.iter().any(|name| word == *name)
}

/// A release, `auto`, `default` or `system`, perhaps mistyped behind that: `12.4+cudn9` is no program, `7z` is one. The name
/// of a linked toolkit looks like a program's and needs the `--` behind it.
fn reads_like_a_spec(word: &OsStr) -> bool {
    let Some(text) = word.to_str() else { return false };
    let head = text.find(['+', '@']).map_or(text, |at| &text[..at]);
    let digits = head
        .split('.')
        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    digits || head == "auto" || text == "default" || text == "system"
}

#[cfg(test)]
mod tests {
    use super::{runs_a_program, separate, wants_json};
    use std::ffi::OsString;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn a_program_begins_at_the_first_word_that_is_no_spec() {
        for (given, meant) in [
            ("cuenv exec python x.py --lr 1", "cuenv exec -- python x.py --lr 1"),
            ("cuenv -v -C d run python x -- y", "cuenv -v -C d run -- python x -- y"),
            ("cuenv x -q 12.4+cudnn9 python -V", "cuenv x -q 12.4+cudnn9 -- python -V"),
            ("cuenv exec 12.4+cudn9 true", "cuenv exec 12.4+cudn9 -- true"),
            ("cuenv exec auto@devel nvcc", "cuenv exec auto@devel -- nvcc"),
            ("cuenv exec 7z l", "cuenv exec -- 7z l"),
            ("cuenv exec ./12.4 l", "cuenv exec -- ./12.4 l"),
        ] {
            assert_eq!(separate(&words(given)), words(meant), "{given}");
        }
    }

    #[test]
    fn what_is_separated_or_no_program_stays() {
        for same in [
            "cuenv exec -- python x.py",
            "cuenv exec 12.4 -- python -- x",
            "cuenv exec site -- python",
            "cuenv exec 12.4",
            "cuenv exec --lr 1.x",
            "cuenv where 12.4 x",
            "cuenv -C exec where x y",
            "cuenv",
        ] {
            let meant = if same.contains("--lr") { "cuenv exec --lr -- 1.x" } else { same };
            assert_eq!(separate(&words(same)), words(meant), "{same}");
        }
    }

    #[test]
    fn what_is_wanted_is_known_without_parsing() {
        assert!(runs_a_program(&words("cuenv --color never run")));
        assert!(!runs_a_program(&words("cuenv where exec")));
        assert!(wants_json(&words("cuenv where --jsn --json")));
        assert!(!wants_json(&words("cuenv exec -- x --json")));
    }
}
