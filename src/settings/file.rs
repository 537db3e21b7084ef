//! The settings file, `config.toml`: strict, so that a key with a typing error is an error and not a silence.

use std::path::Path;

use serde::Deserialize;
use shims::venv::Policy;

use super::Error;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct File {
    pub(super) jobs: Option<usize>,
    pub(super) reuse: Option<bool>,
    /// Read by the shims' own scan as well, as `venv` is; here they are checked.
    auto_install: Option<bool>,
    venv: Option<String>,
    pub(super) index: Index,
    pub(super) network: Network,
    pub(super) store: Store,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct Store {
    /// Data directories of other cuenvs, whose stores are read and never written.
    pub(super) below: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct Index {
    /// Addresses may hold a password, so this type has no derived `Debug`.
    pub(super) url: Option<String>,
    pub(super) extra: Vec<String>,
    pub(super) find_links: Vec<String>,
    #[serde(rename = "no-index")]
    pub(super) disabled: Option<bool>,
    pub(super) fresh_minutes: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct Network {
    pub(super) offline: Option<bool>,
    pub(super) proxy: Option<String>,
    pub(super) no_proxy: Option<String>,
    pub(super) ca: Vec<String>,
    pub(super) timeout: Option<u64>,
    pub(super) retries: Option<u32>,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Index")
    }
}

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Network")
    }
}

impl File {
    /// Reads the file; one that is not there sets nothing, nor does one that cannot be read: the reason is put down.
    pub(super) fn load(path: &Path, unreadable: &mut Option<String>) -> Result<Self, Error> {
        match super::read(path) {
            Ok(Some(text)) => {
                Self::parse(&text).map_err(|reason| Error::File { path: path.to_owned(), reason })
            }
            Ok(None) => Ok(Self::default()),
            Err(reason) => {
                unreadable.get_or_insert(reason);
                Ok(Self::default())
            }
        }
    }

    /// The error names the line and the key but shows no value: a value may be an address with a password.
    fn parse(text: &str) -> Result<Self, String> {
        let file: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            let message = without_values(error.message());
            format!("line {line}: {message}")
        })?;
        let scanned = shims::settings::Settings::parse(text)
            .map_err(|(key, value)| format!("`{value}` is not a value of `{key}`"))?;
        if file.auto_install != scanned.auto_install
            || file.venv.as_deref() != scanned.venv.map(Policy::name)
        {
            return Err("write `venv` and `auto-install` as plain lines before the first table: \
                        shims read them too"
                .to_owned());
        }
        if file.jobs == Some(0) {
            return Err("`jobs` must be above zero".to_owned());
        }
        Ok(file)
    }
}

/// The first line of a message without what stands in double quotes: that is what the user wrote as a value.
fn without_values(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    let parts = line.split('"').enumerate();
    parts.map(|(at, part)| if at % 2 == 0 { part } else { "…" }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_and_wrong_types_name_their_line() {
        assert!(File::parse("").is_ok());
        let all = "jobs = 4\nauto-install = true\nvenv = 'off'\n[index]\nurl = 'https://index.example'\n\
                   extra = []\nfind-links = ['/w']\nno-index = false\nfresh-minutes = 1\n[network]\n\
                   offline = false\nproxy = 'http://p'\nno-proxy = 'x'\nca = ['/ca']\ntimeout = 3\nretries = 1\n[store]\nbelow = ['/opt/cuenv']\n";
        let file = File::parse(all).unwrap();
        assert_eq!((file.jobs, file.venv.as_deref()), (Some(4), Some("off")));
        for (text, part) in [
            ("\n[index]\nurll = 'x'", "line 3: unknown field `urll`"),
            ("jobs = 'four'", "line 1: invalid type"),
            ("jobs = 0", "above zero"),
            ("jobs = ", "line 1"),
            ("venv = 'maybe'", "`maybe` is not a value of `venv`"),
            ("'venv' = 'off'", "as plain lines"),
            ("venv = '''off'''", "is not a value of `venv`"),
            ("auto-install = 1", "line 1: invalid type"),
        ] {
            let error = File::parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn an_error_shows_no_password() {
        for text in [
            "[index]\nurl = ['https://bob:hunter2@index.example']",
            "[index]\nurl = https://bob:hunter2@index.example",
            "[index]\nurl = 'https://bob:hunter2@index.example",
            "[network]\ntimeout = 'https://bob:hunter2@index.example'",
        ] {
            let error = File::parse(text).unwrap_err();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
