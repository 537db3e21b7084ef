//! From an answer's text to a listing, whichever of the two forms it has.

use crate::domain::listing::{Listing, Location, MetadataFile, WheelFile};
use crate::domain::wheel_name::WheelName;
use crate::platform::http::Url;

use super::{html, json};

/// One file as either form lists it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RawFile {
    /// Its name, where the form has a place for it; else the end of the address.
    pub(super) name: Option<String>,
    /// Its address, absolute or relative to the page.
    pub(super) href: String,
    pub(super) sha256: Option<String>,
    pub(super) size: Option<u64>,
    pub(super) yanked: Option<String>,
    pub(super) uploaded: Option<String>,
    pub(super) metadata: RawMetadata,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum RawMetadata {
    #[default]
    Unknown,
    Beside(Option<String>),
}

/// Everything either form says.
#[derive(Debug, Default)]
pub(super) struct RawPage {
    /// What relative addresses are relative to, where the page says so.
    pub(super) base: Option<String>,
    pub(super) files: Vec<RawFile>,
}

/// Reads a listing. The error says in words why the text is none.
pub(super) fn parse(
    distribution: &str,
    url: &str,
    content_type: Option<&str>,
    text: &str,
) -> Result<Listing, String> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    // Mirrors send either form under any type, or under none; the first character tells them apart, since one
    // form is an object and the other is markup.
    let raw = match text.chars().next() {
        Some('{') => json::parse(text)?,
        Some('<') => html::parse(text)?,
        _ => {
            let sent = content_type.unwrap_or("no content type");
            return Err(format!("it is neither JSON nor HTML ({sent}, {} bytes)", text.len()));
        }
    };
    let url = Url::parse(url).map_err(|error| error.to_string())?;
    let base = match &raw.base {
        Some(base) => url.join(base).map_err(|error| format!("its base address: {error}"))?,
        None => url,
    };
    let mut listing = Listing { distribution: distribution.to_owned(), ..Listing::default() };
    let mut named = false;
    for file in &raw.files {
        let Some((name, wheel)) = convert(&base, file) else { continue };
        named |= belongs(&name, distribution);
        match wheel {
            Some(wheel) if wheel.name.distribution == distribution => listing.wheels.push(wheel),
            _ => listing.others += 1,
        }
    }
    // A start page or a login form has links too, but none to a file of this distribution.
    if !named && !raw.files.is_empty() {
        return Err(format!(
            "none of its {} links leads to a file of `{distribution}`",
            raw.files.len()
        ));
    }
    Ok(listing)
}

/// The file's name, and the wheel if it is one that can be used.
fn convert(base: &Url, file: &RawFile) -> Option<(String, Option<WheelFile>)> {
    let mut url = base.join(file.href.trim()).ok()?;
    let fragment = url.fragment().and_then(|text| text.strip_prefix("sha256=")).map(str::to_owned);
    url.set_fragment(None);
    let name = match &file.name {
        Some(name) => name.clone(),
        None => decode(url.path_segments()?.next_back()?),
    };
    let wheel = wheel(&url, &name, file, fragment.as_deref());
    Some((name, wheel))
}

fn wheel(url: &Url, name: &str, file: &RawFile, fragment: Option<&str>) -> Option<WheelFile> {
    let name: WheelName = name.parse().ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    let digest = match file.sha256.as_deref().or(fragment) {
        // A digest that is none would let the bytes go unchecked: the file is left out.
        Some(text) => Some(text.parse().ok()?),
        None => None,
    };
    let metadata = match &file.metadata {
        RawMetadata::Unknown => MetadataFile::Unknown,
        RawMetadata::Beside(sha256) => {
            MetadataFile::Beside(sha256.as_deref().and_then(|text| text.parse().ok()))
        }
    };
    Some(WheelFile {
        name,
        location: Location::Url(url.to_string()),
        size: file.size,
        digest,
        yanked: file.yanked.clone(),
        uploaded: file.uploaded.clone(),
        metadata,
    })
}

/// Whether a file's name begins with the distribution's, in any spelling.
fn belongs(file: &str, distribution: &str) -> bool {
    let bare = |c: &char| !matches!(c, '-' | '_' | '.');
    let file: String = file.chars().filter(bare).collect::<String>().to_ascii_lowercase();
    let distribution: String = distribution.chars().filter(bare).collect();
    file.starts_with(&distribution)
}

