//! The HTML form of a listing (PEP 503, PEP 592, PEP 658): anchors and their attributes.
//!
//! A page is read as a row of tags; nothing is built from it and nothing has to be closed. That is all a list of
//! links needs, and it accepts what mirrors really send.

use super::json::check_version;
use super::page::{RawFile, RawMetadata, RawPage};

pub(super) fn parse(text: &str) -> Result<RawPage, String> {
    let mut page = RawPage::default();
    for tag in (Tags { rest: text }) {
        match tag.name.as_str() {
            "a" => page.files.extend(file(&tag)),
            // The first one counts, as in browsers.
            "base" if page.base.is_none() => page.base = tag.attribute("href"),
            "meta" if tag.attribute("name").as_deref() == Some("pypi:repository-version") => {
                check_version(&tag.attribute("content").unwrap_or_default())?;
            }
            _ => {}
        }
    }
    Ok(page)
}

fn file(anchor: &Tag<'_>) -> Option<RawFile> {
    let href = anchor.attribute("href")?;
    let metadata = anchor
        .attribute("data-core-metadata")
        .or_else(|| anchor.attribute("data-dist-info-metadata"));
    Some(RawFile {
        href,
        yanked: anchor.attribute("data-yanked"),
        metadata: match metadata.as_deref() {
            None | Some("false") => RawMetadata::Unknown,
            Some(text) => RawMetadata::Beside(text.strip_prefix("sha256=").map(str::to_owned)),
        },
        ..RawFile::default()
    })
}

/// An opening tag.
struct Tag<'a> {
    name: String,
    attributes: &'a str,
}

impl Tag<'_> {
    /// An attribute's value, empty for one without; the first of several counts.
    fn attribute(&self, name: &str) -> Option<String> {
        let mut rest = self.attributes;
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
            if rest.is_empty() {
                return None;
            }
            // A stray `=` at the front belongs to the name, as in the HTML standard.
            let end = rest
                .char_indices()
                .skip(1)
                .find(|(_, c)| c.is_ascii_whitespace() || "=/".contains(*c));
            let (found, after) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
            let (value, after) = value(after);
            if found.eq_ignore_ascii_case(name) {
                return Some(unescape(value));
            }
            rest = after;
        }
    }
}

/// Splits `= value` off the front, quoted or not.
fn value(text: &str) -> (&str, &str) {
    let Some(rest) = text.trim_start().strip_prefix('=') else { return ("", text) };
    let rest = rest.trim_start();
    for quote in ['"', '\''] {
        if let Some(inner) = rest.strip_prefix(quote) {
            return inner.split_once(quote).unwrap_or((inner, ""));
        }
    }
    rest.split_at(rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len()))
}

/// The opening tags of a text, without comments and without what scripts and styles contain.
struct Tags<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Tags<'a> {
    type Item = Tag<'a>;

    fn next(&mut self) -> Option<Tag<'a>> {
        loop {
            let (_, rest) = self.rest.split_once('<')?;
            if let Some(comment) = rest.strip_prefix("!--") {
                self.rest = comment.split_once("-->").map_or("", |(_, rest)| rest);
                continue;
            }
            let name_end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            let (name, rest) = rest.split_at(name_end);
            if name.is_empty() {
                self.rest = rest;
                continue;
            }
            let end = tag_end(rest);
            let attributes = &rest[..end];
            self.rest = rest.get(end + 1..).unwrap_or("");
            let name = name.to_ascii_lowercase();
            if matches!(name.as_str(), "script" | "style") {
                self.rest = after_closing(self.rest, &name);
                continue;
            }
            return Some(Tag { name, attributes });
        }
    }
}

/// Where the tag closes: the first `>` outside quotes.
fn tag_end(text: &str) -> usize {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if byte == open => quote = None,
            _ => {}
        }
    }
    text.len()
}

fn after_closing<'a>(text: &'a str, name: &str) -> &'a str {
    let closes = |at: &usize| {
        let rest = &text.as_bytes()[at + 2..];
        rest.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
    };
    text.match_indices("</").map(|(at, _)| at).find(closes).map_or("", |at| &text[at..])
}

/// Replaces the character references that attributes of real pages hold; unknown ones stay as they are.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let known = after.split_once(';').and_then(|(name, rest)| Some((reference(name)?, rest)));
        let (c, after) = known.unwrap_or(('&', after));
        out.push(c);
        rest = after;
    }
    out.push_str(rest);
    out
}

fn reference(name: &str) -> Option<char> {
    let named = [("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"'), ("apos", '\'')];
    if let Some((_, c)) = named.iter().find(|(known, _)| *known == name) {
        return Some(*c);
    }
    let number = name.strip_prefix('#')?;
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hrefs(text: &str) -> Vec<String> {
        parse(text).unwrap().files.into_iter().map(|file| file.href).collect()
    }

    #[test]
    fn anchors_in_every_spelling() {
        let page = r#"<!DOCTYPE html>
            <!-- <a href="commented"> --><script>document.write('<a href="scripted">')</SCRIPT>
            <A HREF = "one" >x</A><a class=k href=two/x >y</a><a
              data-requires-python="&gt;=3" href='three'>z</a>
            <a href="four">unclosed <a title="> href='no'" href="five"/><a name="x">
            <a href="a&amp;b&#x3d;c&#61;&unknown;&">"#;
        assert_eq!(hrefs(page), ["one", "two/x", "three", "four", "five", "a&b=c=&unknown;&"]);
        assert_eq!(hrefs("<abbr href=x><a"), Vec::<String>::new());
    }

    #[test]
    fn attributes_of_files() {
        let page = parse(
            "<a href=a data-yanked><a href=b data-yanked=''><a href=c data-yanked='Broken &amp; gone'>\
             <a href=d data-core-metadata=true data-dist-info-metadata=false>\
             <a href=e data-dist-info-metadata='sha256=00'><a href=f data-core-metadata=false>",
        )
        .unwrap();
        let yanked: Vec<_> = page.files.iter().map(|file| file.yanked.as_deref()).collect();
        assert_eq!(yanked, [Some(""), Some(""), Some("Broken & gone"), None, None, None]);
        let beside = |text: Option<&str>| RawMetadata::Beside(text.map(str::to_owned));
        assert_eq!(page.files[3].metadata, beside(None));
        assert_eq!(page.files[4].metadata, beside(Some("00")));
        assert_eq!(page.files[5].metadata, RawMetadata::Unknown);
    }

    #[test]
    fn base_and_version() {
        let page = parse(
            "<base href=/x/><base href=/y/><meta name='pypi:repository-version' content='1.3'>",
        );
        assert_eq!(page.unwrap().base.as_deref(), Some("/x/"));
        assert!(parse("<meta content='2.0' name=\"pypi:repository-version\">").is_err());
    }
}
