//! The exec shim: one static binary, linked under the name of every shimmed tool.
//!
//! Under its own name it answers a shell's hook (`cuenv-shim hook-env SHELL`) and `--version`.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::ExitCode;

use shims::dirs::Dirs;
use shims::dispatch::{self, Call, Plan, Role};
use shims::vars::Vars;
use shims::{hook, names, program, run, vars};

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
        role: Role::Shim { by_name: !argv0.as_bytes().contains(&b'/') },
        refused: &[],
    };
    let name = |plan: &Plan| dispatch::argv0(&argv0, &tool, &plan.program);
    let error =
        run::run(&call, &name, rest, &mut |plan| plan.notes.iter().for_each(|note| say(note)));
    fail(error.code(), &error.to_string())
}

fn own_command(args: &[OsString], vars: &Vars, cwd: Option<&Path>, dirs: &Dirs) -> ExitCode {
    let words: Vec<&str> = args.iter().filter_map(|word| word.to_str()).collect();
    match *words.as_slice() {
        ["hook-env", shell, ref more @ ..] => match shell.parse() {
            Ok(shell) => {
                let answer = hook::answer(vars, cwd, dirs, more.contains(&"--quiet"));
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
            let text = format!("cuenv-shim {} ({})\n", env!("CARGO_PKG_VERSION"), program::MARK);
            let _ = std::io::stdout().lock().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        _ => fail(2, "cuenv-shim is run under the names of tools: see `cuenv shim --help`"),
    }
}

fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "cuenv: {}", shims::shown::text(line));
}

fn fail(code: u8, message: &str) -> ExitCode {
    say(message);
    ExitCode::from(code)
}
