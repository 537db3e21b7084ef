//! The JSON form of a listing (PEP 691, PEP 700).

use serde::Deserialize;

use super::page::{RawFile, RawMetadata, RawPage};

#[derive(Deserialize)]
struct Page {
    files: Vec<File>,
    #[serde(default)]
    meta: Meta,
}

#[derive(Default, Deserialize)]
struct Meta {
    #[serde(rename = "api-version")]
    api_version: Option<String>,
}

#[derive(Deserialize)]
struct File {
    filename: String,
    url: String,
    #[serde(default)]
    hashes: Hashes,
    size: Option<u64>,
    #[serde(rename = "upload-time")]
    uploaded: Option<String>,
    yanked: Option<Flag<String>>,
    #[serde(rename = "core-metadata")]
    core_metadata: Option<Flag<Hashes>>,
    /// The name that the standard gave the field first.
    #[serde(rename = "dist-info-metadata", alias = "data-dist-info-metadata")]
    dist_info_metadata: Option<Flag<Hashes>>,
}

#[derive(Default, Deserialize)]
struct Hashes {
    sha256: Option<String>,
}

/// Fields that are a truth value or something that implies truth.
#[derive(Deserialize)]
#[serde(untagged)]
enum Flag<T> {
    Bool(bool),
    Value(T),
}

pub(super) fn parse(text: &str) -> Result<RawPage, String> {
    let page: Page = serde_json::from_str(text).map_err(|error| format!("broken JSON: {error}"))?;
    if let Some(version) = &page.meta.api_version {
        check_version(version)?;
    }
    let files = page.files.into_iter().map(raw).collect();
    Ok(RawPage { base: None, files })
}

/// Minor versions only add fields; another major version may mean something else by the same names.
pub(super) fn check_version(version: &str) -> Result<(), String> {
    match version.split('.').next() {
        Some("1") => Ok(()),
        _ => Err(format!(
            "it has version {} of the API, this cuenv reads version 1",
            version.escape_debug()
        )),
    }
}

fn raw(file: File) -> RawFile {
    RawFile {
        name: Some(file.filename),
        href: file.url,
        sha256: file.hashes.sha256,
        size: file.size,
        yanked: match file.yanked {
            None | Some(Flag::Bool(false)) => None,
            Some(Flag::Bool(true)) => Some(String::new()),
            Some(Flag::Value(reason)) => Some(reason),
        },
        uploaded: file.uploaded,
        metadata: match file.core_metadata.or(file.dist_info_metadata) {
            None | Some(Flag::Bool(false)) => RawMetadata::Unknown,
            Some(Flag::Bool(true)) => RawMetadata::Beside(None),
            Some(Flag::Value(hashes)) => RawMetadata::Beside(hashes.sha256),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yanked_and_metadata_are_truth_values_or_more() {
        let page = parse(
            r#"{"meta": {"api-version": "1.4", "_last-serial": 7}, "versions": ["1"], "files": [
            {"filename": "a", "url": "u", "hashes": {"sha256": "s", "blake2b": "b"}, "size": 12,
             "yanked": false, "core-metadata": false, "upload-time": "2025-08-13T02:02:39Z"},
            {"filename": "b", "url": "u", "hashes": {}, "yanked": true, "core-metadata": true},
            {"filename": "c", "url": "u", "hashes": {}, "yanked": "Broken release",
             "dist-info-metadata": {"sha256": "m"}, "requires-python": null, "gpg-sig": false},
            {"filename": "d", "url": "u", "size": null, "yanked": null}]}"#,
        )
        .unwrap();
        let seen: Vec<_> = page.files.iter().map(|file| file.yanked.as_deref()).collect();
        assert_eq!(seen, [None, Some(""), Some("Broken release"), None]);
        let beside = |text: Option<&str>| RawMetadata::Beside(text.map(str::to_owned));
        let seen: Vec<_> = page.files.iter().map(|file| &file.metadata).collect();
        let unknown = RawMetadata::Unknown;
        assert_eq!(seen, [&unknown, &beside(None), &beside(Some("m")), &unknown]);
        assert_eq!((page.files[0].size, page.files[0].sha256.as_deref()), (Some(12), Some("s")));
    }

    #[test]
    fn broken_text_is_told_with_its_place() {
        let error = parse("{\"files\": [}").err().unwrap();
        assert!(error.contains("line 1 column"), "{error}");
        assert!(parse(r#"{"files": [{"filename": 3, "url": "u"}]}"#).is_err());
        assert!(parse(&"[".repeat(100_000)).is_err());
    }
}
