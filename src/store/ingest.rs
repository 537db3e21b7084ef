//! Wheels into the store: fetch, hash, unpack and check at once; publish by rename.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fs_err as fs;
use sha2::{Digest as _, Sha256};

use super::error::{Damage, Error, is_full};
use super::journal::{self, Journal, Progress};
use super::stream::Stream;
use super::tap::Tap;
use super::unpack::{Fault, Promise, unpack};
use super::{Store, WheelSource};
use crate::domain::digest::Digest;
use crate::domain::receipt::{self, Receipt};
use crate::platform::bulk::write_new;
use crate::platform::checkpoint::checkpoint;
use crate::platform::flock::{self, Attempt, Flock, Mode};
use crate::platform::fs::{Published, Staging, unique};
use crate::platform::http::Http;
use crate::platform::identity;
use crate::platform::thread;
use crate::platform::zip::ZipError;
use crate::progress::{self, Task};

/// How often a waiting process looks whether the wheel has arrived.
pub(super) const GLANCE: Duration = Duration::from_millis(40);

/// After this long, a waiting process says for whom it waits.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// How to ingest.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Wheels that are worked on at once.
    pub jobs: usize,
}

/// How a wheel came to be in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// It was there.
    Present,
    /// It was fetched.
    Fetched,
    /// Another process fetched it while this one waited.
    Awaited,
    /// Somebody had unpacked it already, and its files were linked.
    Adopted,
}

/// One wheel that is in the store now.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Ingested {
    /// The wheel's file name.
    pub file: String,
    /// Its digest, computed where the index gave none.
    pub digest: Digest,
    /// How it came there.
    pub how: How,
}

