//! What a shell's hook asks for when something changed: the changes of this shell's environment, as text of that
//! shell, and what to look at until the next change.
//!
//! The hook itself decides without a process whether anything changed: it compares the directory, a few
//! variables and the text of the watched files with what it saw last. Only then this code runs.

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::dirs::Dirs;
use crate::environ::{self, Changes, Wanted};
use crate::locate::{self, Question, Selection};
use crate::names;
use crate::prepare;
use crate::quote;
use crate::toolchain::{self, Toolchain, is_name};
use crate::undo::{Record, decode, encode, hash};
use crate::vars::{Vars, var};
use crate::venv::RuleSource;

/// What this shell's hook put on its lists so far; given back by the hook.
pub const PAST: &str = "CUENV_HOOK_PAST";
/// The mark of the message that was shown last; given back by the hook.
pub const SAID: &str = "CUENV_HOOK_SAID";
/// A file with another text at every look: watched, it lets the next prompt ask anew.
const EVER_CHANGING: &str = "/proc/sys/kernel/random/uuid";
/// `1`: nothing is said when the hook switches.
pub const QUIET: &str = "CUENV_HOOK_QUIET";

/// A shell that a hook can be written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    /// bash.
    Bash,
    /// zsh.
    Zsh,
    /// fish.
    Fish,
    /// tcsh.
    Tcsh,
    /// elvish.
    Elvish,
    /// xonsh.
    Xonsh,
    /// nushell.
    Nu,
}

impl Shell {
    /// Every shell, in the order of the help.
    pub const ALL: [Self; 7] =
        [Self::Bash, Self::Zsh, Self::Fish, Self::Nu, Self::Tcsh, Self::Elvish, Self::Xonsh];

    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Fish => "fish",
            Self::Tcsh => "tcsh",
            Self::Elvish => "elvish",
            Self::Xonsh => "xonsh",
            Self::Nu => "nu",
        }
    }
}

impl std::str::FromStr for Shell {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let text = if text == "nushell" { "nu" } else { text };
        Self::ALL.into_iter().find(|shell| shell.name() == text).ok_or(())
    }
}

/// What the hook is to do.
#[derive(Debug, Default)]
pub struct Answer {
    /// Changes of the environment.
    pub changes: Changes,
    /// Files whose text is part of the next comparison.
    pub watched: Vec<PathBuf>,
    /// Elements that this shell's hook has put on lists, for [`PAST`].
    pub past: OsString,
    /// Lines for the user.
    pub lines: Vec<String>,
    /// The mark of those lines, for [`SAID`].
    pub said: String,
}

/// Works out what the hook is to do.
pub fn answer(vars: &Vars, cwd: Option<&Path>, dirs: &Dirs, quiet: bool) -> Answer {
    let mut answer = Answer::default();
    let mut notes = Vec::new();
    let question = Question { dirs, vars, cwd, argument: None, inherit: false, all: false };
    let mut selection = locate::select(&question);
    notes.extend(selection.notices.iter().map(ToString::to_string));
    for (path, keys) in &selection.unknown {
        notes.push(format!("`{}` holds unknown keys: {}", path.display(), keys.join(", ")));
    }
    answer.watched = std::mem::take(&mut selection.watched);
    let was_active = var(vars, names::ACTIVE).map(OsStr::to_owned);

    let (source, wanted) = match wanted(&question, selection, &mut answer.watched, &mut notes) {
        Ok(found) => found,
        Err(error) => {
            notes.push(error.to_string());
            // What mends it need not change a watched text: a directory, a file's mode, a venv.
            answer.watched.push(EVER_CHANGING.into());
            (String::new(), None)
        }
    };

    let mut past: Vec<OsString> = var(vars, PAST)
        .and_then(OsStr::to_str)
        .map(|text| text.split('/').filter_map(decode).collect())
        .unwrap_or_default();
    let after = if let Some(wanted) = &wanted {
        environ::apply(vars, &environ::keep(vars, wanted, dirs))
    } else {
        let left = environ::apply(vars, &environ::leave(vars));
        environ::without(&left, &past)
    };
    answer.changes = environ::difference(vars, &after);
    if let Some(record) = Record::of(&after) {
        for element in record.lists.into_iter().flat_map(|list| list.added) {
            if !past.contains(&element) {
                past.push(element);
            }
        }
    }
    let past: Vec<String> = past.iter().map(|element| encode(element)).collect();
    answer.past = past.join("/").into();

    let is_active = var(&after, names::ACTIVE);
    if was_active.as_deref() != is_active {
        answer.lines.push(match (is_active, &was_active) {
            (Some(now), _) => format!("{} ({source})", now.to_string_lossy()),
            (None, Some(before)) => format!("left {}", before.to_string_lossy()),
            (None, None) => String::new(),
        });
    }
    answer.said = if notes.is_empty() {
        String::new()
    } else {
        format!("{:x}", hash(OsStr::new(&notes.join("\n"))))
    };
    if var(vars, SAID) != Some(OsStr::new(&answer.said)) {
        answer.lines.extend(notes);
    }
    if quiet || var(vars, QUIET) == Some(OsStr::new("1")) {
        answer.lines.clear();
    }
    answer
}

