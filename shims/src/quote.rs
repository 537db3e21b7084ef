//! Quoting of values for generated shell text. Every value that reaches a shell goes through here; the tests run
//! the real shells.
//!
//! Values are bytes: a path need not be UTF-8. Where a language's strings are text (JSON, nushell), what is not
//! UTF-8 is replaced.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

fn is_plain(bytes: &[u8]) -> bool {
    !bytes.is_empty()
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"/._-+:@".contains(byte))
}

/// Wraps bytes in single quotes, writing `escaped` for every single quote inside.
fn single(bytes: &[u8], escaped: &[u8]) -> Vec<u8> {
    let mut out = vec![b'\''];
    for byte in bytes {
        if *byte == b'\'' { out.extend_from_slice(escaped) } else { out.push(*byte) }
    }
    out.push(b'\'');
    out
}

/// Quotes for bash, zsh, dash, ksh, mksh, yash and busybox: bare when plainly safe, else in single quotes.
pub fn posix(value: &OsStr) -> Vec<u8> {
    let bytes = value.as_bytes();
    if is_plain(bytes) { bytes.to_vec() } else { single(bytes, br"'\''") }
}

/// Quotes a word of a command that is shown to be pasted; what is not UTF-8 is replaced.
pub fn word(value: impl AsRef<OsStr>) -> String {
    String::from_utf8_lossy(&posix(value.as_ref())).into_owned()
}

/// Quotes for fish: in its single quotes a backslash escapes itself and the quote.
pub fn fish(value: &OsStr) -> Vec<u8> {
    let bytes = value.as_bytes();
    if is_plain(bytes) {
        return bytes.to_vec();
    }
    let mut out = vec![b'\''];
    for byte in bytes {
        if matches!(byte, b'\'' | b'\\') {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out.push(b'\'');
    out
}

/// Quotes for tcsh, where `!` is history and a newline ends a word even in single quotes. A value with a newline
/// cannot survive the backquotes that a tcsh hook is evaluated in: `None`.
pub fn tcsh(value: &OsStr) -> Option<Vec<u8>> {
    let bytes = value.as_bytes();
    if bytes.contains(&b'\n') {
        return None;
    }
    if is_plain(bytes) {
        return Some(bytes.to_vec());
    }
    let mut out = vec![b'\''];
    for byte in bytes {
        match byte {
            b'\'' => out.extend_from_slice(br"'\''"),
            b'!' => out.extend_from_slice(br"\!"),
            other => out.push(*other),
        }
    }
    out.push(b'\'');
    Some(out)
}

/// Quotes for elvish, where a single quote is doubled.
pub fn elvish(value: &OsStr) -> Vec<u8> {
    single(value.as_bytes(), b"''")
}

/// Quotes for Python and so for xonsh: bytes that are not UTF-8 become the surrogates that Python's file system
/// encoding reads back.
pub fn python(value: &OsStr) -> Vec<u8> {
    let mut out = String::from("'");
    for chunk in value.as_bytes().utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\'' => out.push_str("\\'"),
                '\\' => out.push_str("\\\\"),
                ' '..='~' => out.push(character),
                other if u32::from(other) <= 0xffff => {
                    let _ = write!(out, "\\u{:04x}", u32::from(other));
                }
                other => {
                    let _ = write!(out, "\\U{:08x}", u32::from(other));
                }
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\udc{byte:02x}");
        }
    }
    out.push('\'');
    out.into_bytes()
}

