//! `verify`: does every library of a toolchain load, from the toolchain, in the environment that the toolchain computes?
//!
//! The loading is done by child processes of cuenv itself, since a library may crash or hang. The child says what it is about
//! to do before it does it, so that the one that ended it is known; the next child goes on behind that one.

mod child;
mod compute;
mod files;
mod gpu;
mod report;
mod toolchain;
mod versions;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::context::Context;
use crate::platform::lines::{self, Ending};

pub use child::{Computed, Event, compute_with, load};
pub use files::{Error as FilesError, check_files};
pub(super) use files::{glance, mending};
pub use report::{Gpu, Library, Report, Verdict};
pub use toolchain::Error as ToolchainError;

/// The hidden subcommand that the child is started with.
pub const CHILD: &str = "__load";

/// The one that computes.
const COMPUTE: &str = "--compute";

/// A library that says nothing for so long hangs. Device code of hundreds of megabytes is read from a cold disk meanwhile.
const SILENCE: Duration = Duration::from_mins(2);

/// Libraries that no toolchain brings and that are rightly absent on many hosts: the driver's own, and those of optional
/// network plugins.
const OPTIONAL: &[&str] = &[
    "libcuda.so.1",
    "libnvidia-ml.so.1",
    "libnvidia-cfg.so.1",
    "libmlx5.so.1",
    "librdmacm.so.1",
    "libibverbs.so.1",
    "libmpi.so.40",
    "liboshmem.so.40",
    "libpmix.so.2",
    "libfabric.so.1",
    "libucp.so.0",
    "libucs.so.0",
];

