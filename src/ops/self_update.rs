//! Replaces cuenv by another release: fetched from where the installer fetched it, or a file on this machine.
//!
//! Nothing is replaced before the archive has the sha256 that its SHA256SUMS names and the new program has run once. Each
//! program is written beside its place and renamed into it; the one it replaces is kept in `data/previous`.

use std::fmt;
use std::io::{self, Read};
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use fs_err as fs;
use semver::Version;
use serde::Serialize;

use super::self_uninstall::{self, installation};
use crate::context::Context;
use crate::domain::digest::Digest;
use crate::domain::installation::{Installation, Origin};
use crate::platform::child::{How, run_limited};
use crate::platform::fs::{Staging, write_atomic, write_program};
use crate::platform::http::{self, Http};
use crate::platform::read;
use crate::platform::tarball::{self, TarError};

const PROGRAMS: [&str; 2] = ["cuenv-shim", "cuenv"];
/// The new program prints its version at once.
const LIMIT: Duration = Duration::from_secs(20);
/// Longest list that is read from a server.
const MAX_TEXT: u64 = 1 << 20;
/// No release comes near.
const MAX_ARCHIVE: u64 = 256 << 20;

/// Which release.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// An archive on this machine, with its SHA256SUMS beside it.
    pub from: Option<PathBuf>,
    /// Only say whether there is a newer one.
    pub check: bool,
}

/// What was done.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The version that runs.
    pub current: String,
    /// The version that was found.
    pub found: String,
    /// Whether the programs were replaced.
    pub replaced: bool,
}

