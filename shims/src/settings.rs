//! The two settings that activation itself asks for: lines of `config.toml` before its first table.
//!
//! ```toml
//! venv = "off"           # which NVIDIA libraries win where a venv brings its own; a pin's `venv` wins over it
//! auto-install = true    # a shim installs a toolchain that is missing
//! ```
//!
//! A shim reads no TOML. cuenv reads the file fully and refuses one in which these two are written in a way that this
//! scan does not see. Both take its text from [`text`]; a file that cannot be read is an error where something is asked
//! that it may say: the policy here, an index there.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::dirs::Dirs;
use crate::pin::{shown, string, without_comment};
use crate::read::{self, ReadError};
use crate::venv::Policy;

/// No file of settings comes near.
const LIMIT: u64 = 4 << 20;

/// Reads a file of settings without being blocked by what it is; `Ok(None)` when it is not there. A link that leads
/// nowhere is not there either: such files are often linked from elsewhere.
pub fn text(path: &Path) -> Result<Option<String>, ReadError> {
    match read::text(path, LIMIT) {
        Ok(found) => Ok(found.map(|(text, _)| text)),
        Err(ReadError::Dangling(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What the settings say of activation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The venv policy where neither a variable nor the pin says one.
    pub venv: Option<Policy>,
    /// Whether a missing toolchain is installed where the variable does not say.
    pub auto_install: Option<bool>,
}

/// Why the settings cannot be used.
#[derive(Debug)]
pub enum SettingsError {
    /// The file cannot be read.
    Read(PathBuf, ReadError),
    /// A value that the key cannot have.
    Value {
        /// The file.
        path: PathBuf,
        /// The key.
        key: &'static str,
        /// The value, cut and escaped.
        text: String,
    },
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path, error) => write!(f, "cannot use `{}`: {error}", path.display()),
            Self::Value { path, key, text } => {
                write!(f, "cannot use `{}`: `{text}` is not a value of `{key}`", path.display())
            }
        }
    }
}

impl std::error::Error for SettingsError {}

impl Settings {
    /// Reads the settings; a file that is not there says nothing.
    pub fn read(dirs: &Dirs) -> Result<Self, SettingsError> {
        let path = dirs.settings_file();
        match text(&path) {
            Ok(None) => Ok(Self::default()),
            Ok(Some(text)) => {
                Self::parse(&text).map_err(|(key, text)| SettingsError::Value { path, key, text })
            }
            Err(error) => Err(SettingsError::Read(path, error)),
        }
    }

    /// Reads the text of the file; an error is the key and its value.
    pub fn parse(text: &str) -> Result<Self, (&'static str, String)> {
        let mut settings = Self::default();
        for line in text.lines().map(without_comment) {
            if line.starts_with('[') {
                break;
            }
            let Some((key, value)) = line.split_once('=') else { continue };
            let value = value.trim();
            match key.trim() {
                "venv" => {
                    let policy = string(value).and_then(|word| word.parse().ok());
                    let inside = value.trim_matches(['"', '\'']);
                    settings.venv = Some(policy.ok_or_else(|| ("venv", shown(inside)))?);
                }
                "auto-install" => {
                    settings.auto_install = Some(match value {
                        "true" => true,
                        "false" => false,
                        _ => return Err(("auto-install", shown(value))),
                    });
                }
                _ => {}
            }
        }
        Ok(settings)
    }
}

/// Reads a variable that is a switch: `1`, `true`, `yes`, `on` and their opposites; `None` for anything else.
pub fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" | "y" | "t" => Some(true),
        "0" | "false" | "no" | "off" | "n" | "f" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walk::tests::Temp;

    #[test]
    fn reads_the_lines_before_the_first_table() {
        let text =
            "# mine\njobs = 3\nvenv = 'off' # for now\nauto-install=true\n[index]\nvenv = 'x'\n";
        let expected = Settings { venv: Some(Policy::Off), auto_install: Some(true) };
        assert_eq!(Settings::parse(text), Ok(expected));
        assert_eq!(Settings::parse("[index]\nvenv = \"off\"\n"), Ok(Settings::default()));
        assert_eq!(Settings::parse(""), Ok(Settings::default()));
    }

    #[test]
    fn a_link_to_nowhere_says_nothing_and_an_odd_file_is_an_error() {
        let temp = Temp::new("settings");
        let path = temp.write("data/config/config.toml", "");
        assert_eq!(temp.dirs().settings_file(), path);
        std::fs::write(&path, format!("venv = 'off'\n#{}", "x".repeat(100_000))).unwrap();
        assert_eq!(Settings::read(&temp.dirs()).unwrap().venv, Some(Policy::Off));
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("nowhere", &path).unwrap();
        assert_eq!(Settings::read(&temp.dirs()).unwrap(), Settings::default());
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(matches!(Settings::read(&temp.dirs()), Err(SettingsError::Read(..))));
    }

    #[test]
    fn a_wrong_value_names_its_key() {
        assert_eq!(Settings::parse("venv = 'maybe'"), Err(("venv", "maybe".to_owned())));
        assert_eq!(Settings::parse("auto-install = 1"), Err(("auto-install", "1".to_owned())));
    }
}
