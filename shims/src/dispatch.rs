//! From a command line to the program that runs: which program, under which name, with which changes of the
//! environment. Shims and `cuenv exec` share it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::chain::{self, Chain};
use crate::dirs::Dirs;
use crate::environ::{self, Changes};
use crate::locate::{self, Choice, LocateError, Question, Source};
use crate::names;
use crate::prepare::{self, PrepareError, Prepared};
use crate::program::{self, Found, Program, Skip};
use crate::spec;
use crate::toolchain::{self, Toolchain};
use crate::vars::Vars;

/// The programs of a toolkit. When the toolchain has none of that name, another toolkit's answers, with a note.
const TOOLKIT: [&str; 12] = [
    "nvcc",
    "ptxas",
    "fatbinary",
    "nvlink",
    "cicc",
    "bin2c",
    "cuobjdump",
    "nvdisasm",
    "nvprune",
    "cu++filt",
    "compute-sanitizer",
    "cuda-gdb",
];

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Where cuenv's directories are.
    pub dirs: &'a Dirs,
    /// The environment.
    pub vars: &'a Vars,
    /// The working directory; `None` when it was deleted.
    pub cwd: Option<&'a Path>,
    /// The running binary.
    pub exe: Option<&'a Path>,
    /// This process's number.
    pub process: u32,
    /// The spec given on the command line.
    pub spec: Option<&'a str>,
    /// The program: a name, or a path when it holds a slash.
    pub program: &'a OsStr,
    /// What this process is to the program.
    pub role: Role,
    /// Programs that the system refused to execute.
    pub refused: &'a [PathBuf],
}

/// What this process is to the program that it becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// `cuenv exec`.
    Exec,
    /// A shim: the chain grows, and its own name is not its program. `by_name` where the caller gave no path.
    Shim {
        /// Whether `PATH` decided that the shim is asked.
        by_name: bool,
    },
}

/// What is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The program's file.
    pub program: PathBuf,
    /// Changes of the environment.
    pub changes: Changes,
    /// The toolchain's choice, if one holds.
    pub choice: Option<Choice>,
    /// What the toolchain wants, if one is entered.
    pub prepared: Option<Prepared>,
    /// Lines for the user.
    pub notes: Vec<String>,
}

/// Why nothing is run.
#[derive(Debug)]
pub enum Failure {
    /// Selection failed.
    Locate(LocateError),
    /// The prefix cannot be used.
    Prepare(PrepareError),
    /// The toolchain is not installed.
    Missing(Choice),
    /// A loop of shims.
    Loop(OsString, Chain),
    /// A loop through a program that is neither a script nor a manager known by name.
    Runaway(OsString, PathBuf),
    /// No such program.
    NoCommand(OsString),
    /// Found, and may not be executed.
    NotExecutable(PathBuf),
}

impl Failure {
    /// Returns the exit code: 125 when cuenv failed, 126 when the program cannot be executed, 127 when there is none.
    pub fn code(&self) -> u8 {
        match self {
            Self::NoCommand(_) => 127,
            Self::NotExecutable(_) => 126,
            _ => 125,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locate(error) => error.fmt(f),
            Self::Prepare(error) => error.fmt(f),
            Self::Missing(choice) => f.write_str(&crate::hook::not_installed(choice)),
            Self::Loop(tool, chain) => {
                let (tool, count) = (tool.to_string_lossy(), chain.links.len());
                write!(f, "{tool}: stopped after {count} shims in a row, a loop:\n{chain}")
            }
            Self::Runaway(tool, file) => {
                let (tool, file) = (tool.to_string_lossy(), file.display());
                let (count, seconds) = (chain::MAX_PROGRAMS, chain::WINDOW);
                write!(
                    f,
                    "{tool}: stopped: {count} programs came one from the other within {seconds} seconds, \
                     a loop through `{file}`"
                )
            }
            Self::NoCommand(tool) => {
                let tool = tool.to_string_lossy();
                let words = if tool.contains('/') {
                    "No such file or directory"
                } else {
                    "command not found"
                };
                write!(f, "{tool}: {words}")
            }
            Self::NotExecutable(path) => write!(f, "{}: Permission denied", path.display()),
        }
    }
}