/// Undoes percent-encoding in a file's name.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let pair = tail.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        match pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHEEL: &str = "nvidia_cublas_cu12-12.4.5.8-py3-none-manylinux2014_x86_64.whl";

    fn read(text: &str) -> Result<Listing, String> {
        parse("nvidia-cublas-cu12", "https://index.example/simple/nvidia-cublas-cu12/", None, text)
    }

    fn url(listing: &Listing, at: usize) -> &str {
        match &listing.wheels[at].location {
            Location::Url(url) => url,
            Location::File(_) => panic!("a page lists no local files"),
        }
    }

    #[test]
    fn both_forms_give_the_same_listing() {
        let sha = "0".repeat(64);
        let json = format!(
            r#"{{"meta": {{"api-version": "1.1"}}, "name": "nvidia-cublas-cu12", "files": [
              {{"filename": "{WHEEL}", "url": "../../files/{WHEEL}", "hashes": {{"sha256": "{sha}"}},
                "yanked": "broken", "core-metadata": {{"sha256": "{sha}"}}}},
              {{"filename": "nvidia-cublas-cu12-0.0.1.tar.gz", "url": "x", "hashes": {{}}}}]}}"#
        );
        let html = format!(
            r#"<!DOCTYPE html><html><body>
            <a href="../../files/{WHEEL}#sha256={sha}" data-yanked="broken" data-core-metadata="sha256={sha}">{WHEEL}</a>
            <a href="x/nvidia-cublas-cu12-0.0.1.tar.gz">nvidia-cublas-cu12-0.0.1.tar.gz</a></body></html>"#
        );
        let (json, html) = (read(&json).unwrap(), read(&html).unwrap());
        assert_eq!(json, html);
        assert_eq!((json.wheels.len(), json.others), (1, 1));
        assert_eq!(url(&json, 0), format!("https://index.example/files/{WHEEL}"));
        assert_eq!(json.wheels[0].yanked.as_deref(), Some("broken"));
        assert!(matches!(json.wheels[0].metadata, MetadataFile::Beside(Some(_))));
    }

    #[test]
    fn links_may_be_absolute_or_follow_a_base() {
        let listing = read(&format!(
            "<html><head><base href='https://files.example/pool/'></head><a href='a/{WHEEL}'></a>\
             <a href='https://other.example/{WHEEL}'>x</a><a href='/root/{WHEEL}'>x</a>\
             <a href='javascript:{WHEEL}'>x</a><a href='//third.example/{WHEEL}?sig=1&amp;b=2'>x</a></html>"
        ))
        .unwrap();
        let found: Vec<_> = (0..listing.wheels.len()).map(|at| url(&listing, at)).collect();
        assert_eq!(
            found,
            [
                format!("https://files.example/pool/a/{WHEEL}"),
                format!("https://other.example/{WHEEL}"),
                format!("https://files.example/root/{WHEEL}"),
                format!("https://third.example/{WHEEL}?sig=1&b=2"),
            ]
        );
    }

    #[test]
    fn a_file_with_an_unreadable_digest_is_left_out_and_one_without_is_kept() {
        let listing = read(&format!(
            "<a href='{WHEEL}#sha256=zz'>x</a><a href='a/{WHEEL}#md5=00'>x</a><a href='b/{WHEEL}'>x</a>"
        ))
        .unwrap();
        assert_eq!(listing.wheels.len(), 2);
        assert!(listing.wheels.iter().all(|wheel| wheel.digest.is_none()));
    }

    #[test]
    fn an_encoded_name_is_decoded() {
        let file = "nvidia_cublas_cu12-1%2Bcu12-py3-none-manylinux2014_x86_64.whl";
        let listing = read(&format!("<a href='{file}'>x</a>")).unwrap();
        assert_eq!(listing.wheels[0].name.version.to_string(), "1+cu12");
    }

    #[test]
    fn what_is_no_listing_is_told_apart_from_an_empty_one() {
        assert_eq!(read("<html><body></body></html>").unwrap().wheels.len(), 0);
        assert_eq!(
            read(r#"{"files": [], "meta": {"api-version": "1.0"}}"#).unwrap().wheels.len(),
            0
        );
        for (text, part) in [
            ("", "neither JSON nor HTML"),
            ("Not here", "neither JSON nor HTML (no content type, 8 bytes)"),
            ("<a href='/login'>Log in</a>", "none of its 1 links leads to a file"),
            (r#"{"error": "no"}"#, "missing field `files`"),
            (r#"{"files": [], "meta": {"api-version": "2.0"}}"#, "version 2.0"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn never_panics_on_any_page() {
        arbtest::arbtest(|u| {
            let pieces = [
                "<a ",
                "href",
                "=",
                "'",
                "\"",
                ">",
                "</a>",
                "<!--",
                "-->",
                "<base href=x>",
                "&#x41;",
                "&#",
                "&amp;",
                "<script>",
                "a.whl",
                "#sha256=",
                "{",
                "}",
                "\"files\":",
                "[",
                "]",
                "é",
                "<",
                "%2",
            ];
            let mut text = String::new();
            for _ in 0..u.int_in_range(0..=24)? {
                text.push_str(u.choose(&pieces)?);
            }
            let _ = read(&text);
            Ok(())
        });
    }
}
