//! The installer's receipt, `data/install-receipt`: what it put where, so that leaving takes exactly that away.
//!
//! ```text
//! cuenv-install 1
//! version 0.1.0
//! origin release            release, archive or checkout
//! bin /home/ada/.local/bin
//! base https://…            release: where archives come from
//! checkout /home/ada/cuenv  checkout: where it was built
//! dir PATH                  was not there before; removed when it is empty
//! file PATH                 belongs to cuenv
//! newfile PATH              a start-up file that was not there before; removed when it is empty
//! rc PATH                   holds cuenv's lines between markers
//! ```

use std::path::{Path, PathBuf};

const HEAD: &str = "cuenv-install 1";

/// The first line of the lines in a start-up file.
pub const MARK_BEGIN: &str = "# >>> cuenv >>>";
/// The same, where the file did not end in a newline and one was added.
pub const MARK_BEGIN_JOINED: &str = "# >>> cuenv >>> (a newline was added before this line)";
/// The last line.
pub const MARK_END: &str = "# <<< cuenv <<<";

/// Where an installation came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Fetched from below this address.
    Release {
        /// The address.
        base: String,
    },
    /// A release archive on this machine.
    Archive,
    /// Built from sources.
    Checkout(PathBuf),
}

/// An installation by `install.sh`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// The version that was installed.
    pub version: String,
    /// Where it came from.
    pub origin: Origin,
    /// The directory of the programs.
    pub bin: PathBuf,
    /// Files that belong to cuenv.
    pub files: Vec<PathBuf>,
    /// Start-up files with marked lines.
    pub start_up_files: Vec<PathBuf>,
    /// Start-up files that the installer made.
    pub new_files: Vec<PathBuf>,
    /// Directories that were not there before, outermost first.
    pub directories: Vec<PathBuf>,
}

/// A text that is no receipt this program reads.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstallationError {
    /// Not the first line of a receipt.
    #[error("not an installation receipt")]
    Head,
    /// A line that is missing or holds a path that is not absolute.
    #[error("installation receipt: bad or missing `{0}`")]
    Line(&'static str),
}

impl Installation {
    /// Reads a receipt.
    pub fn parse(text: &str) -> Result<Self, InstallationError> {
        let mut lines = text.lines();
        if lines.next() != Some(HEAD) {
            return Err(InstallationError::Head);
        }
        let lines: Vec<_> = lines.filter_map(|line| line.split_once(' ')).collect();
        let one = |key: &'static str| {
            lines
                .iter()
                .find(|(name, _)| *name == key)
                .map(|(_, value)| *value)
                .ok_or(InstallationError::Line(key))
        };
        let paths = |key: &'static str| -> Result<Vec<PathBuf>, InstallationError> {
            lines
                .iter()
                .filter(|(name, _)| *name == key)
                .map(|(_, value)| absolute(key, value))
                .collect()
        };
        let mut directories = paths("dir")?;
        directories.sort();
        Ok(Self {
            version: one("version")?.to_owned(),
            origin: match one("origin")? {
                "release" => Origin::Release { base: one("base")?.to_owned() },
                "archive" => Origin::Archive,
                "checkout" => Origin::Checkout(absolute("checkout", one("checkout")?)?),
                _ => return Err(InstallationError::Line("origin")),
            },
            bin: absolute("bin", one("bin")?)?,
            files: paths("file")?,
            start_up_files: paths("rc")?,
            new_files: paths("newfile")?,
            directories,
        })
    }
}

fn absolute(key: &'static str, value: &str) -> Result<PathBuf, InstallationError> {
    let path = Path::new(value);
    let plain = path.components().all(|part| part != std::path::Component::ParentDir);
    if path.is_absolute() && plain {
        Ok(path.to_owned())
    } else {
        Err(InstallationError::Line(key))
    }
}

/// Takes the marked lines out of a start-up file, whatever its encoding; `None` when there are none.
pub fn without_marked_lines(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut inside = false;
    let mut cut = false;
    let mut joined = false;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let bare = line.strip_suffix(b"\n").unwrap_or(line);
        let is = |mark: &str| bare == mark.as_bytes();
        if !inside && (is(MARK_BEGIN) || is(MARK_BEGIN_JOINED)) {
            (inside, cut) = (true, true);
            joined = is(MARK_BEGIN_JOINED);
        } else if inside {
            inside = !is(MARK_END);
        } else {
            out.extend_from_slice(line);
            joined = false;
        }
    }
    // A block whose end is gone was edited by hand: better to keep everything than to lose what follows it.
    if !cut || inside {
        return None;
    }
    // Only where nothing followed the block was the newline before it ours alone.
    if joined && out.ends_with(b"\n") {
        out.pop();
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "cuenv-install 1\nversion 0.1.0\norigin release\nbin /h/.local/bin\n\
        base https://index.example/cuenv\ndir /h/.local/bin\ndir /h/.local\n\
        file /h/.local/bin/cuenv\nnewfile /h/.profile\nrc /h/.profile\n";

    #[test]
    fn reads_what_the_installer_writes() {
        let found = Installation::parse(TEXT).unwrap();
        assert_eq!(
            found.origin,
            Origin::Release { base: "https://index.example/cuenv".to_owned() }
        );
        assert_eq!(found.directories, [Path::new("/h/.local"), Path::new("/h/.local/bin")]);
        assert_eq!(found.files, [Path::new("/h/.local/bin/cuenv")]);
        assert_eq!(found.new_files, found.start_up_files);
    }

    #[test]
    fn refuses_what_it_does_not_understand() {
        for (from, to) in [
            ("cuenv-install 1", "cuenv-install 2"),
            ("origin release", "origin apt"),
            ("file /h", "file h"),
            ("file /h/.local/bin/cuenv", "file /h/../etc/passwd"),
            ("base ", "bass "),
        ] {
            assert!(Installation::parse(&TEXT.replacen(from, to, 1)).is_err(), "{from}");
        }
    }

    #[test]
    fn gives_a_start_up_file_back_as_it_was() {
        for before in ["", "a\n", "a\nb\n", "a"] {
            let (gap, mark) = if before.is_empty() || before.ends_with('\n') {
                ("", MARK_BEGIN)
            } else {
                ("\n", MARK_BEGIN_JOINED)
            };
            let block = format!("{before}{gap}{mark}\n. x\n{MARK_END}\n");
            assert_eq!(without_marked_lines(block.as_bytes()).as_deref(), Some(before.as_bytes()));
            let later = if gap.is_empty() { format!("{before}z\n") } else { "a\nz\n".to_owned() };
            assert_eq!(
                without_marked_lines(format!("{block}z\n").as_bytes()),
                Some(later.into_bytes())
            );
        }
        assert_eq!(without_marked_lines(b"a\n"), None);
        assert_eq!(without_marked_lines(format!("{MARK_BEGIN}\nkeep\n").as_bytes()), None);
    }
}
