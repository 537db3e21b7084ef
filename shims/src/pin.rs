//! The pin files: `.cuenv` in its two forms, and the two files of other tools that are read as pins.
//!
//! `.cuenv` is data only. It can name versions, a profile, components and the venv policy, and nothing else: no
//! path, no variable, no address, no command. That is why entering a directory needs no trust prompt.
//!
//! ```text
//! # one line                        # or a strict subset of TOML
//! 12.4+cudnn9                       toolchain = "12.4+cudnn9"
//!                                   profile = "devel"
//!                                   components = ["nccl2.21"]
//!                                   venv = "defer"
//! ```
//!
//! The subset: `key = "text"` (or `'text'`) and `key = ["a", "b"]`, arrays over several lines, comments. Keys
//! and tables that are not known are reported and otherwise without effect.

use std::fmt;

use crate::spec;
use crate::venv::Policy;

/// Largest pin file that is read, in bytes.
pub const LIMIT: u64 = 4096;

/// The profiles' names.
const PROFILES: [&str; 3] = ["base", "runtime", "devel"];

/// What a pin says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The spec as written, without what the other keys add.
    pub toolchain: String,
    /// The profile, when it is a key of its own.
    pub profile: Option<String>,
    /// Components that are added to the spec.
    pub components: Vec<String>,
    /// The venv policy.
    pub venv: Option<Policy>,
    /// Keys and tables that are not known, as written.
    pub unknown: Vec<String>,
}

/// Why a text is not a pin. Texts are cut and escaped, since the file may be anybody's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PinError {
    /// Nothing but comments.
    Empty,
    /// The line is not a spec.
    NotASpec {
        /// The line's number, from 1.
        line: usize,
        /// The text.
        text: String,
    },
    /// A second spec in the one-line form.
    SecondLine {
        /// The line's number, from 1.
        line: usize,
    },
    /// Not of the subset of TOML that is read.
    Syntax {
        /// The line's number, from 1.
        line: usize,
        /// What was expected.
        expected: &'static str,
    },
    /// The same key twice, or a profile both in the spec and as a key.
    Twice {
        /// The line's number, from 1.
        line: usize,
        /// The key.
        key: String,
    },
    /// A value that the key cannot have.
    Value {
        /// The line's number, from 1.
        line: usize,
        /// The key.
        key: &'static str,
        /// The value.
        text: String,
    },
    /// The TOML form without `toolchain`.
    NoToolchain {
        /// Keys that are there and not known.
        unknown: Vec<String>,
    },
}

impl fmt::Display for PinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it holds no spec"),
            Self::NotASpec { line, text } => write!(f, "line {line}: `{text}` is not a spec"),
            Self::SecondLine { line } => write!(f, "line {line}: one spec is enough"),
            Self::Syntax { line, expected } => write!(f, "line {line}: expected {expected}"),
            Self::Twice { line, key } => write!(f, "line {line}: `{key}` is given twice"),
            Self::Value { line, key, text } => {
                write!(f, "line {line}: `{text}` is not a value of `{key}`")?;
                match *key {
                    "venv" => write!(f, ": it is `{}`", Policy::ALL.map(Policy::name).join("`, `")),
                    "profile" => write!(f, ": it is `{}`", PROFILES.join("`, `")),
                    _ => Ok(()),
                }
            }
            Self::NoToolchain { unknown } => {
                f.write_str("`toolchain` is missing")?;
                match unknown.first() {
                    Some(key) => write!(f, ", and `{key}` is no key"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl std::error::Error for PinError {}

impl Pin {
    /// Returns a pin of a spec alone.
    pub fn of(toolchain: &str) -> Self {
        Self {
            toolchain: toolchain.to_owned(),
            profile: None,
            components: Vec::new(),
            venv: None,
            unknown: Vec::new(),
        }
    }

    /// Reads a pin.
    pub fn parse(text: &str) -> Result<Self, PinError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = Lines::of(text);
        let Some((number, first)) = lines.peek_significant() else { return Err(PinError::Empty) };
        if first.contains('=') || first.starts_with('[') {
            return toml_form(&mut lines);
        }
        let pin = Self::of(first);
        if !spec::is_spec(first) {
            return Err(PinError::NotASpec { line: number, text: shown(first) });
        }
        lines.next_significant();
        match lines.next_significant() {
            None => Ok(pin),
            Some((line, _)) => Err(PinError::SecondLine { line }),
        }
    }

    /// Returns the whole spec: the toolchain, the components and the profile in their one spelling.
    pub fn spec(&self) -> String {
        let (body, mut profile) = match self.toolchain.split_once('@') {
            Some((body, profile)) => (body, Some(profile)),
            None => (self.toolchain.as_str(), None),
        };
        if let Some(key) = &self.profile {
            profile = Some(key);
        }
        let mut out = body.to_owned();
        for component in &self.components {
            out.push('+');
            out.push_str(component);
        }
        if let Some(profile) = profile {
            out.push('@');
            out.push_str(profile);
        }
        spec::canonical(&out)
    }
}

/// Reads `.cuda-version`: a bare version or spec on its first significant line.
pub fn cuda_version(text: &str) -> Option<String> {
    let (_, line) = Lines::of(text).next_significant()?;
    let line = line.strip_prefix("cuda-").unwrap_or(line);
    let line = line.strip_prefix('v').unwrap_or(line);
    (spec::is_spec(line) && line.starts_with(|c: char| c.is_ascii_digit()))
        .then(|| spec::canonical(line))
}

/// Reads the `cuda` line of `.tool-versions`, its first version.
pub fn tool_versions(text: &str) -> Option<String> {
    let mut lines = Lines::of(text);
    while let Some((_, line)) = lines.next_significant() {
        let mut words = line.split_whitespace();
        if words.next() != Some("cuda") {
            continue;
        }
        let version = words.next()?;
        let known = version == spec::SYSTEM || version.starts_with(|c: char| c.is_ascii_digit());
        return (spec::is_spec(version) && known).then(|| spec::canonical(version));
    }
    None
}

/// Cuts and escapes a text for a message.
pub(crate) fn shown(text: &str) -> String {
    let cut: String = text.chars().take(40).collect();
    let more = if cut.len() < text.len() { "..." } else { "" };
    format!("{}{more}", cut.escape_debug())
}

/// Significant lines, without comments and outer blanks, with their numbers.
struct Lines<'a> {
    rest: std::iter::Peekable<std::iter::Enumerate<std::str::Lines<'a>>>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        Self { rest: text.lines().enumerate().peekable() }
    }

    fn peek_significant(&mut self) -> Option<(usize, &'a str)> {
        loop {
            let (number, line) = *self.rest.peek()?;
            let line = without_comment(line);
            if !line.is_empty() {
                return Some((number + 1, line));
            }
            self.rest.next();
        }
    }

    fn next_significant(&mut self) -> Option<(usize, &'a str)> {
        let found = self.peek_significant();
        self.rest.next();
        found
    }
}