impl Store {
    /// Puts all wheels into the store, several at once, the largest first. A wheel that fails does not stop the
    /// others: they are finished and kept, and the first failure is returned.
    pub fn ingest_all(
        &self,
        sources: &[WheelSource],
        http: &Http,
        options: Options,
        progress: &dyn progress::Progress,
    ) -> Result<Vec<Ingested>, Error> {
        let mut order: Vec<usize> = (0..sources.len()).collect();
        order.sort_by_key(|&index| std::cmp::Reverse(sources[index].size));
        let next = AtomicUsize::new(0);
        let results: Mutex<Vec<(usize, Result<Ingested, Error>)>> = Mutex::new(Vec::new());
        let work = &|| {
            while let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                let result = self.ingest(&sources[index], http, progress);
                results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
            }
        };
        std::thread::scope(|scope| {
            for worker in 0..options.jobs.clamp(1, sources.len().max(1)) {
                scope.spawn(move || {
                    // The largest wheel would be the last to end, alone on one core: it goes first wherever cores are
                    // scarce.
                    if worker > 0 {
                        thread::step_back();
                    }
                    work();
                });
            }
        });
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_unstable_by_key(|(index, _)| *index);
        results.into_iter().map(|(_, result)| result).collect()
    }

    /// Puts one wheel into the store.
    pub fn ingest(
        &self,
        source: &WheelSource,
        http: &Http,
        progress: &dyn progress::Progress,
    ) -> Result<Ingested, Error> {
        let done = |digest, how| Ingested { file: source.file.clone(), digest, how };
        if let Some(digest) = source.digest.filter(|digest| self.contains(digest)) {
            return Ok(done(digest, How::Present));
        }
        if source.places.is_empty() {
            return Err(Error::NoPlace(source.file.clone()));
        }
        let task = progress.start(&short_name(&source.file), source.size);
        let lock = match self.acquire(source, task.as_ref(), progress) {
            Turn::Ours(lock) => lock,
            Turn::Arrived(digest) => return Ok(done(digest, How::Awaited)),
        };
        let adopted = match (source.digest, &source.unpacked) {
            (Some(digest), Some(unpacked)) => {
                self.adopt(source, digest, unpacked, task.as_ref())?.then_some(digest)
            }
            _ => None,
        };
        let (digest, how) = match adopted {
            Some(digest) => (digest, How::Adopted),
            None => (self.fetch(source, http, task.as_ref(), lock.as_ref())?, How::Fetched),
        };
        if let Some(lock) = lock {
            lock.retire();
        }
        task.finish();
        Ok(done(digest, how))
    }

    /// Waits until this process may fetch the wheel, or until another one has.
    fn acquire(
        &self,
        source: &WheelSource,
        task: &dyn Task,
        progress: &dyn progress::Progress,
    ) -> Turn {
        // Without a digest nobody else can be known to fetch the same bytes.
        let Some(digest) = source.digest else { return Turn::Ours(None) };
        let path = self.locks.join(digest.to_string());
        let since = Instant::now();
        let mut said = None;
        loop {
            let attempt = flock::attempt(&path, Mode::Exclusive);
            // After the attempt, so that a wheel published by the last holder is always seen.
            if self.contains(&digest) {
                if let Attempt::Held(lock) = attempt {
                    lock.retire();
                }
                return Turn::Arrived(digest);
            }
            match attempt {
                Attempt::Held(lock) => return Turn::Ours(Some(lock)),
                Attempt::Unavailable(_) => return Turn::Ours(None),
                Attempt::Busy(owner) if since.elapsed() > PATIENCE => {
                    let whom = owner.map_or("another cuenv".to_owned(), |owner| owner.to_string());
                    if said.is_none() {
                        progress
                            .note(&format!("waiting for {whom}, which fetches {}", source.file));
                    }
                    if said.as_ref() != Some(&whom) {
                        task.status(&format!("waiting for {whom}"));
                    }
                    said = Some(whom);
                }
                Attempt::Busy(_) => {}
            }
            std::thread::sleep(GLANCE);
        }
    }

    fn fetch(
        &self,
        source: &WheelSource,
        http: &Http,
        task: &dyn Task,
        lock: Option<&Flock>,
    ) -> Result<Digest, Error> {
        let watched = Watched { task, lock, got: 0.into(), size: source.size };
        let begun = self.take_over(source, lock);
        let (error, again) = match self.attempt(source, http, &watched, begun, false) {
            Ok(digest) => return Ok(digest),
            Err(failed) => failed,
        };
        if !again {
            return Err(error);
        }
        // Pieces that do not belong together, or a cache that keeps a bad copy: once more from the start.
        watched.status("damaged, fetching it again");
        watched.set(0);
        self.attempt(source, http, &watched, None, true).map_err(|(error, _)| error)
    }

    /// Finds what another process has left of this wheel and makes it this process's own.
    fn take_over(&self, source: &WheelSource, lock: Option<&Flock>) -> Option<(Staging, Progress)> {
        let digest = source.digest?.to_string();
        let is_locked = lock.is_some_and(Flock::is_real);
        let mut taken = None;
        for (path, progress) in journal::left_behind(&self.tmp, &digest) {
            let owner = progress.as_ref().map(|progress| &progress.owner);
            if !journal::is_abandoned(&path, owner, is_locked) {
                continue;
            }
            let Ok(staging) = Staging::adopt(&path, &digest) else { continue };
            // The first has come furthest; dropping the others removes them.
            if let (None, Some(progress)) = (&taken, progress) {
                taken = Some((staging, progress));
            }
        }
        taken
    }

    /// Fetches and unpacks once. The error says whether another attempt from the start makes sense.
    fn attempt(
        &self,
        source: &WheelSource,
        http: &Http,
        task: &dyn Task,
        begun: Option<(Staging, Progress)>,
        past_caches: bool,
    ) -> Result<Digest, (Error, bool)> {
        let last = |error| (error, false);
        let (staging, from) = match begun {
            Some((staging, progress)) => (staging, Some(progress)),
            None => {
                let stem = source.digest.map_or("wheel".to_owned(), |digest| digest.to_string());
                let staging = Staging::new(&self.tmp, &stem).map_err(|e| last(self.io(e)))?;
                (staging, None)
            }
        };
        checkpoint("staged");
        let (start, hash) =
            from.as_ref().map_or((0, Sha256::new()), |from| (from.position, from.hash.clone()));
        task.set(start);
        let stream = Stream::new(source, http, task, start, past_caches);
        let mut input = Tap::at(stream, hash, start);
        let mut journal = Journal::new(staging.path(), start);
        let promise = Promise { size: source.size, vouched: source.digest.is_some() };
        let outcome = unpack(&mut input, staging.path(), promise, &mut journal, from);
        let (found, position) = (input.digest(), input.position());
        let mut stream = input.into_inner();
        if let Some(error) = stream.fault() {
            // What is there is worth keeping when there is a note of it.
            if staging.path().join(journal::NAME).exists() {
                staging.keep();
            }
            return Err(last(error));
        }
        let place = stream.place();
        let again = stream.is_pieced() || stream.is_remote() && !past_caches;
        let damaged = |damage| {
            let error = Error::Damaged {
                file: source.file.clone(),
                place: place.clone(),
                damage: Box::new(damage),
            };
            (error, again)
        };
        let incomplete = |got, cause| {
            let (file, place, size) = (source.file.clone(), place.clone(), source.size);
            last(Error::Incomplete { file, place, got, size, source: cause })
        };
        let files = match outcome {
            Ok(files) => files,
            // A file that was left behind and cannot be read again is damaged, not a full disk.
            Err(Fault::Write(error)) if start > 0 && !is_full(&error) => {
                return Err((self.io(error), true));
            }
            Err(Fault::Write(error)) => return Err(last(self.io(error))),
            Err(Fault::Read(error)) => return Err(incomplete(position, Some(error))),
            // Without a promised size, an early end looks like the end of a shorter file.
            Err(Fault::Damage(Damage::Zip(ZipError::Truncated(got)))) if source.size.is_none() => {
                return Err(incomplete(got, None));
            }
            Err(Fault::Damage(damage)) => return Err(damaged(damage)),
        };
        if let Some(expected) = source.size.filter(|size| *size != position || stream.has_more()) {
            return Err(damaged(Damage::Size { expected, found: position }));
        }
        if let Some(expected) = source.digest.filter(|digest| *digest != found) {
            return Err(damaged(Damage::Digest { expected, found }));
        }
        let receipt = Receipt {
            file: source.file.clone(),
            size: position,
            digest: found,
            boot: identity::boot(),
            files,
        };
        self.publish(staging, &receipt).map_err(|error| last(self.io(error)))?;
        Ok(found)
    }

    pub(super) fn publish(
        &self,
        staging: Staging,
        receipt: &Receipt,
    ) -> std::io::Result<Published> {
        match fs::remove_file(staging.path().join(journal::NAME)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // Like the files themselves it is on the disk, or on its way before the rename: a power cut leaves all or nothing.
        write_new(&staging.path().join(receipt::NAME), receipt.render().as_bytes())?;
        checkpoint("unpacked");
        let into = self.root.join(receipt.digest.to_string());
        if into.exists() && !into.join(receipt::NAME).exists() {
            // No entry is published without its receipt, so this is litter of another making.
            move_aside(&into, &self.tmp)?;
        }
        let published = staging.publish(&into)?;
        checkpoint("published");
        Ok(published)
    }

    pub(super) fn io(&self, error: std::io::Error) -> Error {
        if is_full(&error) {
            return Error::Space { path: self.tmp.clone(), source: error };
        }
        Error::Store(error)
    }
}