impl std::error::Error for Failure {}

/// Takes `+SPEC` from the front of a shim's arguments. `+%F` and the like are the program's own.
pub fn take_spec(args: &[OsString]) -> (Option<String>, &[OsString]) {
    let spec = args
        .first()
        .and_then(|first| first.to_str())
        .and_then(|first| first.strip_prefix('+'))
        .filter(|text| spec::is_spec(text));
    match spec {
        Some(spec) => (Some(spec.to_owned()), &args[1..]),
        None => (None, args),
    }
}

/// Returns the name of the tool that a shim was called as: the last part of `argv0`, or, when that is no shim's name
/// (`exec -a`), the name of the file that was executed.
pub fn tool_name(argv0: &OsStr, dirs: &Dirs) -> OsString {
    let name = Path::new(argv0).file_name().unwrap_or(argv0);
    let shims = dirs.shims();
    let is_shim = |name: &OsStr| {
        !name.as_bytes().contains(&b'/') && std::fs::symlink_metadata(shims.join(name)).is_ok()
    };
    if is_shim(name) {
        return name.to_owned();
    }
    // The kernel keeps the first fifteen bytes of the executed file's name.
    let executed = std::fs::read("/proc/self/comm").unwrap_or_default();
    let executed = OsStr::from_bytes(executed.strip_suffix(b"\n").unwrap_or(&executed));
    let is_own = executed == names::SHIM_BINARY;
    if !is_own && is_shim(executed) { executed.to_owned() } else { name.to_owned() }
}

/// Decides what is run.
pub fn plan(call: &Call<'_>) -> Result<Plan, Failure> {
    let Call { dirs, vars, .. } = *call;
    let chain = Chain::of(vars);
    let is_shim = call.role != Role::Exec;
    if is_shim && chain.is_loop() {
        return Err(Failure::Loop(call.program.to_owned(), chain));
    }
    let question =
        Question { dirs, vars, cwd: call.cwd, argument: call.spec, inherit: true, all: false };
    let selection = locate::select(&question);
    let mut notes: Vec<String> = selection.notices.iter().map(ToString::to_string).collect();
    for (path, keys) in &selection.unknown {
        notes.push(format!("`{}` holds unknown keys: {}", path.display(), keys.join(", ")));
    }
    let choice = selection.first().map_err(Failure::Locate)?;
    let mut skip = Skip { refused: call.refused.to_vec(), ..Skip::default() };
    if let Role::Shim { by_name } = call.role {
        skip.directories.extend(program::identity(&dirs.shims()));
        skip.binary = call.exe.and_then(program::identity);
        skip.visited = chain.visited(call.process, call.program, by_name);
    }

    let mut changes = Changes::new();
    let mut prepared = None;
    let mut prefix = None;
    match &choice {
        None => {}
        // What an ancestor set stays as it is.
        Some(choice) if choice.source == Source::Inherited => {}
        Some(choice) => {
            match toolchain::find(dirs, choice, &mut Vec::new()).map_err(Failure::Locate)? {
                Toolchain::System => changes = environ::leave(vars),
                Toolchain::Missing(_) => return Err(Failure::Missing(choice.clone())),
                Toolchain::Installed(installed) => prefix = Some(installed),
            }
        }
    }
    let mut path = OsString::new();
    if let Some(installed) = &prefix {
        // `enter` puts the toolchain's `bin` first; the search sees it there.
        for bin in installed.activation.directories(&installed.prefix, "PATH") {
            path.push(bin);
            path.push(":");
        }
        path.push(program::search_path(&environ::left(vars)));
    } else {
        path.push(program::search_path(vars));
    }
    let program = find(call.program, &path, &skip)?;
    if let (Some(installed), Some(choice)) = (&prefix, &choice) {
        notes.extend(installed.stale());
        let request = prepare::Request {
            program: Some(&program),
            ..prepare::Request::new(installed, choice, vars, dirs)
        };
        let found = prepare::prepare(&request).map_err(Failure::Prepare)?;
        changes = environ::enter(vars, &found.wanted, dirs);
        let own = program.file.starts_with(&installed.prefix)
            || installed
                .activation
                .directories(&installed.prefix, "PATH")
                .any(|bin| program.file.starts_with(bin));
        if !own && call.program.to_str().is_some_and(|name| TOOLKIT.contains(&name)) {
            notes.push(format!(
                "`{}` is not part of {}; running `{}`",
                call.program.to_string_lossy(),
                installed.activation.toolchain,
                program.file.display()
            ));
        }
        if program.sets_id() {
            notes.push(format!(
                "`{}` changes the user or group it runs as, so the loader drops LD_LIBRARY_PATH: put `cuenv exec --` behind it",
                program.file.display()
            ));
        }
        prepared = Some(found);
    }
    if let Some(spec) = call.spec {
        // What the program starts is to see the same toolchain.
        changes.push((names::TOOLCHAIN.into(), Some(spec.into())));
    }
    if chain != Chain::default() {
        notes.clear();
    }
    if is_shim {
        changes.push((names::CHAIN.into(), Some(next(chain, call, &program)?)));
    }
    Ok(Plan { program: program.file, changes, choice, prepared, notes })
}

