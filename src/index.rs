//! What indexes offer: listings of a distribution, and the metadata of one wheel.
//!
//! An index is a server with the Simple API (PEP 503 in HTML, PEP 691 in JSON) or a directory of wheels. The
//! order is fixed: directories first, then the indexes in the order of the settings, and the first index that
//! knows a distribution is the only one asked for it. Mixing the lists of several servers would let a stranger's
//! upload of a newer version win over the company's own mirror.
//!
//! Answers are kept under `cache/listings`: within [`Options::fresh_for`] they are used as they are, later they
//! are revalidated where the server gives a validator. Offline, what is kept is used whatever its age, and no
//! socket is made. What is kept can be deleted at any time at no loss.

mod cache;
mod html;
mod json;
mod local;
mod metadata;
mod page;
mod zip_tail;

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::domain::digest::Digest;
use crate::domain::listing::{Listing, Location, WheelFile};
use crate::domain::wheel_name::normalise;
use crate::platform::hash;
use crate::platform::http::{self, Http, Response, Url, safe_url};

use self::cache::{Cache, Cached};

/// Preference for JSON, with HTML as what every index can do. Public indexes send JSON whatever the weight of
/// the others; what came is told by the answer alone.
const ACCEPT: &str = "application/vnd.pypi.simple.v1+json, \
     application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1";

/// For servers that refuse a list of types they do not know.
const ACCEPT_HTML: &str = "text/html, */*;q=0.1";

/// The largest listing seen has 70 KB; beyond this an answer is no listing.
const MAX_LISTING: u64 = 64 << 20;

/// Answers of one server that are asked for at the same time.
const PARALLEL: usize = 8;

/// Where to look, and how long an answer stays fresh.
#[derive(Clone)]
pub struct Options {
    /// Addresses of Simple API indexes, in order of preference.
    pub indexes: Vec<Url>,
    /// Directories of wheels.
    pub directories: Vec<PathBuf>,
    /// Where answers are kept.
    pub cache: PathBuf,
    /// How long a kept answer is used without asking again.
    pub fresh_for: Duration,
    /// Why it is not known which index to ask.
    pub unreadable: Option<String>,
}

impl fmt::Debug for Options {
    /// Without the users and passwords that addresses may hold.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indexes: Vec<_> = self.indexes.iter().map(safe_url).collect();
        f.debug_struct("Options")
            .field("indexes", &indexes)
            .field("directories", &self.directories)
            .field("cache", &self.cache)
            .field("fresh_for", &self.fresh_for)
            .field("unreadable", &self.unreadable)
            .finish()
    }
}

/// A failure to learn what indexes offer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing to ask.
    #[error("no index is known")]
    NoIndex,
    /// A file that may name the index cannot be read.
    #[error("it is not known which index to ask: {0}")]
    Unreadable(String),
    /// Every source answered, and none has it.
    #[error("no index has `{distribution}`; asked {}", asked.join(", "))]
    NotFound { distribution: String, asked: Vec<String> },
    /// Offline, and nothing is kept.
    #[error(
        "the list of `{distribution}` is not in the cache, and offline mode forbids the network"
    )]
    Offline { distribution: String },
    /// The request failed.
    #[error(transparent)]
    Http(#[from] http::Error),
    /// The answer is something else.
    #[error("`{url}` did not answer with a list of files: {reason}")]
    NotAListing { url: String, reason: String },
    /// No metadata can be had.
    #[error("cannot read the metadata of `{file}`: {reason}")]
    Metadata { file: String, reason: String },
    /// A file of this name has other bytes than the lock says.
    #[error("`{file}` at {place} has sha256 {found}, but the lock says {expected}")]
    OtherBytes { file: String, place: String, found: Digest, expected: Digest },
    /// A file that a lock names is nowhere.
    #[error("no index has the file `{file}` (sha256 {digest})")]
    NoSuchFile { file: String, digest: Digest },
    /// A local file or the cache failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Every source of wheels, asked through one client.
#[derive(Debug)]
pub struct Index<'a> {
    http: &'a Http,
    options: Options,
    cache: Cache,
}

/// Whether a kept answer may be used without asking.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Freshness {
    AsSet,
    Revalidate,
}

