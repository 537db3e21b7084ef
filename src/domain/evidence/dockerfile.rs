//! A Dockerfile's `FROM` lines.

use std::collections::BTreeMap;

/// An image that a Dockerfile starts a stage from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct From {
    /// The image, with the defaults of `ARG` put in.
    pub image: String,
    /// The line, counted from one.
    pub line: usize,
}

/// Returns the images, in order; stages that continue an earlier stage are left out.
pub fn images(text: &str) -> Vec<From> {
    let mut defaults: BTreeMap<&str, String> = BTreeMap::new();
    let mut stages: Vec<String> = Vec::new();
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        let keyword = words.next().unwrap_or("").to_ascii_uppercase();
        match keyword.as_str() {
            // Only those before the first FROM count there, and later ones do no harm.
            "ARG" => {
                for word in words {
                    if let Some((name, value)) = word.split_once('=') {
                        let value = expand(value.trim_matches(['"', '\'']), &defaults);
                        defaults.insert(name, value);
                    }
                }
            }
            "FROM" => {
                let mut words = words.filter(|word| !word.starts_with("--"));
                let Some(image) = words.next() else { continue };
                let image = expand(image, &defaults);
                let earlier = stages.iter().any(|stage| stage.eq_ignore_ascii_case(&image));
                if words.next().is_some_and(|word| word.eq_ignore_ascii_case("as")) {
                    stages.extend(words.next().map(str::to_owned));
                }
                if !earlier {
                    found.push(From { image, line: index + 1 });
                }
            }
            _ => {}
        }
    }
    found
}

/// Puts the defaults of variables in: `$NAME`, `${NAME}`, `${NAME:-value}`.
fn expand(text: &str, defaults: &BTreeMap<&str, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let (name, fallback, after) = if let Some(inner) = rest.strip_prefix('{') {
            let (inside, after) = inner.split_once('}').unwrap_or((inner, ""));
            let (name, fallback) = inside.split_once(":-").unwrap_or((inside, ""));
            (name, fallback, after)
        } else {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            let end = end.unwrap_or(rest.len());
            (&rest[..end], "", &rest[end..])
        };
        out.push_str(defaults.get(name).map_or(fallback, String::as_str));
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_stages_and_arguments() {
        let text = "\
# syntax=docker/dockerfile:1
ARG CUDA=12.4.1 OS=ubuntu22.04
FROM --platform=linux/amd64 nvidia/cuda:${CUDA}-cudnn-devel-$OS AS build
RUN make
from build as test
FROM ${BASE:-nvcr.io/nvidia/pytorch:24.06-py3}
FROM
";
        let found = images(text);
        assert_eq!(
            found,
            [
                From { image: "nvidia/cuda:12.4.1-cudnn-devel-ubuntu22.04".to_owned(), line: 3 },
                From { image: "nvcr.io/nvidia/pytorch:24.06-py3".to_owned(), line: 6 },
            ]
        );
    }

    #[test]
    fn never_panics_on_any_text() {
        arbtest::arbtest(|u| {
            let text: String = u.arbitrary()?;
            let _ = images(&format!("FROM {text}"));
            Ok(())
        });
    }
}
