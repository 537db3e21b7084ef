//! How a report looks on a terminal: long lines broken at words, and a few colours. Piped text is left as it is, so that
//! one fact stays one line.

/// Breaks the lines of `text` at blanks so that none is wider than `width`, where words allow it. What follows stands below
/// the line's last column.
pub(super) fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for line in text.split_inclusive('\n') {
        let (body, end) = match line.strip_suffix('\n') {
            Some(body) => (body, "\n"),
            None => (line, ""),
        };
        // Each round breaks behind the indent, so what is left gets shorter and this ends.
        let indent = column(body, width).min(width / 2);
        let mut rest = body.to_owned();
        while let Some(at) = break_at(&rest, width, indent) {
            let (head, tail) = rest.split_at(at);
            out.push_str(head.trim_end());
            out.push('\n');
            rest = format!("{}{}", " ".repeat(indent), tail.trim_start());
        }
        out.push_str(&rest);
        out.push_str(end);
    }
    out
}

/// Where the last column of a line begins, if that is in its left half; else a little behind the line's own beginning.
fn column(line: &str, width: usize) -> usize {
    let lead = line.len() - line.trim_start().len();
    let half: String = line.chars().take(width / 2).collect();
    let last = half.rfind("  ").map(|at| at + 2).filter(|at| *at > lead && *at < half.len());
    last.map_or(lead + 2, |at| half[..at].chars().count())
}

/// The byte at which a line that is too wide is broken: its last single blank within the width, behind the indent.
fn break_at(line: &str, width: usize, indent: usize) -> Option<usize> {
    if line.chars().count() <= width {
        return None;
    }
    let blank = |(_, character): &(usize, char)| *character == ' ';
    let fits = line.char_indices().take(width + 1).skip(indent + 1).filter(blank).last();
    // A word wider than the line stays whole.
    let found = fits.or_else(|| line.char_indices().skip(width).find(blank));
    found.map(|(at, _)| at).filter(|at| !line[*at..].trim().is_empty())
}

/// Words that begin a line about something that was done.
const DONE: [&str; 8] =
    ["Added", "Installed", "Linked", "Locked", "Packed", "Pinned", "Removed", "Replaced"];

/// Colours what was done, the first word of a table's line, and what stands between backticks.
pub(super) fn painted(text: &str) -> String {
    text.split_inclusive('\n').map(line).collect()
}

fn line(line: &str) -> String {
    let lead = line.len() - line.trim_start().len();
    let (blank, rest) = line.split_at(lead);
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (first, rest) = rest.split_at(end);
    let is_row = rest.starts_with("  ") || (lead > 0 && ["why:", "fix:"].contains(&first));
    let first = if DONE.contains(&first) {
        format!("\u{1b}[32;1m{first}\u{1b}[0m")
    } else if first == "note:" {
        format!("\u{1b}[33m{first}\u{1b}[0m")
    } else if is_row && !first.is_empty() {
        format!("\u{1b}[1m{first}\u{1b}[0m")
    } else {
        quoted(first)
    };
    format!("{blank}{first}{}", quoted(rest))
}

/// Colours the inside of backticks.
fn quoted(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    // An odd one has no partner.
    if parts.len().is_multiple_of(2) {
        return text.to_owned();
    }
    let paint = |(at, part): (usize, &&str)| match at % 2 {
        1 => format!("`\u{1b}[36m{part}\u{1b}[0m`"),
        _ => (*part).to_owned(),
    };
    parts.iter().enumerate().map(paint).collect()
}

#[cfg(test)]
mod tests {
    use super::{painted, wrapped};

    #[test]
    fn lines_are_broken_below_their_last_column() {
        let text =
            "CUDA        13.0 12.9 12.8 12.6 12.5\nshort\n  cudnn  9.1  the newest that fits\n";
        assert_eq!(
            wrapped(text, 26),
            "CUDA        13.0 12.9 12.8\n            12.6 12.5\nshort\n  cudnn  9.1  the newest\n         that fits\n"
        );
        for width in [1, 5, 20, 80] {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&wrapped(text, width)), words(text));
        }
        let long = "a-word-that-is-wider-than-the-line and more";
        assert_eq!(wrapped(long, 10), "a-word-that-is-wider-than-the-line\n  and more");
        assert_eq!(wrapped("ä ö ü", 80), "ä ö ü");
    }

    #[test]
    fn colours_change_no_letter() {
        let text = "Pinned `12.4` in `x`\nactive     12.4\nnote: odd ` tick\n  why: it is\nplain\n";
        let painted = painted(text);
        assert!(painted.contains("\u{1b}[32;1mPinned\u{1b}[0m `\u{1b}[36m12.4\u{1b}[0m`"));
        assert!(painted.contains("\u{1b}[1mactive\u{1b}[0m"));
        let mut bare = painted;
        for code in ["\u{1b}[32;1m", "\u{1b}[36m", "\u{1b}[33m", "\u{1b}[1m", "\u{1b}[0m"] {
            bare = bare.replace(code, "");
        }
        assert_eq!(bare, text);
    }
}