impl<'a> Index<'a> {
    /// Keeps its arguments; reads nothing and asks nobody.
    pub fn new(http: &'a Http, options: Options) -> Self {
        let cache = Cache::new(options.cache.clone());
        Self { http, options, cache }
    }

    /// Returns what the sources list for a distribution.
    pub fn listing(&self, distribution: &str) -> Result<Listing, Error> {
        self.fetch_listing(distribution, Freshness::AsSet)
    }

    /// [`Index::listing`] for many distributions at once, in their order.
    pub fn listings(&self, distributions: &[&str]) -> Vec<Result<Listing, Error>> {
        let next = AtomicUsize::new(0);
        let slots: Vec<_> = distributions.iter().map(|_| Mutex::new(None)).collect();
        thread::scope(|scope| {
            for _ in 0..distributions.len().min(PARALLEL) {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some((name, slot)) = distributions.get(at).zip(slots.get(at)) else {
                            break;
                        };
                        let listing = self.listing(name);
                        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(listing);
                    }
                });
            }
        });
        slots
            .into_iter()
            .map(|slot| {
                let filled = slot.into_inner().unwrap_or_else(PoisonError::into_inner);
                filled.expect("every slot is filled before the scope ends")
            })
            .collect()
    }

    /// Returns the `METADATA` text of a wheel, fetching as little of the wheel as the server allows.
    pub fn metadata(&self, wheel: &WheelFile) -> Result<String, Error> {
        if let Some(text) = wheel.digest.as_ref().and_then(|digest| self.cache.metadata(digest)) {
            return Ok(text);
        }
        let text = metadata::fetch(self.http, wheel)?;
        if let Some(digest) = &wheel.digest {
            self.cache.keep_metadata(digest, &text);
        }
        Ok(text)
    }

    /// Returns the `RECORD` of a wheel, the list of its files with their sha256, fetching only the wheel's end; `None`
    /// where that cannot be had (a server without ranges, a local or tiny wheel).
    pub fn record(&self, wheel: &WheelFile) -> Result<Option<Vec<u8>>, Error> {
        metadata::record(self.http, wheel)
    }

    /// Returns the file that a lock names. Its digest decides: withdrawn files are found too, any source that
    /// has the same bytes will do, and the same name with other bytes is an error.
    pub fn locate(
        &self,
        distribution: &str,
        file: &str,
        digest: &Digest,
    ) -> Result<WheelFile, Error> {
        let mut other = None;
        // Files at hand first: for them no list is needed, and no network.
        let name = normalise(distribution);
        for wheel in local::wheels(&self.options.directories, &name)? {
            let Location::File(path) = &wheel.location else { continue };
            if wheel.name.file == file {
                let found = hash::file(path, &|_| {})?.1;
                if found == *digest {
                    return Ok(WheelFile { digest: Some(found), ..wheel });
                }
                other = Some((wheel.location.shown(), found));
            }
        }
        for freshness in [Freshness::AsSet, Freshness::Revalidate] {
            let listing = match self.fetch_listing(&name, freshness) {
                Err(Error::NotFound { .. }) => continue,
                listing => listing?,
            };
            if let Some(wheel) = listing.with_digest(digest) {
                return Ok(wheel.clone());
            }
            let same_name = |wheel: &&WheelFile| {
                wheel.name.file == file && matches!(wheel.location, Location::Url(_))
            };
            for wheel in listing.wheels.iter().filter(same_name) {
                match wheel.digest {
                    // A server that tells no digest: the download is checked against the lock.
                    None => return Ok(WheelFile { digest: Some(*digest), ..wheel.clone() }),
                    Some(found) => other = Some((wheel.location.shown(), found)),
                }
            }
        }
        Err(match other {
            Some((place, found)) => {
                Error::OtherBytes { file: file.to_owned(), place, found, expected: *digest }
            }
            None => Error::NoSuchFile { file: file.to_owned(), digest: *digest },
        })
    }

    fn fetch_listing(&self, distribution: &str, freshness: Freshness) -> Result<Listing, Error> {
        let distribution = normalise(distribution);
        if let Some(reason) = &self.options.unreadable {
            return Err(Error::Unreadable(reason.clone()));
        }
        if self.options.indexes.is_empty() && self.options.directories.is_empty() {
            return Err(Error::NoIndex);
        }
        let mut wheels = local::wheels(&self.options.directories, &distribution)?;
        let mut offline = false;
        let mut found = None;
        for index in &self.options.indexes {
            match self.fetch_page(index, &distribution, freshness) {
                Ok(None) => {}
                Ok(Some(listing)) => {
                    found = Some(listing);
                    break;
                }
                Err(Error::Http(http::Error::Offline { .. })) => offline = true,
                Err(error) => return Err(error),
            }
        }
        match found {
            Some(listing) => {
                wheels.extend(listing.wheels);
                Ok(Listing { distribution, wheels, others: listing.others })
            }
            None if !wheels.is_empty() => Ok(Listing { distribution, wheels, others: 0 }),
            None if offline => Err(Error::Offline { distribution }),
            None => Err(Error::NotFound { distribution, asked: self.asked() }),
        }
    }

    fn asked(&self) -> Vec<String> {
        let directories = self.options.directories.iter().map(|path| path.display().to_string());
        let indexes = self.options.indexes.iter().map(safe_url);
        directories.chain(indexes).map(|source| format!("`{source}`")).collect()
    }

    /// What one index lists; none where it does not know the distribution.
    fn fetch_page(
        &self,
        index: &Url,
        distribution: &str,
        freshness: Freshness,
    ) -> Result<Option<Listing>, Error> {
        let url = project_url(index, distribution)?;
        let kept = self.cache.listing(&url);
        if let Some(kept) = &kept {
            let fresh = freshness == Freshness::AsSet && kept.is_fresh(self.options.fresh_for);
            // A kept answer that this version cannot read is fetched anew.
            if (fresh || self.http.is_offline())
                && let Ok(listing) = parse(distribution, &kept.url, kept)
            {
                return Ok(Some(listing));
            }
        }
        let (response, body) = match self.ask(&url, kept.as_ref()) {
            Ok(answer) => answer,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if response.is_unchanged()
            && let Some(kept) = kept
        {
            let listing = parse(distribution, &kept.url, &kept)?;
            self.cache.keep_listing(&url, &kept.renewed());
            return Ok(Some(listing));
        }
        let answer = Cached::from_answer(&response, body);
        let listing = parse(distribution, &answer.url, &answer)?;
        self.cache.keep_listing(&url, &answer);
        Ok(Some(listing))
    }

    fn ask(&self, url: &Url, kept: Option<&Cached>) -> Result<(Response, String), http::Error> {
        let mut headers = vec![("accept", ACCEPT), ("accept-encoding", "gzip")];
        if let Some(kept) = kept {
            headers.extend(kept.etag.as_deref().map(|tag| ("if-none-match", tag)));
            headers.extend(kept.last_modified.as_deref().map(|date| ("if-modified-since", date)));
        }
        match self.http.get_text(url, &headers, MAX_LISTING) {
            Err(error) if error.status() == Some(406) => {
                let headers = [("accept", ACCEPT_HTML), ("accept-encoding", "gzip")];
                self.http.get_text(url, &headers, MAX_LISTING)
            }
            answer => answer,
        }
    }
}

