//! Where wheels come from and whom to trust: indexes, directories, certificate authorities.

use std::path::PathBuf;

use super::pip_conf::PipConf;
use super::{BUILT_IN_INDEX, Error, Reader, Sourced, bad};
use crate::platform::http::{Authorities, Credentials, Http, Url, without_user};

/// A text and the setting it came from.
type Named<'a> = (&'a str, &'a str);

pub(super) fn indexes(
    read: &Reader<'_>,
    pip: &PipConf,
    credentials: &mut Credentials,
) -> Result<Vec<Sourced<Url>>, Error> {
    let var = |name: &'static str| read.process.var(name).map(|value| (value, name));
    let file = |value: &'static str| (value, value);
    let own = read.file.index.url.as_deref().map(|value| (value, read.file_name.as_str()));
    let built_in = Some(file(BUILT_IN_INDEX)).filter(|(value, _)| !value.is_empty());
    let first = var("CUENV_INDEX_URL")
        .or(own)
        .or_else(|| var("UV_DEFAULT_INDEX"))
        .or_else(|| var("UV_INDEX_URL"))
        .or_else(|| var("PIP_INDEX_URL"))
        .or_else(|| pip.value("index-url"))
        .or(built_in.map(|(value, _)| (value, "the default of this build")));
    let extra_of_file =
        read.file.index.extra.iter().map(|value| (value.as_str(), read.file_name.as_str()));
    let further = words(var("CUENV_EXTRA_INDEX_URL"))
        .chain(extra_of_file)
        .chain(words(var("UV_INDEX")))
        .chain(words(var("UV_EXTRA_INDEX_URL")))
        .chain(words(var("PIP_EXTRA_INDEX_URL")))
        .chain(words(pip.value("extra-index-url")));
    let mut indexes: Vec<Sourced<Url>> = Vec::new();
    for (text, via) in first.into_iter().chain(further) {
        let url = address(text, via)?;
        credentials.add_from_url(&url);
        let value = without_user(&url);
        if !indexes.iter().any(|known| known.value == value) {
            indexes.push(Sourced { value, via: via.to_owned() });
        }
    }
    Ok(indexes)
}

fn address(text: &str, via: &str) -> Result<Url, Error> {
    let text = text.trim();
    // uv allows a name in front: `internal=https://index.example/simple`.
    let text = match text.split_once('=') {
        Some((name, rest)) if !name.contains([':', '/']) => rest,
        _ => text,
    };
    let url = Http::url(text).map_err(|_| bad(via, text, "expected the address of an index"))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(bad(via, text, "expected an address that begins with `https://` or `http://`"));
    }
    Ok(url)
}

fn words(named: Option<Named<'_>>) -> impl Iterator<Item = Named<'_>> {
    named.into_iter().flat_map(|(text, via)| text.split_whitespace().map(move |word| (word, via)))
}

pub(super) fn no_index(read: &Reader<'_>, pip: &PipConf) -> Result<bool, Error> {
    let own = read.flag("CUENV_NO_INDEX")?.or(read.file.index.disabled);
    if let Some(own) = own {
        return Ok(own);
    }
    let of_pip = pip.value("no-index").is_some_and(|(value, _)| is_true(value));
    let var = |name| read.process.var(name).is_some_and(is_true);
    Ok(of_pip || var("PIP_NO_INDEX") || var("UV_NO_INDEX"))
}

fn is_true(text: &str) -> bool {
    matches!(text.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on" | "y" | "t")
}

/// Directories named for cuenv must be there; those named for other tools are passed over with a note.
pub(super) fn directories(
    read: &Reader<'_>,
    pip: &PipConf,
    notes: &mut Vec<String>,
) -> Result<Vec<PathBuf>, Error> {
    let mut directories = Vec::new();
    let mut add = |path: PathBuf| {
        if !directories.contains(&path) {
            directories.push(path);
        }
    };
    let var = |name: &'static str| read.process.var(name).map(|value| (value, name));
    let of_file =
        read.file.index.find_links.iter().map(|value| (value.as_str(), read.file_name.as_str()));
    for (text, via) in words(var("CUENV_FIND_LINKS")).chain(of_file) {
        let path = read.path(text.strip_prefix("file://").unwrap_or(text), None);
        if !path.is_dir() {
            return Err(bad(via, text, "there is no such directory"));
        }
        add(path);
    }
    // uv separates by commas, pip by white space.
    let uv = var("UV_FIND_LINKS")
        .into_iter()
        .flat_map(|(text, via)| text.split(',').map(move |word| (word, via)));
    for (text, via) in uv.chain(words(var("PIP_FIND_LINKS"))).chain(words(pip.value("find-links")))
    {
        let path = read.path(text.trim().strip_prefix("file://").unwrap_or(text.trim()), None);
        if path.is_dir() {
            add(path);
        } else {
            let text = crate::platform::http::safe_text(text);
            notes.push(format!("`{text}` ({via}) is not a directory here and is passed over"));
        }
    }
    Ok(directories)
}

/// A store that is not there (an unmounted share) holds nothing and is no error.
pub(super) fn below(read: &Reader<'_>) -> Vec<PathBuf> {
    match read.process.var("CUENV_STORE_BELOW") {
        Some(list) => list
            .split(':')
            .filter(|part| !part.is_empty())
            .map(|part| read.path(part, None))
            .collect(),
        None => read.file.store.below.iter().map(|part| read.path(part, None)).collect(),
    }
}

pub(super) fn authorities(read: &Reader<'_>, pip: &PipConf) -> Authorities {
    let mut found = Authorities::default();
    let mut add = |text: &str, via: &str| {
        let path = read.path(text, None);
        if path.is_dir() {
            found.directories.push(path);
        } else {
            found.files.push((path, via.to_owned()));
        }
    };
    for text in &read.file.network.ca {
        add(text, &read.file_name);
    }
    for name in
        ["CUENV_CA_BUNDLE", "SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"]
    {
        if let Some(text) = read.process.var(name) {
            add(text, name);
        }
    }
    if let Some((text, via)) = pip.value("cert") {
        add(text, via);
    }
    if let Some(list) = read.process.var("SSL_CERT_DIR") {
        found
            .directories
            .extend(list.split(':').filter(|part| !part.is_empty()).map(PathBuf::from));
    }
    found
}