/// What is wanted here, with what chose it.
fn wanted(
    question: &Question<'_>,
    selection: Selection,
    watched: &mut Vec<PathBuf>,
    notes: &mut Vec<String>,
) -> Result<(String, Option<Wanted>), Box<dyn Error>> {
    let Question { dirs, vars, .. } = *question;
    let Some(choice) = selection.first()? else { return Ok((String::new(), None)) };
    let wanted = match toolchain::find(dirs, &choice, watched)? {
        Toolchain::System => None,
        Toolchain::Missing(_) => {
            notes.push(not_installed(&choice));
            None
        }
        Toolchain::Installed(installed) => {
            notes.extend(installed.stale());
            let request = prepare::Request::new(&installed, &choice, vars, dirs);
            let prepared = prepare::prepare(&request)?;
            // Another policy in the settings is another environment.
            if matches!(
                prepared.libraries.rule.source,
                RuleSource::Settings(_) | RuleSource::Default
            ) {
                watched.push(dirs.settings_file());
            }
            Some(prepared.wanted)
        }
    };
    Ok((choice.source.to_string(), wanted))
}

/// The line for a toolchain that is asked for and not there.
pub fn not_installed(choice: &locate::Choice) -> String {
    format!("{}: run `{}`", missing(choice), install_command(choice))
}

/// Says that a toolchain is not there.
pub fn missing(choice: &locate::Choice) -> String {
    let locate::Choice { spec, source, .. } = choice;
    if is_name(spec) {
        format!("no toolkit is linked as `{spec}`, which comes from {source}")
    } else {
        format!("`{spec}` from {source} is not installed")
    }
}

/// The command that brings what is not there.
pub fn install_command(choice: &locate::Choice) -> String {
    match choice.source {
        _ if is_name(&choice.spec) => format!("cuenv link {} /path/to/toolkit", choice.spec),
        locate::Source::Pin(..) => "cuenv install".to_owned(),
        _ => format!("cuenv install {}", choice.spec),
    }
}

