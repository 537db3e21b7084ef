//! Text of others (file names, pins, servers' answers) made fit to be printed: no character of it moves the cursor, starts
//! a line of its own, changes the order of what is read, or is a command to the terminal.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

/// One line of text: line breaks are written as escapes too.
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_harmful(c) || matches!(c, '\n' | '\t'))
}

/// Text of several lines, whose line breaks and tabulators are its writer's own.
pub fn text(text: &str) -> Cow<'_, str> {
    escaped(text, is_harmful)
}

/// A path.
pub fn path(path: &Path) -> String {
    line(&path.to_string_lossy()).into_owned()
}

fn escaped(text: &str, harmful: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&harmful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '\n' if harmful('\n') => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' if harmful('\t') => out.push_str("\\t"),
            character if harmful(character) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
            }
            character => out.push(character),
        }
    }
    Cow::Owned(out)
}

/// Control characters but the line break and the tabulator, what turns the writing direction, and separators of lines.
fn is_harmful(character: char) -> bool {
    let control = character.is_control() && !matches!(character, '\n' | '\t');
    let turns = matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    control || turns || matches!(character, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_or_a_reader_is_escaped() {
        for (given, shown) in [
            ("plain ä 字", "plain ä 字"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("a\rb\nc\td", "a\\rb\\nc\\td"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("gpj.\u{202e}exe", "gpj.\\u{202e}exe"),
        ] {
            assert_eq!(line(given), shown);
        }
        assert_eq!(text("a\n\tb\r\u{7}"), "a\n\tb\\r\\u{7}");
        assert!(matches!(line("plain"), Cow::Borrowed(_)));
    }
}
