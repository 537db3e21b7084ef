//! The two settings that activation itself asks for: lines of `config.toml` before its first table.
//!
//! ```toml
//! venv = "off"           # which NVIDIA libraries win where a venv brings its own; a pin's `venv` wins over it
//! auto-install = true    # a shim installs a toolchain that is missing
//! ```
//!
//! A shim reads no TOML. cuenv reads the file fully and refuses one in which these two are written in a way that this
//! scan does not see.

use std::fmt;
use std::path::PathBuf;

use crate::dirs::Dirs;
use crate::pin::{shown, string, without_comment};
use crate::read::{self, ReadError};
use crate::venv::Policy;

const LIMIT: u64 = 64 * 1024;

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
        match read::text(&path, LIMIT) {
            Ok(None) => Ok(Self::default()),
            Ok(Some((text, _))) => {
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
    fn a_wrong_value_names_its_key() {
        assert_eq!(Settings::parse("venv = 'maybe'"), Err(("venv", "maybe".to_owned())));
        assert_eq!(Settings::parse("auto-install = 1"), Err(("auto-install", "1".to_owned())));
    }
}
