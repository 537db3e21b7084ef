//! The two streams: standard output carries the report and nothing else; everything else goes to standard error.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::Write as _;

use serde::Serialize;

use super::exit::Exit;
use super::failure::Failure;
use super::look;

/// The schema number of every JSON document; adding keys is compatible, renaming or removing raises it.
pub const SCHEMA: u32 = 1;

/// How a run speaks.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one switch of the run")]
pub struct Output {
    /// Print the report as one JSON document.
    pub json: bool,
    /// Print less.
    pub quiet: bool,
    /// Print more: the number of `-v`.
    pub verbose: u8,
    /// How wide standard output is; `None` when it is no terminal.
    pub columns: Option<usize>,
    /// Colour on standard output.
    pub colour_stdout: bool,
    /// Colour on standard error.
    pub colour_stderr: bool,
}

#[derive(Serialize)]
struct Document<'a, T> {
    schema: u32,
    #[serde(flatten)]
    report: &'a T,
}

#[derive(Serialize)]
struct ErrorReport<'a> {
    error: ErrorBody<'a>,
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    exit: u8,
    message: String,
    causes: Vec<String>,
    hints: &'a [String],
}

/// Takes from a text what would steer a terminal; with `colour`, cuenv's own colours stay.
fn plain(text: &str, colour: bool) -> Cow<'_, str> {
    if !colour {
        return shims::shown::text(text);
    }
    let mut out = String::with_capacity(text.len());
    for (at, part) in text.split('\u{1b}').enumerate() {
        let end = part.strip_prefix('[').and_then(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';')?;
            rest[end..].starts_with('m').then_some(end + 2)
        });
        let (code, rest) = part.split_at(end.unwrap_or(0));
        if at > 0 {
            out.push_str(if end.is_some() { "\u{1b}" } else { "\\u{1b}" });
        }
        out.push_str(code);
        out.push_str(&shims::shown::text(rest));
    }
    Cow::Owned(out)
}

impl Output {
    /// Prints a report: its JSON form with `--json`, its `Display` otherwise. A closed pipe is not an error.
    pub fn report<T: Serialize + Display>(&self, report: &T) -> Result<(), Failure> {
        if self.json {
            return self.json(report);
        }
        // Made plain before it is broken and painted: what stands in it of others counts as it will be seen.
        let mut text = shims::shown::text(&report.to_string()).into_owned();
        if let Some(columns) = self.columns {
            text = look::wrapped(&text, columns);
        }
        if self.colour_stdout {
            text = look::painted(&text);
        }
        self.raw(&text)
    }

    /// Prints the report of a command that changes something: as [`Output::report`], and nothing with `--quiet`.
    pub fn result<T: Serialize + Display>(&self, report: &T) -> Result<(), Failure> {
        if self.quiet && !self.json { Ok(()) } else { self.report(report) }
    }

    /// Prints a value as the JSON document of this command.
    pub fn json<T: Serialize>(&self, report: &T) -> Result<(), Failure> {
        let document = Document { schema: SCHEMA, report };
        let text = serde_json::to_string_pretty(&document)
            .expect("reports hold only strings, numbers, lists and string-keyed maps");
        self.raw(&text)
    }

    /// Prints text for people on standard output, ending it with a newline if it does not. What stands in it of others
    /// cannot steer a terminal.
    pub fn text(&self, text: &str) -> Result<(), Failure> {
        self.raw(&plain(text, self.colour_stdout))
    }

    /// Prints text for programs (scripts, pages, documents) on standard output as it is, ending it with a newline.
    pub fn raw(&self, text: &str) -> Result<(), Failure> {
        let mut stdout = std::io::stdout().lock();
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let written = stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.write_all(end.as_bytes()))
            .and_then(|()| stdout.flush());
        match written {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(Failure::new(Exit::Failed, error))
            }
            _ => Ok(()),
        }
    }

    /// Says something that is not the report, unless `--quiet`.
    pub fn note(&self, line: &str) {
        if !self.quiet {
            Self::stderr(&plain(line, false));
        }
    }

    /// Warns; also with `--quiet`.
    pub fn warn(&self, line: &str) {
        Self::stderr(&format!("{} {}", self.paint("33;1", "warning:"), plain(line, false)));
    }

    /// Prints a failure: the text on standard error and, with `--json`, a document on standard output.
    pub fn failure(&self, failure: &Failure) {
        let mut text = format!("{} {}", self.paint("31;1", "error:"), failure.message());
        // Further lines are set off, so that none of a message's text looks like a message of its own.
        text = text.replace('\n', "\n    ");
        if let Some(excerpt) = failure.excerpt_text() {
            text.push_str("\n    ");
            text.push_str(&excerpt.replace('\n', "\n    "));
        }
        for cause in failure.causes() {
            text.push_str("\n  cause: ");
            text.push_str(&cause.replace('\n', "\n         "));
        }
        for hint in failure.hints() {
            text.push_str("\n  ");
            text.push_str(&self.paint("36", "hint:"));
            text.push(' ');
            text.push_str(&hint.replace('\n', "\n        "));
        }
        Self::stderr(&plain(&text, self.colour_stderr));
        if self.json {
            self.failure_document(failure);
        }
    }

    /// Prints a failure's document on standard output.
    pub fn failure_document(&self, failure: &Failure) {
        let body = ErrorBody {
            exit: failure.exit().code(),
            message: failure.message(),
            causes: failure.causes(),
            hints: failure.hints(),
        };
        let _ = self.json(&ErrorReport { error: body });
    }

    /// Colours `text` for standard error when colour is on there.
    pub fn paint(&self, code: &str, text: &str) -> String {
        if self.colour_stderr { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    pub(super) fn stderr(line: &str) {
        let _ = writeln!(std::io::stderr().lock(), "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn only_colours_pass_and_only_when_they_are_on() {
        let painted = "\u{1b}[31;1merror:\u{1b}[0m a\u{1b}[2Jb\u{1b}]0;title\u{7}\r";
        assert_eq!(
            plain(painted, true),
            "\u{1b}[31;1merror:\u{1b}[0m a\\u{1b}[2Jb\\u{1b}]0;title\\u{7}\\r"
        );
        assert!(!plain(painted, false).contains('\u{1b}'));
        assert_eq!(plain("[31m no escape", true), "[31m no escape");
    }
}
