//! One file for machines without a network: a lock and the wheels that it names, as the index served them.
//!
//! ```text
//! cuenv-bundle            "cuenv-bundle 1"
//! .cuenv.lock             what is in it
//! wheels/<file>           each wheel once, whole
//! ```
//!
//! Wheels travel whole, not unpacked: only then can the receiving side compare each with the sha256 that its lock names, and
//! a bundle, whoever made it, cannot put anything under a digest that is not its own.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fs_err as fs;
use serde::Serialize;

use super::answer;
use super::install::{self, InstallReport};
use super::network::Network;
use super::selection;
use crate::context::Context;
use crate::domain::digest::Digest;
use crate::domain::lock::{Lock, LockError, LockedWheel};
use crate::domain::spec::{Spec, SpecError};
use crate::domain::target::Target;
use crate::platform::fs::Staging;
use crate::platform::http::Http;
use crate::platform::tarball::{self, TarError, Writer};
use crate::project::{self, Project};
use crate::store::{self, Download, Place, Store, WheelSource};

const MARK: &str = "cuenv-bundle";
const HEAD: &str = "cuenv-bundle 1\n";
const LOCK: &str = ".cuenv.lock";
/// More than a lock of every component for both platforms needs.
const MAX_LOCK: u64 = 1 << 20;

/// What to pack.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// A spec instead of the lock here.
    pub spec: Option<Spec>,
    /// Platforms; those of the lock, or this one, when empty.
    pub targets: Vec<Target>,
    /// The file; `<toolchain>.tar.zst` here when left out.
    pub out: Option<PathBuf>,
}

/// A bundle that was written.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The file.
    pub path: PathBuf,
    /// The spec.
    pub spec: String,
    /// The toolchain.
    pub toolchain: String,
    /// The platforms.
    pub targets: Vec<Target>,
    /// How many wheels it holds.
    pub wheels: usize,
    /// Its size.
    pub bytes: u64,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.path.display())
    }
}

