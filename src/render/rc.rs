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

/// Returns a start-up file's bytes with the block in it, in place of an earlier one or at its end. The rest of the file may
/// be in any encoding.
pub fn with_block(text: &[u8], lines: &str) -> Vec<u8> {
    let block = format!("{BEGIN}\n{lines}{END}\n");
    let block = block.as_bytes();
    if let Some((before, after)) = around(text) {
        return [before, block, after].concat();
    }
    let newline: &[u8] = if text.is_empty() || text.ends_with(b"\n") { b"" } else { b"\n" };
    [text, newline, block].concat()
}

/// Returns a start-up file's bytes without the block; `None` when there is none.
pub fn without_block(text: &[u8]) -> Option<Vec<u8>> {
    around(text).map(|(before, after)| [before, after].concat())
}

/// Returns what is before and after the block.
fn around(text: &[u8]) -> Option<(&[u8], &[u8])> {
    // The first line that is `mark` alone, from `from` on: where it begins and where the next line does.
    let line = |mark: &str, from: usize| {
        let mut start = from;
        for line in text[from..].split_inclusive(|byte| *byte == b'\n') {
            let next = start + line.len();
            if line.strip_suffix(b"\n").unwrap_or(line) == mark.as_bytes() {
                return Some((start, next));
            }
            start = next;
        }
        None
    };
    let (begin, inside) = line(BEGIN, 0)?;
    let (_, end) = line(END, inside)?;
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
        for text in [&b""[..], b"alias x=y\n", b"a\n\nb\n", b"# caf\xe9\n"] {
            let with = with_block(text, "load\n");
            assert!(with.ends_with(format!("{BEGIN}\nload\n{END}\n").as_bytes()));
            assert_eq!(without_block(&with).as_deref(), Some(text));
            // A second time replaces the first.
            assert_eq!(with_block(&with, "load\n"), with);
        }
        let with = with_block(b"no newline", "l\n");
        assert_eq!(with, format!("no newline\n{BEGIN}\nl\n{END}\n").into_bytes());
    }

    #[test]
    fn an_earlier_block_is_replaced_in_its_place() {
        let text = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        let after = format!("a\n{BEGIN}\nnew\n{END}\nb\n");
        assert_eq!(with_block(text.as_bytes(), "new\n"), after.into_bytes());
        assert_eq!(without_block(b"echo '# >>> cuenv hook >>>'\n"), None);
        assert_eq!(without_block(format!("{BEGIN}\ncut off\n").as_bytes()), None);
    }
}
