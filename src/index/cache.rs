//! Kept answers: one file each, a line of JSON about the answer and then its body; before both, the sha256 of it all.
//!
//! A file is written beside its final name and renamed, so that a reader sees the old answer or the new one. Nothing is
//! flushed to the disk: what a power cut has shortened does not match its sha256. What cannot be read, for whatever reason,
//! counts as not kept.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::domain::digest::Digest;
use crate::platform::http::{Response, Url, safe_url};
use crate::platform::read;

/// Raised when the form of the files changes; other numbers count as not kept.
const FORM: u32 = 1;

#[derive(Debug)]
pub(super) struct Cache {
    root: PathBuf,
}

/// An answer, kept or fresh.
#[derive(Debug)]
pub(super) struct Cached {
    /// Where it came from after redirects, without credentials: links in it are relative to this.
    pub(super) url: String,
    pub(super) content_type: Option<String>,
    pub(super) etag: Option<String>,
    pub(super) last_modified: Option<String>,
    pub(super) body: String,
    fetched: u64,
}

#[derive(Serialize, Deserialize)]
struct Head {
    form: u32,
    url: String,
    content_type: Option<String>,
    etag: Option<String>,
    last_modified: Option<String>,
    fetched: u64,
}

impl Cached {
    pub(super) fn from_answer(response: &Response, body: String) -> Self {
        let header = |name| response.header(name).map(str::to_owned);
        let (content_type, etag, last_modified) =
            (header("content-type"), header("etag"), header("last-modified"));
        let url = response.url().to_string();
        Self { url, content_type, etag, last_modified, body, fetched: now() }
    }

    pub(super) fn is_fresh(&self, limit: Duration) -> bool {
        // A time in the future (the clock was set back) is not fresh.
        now().checked_sub(self.fetched).is_some_and(|age| age < limit.as_secs())
    }

    pub(super) fn renewed(self) -> Self {
        Self { fetched: now(), ..self }
    }
}

impl Cache {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(super) fn listing(&self, url: &Url) -> Option<Cached> {
        let text = kept(&self.listing_file(url))?;
        let (head, body) = text.split_once('\n')?;
        let head: Head = serde_json::from_str(head).ok()?;
        (head.form == FORM).then(|| Cached {
            url: head.url,
            content_type: head.content_type,
            etag: head.etag,
            last_modified: head.last_modified,
            body: body.to_owned(),
            fetched: head.fetched,
        })
    }

    pub(super) fn keep_listing(&self, url: &Url, answer: &Cached) {
        let head = Head {
            form: FORM,
            url: answer.url.clone(),
            content_type: answer.content_type.clone(),
            etag: answer.etag.clone(),
            last_modified: answer.last_modified.clone(),
            fetched: answer.fetched,
        };
        if let Ok(head) = serde_json::to_string(&head) {
            keep(&self.listing_file(url), &format!("{head}\n{}", answer.body));
        }
    }

    pub(super) fn metadata(&self, digest: &Digest) -> Option<String> {
        kept(&self.metadata_file(digest))
    }

    pub(super) fn keep_metadata(&self, digest: &Digest, text: &str) {
        keep(&self.metadata_file(digest), text);
    }

    /// One file an address; the address itself is not in the name, since it can hold any character.
    fn listing_file(&self, url: &Url) -> PathBuf {
        let name = url.path().trim_end_matches('/').rsplit('/').next().unwrap_or("index");
        let digest = Digest::of(safe_url(url).as_bytes()).short();
        self.root.join(format!("{name}-{digest}"))
    }

    fn metadata_file(&self, digest: &Digest) -> PathBuf {
        self.root.join("metadata").join(digest.to_string())
    }
}

/// Reads a file of the cache.
fn kept(path: &Path) -> Option<String> {
    let mut text = read::text(path).ok()?;
    let (sum, body) = text.split_once('\n')?;
    let whole = sum.parse().is_ok_and(|sum: Digest| sum == Digest::of(body.as_bytes()));
    let start = sum.len() + 1;
    whole.then(|| text.split_off(start))
}

/// Writes a file of the cache. A failure is no failure: a cache that cannot be written, in a read-only home or on a
/// full disk, costs time and nothing else.
fn keep(path: &Path, text: &str) {
    let directory = path.parent().unwrap_or(Path::new("."));
    let _ = fs_err::create_dir_all(directory).and_then(|()| {
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        writeln!(file, "{}", Digest::of(text.as_bytes()))?;
        file.write_all(text.as_bytes())?;
        file.persist(path)?;
        Ok(())
    });
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}
