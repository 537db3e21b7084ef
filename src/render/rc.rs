//! The lines of a hook in a shell's start-up file, between markers, so that they can be replaced and taken out.

use std::ffi::OsStr;
use std::path::Path;

use shims::hook::Shell;
use shims::quote;

/// The line before the hook's.
pub const BEGIN: &str = "# >>> cuenv hook >>>";
/// The line after them.
pub const END: &str = "# <<< cuenv hook <<<";

/// Returns the lines that load the hook. They are silent when `cuenv` is gone.
pub fn lines(shell: Shell, cli: &Path) -> String {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let cli = cli.as_os_str();
    match shell {
        Shell::Bash | Shell::Zsh => {
            let (cli, name) = (text(quote::posix(cli)), shell.name());
            format!("if [ -x {cli} ]; then eval \"$({cli} hook {name})\"; fi\n")
        }
        Shell::Fish => {
            let cli = text(quote::fish(cli));
            format!("if test -x {cli}; {cli} hook fish | source; end\n")
        }
        Shell::Tcsh => {
            let cli = text(quote::tcsh(cli).unwrap_or_default());
            format!("if ( -x {cli} ) eval \"`{cli} hook tcsh`\"\n")
        }
        Shell::Elvish => {
            let cli = text(quote::elvish(cli));
            format!("if (has-external {cli}) {{ eval ((external {cli}) hook elvish | slurp) }}\n")
        }
        Shell::Xonsh => {
            let cli = text(quote::python(cli));
            format!(
                "if __import__('os').access({cli}, 1): execx(__import__('subprocess').check_output([{cli}, 'hook', 'xonsh']).decode(), 'exec', __xonsh__.ctx, filename='cuenv')\n"
            )
        }
        // nushell can only source what is there when it starts, so the whole hook is the file.
        Shell::Nu => String::new(),
    }
}

/// Returns a start-up file's text with the block in it, in place of an earlier one or at its end.
pub fn with_block(text: &str, lines: &str) -> String {
    let block = format!("{BEGIN}\n{lines}{END}\n");
    if let Some((before, after)) = around(text) {
        return format!("{before}{block}{after}");
    }
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{newline}{block}")
}

/// Returns a start-up file's text without the block; `None` when there is none.
pub fn without_block(text: &str) -> Option<String> {
    around(text).map(|(before, after)| format!("{before}{after}"))
}

/// Returns what is before and after the block.
fn around(text: &str) -> Option<(&str, &str)> {
    let line_start = |mark: &str, from: usize| {
        text[from..].match_indices(mark).map(|(at, _)| from + at).find(|at| {
            let ends = text[at + mark.len()..].chars().next().is_none_or(|next| next == '\n');
            ends && (*at == 0 || text.as_bytes()[at - 1] == b'\n')
        })
    };
    let begin = line_start(BEGIN, 0)?;
    let end = line_start(END, begin)? + END.len();
    let end = if text[end..].starts_with('\n') { end + 1 } else { end };
    Some((&text[..begin], &text[end..]))
}

/// Returns where a shell reads its start-up file from, below a home and a configuration directory.
pub fn start_up_file(
    shell: Shell,
    home: &Path,
    config: &Path,
    zdotdir: Option<&OsStr>,
) -> std::path::PathBuf {
    match shell {
        Shell::Bash => home.join(".bashrc"),
        Shell::Zsh => zdotdir.map_or(home, Path::new).join(".zshrc"),
        Shell::Fish => config.join("fish/config.fish"),
        Shell::Tcsh => home.join(".tcshrc"),
        Shell::Elvish => config.join("elvish/rc.elv"),
        Shell::Xonsh => home.join(".xonshrc"),
        Shell::Nu => config.join("nushell/autoload/cuenv.nu"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_goes_in_and_out_without_a_trace() {
        for text in ["", "alias x=y\n", "a\n\nb\n"] {
            let with = with_block(text, "load\n");
            assert!(with.ends_with(&format!("{BEGIN}\nload\n{END}\n")));
            assert_eq!(without_block(&with).as_deref(), Some(text));
            // A second time replaces the first.
            assert_eq!(with_block(&with, "load\n"), with);
        }
        assert_eq!(with_block("no newline", "l\n"), format!("no newline\n{BEGIN}\nl\n{END}\n"));
    }

    #[test]
    fn an_earlier_block_is_replaced_in_its_place() {
        let text = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        assert_eq!(with_block(&text, "new\n"), format!("a\n{BEGIN}\nnew\n{END}\nb\n"));
        assert_eq!(without_block("echo '# >>> cuenv hook >>>'\n"), None);
        assert_eq!(without_block(&format!("{BEGIN}\ncut off\n")), None);
    }
}