/// Writes the answer as text of a shell.
pub fn render(answer: &Answer, shell: Shell) -> Vec<u8> {
    let watched: Vec<&OsStr> = answer.watched.iter().map(|path| path.as_os_str()).collect();
    let mut out = Vec::new();
    let state = [("past", answer.past.as_os_str()), ("said", OsStr::new(&answer.said))];
    match shell {
        Shell::Bash | Shell::Zsh => {
            out.extend(assignments(shell, &answer.changes));
            push(&mut out, &[b"__cuenv_watch=("]);
            for path in watched {
                push(&mut out, &[&quote::posix(path), b" "]);
            }
            push(&mut out, &[b")\n"]);
            for (name, value) in state {
                push(&mut out, &[b"__cuenv_", name.as_bytes(), b"=", &quote::posix(value), b"\n"]);
            }
        }
        Shell::Fish => {
            out.extend(assignments(shell, &answer.changes));
            push(&mut out, &[b"set -g __cuenv_watch"]);
            for path in watched {
                push(&mut out, &[b" ", &quote::fish(path)]);
            }
            push(&mut out, &[b"\n"]);
            for (name, value) in state {
                let value = quote::fish(value);
                push(&mut out, &[b"set -g __cuenv_", name.as_bytes(), b" ", &value, b"\n"]);
            }
        }
        // tcsh acts on a change of directory alone: it keeps no state.
        Shell::Tcsh => out.extend(assignments(shell, &answer.changes)),
        Shell::Xonsh => {
            out.extend(assignments(shell, &answer.changes));
            push(&mut out, &[b"__cuenv['watch'] = ["]);
            for path in watched {
                push(&mut out, &[&quote::python(path), b", "]);
            }
            push(&mut out, &[b"]\n"]);
            for (name, value) in state {
                let value = quote::python(value);
                push(&mut out, &[b"__cuenv['", name.as_bytes(), b"'] = ", &value, b"\n"]);
            }
        }
        // Their code cannot be evaluated into a function's variables; they read JSON.
        Shell::Nu | Shell::Elvish => {
            out.extend(b"{\"set\":{");
            let set =
                answer.changes.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
            let set: Vec<Vec<u8>> = set
                .map(|(name, value)| [quote::json(name), quote::json(value)].join(&b':'))
                .collect();
            out.extend(set.join(&b','));
            let list = |items: &[&OsStr]| {
                items.iter().map(|item| quote::json(item)).collect::<Vec<_>>().join(&b',')
            };
            let unset: Vec<&OsStr> = answer
                .changes
                .iter()
                .filter(|(_, value)| value.is_none())
                .map(|(name, _)| name.as_os_str())
                .collect();
            push(
                &mut out,
                &[b"},\"unset\":[", &list(&unset), b"],\"watch\":[", &list(&watched), b"]"],
            );
            for (name, value) in state {
                push(&mut out, &[b",\"", name.as_bytes(), b"\":", &quote::json(value)]);
            }
            out.extend(b"}\n");
        }
    }
    out
}

/// Writes changes of the environment as assignments of a shell; nushell's are a JSON record of what is set, with
/// `null` for what is not.
pub fn assignments(shell: Shell, changes: &Changes) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in changes {
        let bytes = name.as_bytes();
        // A name that is not one cannot be assigned in a shell; cuenv never makes one.
        if !bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
            continue;
        }
        match (shell, value) {
            (Shell::Bash | Shell::Zsh, Some(value)) => {
                push(&mut out, &[b"export ", bytes, b"=", &quote::posix(value), b"\n"]);
            }
            (Shell::Bash | Shell::Zsh, None) => push(&mut out, &[b"unset -v ", bytes, b"\n"]),
            (Shell::Fish, Some(value)) => {
                let path: &[u8] = if bytes.ends_with(b"PATH") { b"--path " } else { b"" };
                let value = quote::fish(value);
                push(&mut out, &[b"set -gx ", path, bytes, b" ", &value, b"\n"]);
            }
            (Shell::Fish, None) => push(&mut out, &[b"set -e ", bytes, b"\n"]),
            (Shell::Tcsh, Some(value)) => match quote::tcsh(value) {
                Some(value) => push(&mut out, &[b"setenv ", bytes, b" ", &value, b";"]),
                None => push(&mut out, &[b"unsetenv ", bytes, b";"]),
            },
            (Shell::Tcsh, None) => push(&mut out, &[b"unsetenv ", bytes, b";"]),
            (Shell::Elvish, Some(value)) => {
                push(&mut out, &[b"set-env ", bytes, b" ", &quote::elvish(value), b"\n"]);
            }
            (Shell::Elvish, None) => push(&mut out, &[b"unset-env ", bytes, b"\n"]),
            (Shell::Xonsh, Some(value)) => {
                let value = quote::python(value);
                push(&mut out, &[b"__xonsh__.env['", bytes, b"'] = ", &value, b"\n"]);
            }
            (Shell::Xonsh, None) => {
                push(&mut out, &[b"__xonsh__.env.pop('", bytes, b"', None)\n"]);
            }
            (Shell::Nu, value) => {
                let value = value.as_ref().map_or(b"null".to_vec(), |value| quote::json(value));
                let start: &[u8] = if out.is_empty() { b"{" } else { b"," };
                push(&mut out, &[start, &quote::json(name), b":", &value]);
            }
        }
    }
    if shell == Shell::Nu {
        out.extend_from_slice(if out.is_empty() { b"{}" } else { b"}" });
    }
    out
}

fn push(out: &mut Vec<u8>, parts: &[&[u8]]) {
    for part in parts {
        out.extend_from_slice(part);
    }
}
