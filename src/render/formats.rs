//! An environment in the notation of the programs that start others: files, flags and annotations.

use std::fmt::Write as _;

/// A notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `NAME='value'` lines, as dotenv libraries and compose read them.
    Dotenv,
    /// Lines for the file that `GITHUB_ENV` names.
    Github,
    /// `Environment=` lines of a unit.
    Systemd,
    /// The lines of `docker run --env-file`.
    Docker,
    /// The lines of DeepSpeed's `.deepspeed_env`.
    Deepspeed,
    /// Open MPI's `-x` flags.
    Mpirun,
    /// Slurm's `--export` flag.
    Sbatch,
}

/// A value that a notation cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` cannot be written as {format}: its value holds {what}")]
pub struct Unwritable {
    /// The variable.
    pub name: String,
    /// The notation.
    pub format: &'static str,
    /// What the value holds.
    pub what: &'static str,
}

impl Format {
    /// Every notation.
    pub const ALL: [Self; 7] = [
        Self::Dotenv,
        Self::Github,
        Self::Systemd,
        Self::Docker,
        Self::Deepspeed,
        Self::Mpirun,
        Self::Sbatch,
    ];

    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dotenv => "dotenv",
            Self::Github => "github",
            Self::Systemd => "systemd",
            Self::Docker => "docker",
            Self::Deepspeed => "deepspeed",
            Self::Mpirun => "mpirun",
            Self::Sbatch => "sbatch",
        }
    }
}

/// Writes variables in a notation.
pub fn render(format: Format, variables: &[(String, String)]) -> Result<String, Unwritable> {
    let mut out = String::new();
    for (name, value) in variables {
        let refuse = |what| Unwritable { name: name.clone(), format: format.name(), what };
        if value.contains(['\n', '\r']) {
            return Err(refuse("a line break"));
        }
        let _ = match format {
            Format::Dotenv => writeln!(out, "{name}={}", dotenv(value)),
            Format::Github | Format::Docker | Format::Deepspeed => writeln!(out, "{name}={value}"),
            Format::Systemd => writeln!(out, "Environment=\"{name}={}\"", systemd(value)),
            Format::Mpirun => {
                if value.contains([' ', '\t']) {
                    return Err(refuse("a blank"));
                }
                write!(out, "{}-x {name}={value}", if out.is_empty() { "" } else { " " })
            }
            Format::Sbatch => {
                if value.contains([' ', '\t', ',']) {
                    return Err(refuse("a blank or a comma"));
                }
                let start = if out.is_empty() { "--export=ALL," } else { "," };
                write!(out, "{start}{name}={value}")
            }
        };
    }
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    Ok(out)
}

/// Single quotes are literal to every dotenv reader; only a value that holds one needs the double ones.
fn dotenv(value: &str) -> String {
    if !value.contains('\'') {
        return format!("'{value}'");
    }
    let mut out = String::from("\"");
    for character in value.chars() {
        if matches!(character, '"' | '\\' | '$' | '`') {
            out.push('\\');
        }
        out.push(character);
    }
    out.push('"');
    out
}

/// In a unit `%` is a specifier and a backslash an escape.
fn systemd(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render_one(format: Format, value: &str) -> Result<String, Unwritable> {
        render(format, &[("A".to_owned(), value.to_owned()), ("B".to_owned(), "/b".to_owned())])
    }

    #[test]
    fn each_notation() {
        for (format, expected) in [
            (Format::Dotenv, "A='/a b'\nB='/b'\n"),
            (Format::Github, "A=/a b\nB=/b\n"),
            (Format::Systemd, "Environment=\"A=/a b\"\nEnvironment=\"B=/b\"\n"),
            (Format::Docker, "A=/a b\nB=/b\n"),
            (Format::Deepspeed, "A=/a b\nB=/b\n"),
        ] {
            assert_eq!(render_one(format, "/a b").unwrap(), expected);
        }
        assert_eq!(render_one(Format::Mpirun, "/a").unwrap(), "-x A=/a -x B=/b\n");
        assert_eq!(render_one(Format::Sbatch, "/a").unwrap(), "--export=ALL,A=/a,B=/b\n");
        assert_eq!(render(Format::Sbatch, &[]).unwrap(), "");
    }

    #[test]
    fn what_a_notation_cannot_hold_is_refused_or_escaped() {
        assert!(render_one(Format::Mpirun, "/a b").is_err());
        assert!(render_one(Format::Sbatch, "/a,b").is_err());
        for format in Format::ALL {
            assert_eq!(render_one(format, "a\nB=evil").unwrap_err().what, "a line break");
        }
        assert!(render_one(Format::Dotenv, "it's $x").unwrap().starts_with("A=\"it's \\$x\"\n"));
        let unit = render_one(Format::Systemd, "a\"%h\\").unwrap();
        assert!(unit.starts_with("Environment=\"A=a\\\"%%h\\\\\"\n"));
    }
}