/// Why a bundle was not written or not read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing here says what to pack.
    #[error("no lock and no pin holds in `{}`", .0.display())]
    Nothing(PathBuf),
    /// The lock does not answer the pin.
    #[error("the pin says `{pin}`, but the lock answers `{lock}`")]
    Drift {
        /// The pin's spec.
        pin: String,
        /// The lock's.
        lock: String,
    },
    /// Selection.
    #[error(transparent)]
    Selection(#[from] selection::Error),
    /// The pin is no spec.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The project's files.
    #[error(transparent)]
    Project(#[from] project::Error),
    /// Resolving.
    #[error(transparent)]
    Answer(#[from] answer::Error),
    /// The index, the store, the prefix.
    #[error(transparent)]
    Install(#[from] install::Error),
    /// The archive.
    #[error(transparent)]
    Archive(#[from] TarError),
    /// The archive is not a bundle, or is one of a newer cuenv.
    #[error("`{}` is not a bundle: {what}", path.display())]
    NotABundle {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
    /// Its lock cannot be used.
    #[error("the lock in `{}` cannot be used", path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: LockError,
    },
    /// A wheel that the lock names is not in it.
    #[error("`{}` ends before `{wheel}`", path.display())]
    Lacks {
        /// The file.
        path: PathBuf,
        /// The wheel.
        wheel: String,
    },
    /// Writing.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        Self::Install(error.into())
    }
}

/// Packs the lock here, or what answers a spec.
pub fn pack(cx: &Context<'_>, request: &Request) -> Result<Report, Error> {
    let lock = match &request.spec {
        Some(spec) => {
            let here = [cx.target];
            let targets = if request.targets.is_empty() { &here } else { &request.targets[..] };
            answer::lock(cx, spec, targets, None)?
        }
        None => lock_here(cx, &request.targets)?,
    };
    // As `install` does on the other side, and before anything is fetched.
    for target in lock.prefix.keys() {
        install::vouch(cx, &lock, *target)?;
    }
    let wheels: BTreeMap<Digest, &LockedWheel> =
        lock.wheels.iter().map(|wheel| (wheel.sha256, wheel)).collect();
    let name = || PathBuf::from(format!("{}.tar.zst", lock.toolchain));
    let path = cx.cwd().join(request.out.clone().unwrap_or_else(name));
    let directory = path.parent().unwrap_or(Path::new("/"));
    // It takes its name by a rename, which would put a file in place of a device, a pipe or a link.
    if fs::symlink_metadata(&path).is_ok_and(|meta| !meta.is_file()) {
        let message = format!("`{}` is there and is no regular file", path.display());
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, message).into());
    }
    // Beside its final name, so that a bundle is whole or not there.
    // As readable as other files that the user makes: the umask decides.
    let file = tempfile::Builder::new()
        .permissions(std::fs::Permissions::from_mode(0o666))
        .tempfile_in(directory)?;
    let mut archive = Writer::new(io::BufWriter::new(file), 0)?;
    archive.add(MARK, HEAD.len() as u64, &mut HEAD.as_bytes())?;
    let text = lock.render();
    archive.add(LOCK, text.len() as u64, &mut text.as_bytes())?;
    let network = Network::open(cx);
    for wheel in wheels.values() {
        add_wheel(cx, &network, &mut archive, wheel)?;
    }
    let file = archive.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.as_file().sync_all()?;
    let bytes = file.as_file().metadata()?.len();
    file.persist(&path).map_err(|error| error.error)?;
    Ok(Report {
        path,
        spec: lock.spec.clone(),
        toolchain: lock.toolchain.clone(),
        targets: lock.prefix.keys().copied().collect(),
        wheels: wheels.len(),
        bytes,
    })
}

fn lock_here(cx: &Context<'_>, targets: &[Target]) -> Result<Lock, Error> {
    let choice = selection::here(cx)?.ok_or_else(|| Error::Nothing(cx.cwd().to_owned()))?;
    let spec: Spec = choice.spec.parse()?;
    let locked = match choice.pin_directory() {
        Some(directory) => Project::at(directory).read_lock()?,
        None => None,
    };
    let Some(lock) = locked else {
        let here = [cx.target];
        let targets = if targets.is_empty() { &here } else { targets };
        return Ok(answer::lock(cx, &spec, targets, choice.pin_directory())?);
    };
    if !lock.answers(&spec.to_string()) {
        return Err(Error::Drift { pin: spec.to_string(), lock: lock.spec });
    }
    for target in targets {
        if !lock.prefix.contains_key(target) {
            let has = lock.prefix.keys().map(ToString::to_string).collect();
            return Err(install::Error::NotLockedFor { target: *target, has }.into());
        }
    }
    if targets.is_empty() {
        return Ok(lock);
    }
    let mut lock = lock;
    lock.prefix.retain(|target, _| targets.contains(target));
    lock.wheels.retain(|wheel| targets.contains(&wheel.target));
    Ok(lock)
}

fn add_wheel<W: io::Write>(
    cx: &Context<'_>,
    network: &Network,
    archive: &mut Writer<W>,
    wheel: &LockedWheel,
) -> Result<(), Error> {
    let location = network
        .index()
        .locate(&wheel.distribution, &wheel.file, &wheel.sha256)
        .map_err(install::Error::from)?
        .location;
    let source = WheelSource {
        file: wheel.file.clone(),
        digest: Some(wheel.sha256),
        size: Some(wheel.size),
        places: vec![install::place(location)?],
        unpacked: None,
    };
    let task = cx.progress.start(&wheel.distribution, Some(wheel.size));
    let mut download = Download::new(&source, &network.http, task.as_ref());
    if let Err(error) = archive.add(&format!("wheels/{}", wheel.file), wheel.size, &mut download) {
        return Err(download.fault().map_or(Error::Io(error), Error::from));
    }
    download.finish()?;
    task.finish();
    Ok(())
}

/// Installs what a bundle holds for this platform. Asks nobody.
pub fn unpack(cx: &Context<'_>, file: &Path) -> Result<InstallReport, Error> {
    let path = cx.cwd().join(file);
    let store = Store::open(&cx.layout, &[]);
    // Keeps gc away: no lock names these wheels before the prefix is published.
    let _hold = store.hold_shared(cx.progress);
    let staging = Staging::new(&cx.layout.tmp(), "bundle")?;
    let http = Http::new(cx.settings.http.clone());
    // One wheel waits while others are unpacked, so that no more than a few lie there twice.
    let (sender, receiver) = sync_channel::<WheelSource>(1);
    let receiver = Mutex::new(receiver);
    let failure = Mutex::new(None);
    let lock = std::thread::scope(|scope| {
        for _ in 0..cx.settings.jobs.unwrap_or(2).max(1) {
            scope.spawn(|| ingest(cx, &store, &http, &receiver, &failure));
        }
        let lock = read(cx, &path, &store, staging.path(), &|source| {
            let failed = failure.lock().unwrap_or_else(PoisonError::into_inner).is_some();
            !failed && sender.send(source).is_ok()
        });
        // The workers end when nobody can send any more.
        drop(sender);
        lock
    });
    if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error.into());
    }
    let lock = lock?;
    for wheel in lock.wheels_for(cx.target) {
        if !store.contains(&wheel.sha256) {
            return Err(Error::Lacks { path, wheel: wheel.file.clone() });
        }
    }
    Ok(install::install_lock(cx, &lock, cx.target)?)
}

