//! Wheels into the store: fetch, hash, unpack and check at once; publish by rename.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fs_err as fs;

use super::error::{Damage, Error, is_full};
use super::stream::Stream;
use super::tap::Tap;
use super::unpack::{Fault, unpack};
use super::{Store, WheelSource};
use crate::domain::digest::Digest;
use crate::domain::receipt::{self, Receipt};
use crate::platform::flock::{self, Attempt, Flock, Mode};
use crate::platform::fs::{Published, Staging, unique};
use crate::platform::http::Http;
use crate::platform::identity;
use crate::platform::zip::ZipError;
use crate::progress::{Progress, Task};

/// How often a waiting process looks whether the wheel has arrived.
const GLANCE: Duration = Duration::from_millis(40);

/// After this long, a waiting process says for whom it waits.
const PATIENCE: Duration = Duration::from_secs(1);

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
        progress: &dyn Progress,
    ) -> Result<Vec<Ingested>, Error> {
        let mut order: Vec<usize> = (0..sources.len()).collect();
        order.sort_by_key(|&index| std::cmp::Reverse(sources[index].size));
        let next = AtomicUsize::new(0);
        let results: Mutex<Vec<(usize, Result<Ingested, Error>)>> = Mutex::new(Vec::new());
        let work = || {
            while let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                let result = self.ingest(&sources[index], http, progress);
                results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..options.jobs.clamp(1, sources.len().max(1)) {
                scope.spawn(work);
            }
            work();
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
        progress: &dyn Progress,
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
        let digest = self.fetch(source, http, task.as_ref(), lock.as_ref())?;
        if let Some(lock) = lock {
            lock.retire();
        }
        task.finish();
        Ok(done(digest, How::Fetched))
    }

    /// Waits until this process may fetch the wheel, or until another one has.
    fn acquire(&self, source: &WheelSource, task: &dyn Task, progress: &dyn Progress) -> Turn {
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
        let stem = source.digest.map_or("wheel".to_owned(), |digest| digest.to_string());
        let staging = Staging::new(&self.tmp, &stem).map_err(|error| self.io(error))?;
        let watched = Watched { task, lock, got: 0.into(), size: source.size };
        let mut input = Tap::new(Stream::new(source, http, &watched));
        let outcome = unpack(&mut input, staging.path(), source.size);
        let (found, position) = (input.digest(), input.position());
        let mut stream = input.into_inner();
        if let Some(error) = stream.fault() {
            return Err(error);
        }
        let place = stream.place();
        let damaged = |damage| Error::Damaged {
            file: source.file.clone(),
            place: place.clone(),
            damage: Box::new(damage),
        };
        let files = match outcome {
            Ok(files) => files,
            Err(Fault::Write(error)) => return Err(self.io(error)),
            Err(Fault::Read(error)) => {
                let (file, size) = (source.file.clone(), source.size);
                let source = Some(error);
                return Err(Error::Incomplete { file, place, got: position, size, source });
            }
            // Without a promised size, an early end looks like the end of a shorter file.
            Err(Fault::Damage(Damage::Zip(ZipError::Truncated(got)))) if source.size.is_none() => {
                let file = source.file.clone();
                return Err(Error::Incomplete { file, place, got, size: None, source: None });
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
        self.publish(staging, &receipt).map_err(|error| self.io(error))?;
        Ok(found)
    }

    fn publish(&self, staging: Staging, receipt: &Receipt) -> std::io::Result<Published> {
        fs::write(staging.path().join(receipt::NAME), receipt.render())?;
        let into = self.root.join(receipt.digest.to_string());
        if into.exists() && !into.join(receipt::NAME).exists() {
            // No entry is published without its receipt, so this is litter of another making.
            move_aside(&into, &self.tmp)?;
        }
        staging.publish(&into)
    }

    fn io(&self, error: std::io::Error) -> Error {
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
