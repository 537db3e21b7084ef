//! Words in, words out: parses the command line, builds the context, runs one command, returns its exit code.

pub mod args;
pub mod commands;
mod completion;
pub mod exit;
pub mod failure;
mod look;
pub mod output;
mod progress;
mod words;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, Parser as _};
use shims::dirs::Dirs;

use crate::context::{Context, directories};
use crate::domain::target::Target;
use crate::platform::process::Process;
use crate::progress::{Progress, Silent};
use crate::settings::{Overrides, Settings};
use args::{Cli, ColorChoice, Command, Global};
use exit::Exit;
use failure::Failure;
use output::Output;

/// Runs cuenv with what `process` was given.
pub fn run(process: &Process) -> ExitCode {
    let args = words::separate(process.args());
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => return unparsed(error, &args),
    };
    let output = output(&cli.global, process);
    match dispatch(&cli, process, &output) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            let failure = match &cli.command {
                Command::Exec(_) => failure.before_a_program(),
                _ => failure,
            };
            output.failure(&failure);
            failure.exit().into()
        }
    }
}

/// Says why the words cannot be parsed, or what they asked to be told: help or the version.
fn unparsed(mut error: clap::Error, args: &[OsString]) -> ExitCode {
    if !error.use_stderr() {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    without_hidden(&mut error);
    // The parser's tip to put `--` before an option that is not known would make a spec of it.
    let advises = |line: &&str| !line.contains("as a value, use");
    let text = error.render().to_string();
    let kept: Vec<&str> = text.lines().filter(advises).collect();
    let plain = kept.join("\n").replace("\n\n\n", "\n\n");
    Output::stderr(plain.trim_end());
    let failure = Failure::unparsed(&plain);
    let failure = if words::runs_a_program(args) { failure.before_a_program() } else { failure };
    if words::wants_json(args) {
        Output::default().failure_document(&failure);
    }
    failure.exit().into()
}

/// Takes the names of hidden commands, which are for scripts alone, out of the parser's tips.
fn without_hidden(error: &mut clap::Error) {
    let Some(ContextValue::Strings(names)) = error.remove(ContextKind::SuggestedSubcommand) else {
        return;
    };
    let hidden = |name: &String| {
        Cli::command().find_subcommand(name).is_some_and(clap::Command::is_hide_set)
    };
    let shown: Vec<String> = names.into_iter().filter(|name| !hidden(name)).collect();
    if !shown.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(shown));
    }
}

fn output(global: &Global, process: &Process) -> Output {
    let colour = |terminal| match global.color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            let forced = process.var("CLICOLOR_FORCE").is_some_and(|value| value != "0");
            process.var_os("NO_COLOR").is_none()
                && (forced || (terminal && process.var("TERM") != Some("dumb")))
        }
    };
    Output {
        json: global.json,
        quiet: global.quiet,
        verbose: global.verbose,
        columns: process.columns(),
        colour_stdout: colour(process.stdout_is_terminal()),
        colour_stderr: colour(process.stderr_is_terminal()),
    }
}