/// Writes a JSON string; what is not UTF-8 is replaced.
pub fn json(value: &OsStr) -> Vec<u8> {
    let mut out = String::from("\"");
    for character in value.to_string_lossy().chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if u32::from(control) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;
    use std::process::{Command, Stdio};

    const NASTY: [&str; 24] = [
        "",
        "plain/path-1.2+x",
        "a b",
        "it's",
        "''",
        "'",
        "\"",
        "$HOME",
        "$(id)",
        "`id`",
        "a\\",
        "\\'",
        "\\\\'x",
        "a;b|c&d>e<f",
        "*?[a]{b,c}~",
        "#c",
        "!e !! !$",
        "line\nbreak\n",
        "tab\tcr\r",
        "-n",
        "=ls",
        "%1 ^x",
        "ünï\u{1F600}",
        "\u{1b}[31m",
    ];

    /// A fixed stream of pseudo-random values over an alphabet of what shells care about.
    fn fuzz(count: usize) -> Vec<OsString> {
        let alphabet = b"'\"\\$`!\n \t;&|<>(){}[]*?#~=%^@,:-+ab0/.\r\xc3\xa9\xff";
        let mut state = 0x2545_F491_4F6C_DD1D_u64;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state >> 33).unwrap()
        };
        (0..count)
            .map(|_| {
                let length = next() % 12;
                OsString::from_vec((0..length).map(|_| alphabet[next() % alphabet.len()]).collect())
            })
            .collect()
    }

    /// Runs a shell over a script that prints every value followed by a zero byte, and compares.
    fn check(shell: &[&str], values: &[OsString], line: impl Fn(&OsStr) -> Option<Vec<u8>>) {
        let mut script = Vec::new();
        let mut expected = Vec::new();
        for value in values {
            let Some(text) = line(value) else { continue };
            script.extend_from_slice(&text);
            script.push(b'\n');
            expected.extend_from_slice(value.as_bytes());
            expected.push(0);
        }
        let spawned = Command::new(shell[0])
            .args(&shell[1..])
            .env("HISTFILE", "")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let Ok(mut child) = spawned else {
            println!("skipped: no {}", shell[0]);
            return;
        };
        let mut stdin = child.stdin.take().unwrap();
        let writer = std::thread::spawn(move || {
            use std::io::Write as _;
            let _ = stdin.write_all(&script);
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        let shown = String::from_utf8_lossy(&output.stderr);
        assert!(output.stdout == expected, "{shell:?} read something else: {shown}");
    }

    fn values() -> Vec<OsString> {
        NASTY.iter().map(OsString::from).chain(fuzz(2000)).collect()
    }

    fn printf(quoted: Vec<u8>) -> Vec<u8> {
        [b"printf '%s\\0' ".to_vec(), quoted].concat()
    }

    #[test]
    fn the_shells_of_the_bourne_family_read_back_every_value() {
        for shell in [
            &["sh"][..],
            &["bash", "--norc"],
            &["bash", "--norc", "--posix"],
            &["dash"],
            &["zsh", "-f"],
            &["zsh", "-f", "-o", "rcquotes"],
            &["ksh"],
            &["mksh"],
            &["yash"],
            &["busybox", "sh"],
        ] {
            // yash reads its input as text of the locale.
            let values: Vec<OsString> = values()
                .into_iter()
                .filter(|value| shell[0] != "yash" || value.as_bytes().is_ascii())
                .collect();
            check(shell, &values, |value| Some(printf(posix(value))));
        }
    }

    #[test]
    fn fish_reads_back_every_value() {
        check(&["fish", "--no-config"], &values(), |value| Some(printf(fish(value))));
    }

    #[test]
    fn tcsh_reads_back_every_value_without_a_newline() {
        let printenv = |value: &OsStr| {
            let quoted = tcsh(value)?;
            Some(
                [b"setenv V ".to_vec(), quoted, b"; sh -c 'printf \"%s\\0\" \"$V\"'".to_vec()]
                    .concat(),
            )
        };
        let values: Vec<OsString> = NASTY.iter().map(OsString::from).chain(fuzz(200)).collect();
        check(&["tcsh", "-f"], &values, printenv);
    }

    #[test]
    fn python_reads_back_every_value() {
        check(&["python3", "-"], &values(), |value| {
            let head = b"import sys,os; sys.stdout.buffer.write(os.fsencode(".to_vec();
            Some([head, python(value), b")+b'\\0')".to_vec()].concat())
        });
        check(&["python3", "-"], &values(), |value| {
            let text = value.to_str()?;
            let head = b"import sys,json; sys.stdout.buffer.write(json.loads(".to_vec();
            let inner = json(OsStr::new(text));
            let quoted = python(OsStr::from_bytes(&inner));
            Some([head, quoted, b").encode()+b'\\0')".to_vec()].concat())
        });
    }

    #[test]
    fn elvish_reads_back_every_value() {
        let file = std::env::temp_dir().join(format!("cuenv-elvish-{}", std::process::id()));
        let values: Vec<OsString> =
            values().into_iter().filter(|value| value.to_str().is_some()).collect();
        let mut script = Vec::new();
        let mut expected = Vec::new();
        for value in &values {
            script.extend_from_slice(b"print ");
            script.extend_from_slice(&elvish(value));
            script.extend_from_slice(b"\"\\x00\"\n");
            expected.extend_from_slice(value.as_bytes());
            expected.push(0);
        }
        std::fs::write(&file, script).unwrap();
        let output = Command::new("elvish").arg("-norc").arg(&file).output();
        let _ = std::fs::remove_file(&file);
        match output {
            Err(_) => println!("skipped: no elvish"),
            Ok(output) => assert!(output.stdout == expected, "{:?}", output.stderr),
        }
    }
}