fn ingest(
    cx: &Context<'_>,
    store: &Store,
    http: &Http,
    receiver: &Mutex<Receiver<WheelSource>>,
    failure: &Mutex<Option<store::Error>>,
) {
    loop {
        let next = receiver
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv_timeout(Duration::from_millis(50));
        let source = match next {
            Ok(source) => source,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => continue,
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return,
        };
        let result = store.ingest(&source, http, cx.progress);
        for place in &source.places {
            if let Place::File(path) = place {
                let _ = fs::remove_file(path);
            }
        }
        if let Err(error) = result {
            failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }
}

/// Reads the bundle from front to back; `hand_on` gets each wheel that is wanted and not there yet.
fn read(
    cx: &Context<'_>,
    path: &Path,
    store: &Store,
    staging: &Path,
    hand_on: &dyn Fn(WheelSource) -> bool,
) -> Result<Lock, Error> {
    let not_a_bundle = |what| Error::NotABundle { path: path.to_owned(), what };
    let mut marked = false;
    let mut lock: Option<Lock> = None;
    tarball::read::<Error>(path, |entry| {
        if !marked {
            let mut head = String::new();
            if entry.name != MARK || entry.size != HEAD.len() as u64 {
                return Err(not_a_bundle("it does not begin as one"));
            }
            entry.content.read_to_string(&mut head)?;
            if head != HEAD {
                return Err(not_a_bundle("it was written by a newer cuenv"));
            }
            marked = true;
            return Ok(true);
        }
        let Some(lock) = &lock else {
            if entry.name != LOCK || entry.size > MAX_LOCK {
                return Err(not_a_bundle("its second entry is no lock"));
            }
            let mut text = String::new();
            entry.content.read_to_string(&mut text)?;
            let read = Lock::parse(&text)
                .map_err(|source| Error::Lock { path: path.to_owned(), source })?;
            if !read.prefix.contains_key(&cx.target) {
                let has = read.prefix.keys().map(ToString::to_string).collect();
                return Err(install::Error::NotLockedFor { target: cx.target, has }.into());
            }
            lock = Some(read);
            return Ok(true);
        };
        let wheel = lock
            .wheels
            .iter()
            .find(|wheel| entry.name.strip_prefix("wheels/") == Some(&wheel.file))
            .ok_or_else(|| not_a_bundle("it holds a file that its lock does not name"))?;
        if entry.size != wheel.size {
            return Err(not_a_bundle("a wheel has another size than its lock says"));
        }
        let wanted = lock.wheels_for(cx.target).any(|one| one.sha256 == wheel.sha256);
        if !wanted || store.contains(&wheel.sha256) {
            return Ok(true);
        }
        // A name of a lock holds no separator, so this stays in the staging directory.
        let file = staging.join(&wheel.file);
        let mut out = fs::File::create(&file)?;
        io::copy(&mut entry.content.take(wheel.size), &mut out)?;
        Ok(hand_on(WheelSource {
            file: wheel.file.clone(),
            digest: Some(wheel.sha256),
            size: Some(wheel.size),
            places: vec![Place::File(file)],
            unpacked: None,
        }))
    })?;
    lock.ok_or_else(|| not_a_bundle("it ends before its lock"))
}