/// Reads a list that is at hand, in either form; `url` is where it came from. The error says why it is none.
pub fn read_listing(
    distribution: &str,
    url: &str,
    content_type: Option<&str>,
    text: &str,
) -> Result<Listing, String> {
    page::parse(distribution, url, content_type, text)
}

/// Reads the `METADATA` of a wheel that is at hand. The error says why it has none.
pub fn read_metadata(wheel: &[u8]) -> Result<Vec<u8>, &'static str> {
    metadata::from_bytes(wheel)
}

fn parse(distribution: &str, url: &str, answer: &Cached) -> Result<Listing, Error> {
    page::parse(distribution, url, answer.content_type.as_deref(), &answer.body)
        .map_err(|reason| Error::NotAListing { url: http::safe_text(url), reason })
}

/// The address of a distribution's list; the index's own address may end with a slash or not.
fn project_url(index: &Url, distribution: &str) -> Result<Url, Error> {
    let mut url = index.clone();
    let path = format!("{}/{distribution}/", url.path().trim_end_matches('/'));
    if url.cannot_be_a_base() {
        let reason = "it has no path".to_owned();
        return Err(http::Error::BadUrl { url: safe_url(index), reason }.into());
    }
    url.set_path(&path);
    url.set_fragment(None);
    Ok(url)
}
