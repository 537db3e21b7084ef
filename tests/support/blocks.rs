//! The shell blocks of a page: which can run, and a session that runs them in order, as a person pastes them.
//!
//! A block is a fence that says `sh`. A comment in the line above it says what differs from "runs everywhere":
//!
//! ```text
//! <!-- not run: REASON -->               it cannot run in a test
//! <!-- real wheels -->                   it runs in the real stage alone
//! <!-- `COMMAND` exits with CODE -->     a command that starts so ends with this code
//! ```

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a block can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Where {
    /// In every session.
    Everywhere,
    /// With the real index.
    RealWheels,
    /// Nowhere, because of this.
    Nowhere(String),
}

/// A shell block.
#[derive(Clone, Debug)]
pub struct Block {
    /// The line of its fence.
    pub line: usize,
    pub text: String,
    pub runs: Where,
    /// Start of a command, and the code that it ends with.
    pub codes: Vec<(String, i32)>,
}

/// The shell blocks of a page, in order. Panics at a comment that it does not understand.
#[track_caller]
pub fn blocks(page: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut fence: Option<bool> = None;
    let (mut runs, mut codes) = (Where::Everywhere, Vec::new());
    for (at, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), fence) {
            (Some(kind), None) => {
                fence = Some(kind == "sh");
                if kind == "sh" {
                    let runs = std::mem::replace(&mut runs, Where::Everywhere);
                    let codes = std::mem::take(&mut codes);
                    found.push(Block { line: at + 1, text: String::new(), runs, codes });
                }
            }
            (Some(_), Some(_)) => fence = None,
            (None, Some(true)) => {
                let _ = writeln!(found.last_mut().unwrap().text, "{line}");
            }
            (None, Some(false)) => {}
            (None, None) => {
                let comment = line.strip_prefix("<!-- ").and_then(|line| line.strip_suffix(" -->"));
                if let Some(reason) = comment.and_then(|text| text.strip_prefix("not run: ")) {
                    runs = Where::Nowhere(reason.to_owned());
                } else if comment == Some("real wheels") {
                    runs = Where::RealWheels;
                } else if let Some((command, code)) =
                    comment.and_then(|text| text.split_once("` exits with "))
                {
                    codes.push((command[1..].to_owned(), code.parse().unwrap()));
                } else {
                    assert!(
                        runs == Where::Everywhere && codes.is_empty(),
                        "line {at}: a comment about a block, and no `sh` block below it"
                    );
                }
            }
        }
    }
    found
}

/// Reads blocks from files and runs each command of them; a command is as many lines as the shell needs to have it whole.
const DRIVER: &str = r#"
fail() {
    printf '%s: `%s` ended with %s, not %s\n' "$1" "${2%$'\n'}" "$3" "$4" >&2
    exit 99
}
for block in "$BLOCKS"/*.sh; do
    exec 3<"$block"
    chunk=
    while IFS= read -r line <&3; do
        chunk+=$line$'\n'
        case $line in *\\) continue ;; esac
        if [ -n "$(bash -n <<<"$chunk" 2>&1)" ]; then continue; fi
        want=0
        while IFS=$'\t' read -r code start; do
            case $chunk in "$start"*) want=$code ;; esac
        done <"${block%.sh}.codes"
        eval "$chunk" </dev/null
        got=$?
        [ "$got" = "$want" ] || fail "${block##*/}" "$chunk" "$got" "$want"
        chunk=
    done
    [ -z "$chunk" ] || fail "${block##*/}" "$chunk" "half a command" 0
    echo "ran ${block##*/}" >>"$BLOCKS/log"
done
"#;

/// Runs blocks in one bash, in order; `command` is a bash with the session's environment. Returns what went wrong.
pub fn run(mut command: Command, blocks: &[&Block], scratch: &Path) -> Result<(), String> {
    let _ = fs::remove_dir_all(scratch);
    fs::create_dir_all(scratch).unwrap();
    for block in blocks {
        // Numbered, so that the shell's own order is the page's.
        let name = format!("line {:05}", block.line);
        fs::write(scratch.join(format!("{name}.sh")), &block.text).unwrap();
        let mut codes = String::new();
        for (start, code) in &block.codes {
            let _ = writeln!(codes, "{code}\t{start}");
        }
        fs::write(scratch.join(format!("{name}.codes")), codes).unwrap();
    }
    command.env("BLOCKS", scratch).args(["-c", DRIVER]);
    let ran = command.output().unwrap();
    let log = fs::read_to_string(scratch.join("log")).unwrap_or_default();
    if ran.status.success() && log.lines().count() == blocks.len() {
        return Ok(());
    }
    Err(format!(
        "{}\n-- stdout\n{}\n-- stderr\n{}",
        ran.status,
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr)
    ))
}

/// Every Markdown page that people read, by its path below the checkout.
pub fn pages() -> Vec<PathBuf> {
    fn walk(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = vec![root.join("README.md")];
    walk(&root.join("docs"), &mut found);
    found.sort();
    found.iter().map(|path| path.strip_prefix(root).unwrap().to_owned()).collect()
}
