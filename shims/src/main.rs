//! The exec shim: one static binary, linked under the name of every shimmed tool.
//!
//! Under its own name it answers a shell's hook (`cuenv-shim hook-env SHELL`) and `--version`.
#![forbid(unsafe_code)]

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use shims::dirs::Dirs;
use shims::dispatch::{self, Call, Failure, Plan};
use shims::vars::{Vars, var};
use shims::{hook, names, program, vars};

#[expect(clippy::disallowed_methods, reason = "the process is read here, once")]
fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let cwd = std::env::current_dir().ok();
    let exe = std::env::current_exe().ok();
    let vars = vars::from_process();
    let Some(dirs) = Dirs::find(&vars, exe.as_deref()) else {
        return fail(125, "cannot tell where its data is: set CUENV_HOME or HOME");
    };
    let (argv0, rest) = match args.split_first() {
        Some((argv0, rest)) => (argv0.clone(), rest),
        None => (OsString::new(), &[][..]),
    };
    let tool = dispatch::tool_name(&argv0, &dirs);
    if tool == names::SHIM_BINARY {
        return own_command(rest, &vars, cwd.as_deref(), &dirs);
    }
    let (spec, rest) = dispatch::take_spec(rest);
    let call = Call {
        dirs: &dirs,
        vars: &vars,
        cwd: cwd.as_deref(),
        exe: exe.as_deref(),
        process: std::process::id(),
        spec: spec.as_deref(),
        program: &tool,
        is_shim: true,
    };
    let plan = match dispatch::plan(&call) {
        Err(Failure::Missing(choice))
            if var(&vars, names::AUTO_INSTALL) == Some(OsStr::new("1")) =>
        {
            let spec = (!matches!(choice.source, shims::locate::Source::Pin(..)))
                .then_some(choice.spec.as_str());
            match install(&dirs, exe.as_deref(), &vars, spec) {
                Ok(()) => dispatch::plan(&call),
                Err(message) => return fail(125, &message),
            }
        }
        plan => plan,
    };
    match plan {
        Ok(plan) => start(&plan, &dispatch::argv0(&argv0, &tool, &plan.program), rest),
        Err(failure) => fail(failure.code(), &failure.to_string()),
    }
}

/// The system's number for a file that is neither a program nor a script with a first line.
const ENOEXEC: i32 = 8;

/// Replaces this process by the program.
fn start(plan: &Plan, argv0: &OsStr, args: &[OsString]) -> ExitCode {
    for note in &plan.notes {
        say(note);
    }
    let prepare = |program: &OsStr| {
        let mut command = Command::new(program);
        for (name, value) in &plan.changes {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    };
    let error = prepare(plan.program.as_os_str()).arg0(argv0).args(args).exec();
    if error.raw_os_error() == Some(ENOEXEC) {
        // A script without a first line: shells run it themselves.
        let error = prepare(OsStr::new("/bin/sh")).arg(&plan.program).args(args).exec();
        let (code, message) = dispatch::exec_failure(Path::new("/bin/sh"), &error);
        return fail(code, &message);
    }
    let (code, message) = dispatch::exec_failure(&plan.program, &error);
    fail(code, &message)
}

/// Runs `cuenv install`, its standard output on standard error: the program's own must stay clean.
fn install(dirs: &Dirs, exe: Option<&Path>, vars: &Vars, spec: Option<&str>) -> Result<(), String> {
    let beside = exe.and_then(Path::parent).map(|bin| bin.join("cuenv"));
    let candidates = [Some(dirs.data.join("bin/cuenv")), beside];
    let cuenv: Option<PathBuf> = candidates.into_iter().flatten().find(|path| path.is_file());
    let cuenv = cuenv.or_else(|| {
        let path = program::search_path(vars);
        match program::search(OsStr::new("cuenv"), &path, &program::Skip::default()) {
            program::Found::Program(path) => Some(path),
            _ => None,
        }
    });
    let cuenv = cuenv.ok_or("cannot install the toolchain: `cuenv` is not on PATH")?;
    let stderr =
        std::io::stderr().as_fd().try_clone_to_owned().map_err(|error| error.to_string())?;
    let status = Command::new(&cuenv)
        .arg("install")
        .args(spec)
        .stdin(Stdio::null())
        .stdout(Stdio::from(stderr))
        .status()
        .map_err(|error| format!("cannot run `{}`: {error}", cuenv.display()))?;
    if status.success() { Ok(()) } else { Err("the toolchain could not be installed".to_owned()) }
}

fn own_command(args: &[OsString], vars: &Vars, cwd: Option<&Path>, dirs: &Dirs) -> ExitCode {
    let words: Vec<&str> = args.iter().filter_map(|word| word.to_str()).collect();
    match *words.as_slice() {
        ["hook-env", shell] => match shell.parse() {
            Ok(shell) => {
                let answer = hook::answer(vars, cwd, dirs);
                for line in &answer.lines {
                    say(line);
                }
                let text = hook::render(&answer, shell);
                match std::io::stdout().lock().write_all(&text) {
                    Ok(()) => ExitCode::SUCCESS,
                    Err(_) => ExitCode::FAILURE,
                }
            }
            Err(()) => fail(2, &format!("no hook for `{shell}`")),
        },
        ["--version" | "-V"] => {
            let text = format!("cuenv-shim {} ({})\n", env!("CARGO_PKG_VERSION"), program::MARKER);
            let _ = std::io::stdout().lock().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        _ => fail(2, "cuenv-shim is run under the names of tools: see `cuenv shim --help`"),
    }
}

fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "cuenv: {line}");
}

fn fail(code: u8, message: &str) -> ExitCode {
    say(message);
    ExitCode::from(code)
}