/// Why cuenv was not updated.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not put there by the installer.
    #[error(transparent)]
    Installation(#[from] self_uninstall::Error),
    /// It was built from a checkout.
    #[error("cuenv was built from `{}`", .0.display())]
    Checkout(PathBuf),
    /// It came from a file, and nothing says where newer ones are.
    #[error("cuenv was installed from a file, and nothing says where releases are")]
    NoBase,
    /// The server.
    #[error(transparent)]
    Http(#[from] http::Error),
    /// Anybody on the way could change what is sent.
    #[error("`{0}` is not fetched: plain http can be changed on the way")]
    Plain(String),
    /// The server's list is not what it should be.
    #[error("`{place}` {what}")]
    List {
        /// Its address.
        place: String,
        /// What is wrong.
        what: String,
    },
    /// Other bytes than promised.
    #[error("sha256 of `{file}` is {found}, expected {expected}")]
    Digest {
        /// The archive.
        file: String,
        /// What came.
        found: Digest,
        /// What was promised.
        expected: Digest,
    },
    /// The archive.
    #[error(transparent)]
    Archive(#[from] TarError),
    /// The archive does not hold both programs, or the new one does not run here.
    #[error("the new cuenv cannot be used: {0}")]
    Unusable(String),
    /// Files.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Updates cuenv.
pub fn update(cx: &Context<'_>, request: &Request) -> Result<Report, Error> {
    let found = installation(cx)?;
    let current = env!("CARGO_PKG_VERSION").to_owned();
    let (version, bytes) = if let Some(file) = &request.from {
        let path = cx.cwd().join(file);
        let bytes = read::bytes(&path)?;
        let sums = read::text(&path.with_file_name("SHA256SUMS"))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        check(&name, &bytes, &sums, &path.with_file_name("SHA256SUMS").display().to_string())?;
        (None, bytes)
    } else {
        let base = base(cx, &found)?;
        let http = Http::new(cx.settings.http.clone());
        let latest = text(&http, &format!("{base}/latest"))?;
        let latest = latest.trim();
        let newest = Version::parse(latest).map_err(|error| Error::List {
            place: format!("{base}/latest"),
            what: format!("does not hold a version: {error}"),
        })?;
        let is_newer = Version::parse(&current).is_ok_and(|current| newest > current);
        if !is_newer || request.check {
            return Ok(Report { current, found: latest.to_owned(), replaced: false });
        }
        let name = format!("cuenv-{latest}-{}.tar.gz", cx.target);
        let place = format!("{base}/{latest}/SHA256SUMS");
        let sums = text(&http, &place)?;
        let bytes = fetch(&http, &format!("{base}/{latest}/{name}"), MAX_ARCHIVE)?;
        check(&name, &bytes, &sums, &place)?;
        (Some(latest.to_owned()), bytes)
    };
    let staging = Staging::new(&cx.layout.tmp(), "self-update")?;
    let told = unpack(&bytes, staging.path())?;
    replace(cx, &found, staging.path())?;
    let version = version.unwrap_or(told);
    record(cx, &version)?;
    Ok(Report { current, found: version, replaced: true })
}

fn base(cx: &Context<'_>, found: &Installation) -> Result<String, Error> {
    let base = match (cx.process.var("CUENV_DOWNLOAD_BASE"), &found.origin) {
        (Some(base), _) => base.to_owned(),
        (None, Origin::Release { base }) => base.clone(),
        (None, Origin::Checkout(directory)) => return Err(Error::Checkout(directory.clone())),
        (None, Origin::Archive) => return Err(Error::NoBase),
    };
    Ok(base.trim_end_matches('/').to_owned())
}

fn text(http: &Http, place: &str) -> Result<String, Error> {
    String::from_utf8(fetch(http, place, MAX_TEXT)?)
        .map_err(|_| Error::List { place: place.to_owned(), what: "is not text".to_owned() })
}

fn fetch(http: &Http, place: &str, limit: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    if let Some(path) = place.strip_prefix("file://") {
        read::open(Path::new(path))?.take(limit + 1).read_to_end(&mut bytes)?;
    } else {
        let url = Http::url(place)?;
        // The list of digests comes from the same place, so whoever can change one can change the other.
        if url.scheme() == "http" && !is_loopback(&url) {
            return Err(Error::Plain(place.to_owned()));
        }
        http.get(&url, &[])?.take(limit + 1).read_to_end(&mut bytes)?;
    }
    if bytes.len() as u64 > limit {
        return Err(Error::List {
            place: place.to_owned(),
            what: format!("is longer than {limit} bytes"),
        });
    }
    Ok(bytes)
}

fn is_loopback(url: &http::Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Fails unless the list names the file and its bytes are the ones it names.
fn check(file: &str, bytes: &[u8], sums: &str, place: &str) -> Result<(), Error> {
    let expected: Digest = sums
        .lines()
        .filter_map(|line| line.split_once(char::is_whitespace))
        .find(|(_, name)| name.trim_start().trim_start_matches('*') == file)
        .and_then(|(sum, _)| sum.parse().ok())
        .ok_or_else(|| Error::List {
            place: place.to_owned(),
            what: format!("does not name `{file}`"),
        })?;
    let found = Digest::of(bytes);
    if found == expected {
        return Ok(());
    }
    Err(Error::Digest { file: file.to_owned(), found, expected })
}

/// Unpacks both programs, runs the new cuenv once and returns the version that it says.
fn unpack(bytes: &[u8], into: &Path) -> Result<String, Error> {
    let archive = into.join("archive");
    fs::write(&archive, bytes)?;
    tarball::read::<Error>(&archive, |entry| {
        let name = entry.name.rsplit('/').next().unwrap_or_default();
        if let Some(program) = PROGRAMS.into_iter().find(|program| *program == name) {
            let path = into.join(program);
            io::copy(entry.content, &mut fs::File::create(&path)?)?;
            fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
        }
        Ok(true)
    })?;
    for program in PROGRAMS {
        if !into.join(program).is_file() {
            return Err(Error::Unusable(format!("the archive holds no `{program}`")));
        }
    }
    let mut command = Command::new(into.join("cuenv"));
    command.arg("--version");
    let ran = run_limited(command, LIMIT)?;
    match (ran.how, ran.stdout.trim().strip_prefix("cuenv ")) {
        (How::Exited(0), Some(version)) => Ok(version.to_owned()),
        (How::Exited(code), _) => {
            Err(Error::Unusable(format!("`cuenv --version` ends with code {code}")))
        }
        (How::Killed(signal), _) => {
            Err(Error::Unusable(format!("`cuenv --version` is ended by signal {signal}")))
        }
        (How::TimedOut, _) => Err(Error::Unusable("`cuenv --version` does not end".to_owned())),
    }
}

fn replace(cx: &Context<'_>, found: &Installation, fresh: &Path) -> Result<(), Error> {
    let previous = cx.layout.data().join("previous");
    for program in PROGRAMS {
        let place = found.bin.join(program);
        if let Ok(old) = read::bytes(&place) {
            write_program(&previous.join(program), &old)?;
        }
        write_program(&place, &read::bytes(&fresh.join(program))?)?;
    }
    // The links in `shims/` lead to a copy of their own.
    let copy = cx.layout.data().join("bin").join("cuenv-shim");
    if copy.is_file() {
        write_program(&copy, &read::bytes(&fresh.join("cuenv-shim"))?)?;
    }
    Ok(())
}

fn record(cx: &Context<'_>, version: &str) -> Result<(), Error> {
    let path = cx.layout.install_receipt();
    let text = read::text(&path)?;
    let lines = text.lines().map(|line| {
        if line.starts_with("version ") {
            format!("version {version}\n")
        } else {
            format!("{line}\n")
        }
    });
    Ok(write_atomic(&path, lines.collect::<String>().as_bytes())?)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { current, found, .. } = self;
        if self.replaced {
            writeln!(f, "Replaced cuenv {current} by {found}")
        } else if current == found {
            writeln!(f, "cuenv {current} is the newest")
        } else {
            writeln!(f, "cuenv {current} runs, {found} is the newest")
        }
    }
}
