//! The hooks, one script a shell. The scripts are files of their own, so that their shells and checkers can read
//! them; the few values in them are quoted by `shims::quote`.

use std::ffi::OsStr;
use std::path::Path;

use shims::hook::Shell;
use shims::quote;

/// What a hook is made of.
#[derive(Clone, Copy, Debug)]
pub struct Hook<'a> {
    /// The shell.
    pub shell: Shell,
    /// The program that answers `hook-env`.
    pub answers: &'a Path,
    /// `cuenv` itself.
    pub cli: &'a Path,
    /// Whether changes are not announced.
    pub quiet: bool,
}

/// Returns the text to be evaluated in the shell's start-up file.
pub fn hook(hook: &Hook<'_>) -> Vec<u8> {
    let script = match hook.shell {
        Shell::Bash => include_str!("shells/hook.bash"),
        Shell::Zsh => include_str!("shells/hook.zsh"),
        Shell::Fish => include_str!("shells/hook.fish"),
        Shell::Tcsh => include_str!("shells/hook.tcsh"),
        Shell::Elvish => include_str!("shells/hook.elv"),
        Shell::Xonsh => include_str!("shells/hook.xsh"),
        Shell::Nu => include_str!("shells/hook.nu"),
    };
    let quiet: &[u8] = if hook.quiet { b"--quiet" } else { b"" };
    let answers = hook.answers.as_os_str();
    let mut out = Vec::new();
    // tcsh evaluates the text as one line, in which a comment would hide all that follows.
    let is_code = |line: &&str| hook.shell != Shell::Tcsh || !line.starts_with('#');
    let script: String = script.split_inclusive('\n').filter(is_code).collect();
    let mut rest = script.as_str();
    // The marks are found in the script and never in a value that was put in.
    while let Some(at) = rest.find('@') {
        let (before, from) = rest.split_at(at);
        out.extend_from_slice(before.as_bytes());
        let mark = ["@BIN@", "@CLI@", "@QUIET@", "@BIN_IN@"]
            .into_iter()
            .find(|mark| from.starts_with(mark));
        let value = match mark {
            Some("@BIN@") => quoted(hook.shell, answers),
            Some("@CLI@") => quoted(hook.shell, hook.cli.as_os_str()),
            Some("@QUIET@") => quiet.to_vec(),
            Some("@BIN_IN@") => inside_quotes(&quoted(hook.shell, answers)),
            _ => b"@".to_vec(),
        };
        out.extend_from_slice(&value);
        rest = &from[mark.map_or(1, str::len)..];
    }
    out.extend_from_slice(rest.as_bytes());
    out
}

fn quoted(shell: Shell, value: &OsStr) -> Vec<u8> {
    match shell {
        Shell::Bash | Shell::Zsh => quote::posix(value),
        Shell::Fish => quote::fish(value),
        Shell::Tcsh => quote::tcsh(value).unwrap_or_default(),
        Shell::Elvish => quote::elvish(value),
        Shell::Xonsh => quote::python(value),
        Shell::Nu => quote::json(value),
    }
}

/// Makes a text fit for the inside of single quotes of tcsh.
fn inside_quotes(text: &[u8]) -> Vec<u8> {
    text.iter()
        .flat_map(|byte| if *byte == b'\'' { br"'\''".to_vec() } else { vec![*byte] })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_for_the_shell() {
        let path = Path::new("/a b/it's @CLI@/cuenv-shim");
        for (shell, expected) in [
            (Shell::Bash, r"__cuenv_bin='/a b/it'\''s @CLI@/cuenv-shim'"),
            (Shell::Zsh, r"__cuenv_bin='/a b/it'\''s @CLI@/cuenv-shim'"),
            (Shell::Fish, r"set -g __cuenv_bin '/a b/it\'s @CLI@/cuenv-shim'"),
            (Shell::Elvish, "var cuenv-bin = '/a b/it''s @CLI@/cuenv-shim'"),
            (Shell::Xonsh, r"'bin': '/a b/it\'s @CLI@/cuenv-shim'"),
            (Shell::Nu, "(\"/a b/it's @CLI@/cuenv-shim\" | path type)"),
        ] {
            let made = hook(&Hook { shell, answers: path, cli: path, quiet: false });
            let made = String::from_utf8(made).unwrap();
            assert!(made.contains(expected), "{made}");
            assert!(!made.contains("@QUIET@") && !made.contains("@BIN@"));
        }
    }
}