/// Drops a comment: `#` outside of quotes.
pub(crate) fn without_comment(line: &str) -> &str {
    let mut quote = None;
    for (at, character) in line.char_indices() {
        match (quote, character) {
            (None, '#') => return line[..at].trim(),
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), close) if open == close => quote = None,
            _ => {}
        }
    }
    line.trim()
}

fn toml_form(lines: &mut Lines<'_>) -> Result<Pin, PinError> {
    let mut pin = Pin::of("");
    let mut seen: Vec<String> = Vec::new();
    let mut in_unknown_table = false;
    while let Some((number, line)) = lines.next_significant() {
        if let Some(table) = line.strip_prefix('[') {
            let name = table.trim_end_matches(']').trim();
            pin.unknown.push(format!("[{}]", shown(name)));
            in_unknown_table = true;
            continue;
        }
        let syntax = |expected| PinError::Syntax { line: number, expected };
        let (key, value) = line.split_once('=').ok_or(syntax("`key = \"text\"`"))?;
        let (key, mut value) = (key.trim(), value.trim().to_owned());
        if value.starts_with('[') {
            while !value.ends_with(']') {
                let (_, more) = lines.next_significant().ok_or(syntax("`]`"))?;
                value.push(' ');
                value.push_str(more);
            }
        }
        if in_unknown_table {
            continue;
        }
        if seen.iter().any(|earlier| earlier == key) {
            return Err(PinError::Twice { line: number, key: shown(key) });
        }
        seen.push(key.to_owned());
        let bad = |key: &'static str, text: &str| PinError::Value {
            line: number,
            key,
            text: shown(text),
        };
        match key {
            "toolchain" => {
                let toolchain = string(&value).ok_or(syntax("a text in quotes"))?;
                toolchain.clone_into(&mut pin.toolchain);
                if !spec::is_spec(&pin.toolchain) {
                    return Err(PinError::NotASpec { line: number, text: shown(&pin.toolchain) });
                }
            }
            "profile" => {
                let profile = string(&value).ok_or(syntax("a text in quotes"))?;
                if !PROFILES.contains(&profile) {
                    return Err(bad("profile", profile));
                }
                pin.profile = Some(profile.to_owned());
            }
            "components" => {
                for component in array(&value).ok_or(syntax("a list of texts in quotes"))? {
                    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.';
                    if !component.starts_with(|c: char| c.is_ascii_lowercase())
                        || !component.bytes().all(plain)
                        || component.len() > 60
                    {
                        return Err(bad("components", component));
                    }
                    pin.components.push(component.to_owned());
                }
            }
            "venv" => {
                let policy = string(&value).ok_or(syntax("a text in quotes"))?;
                pin.venv = Some(policy.parse().map_err(|()| bad("venv", policy))?);
            }
            _ => pin.unknown.push(shown(key)),
        }
    }
    if pin.toolchain.is_empty() {
        return Err(PinError::NoToolchain { unknown: pin.unknown });
    }
    if pin.profile.is_some() && pin.toolchain.contains('@') {
        return Err(PinError::Twice { line: 1, key: "profile".to_owned() });
    }
    if !spec::is_spec(&pin.spec()) {
        return Err(PinError::NotASpec { line: 1, text: shown(&pin.spec()) });
    }
    Ok(pin)
}

