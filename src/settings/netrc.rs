//! `.netrc`: user names and passwords by host, as curl and pip read them.

use std::path::{Path, PathBuf};

use crate::platform::http::{Credential, Credentials};
use crate::platform::process::Process;

/// Adds what `$NETRC`, `~/.netrc` or `~/_netrc` says. A file that cannot be read is worth a note, no more: it was
/// written for other programs.
pub(super) fn add(process: &Process, credentials: &mut Credentials, notes: &mut Vec<String>) {
    let home = process.var_os("HOME").map(Path::new);
    let named = process.var_os("NETRC").map(PathBuf::from);
    let usual = home.into_iter().flat_map(|home| [home.join(".netrc"), home.join("_netrc")]);
    let candidates: Vec<_> =
        if named.is_some() { named.into_iter().collect() } else { usual.collect() };
    for path in candidates {
        match super::read(&path) {
            Ok(Some(text)) => {
                for credential in parse(&text) {
                    credentials.add(credential);
                }
                return;
            }
            Ok(None) => {}
            Err(reason) => notes.push(format!("passed over: {reason}")),
        }
    }
}

/// The entries of a file. `default` is left out on purpose: it would send a password to every host.
fn parse(text: &str) -> Vec<Credential> {
    let mut found: Vec<Credential> = Vec::new();
    let mut open: Option<Credential> = None;
    let mut words = Words { rest: text };
    while let Some(word) = words.next() {
        match word.as_str() {
            "machine" => {
                found.extend(open.take());
                open = words.next().map(|host| Credential {
                    host: host.to_ascii_lowercase(),
                    port: None,
                    user: String::new(),
                    password: String::new(),
                });
            }
            "default" => found.extend(open.take()),
            "login" | "user" => {
                let value = words.next().unwrap_or_default();
                if let Some(open) = &mut open {
                    open.user = value;
                }
            }
            "password" | "passwd" => {
                let value = words.next().unwrap_or_default();
                if let Some(open) = &mut open {
                    open.password = value;
                }
            }
            "account" => drop(words.next()),
            "macdef" => words.skip_paragraph(),
            _ => {}
        }
    }
    found.extend(open);
    found
}

struct Words<'a> {
    rest: &'a str,
}

impl Words<'_> {
    /// A macro ends at the first empty line.
    fn skip_paragraph(&mut self) {
        self.rest = self.rest.split_once("\n\n").map_or("", |(_, rest)| rest);
    }
}

impl Iterator for Words<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        loop {
            self.rest = self.rest.trim_start();
            match self.rest.strip_prefix('#') {
                Some(comment) => self.rest = comment.split_once('\n').map_or("", |(_, rest)| rest),
                None => break,
            }
        }
        if let Some(quoted) = self.rest.strip_prefix('"') {
            return Some(self.quoted(quoted));
        }
        let end = self.rest.find(char::is_whitespace).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then(|| word.to_owned())
    }
}

impl<'a> Words<'a> {
    fn quoted(&mut self, text: &'a str) -> String {
        let mut word = String::new();
        let mut chars = text.char_indices();
        self.rest = "";
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = &text[at + 1..];
                    break;
                }
                '\\' => word.extend(chars.next().map(|(_, c)| c)),
                c => word.push(c),
            }
        }
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_in_the_usual_and_the_unusual_form() {
        let found = parse(
            "# comment with machine x\nmachine Index.example login bob password hunter2\n\
             machine b.example\n  login \"ann b\"\n  password \"p \\\"q\"\n  account z\n\
             macdef init\nmachine no.example login x password y\n\n\
             default login anonymous password secret\nmachine c.example password \"open",
        );
        let seen: Vec<_> = found
            .iter()
            .map(|entry| (entry.host.as_str(), entry.user.as_str(), entry.password.as_str()))
            .collect();
        assert_eq!(
            seen,
            [
                ("index.example", "bob", "hunter2"),
                ("b.example", "ann b", "p \"q"),
                ("c.example", "", "open"),
            ]
        );
        assert!(parse("machine").is_empty());
    }
}