/// Returns the chain that the program is given.
fn next(chain: Chain, call: &Call<'_>, program: &Program) -> Result<OsString, Failure> {
    if chain::may_hand_back(call.program, program) {
        return Ok(chain.with(call.process, call.program, &program.file));
    }
    let now = chain::now();
    if chain.is_runaway(now) {
        return Err(Failure::Runaway(call.program.to_owned(), program.file.clone()));
    }
    Ok(chain.anew(now))
}

fn find(name: &OsStr, path: &OsStr, skip: &Skip) -> Result<Program, Failure> {
    if name.as_bytes().contains(&b'/') {
        let file = PathBuf::from(name);
        return match std::fs::metadata(&file) {
            Ok(seen) if seen.is_file() && seen.mode() & 0o111 != 0 => Ok(Program::at(file)),
            Ok(_) => Err(Failure::NotExecutable(file)),
            Err(_) => Err(Failure::NoCommand(name.to_owned())),
        };
    }
    let found = match program::search(name, path, skip) {
        // Everything was handed to already: let the chain's limit end it, with a message that shows the chain.
        Found::Nothing if !skip.visited.is_empty() => {
            let again = Skip { visited: Vec::new(), ..skip.clone() };
            program::search(name, path, &again)
        }
        found => found,
    };
    match found {
        Found::Program(program) => Ok(program),
        Found::NotExecutable(file) => Err(Failure::NotExecutable(file)),
        Found::Nothing => Err(Failure::NoCommand(name.to_owned())),
    }
}

/// Returns the name that the program is told it was called as. A caller's own name (`exec -a`) is kept; a shim's
/// becomes the program's path, since programs such as Python look for themselves by it.
pub fn argv0(given: &OsStr, tool: &OsStr, file: &Path) -> OsString {
    if Path::new(given).file_name() == Some(tool) {
        file.as_os_str().to_owned()
    } else {
        given.to_owned()
    }
}

/// Says why the system did not start a program, as a shell would, with the exit code.
pub(crate) fn exec_failure(file: &Path, error: &std::io::Error) -> (u8, String) {
    const E2BIG: i32 = 7;
    let file_name = file.display();
    match error.raw_os_error() {
        Some(E2BIG) => (126, format!("{file_name}: Argument list too long")),
        _ if error.kind() == std::io::ErrorKind::NotFound => match Program::at(file).first_line() {
            Some(line) => {
                let interpreter = line.trim_start_matches("#!").trim();
                (
                    126,
                    format!(
                        "{file_name}: {interpreter}: bad interpreter: No such file or directory"
                    ),
                )
            }
            None if file.exists() => {
                (126, format!("{file_name}: its program interpreter is missing"))
            }
            None => (127, format!("{file_name}: No such file or directory")),
        },
        _ => {
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or_default().to_owned();
            (126, format!("{file_name}: {text}"))
        }
    }
}