fn dispatch(cli: &Cli, process: &Process, output: &Output) -> Result<Exit, Failure> {
    let process = match &cli.global.directory {
        Some(directory) => {
            let moved = process
                .in_directory(directory)
                .map_err(|error| Failure::new(Exit::Failed, error))?;
            // So that what `exec` starts is there as well.
            if let Some(cwd) = moved.cwd() {
                rustix::process::chdir(cwd)
                    .map_err(|error| Failure::new(Exit::Failed, std::io::Error::from(error)))?;
            }
            &{ moved }
        }
        None => process,
    };
    if let Some(name) = cli.command.without_document().filter(|_| output.json) {
        return Err(Failure::no_document(name));
    }
    let home = process.var_os("CUENV_HOME").map(Path::new);
    if let Some(home) = home.filter(|home| !home.is_absolute()) {
        return Err(Failure::relative_home(home));
    }
    if let Some(done) = without_context(&cli.command, process, output) {
        return done;
    }
    let bars: Arc<dyn Progress + Send> = if output.quiet || output.json || cli.global.no_progress {
        Arc::new(Silent)
    } else {
        progress::for_terminal(process.stderr_is_terminal())
    };
    let Some((dirs, layout)) = directories(process) else {
        return Err(Failure::no_home());
    };
    if layout.data().metadata().is_ok_and(|seen| !seen.is_dir()) {
        return Err(Failure::home_is_no_directory(layout.data()));
    }
    let overrides = Overrides { offline: cli.global.offline, jobs: cli.command.jobs() };
    let mut settings = Settings::load(process, &layout, &overrides)?;
    let listener = Arc::clone(&bars);
    settings.http.on_pause = Some(Arc::new(move |line: &str| listener.note(line)));
    for note in &settings.notes {
        output.note(note);
    }
    let cx = Context {
        process,
        dirs,
        layout,
        settings,
        target: Target::host(),
        progress: bars.as_ref(),
    };
    match &cli.command {
        Command::Use(args) => commands::r#use::run(&cx, args, output),
        Command::Install(args) => commands::install::run(&cx, args, output),
        Command::Gc(args) => commands::gc::run(&cx, args, cli.global.yes, output),
        Command::Uninstall(args) => commands::uninstall::run(&cx, args, cli.global.yes, output),
        Command::List(args) => commands::list::run(&cx, args, output),
        Command::Lock(args) => commands::lock::run(&cx, args, output),
        Command::Update(args) => commands::lock::update(&cx, args, output),
        Command::Link(args) => commands::link::run(&cx, args, output),
        Command::Resolve(args) => commands::resolve::run(&cx, args, output),
        Command::Where(args) => commands::r#where::run(&cx, args, output),
        Command::Verify(args) => commands::verify::run(&cx, args, output),
        Command::Which(args) => commands::which::run(&cx, args, output),
        Command::Doctor(args) => commands::doctor::run(&cx, args, output),
        Command::Explain(args) => commands::explain::run(&cx, args, output),
        Command::Load(args) => commands::verify::load(args, output),
        Command::Bundle(args) => commands::bundle::run(&cx, args, output),
        Command::Export(args) => commands::export::run(&cx, args, output),
        Command::Licenses(args) => commands::licenses::run(&cx, args, output),
        Command::Own(args) => commands::own::run(&cx, args, &cli.global, output),
        Command::Completions(args) => commands::completions::run(args, output),
        Command::Complete(args) => commands::completions::answer(&cx, args, output),
        Command::Probe(args) => Ok(commands::probe::run(process, args)),
        Command::Man(args) => commands::man::run(&cx, args, output),
        Command::Help(args) => commands::help::run(args, output),
        Command::Current(_)
        | Command::Exec(_)
        | Command::Shell(_)
        | Command::Env(_)
        | Command::Hook(_)
        | Command::HookEnv(_)
        | Command::Shim(_) => unreachable!("these need no context and are done"),
    }
}

/// Runs the commands that a program or a prompt waits for: they read neither settings nor catalog.
fn without_context(
    command: &Command,
    process: &Process,
    output: &Output,
) -> Option<Result<Exit, Failure>> {
    let dirs = || Dirs::find(process.env(), process.exe()).ok_or_else(Failure::no_home);
    Some(match command {
        Command::Current(args) => {
            dirs().and_then(|dirs| commands::current::run(process, &dirs, args, output))
        }
        Command::Exec(args) => {
            dirs().and_then(|dirs| commands::exec::run(process, &dirs, args, output))
        }
        Command::Shell(args) => {
            dirs().and_then(|dirs| commands::shell::run(process, &dirs, args, output))
        }
        Command::Env(args) => {
            dirs().and_then(|dirs| commands::env::run(process, &dirs, args, output))
        }
        Command::Hook(args) => {
            dirs().and_then(|dirs| commands::hook::run(process, &dirs, args, output))
        }
        Command::HookEnv(args) => {
            dirs().and_then(|dirs| commands::hook::answer(process, &dirs, args, output))
        }
        Command::Shim(args) => {
            dirs().and_then(|dirs| commands::shim::run(process, &dirs, args, output))
        }
        _ => return None,
    })
}