fn move_aside(path: &Path, tmp: &Path) -> std::io::Result<()> {
    let aside = tmp.join(unique("aside"));
    fs::rename(path, &aside)?;
    fs::remove_dir_all(&aside)
}

enum Turn {
    Ours(Option<Flock>),
    Arrived(Digest),
}

/// Passes progress on to the lock file, where waiting processes read it.
struct Watched<'a> {
    task: &'a dyn Task,
    lock: Option<&'a Flock>,
    got: std::sync::atomic::AtomicU64,
    size: Option<u64>,
}

impl Task for Watched<'_> {
    fn advance(&self, bytes: u64) {
        self.task.advance(bytes);
        let got = self.got.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if let Some(lock) = self.lock {
            let percent = self.size.filter(|size| *size > 0).map(|size| got * 100 / size);
            lock.beat(percent.and_then(|percent| u8::try_from(percent).ok()));
        }
    }

    fn set(&self, bytes: u64) {
        self.got.store(bytes, Ordering::Relaxed);
        self.task.set(bytes);
    }

    fn status(&self, text: &str) {
        self.task.status(text);
    }

    fn finish(&self) {
        self.task.finish();
    }
}

/// Returns the distribution and version of a wheel's file name, which is what people know it by.
fn short_name(file: &str) -> String {
    let mut parts = file.split('-');
    match (parts.next(), parts.next()) {
        (Some(name), Some(version)) => format!("{name} {version}"),
        _ => file.to_owned(),
    }
}