/// Returns the inside of a quoted text that needs no unescaping.
pub(crate) fn string(value: &str) -> Option<&str> {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inner = value[1..].strip_suffix(quote)?;
    (!inner.contains(quote) && !inner.contains('\\')).then_some(inner)
}

fn array(value: &str) -> Option<Vec<&str>> {
    let inner = value.strip_prefix('[')?.strip_suffix(']')?.trim();
    let inner = inner.strip_suffix(',').unwrap_or(inner);
    if inner.is_empty() {
        return Some(Vec::new());
    }
    inner.split(',').map(|item| string(item.trim())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_one_line_form() {
        for text in [
            "12.4+cudnn9",
            "12.4+cudnn9\n",
            "# why\n\n  12.4+cudnn9  # here\r\n",
            "\u{feff}12.4+cudnn9\n",
        ] {
            assert_eq!(Pin::parse(text), Ok(Pin::of("12.4+cudnn9")), "{text:?}");
        }
        assert_eq!(Pin::parse("12.4+nccl2+cudnn9").unwrap().spec(), "12.4+cudnn9+nccl2");
    }

    #[test]
    fn reads_the_toml_form() {
        let pin = Pin::parse(
            "# pinned\ntoolchain = \"12.4+cudnn9\" # c\nprofile = 'devel'\ncomponents = [\n  \"nccl2.21\", # x\n  \"cusparselt\",\n]\nvenv = \"override\"\ncolour = \"red\"\n[env]\nLD_PRELOAD = \"x\"\ntoolchain = \"9.9\"\n",
        )
        .unwrap();
        assert_eq!(pin.spec(), "12.4+cudnn9+cusparselt+nccl2.21@devel");
        assert_eq!(pin.venv, Some(Policy::Override));
        assert_eq!(pin.unknown, ["colour", "[env]"]);
        assert_eq!(Pin::parse("toolchain=\"13.0@devel\"").unwrap().spec(), "13.0@devel");
        assert_eq!(Pin::parse("toolchain=\"13\"\ncomponents=[]").unwrap().spec(), "13");
    }

    #[test]
    fn refuses_all_that_is_not_a_version() {
        let hostile = [
            "../../x",
            "$(id)",
            "`id`",
            "12.4; rm -rf /",
            "12.4\n12.5",
            "/etc/passwd",
            "12.4+cudnn9/../..",
            "root:x:0:0:root",
            "toolchain = \"../x\"",
            "toolchain = 12.4",
            "toolchain = \"12.4\"\ntoolchain = \"12.5\"",
            "toolchain = \"12.4@base\"\nprofile = \"devel\"",
            "toolchain = \"12.4\"\nprofile = \"big\"",
            "toolchain = \"12.4\"\ncomponents = [\"../x\"]",
            "toolchain = \"12.4\"\ncomponents = [\"a\"",
            "toolchain = \"12.4\"\ncomponents = [\"nccl@devel\"]",
            "toolchain = \"12.4\"\nvenv = \"/x\"",
            "toolchain = \"a\\u0041\"",
            "profile = \"base\"",
            "[toolchain]\nchannel = \"12\"",
            "",
            "# nothing\n",
            "\u{1b}[31m",
        ];
        for text in hostile {
            let error = Pin::parse(text).expect_err(text);
            assert!(!error.to_string().contains('\u{1b}'));
        }
        assert!(Pin::parse(&format!("toolchain = \"{}\"", "1".repeat(300))).is_err());
    }

    #[test]
    fn reads_the_files_of_other_tools() {
        assert_eq!(cuda_version("12.4\n").as_deref(), Some("12.4"));
        assert_eq!(cuda_version("# x\ncuda-12.4.1").as_deref(), Some("12.4.1"));
        assert_eq!(cuda_version("latest"), None);
        assert_eq!(tool_versions("python 3.11\ncuda 12.4.1 11.8\n").as_deref(), Some("12.4.1"));
        assert_eq!(tool_versions("cuda system").as_deref(), Some("system"));
        assert_eq!(tool_versions("cuda ref:master"), None);
        assert_eq!(tool_versions("python 3.11"), None);
    }

    #[test]
    fn a_mistyped_key_or_word_is_named() {
        let told = |text| Pin::parse(text).unwrap_err().to_string();
        let key = told("toolchian = \"12.4\"");
        assert_eq!(key, "`toolchain` is missing, and `toolchian` is no key");
        let word = told("toolchain = \"12.4\"\nvenv = \"overide\"");
        assert!(word.ends_with("of `venv`: it is `defer`, `override`, `off`"), "{word}");
    }

    #[test]
    fn a_second_line_is_pointed_at() {
        assert_eq!(Pin::parse("12.4\n\n12.5"), Err(PinError::SecondLine { line: 3 }));
    }
}
