//! What the user set: the settings file, variables, and what pip, uv, curl and netrc say about the network.
//!
//! A value set for cuenv wins over one set for another tool, and a variable wins over a file:
//!
//! ```text
//! option > CUENV_* > config.toml > UV_* > PIP_* > pip.conf > compiled in > the user's pip
//! ```
//!
//! Certificate authorities, directories of wheels, further indexes and credentials add up instead: a company that
//! sets one of them for pip means it for every tool. [`variables`] is the one list of cuenv's own variables.

mod file;
mod netrc;
mod pip_conf;
mod proxy;
mod sources;
pub mod variables;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::layout::Layout;
use crate::platform::http::{self, Credentials, Http, Url};
use crate::platform::pip;
use crate::platform::process::Process;

use self::file::File;
use self::pip_conf::PipConf;

/// The index that was compiled in; empty if the build machine knew none.
const BUILT_IN_INDEX: &str = env!("CUENV_BUILT_IN_INDEX");

/// The part of the settings that the command line can override.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `--offline`.
    pub offline: bool,
    /// `--jobs`.
    pub jobs: Option<usize>,
}

/// A value and the setting it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// The variable, or the file, that set it.
    pub via: String,
}

/// Every setting, checked.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Indexes in the order they are asked; none, if nothing names one. User names and passwords are moved to
    /// the credentials of [`Settings::http`].
    pub indexes: Vec<Sourced<Url>>,
    /// Directories of wheels.
    pub directories: Vec<PathBuf>,
    /// Whether indexes are left out altogether, as pip's `--no-index` does.
    pub no_index: bool,
    /// How long a listing is used without asking again.
    pub fresh_for: Duration,
    /// Data directories of other cuenvs, an administrator's for instance: their stores are read and never written.
    pub below: Vec<PathBuf>,
    /// How requests are made.
    pub http: http::Config,
    /// How many wheels are worked on at the same time, if the user set it.
    pub jobs: Option<usize>,
    /// Whether wheels that a venv or uv's cache holds unpacked are linked instead of fetched.
    pub reuse: bool,
    /// Why a file that may say which index to ask could not be read. It matters once an index is asked.
    pub unreadable: Option<String>,
    /// Facts worth a line: what was set, and why it does not count.
    pub notes: Vec<String>,
}

/// A setting that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The settings file is not TOML, or has an unknown key.
    #[error("`{}` is not valid: {reason}", path.display())]
    File { path: PathBuf, reason: String },
    /// A value that cannot be read.
    #[error("{via} is `{}`: {reason}", value.escape_debug())]
    Value { via: String, value: String, reason: String },
    /// A file of settings cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl Settings {
    /// Reads every source. Touches files only, and only those that exist.
    pub fn load(process: &Process, layout: &Layout, overrides: &Overrides) -> Result<Self, Error> {
        let path = layout.settings_file();
        let mut unreadable = None;
        let file = File::load(&path, &mut unreadable)?;
        let read = Reader { process, file: &file, file_name: format!("`{}`", path.display()) };
        let mut of_pip = None;
        let pip = PipConf::load(process, &mut of_pip);
        // What pip says is asked for where nothing of cuenv's own names an index.
        if process.var_os("CUENV_INDEX_URL").is_none() && file.index.url.is_none() {
            unreadable = unreadable.or(of_pip);
        }
        let mut notes = Vec::new();

        let mut credentials = Credentials::default();
        let no_index = sources::no_index(&read, &pip)?;
        let indexes = sources::indexes(&read, &pip, &mut credentials)?;
        let directories = sources::directories(&read, &pip, &mut notes)?;
        netrc::add(process, &mut credentials, &mut notes);

        let proxies = proxy::proxies(&read, &pip);
        let http = http::Config {
            offline: overrides.offline
                || read.flag("CUENV_OFFLINE")?.or(file.network.offline).unwrap_or(false),
            authorities: sources::authorities(&read, &pip),
            credentials,
            http_proxy: proxies.http,
            https_proxy: proxies.https,
            no_proxy: proxies.none,
            ..http::Config::default()
        };
        let http = read.timing(http)?;
        Ok(Self {
            indexes: if no_index { Vec::new() } else { indexes },
            directories,
            below: sources::below(&read),
            no_index,
            fresh_for: Duration::from_secs(60 * file.index.fresh_minutes.unwrap_or(10)),
            http,
            jobs: match overrides.jobs {
                Some(jobs) => Some(jobs),
                None => read.count("CUENV_JOBS")?.or(file.jobs),
            },
            reuse: read.flag("CUENV_REUSE")?.or(file.reuse).unwrap_or(true),
            unreadable,
            notes,
        })
    }

    /// Returns the indexes to ask; where nothing named one, what the user's pip falls back to.
    ///
    /// The last resort starts a Python, so call this only when an index is about to be asked.
    pub fn indexes_or_pip(&self, process: &Process) -> Vec<Url> {
        if self.indexes.is_empty() && !self.no_index {
            let path = process.var_os("PATH").unwrap_or_default();
            return pip::default_index(path)
                .and_then(|text| Http::url(&text).ok())
                .into_iter()
                .collect();
        }
        self.indexes.iter().map(|index| index.value.clone()).collect()
    }
}

/// Reads variables and the settings file, and says which of them a bad value came from.
struct Reader<'a> {
    process: &'a Process,
    file: &'a File,
    file_name: String,
}

impl Reader<'_> {
    fn flag(&self, name: &str) -> Result<Option<bool>, Error> {
        let Some(text) = self.process.var(name) else { return Ok(None) };
        match shims::settings::switch(text) {
            Some(on) => Ok(Some(on)),
            None => Err(bad(name, text, "expected `1` or `0`")),
        }
    }

    fn count(&self, name: &str) -> Result<Option<usize>, Error> {
        let Some(text) = self.process.var(name) else { return Ok(None) };
        match text.parse() {
            Ok(number) if number > 0 => Ok(Some(number)),
            _ => Err(bad(name, text, "expected a number above zero")),
        }
    }

    fn timing(&self, mut http: http::Config) -> Result<http::Config, Error> {
        let seconds = self.count("CUENV_HTTP_TIMEOUT")?.map(|count| count as u64);
        if let Some(seconds) = seconds.or(self.file.network.timeout) {
            http.idle_timeout = Duration::from_secs(seconds.max(1));
            http.connect_timeout = http.connect_timeout.min(http.idle_timeout);
        }
        let retries = match self.process.var("CUENV_HTTP_RETRIES") {
            Some(text) => Some(
                text.parse().map_err(|_| bad("CUENV_HTTP_RETRIES", text, "expected a number"))?,
            ),
            None => self.file.network.retries,
        };
        http.retry.times = retries.unwrap_or(http.retry.times);
        Ok(http)
    }

    /// A path of the user, with `~/` and relative to `base`.
    fn path(&self, text: &str, base: Option<&Path>) -> PathBuf {
        let home = self.process.var_os("HOME").map(Path::new);
        match (text.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => base.or(self.process.cwd()).unwrap_or(Path::new("/")).join(text),
        }
    }
}

/// Reads a file of settings, as the shims do; the error names it.
fn read(path: &Path) -> Result<Option<String>, String> {
    shims::settings::text(path)
        .map_err(|error| format!("cannot read `{}`: {error}", shims::shown::path(path)))
}

fn bad(via: &str, value: &str, reason: impl Into<String>) -> Error {
    let value = http::safe_text(value);
    Error::Value { via: via.to_owned(), value, reason: reason.into() }
}

#[cfg(test)]
mod tests;