/// Why a toolchain could not be verified.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is none to verify.
    #[error(transparent)]
    Toolchain(#[from] ToolchainError),
    /// The prefix has no libraries.
    #[error("`{}` holds no libraries", .0.display())]
    Empty(PathBuf),
    /// The prefix cannot be read.
    #[error("cannot read the prefix")]
    Read(#[source] std::io::Error),
    /// The child cannot be started.
    #[error("cannot start the child process that loads the libraries")]
    Child(#[source] std::io::Error),
    /// This program does not know its own path.
    #[error("this program's own path is unknown")]
    NoExe,
}

/// Verifies the toolchain of `spec`, or the one that holds here; with `compute` also on the GPU, if there is one.
pub fn verify(cx: &Context<'_>, spec: Option<&str>, compute: bool) -> Result<Report, Error> {
    let found = toolchain::find(cx, spec)?;
    let faults = glance(cx, &found.prefix);
    let names = libraries(&found.libraries).map_err(Error::Read)?;
    if names.is_empty() {
        return Err(Error::Empty(found.prefix));
    }
    let exe = cx.process.exe().ok_or(Error::NoExe)?;
    let mut libraries = Vec::new();
    let mut rest = names;
    while !rest.is_empty() {
        let mut seen = Seen::default();
        let mut args = vec![OsString::from(CHILD)];
        args.extend(rest.iter().map(OsString::from));
        let finished =
            lines::run(exe, &args, found.environment.clone(), SILENCE, &mut |line| seen.take(line))
                .map_err(Error::Child)?;
        let how = ending(&finished.ending, &finished.stderr);
        let before = rest.len();
        for name in std::mem::take(&mut rest) {
            if let Some(loaded) = seen.loaded.remove(&name) {
                libraries.push(judge(&found.libraries, &name, loaded));
            } else if seen.begun.as_deref() == Some(&name) {
                libraries.push(Library::broken(&name, Verdict::Crashed, how.clone()));
            } else {
                rest.push(name);
            }
        }
        if rest.len() == before {
            // The child did not even begin: nothing would be different the next time.
            libraries.extend(
                rest.drain(..).map(|name| Library::broken(&name, Verdict::Crashed, how.clone())),
            );
        }
    }
    libraries.sort_by(|a, b| a.name.cmp(&b.name));
    let gpu = if compute { computed(exe, &found, &libraries)? } else { Gpu::default() };
    Ok(Report {
        gpu,
        mending: mending(&faults, &found.choice),
        faults,
        toolchain: found.toolchain,
        prefix: found.prefix,
        because: found.because,
        libraries,
    })
}

/// Computes with every library that was loaded and for which a computation is known.
fn computed(exe: &Path, found: &toolchain::Found, libraries: &[Library]) -> Result<Gpu, Error> {
    let mut rest: Vec<String> = libraries
        .iter()
        .filter(|library| {
            library.verdict == Verdict::Ok && compute::step_for(&library.name).is_some()
        })
        .map(|library| library.name.clone())
        .collect();
    let mut all = Vec::new();
    while !rest.is_empty() {
        let mut seen = Seen::default();
        let mut args = vec![OsString::from(CHILD), OsString::from(COMPUTE)];
        args.extend(rest.iter().map(OsString::from));
        let environment = found.environment.clone();
        let finished = lines::run(exe, &args, environment, SILENCE, &mut |line| seen.take(line))
            .map_err(Error::Child)?;
        if let Some(why) = seen.no_gpu {
            return Ok(Gpu { missing: Some(why), computed: all });
        }
        let how = ending(&finished.ending, &finished.stderr);
        let before = rest.len();
        rest.retain(|name| !seen.computed.iter().any(|computed| computed.library == *name));
        all.append(&mut seen.computed);
        let crashed = seen.begun.filter(|name| rest.contains(name));
        let crashed = crashed.or_else(|| (rest.len() == before).then(|| rest[0].clone()));
        if let Some(name) = crashed {
            rest.retain(|other| *other != name);
            let what = compute::step_for(&name).map_or("", |step| step.name).to_owned();
            all.push(Computed { library: name, what, error: Some(how) });
        }
    }
    all.sort_by(|a, b| a.library.cmp(&b.library));
    Ok(Gpu { missing: None, computed: all })
}

/// What the child has said so far.
#[derive(Default)]
struct Seen {
    begun: Option<String>,
    loaded: BTreeMap<String, child::Loaded>,
    computed: Vec<Computed>,
    no_gpu: Option<String>,
}

impl Seen {
    fn take(&mut self, line: &str) {
        // Libraries write to standard output too; what is no event is theirs.
        match serde_json::from_str(line) {
            Ok(child::Event::Begin(name)) => self.begun = Some(name),
            Ok(child::Event::Loaded(loaded)) => {
                self.loaded.insert(loaded.name.clone(), loaded);
            }
            Ok(child::Event::NoGpu(why)) => self.no_gpu = Some(why),
            Ok(child::Event::Computed(computed)) => self.computed.push(computed),
            Err(_) => {}
        }
    }
}

/// The libraries of a toolchain: those on its library path by bare name, as programs open them, and the compiler library
/// that lies beside by path. A file with several names, as a toolkit of one's own has them, counts once, by the shortest
/// name with a number: its soname.
fn libraries(directories: &[PathBuf]) -> std::io::Result<Vec<String>> {
    let mut names: BTreeMap<(u64, u64), String> = BTreeMap::new();
    for directory in directories.iter().filter(|directory| directory.is_dir()) {
        let bare = !directory.ends_with("nvvm/lib64");
        for entry in fs_err::read_dir(directory)? {
            let path = entry?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            // An unversioned link stands for the file beside it.
            let alias = path.is_symlink() && !name.contains(".so.");
            let Ok(file) = fs_err::metadata(&path) else { continue };
            if !name.contains(".so") || alias || !file.is_file() {
                continue;
            }
            let name = if bare { name.to_owned() } else { path.display().to_string() };
            let known = names.entry((file.dev(), file.ino())).or_insert_with(|| name.clone());
            if name.len() < known.len() {
                *known = name;
            }
        }
    }
    let mut names: Vec<String> = names.into_values().collect();
    names.sort();
    Ok(names)
}

/// Whether two paths lead to one file.
fn same_file(a: &Path, b: &Path) -> bool {
    match (fs_err::metadata(a), fs_err::metadata(b)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

fn judge(directories: &[PathBuf], asked: &str, loaded: child::Loaded) -> Library {
    // Joining an absolute path gives that path.
    let places = directories.iter().map(|directory| directory.join(asked));
    let own = places.into_iter().find(|path| path.exists()).unwrap_or_else(|| asked.into());
    let name = own
        .file_name()
        .map_or_else(|| asked.to_owned(), |name| name.to_string_lossy().into_owned());
    if let Some(error) = loaded.error {
        let optional = OPTIONAL.iter().find(|name| error.starts_with(&format!("{name}:")));
        return match optional {
            Some(missing) => Library::broken(&name, Verdict::NeedsHost, (*missing).to_owned()),
            None => Library::broken(&name, Verdict::Failed, error),
        };
    }
    let (inside, outside): (Vec<_>, Vec<_>) =
        loaded.files.into_iter().partition(|file| same_file(file, &own));
    let told = loaded.version;
    let library = Library {
        name,
        version: told,
        via: loaded.via,
        file: inside.first().map(|_| own),
        verdict: Verdict::Ok,
        detail: None,
    };
    match outside.first() {
        Some(other) => Library {
            verdict: Verdict::Foreign,
            detail: Some(other.display().to_string()),
            ..library
        },
        None if inside.is_empty() => Library {
            verdict: Verdict::Foreign,
            detail: Some("a file that is not in the memory map".to_owned()),
            ..library
        },
        None => library,
    }
}

fn ending(ending: &Ending, stderr: &str) -> String {
    let mut text = match ending {
        Ending::Silent => format!("it said nothing for {} s", SILENCE.as_secs()),
        Ending::Ended(status) => match (status.signal(), status.code()) {
            (Some(signal), _) => format!("it ended the process by signal {signal}"),
            (None, code) => format!("it ended the process with code {}", code.unwrap_or_default()),
        },
    };
    if let Some(last) = stderr.lines().rev().find(|line| !line.trim().is_empty()) {
        text.push_str(": ");
        text.push_str(last.trim());
    }
    text
}
