//! Quoting for the notations of this folder.

use shims::quote;

/// One word of a POSIX shell.
pub(super) fn shell(text: &str) -> String {
    text_of(quote::posix(text.as_ref()))
}

fn text_of(quoted: Vec<u8>) -> String {
    String::from_utf8(quoted).expect("what is quoted is text")
}

/// One word of Tcl, as a quoted string: braces would need to balance.
pub(super) fn tcl(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        if "\\\"$[]{}".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

/// A YAML scalar in double quotes, with the `$` that compose would replace doubled.
pub(super) fn compose(text: &str) -> String {
    json(&text.replace('$', "$$"))
}

/// A JSON string; also a YAML scalar.
pub(super) fn json(text: &str) -> String {
    text_of(quote::json(text.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out_of_its_quotes() {
        assert_eq!(shell("/a/b"), "/a/b");
        assert_eq!(shell("a $x'b"), r"'a $x'\''b'");
        assert_eq!(shell(""), "''");
        assert_eq!(tcl("a[exit]$x{\"\\"), r#""a\[exit\]\$x\{\"\\""#);
        assert_eq!(compose("$HOME\"x"), r#""$$HOME\"x""#);
        assert_eq!(json("a\tb\\"), "\"a\\tb\\\\\"");
    }
}
