//! What a person sees beside the result: notes, hints, pauses, and what is left out where nobody looks.

use std::os::unix::fs::PermissionsExt as _;

use crate::support::index::{Fault, Index};
use crate::support::sandbox::{Ran, Sandbox, cuenv};
use crate::support::toolkit;

fn world() -> (Sandbox, Index) {
    let index = toolkit::index();
    let sandbox = Sandbox::new()
        .with_env("CUENV_DRIVER_VERSION", "none")
        .with_env("CUENV_INDEX_URL", index.url());
    (sandbox, index)
}

#[test]
fn piped_facts_stay_one_line_each() {
    let (sandbox, _index) = world();
    let ran = sandbox.cuenv(["list", "--available"]).succeeds();
    let starts = ["CUDA ", "cuDNN ", "components "];
    assert!(
        ran.stdout.lines().all(|line| starts.iter().any(|start| line.starts_with(start))),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains('\u{1b}'));
    let forced = sandbox.cuenv(["--color", "always", "list", "--available"]).succeeds();
    assert!(forced.stdout.contains("\u{1b}[1mCUDA"), "{}", forced.stdout);
}

#[test]
fn a_terminal_is_not_overrun() {
    let (sandbox, _index) = world();
    let line = format!("stty cols 60; exec {} --color never list --available", cuenv().display());
    let mut command = sandbox.command("script");
    command.args(["-qec", &line, "/dev/null"]);
    if std::process::Command::new("script").arg("--version").output().is_err() {
        println!("skipped: there is no `script` to make a terminal");
        return;
    }
    let ran = Ran::of(&mut command, &sandbox).succeeds();
    let lines: Vec<&str> = ran.stdout.lines().map(str::trim_end).collect();
    assert!(lines.iter().all(|line| line.len() <= 60), "{}", ran.stdout);
    assert!(lines.iter().any(|line| line.starts_with("            ")), "{}", ran.stdout);
}

#[test]
fn the_next_step_is_told_once() {
    let (sandbox, _index) = world();
    let ran = sandbox.cuenv(["use", "12.4@base", "--no-install"]).succeeds();
    assert!(ran.stderr.contains("`cuenv install`"), "{}", ran.stderr);
    let ran = sandbox.cuenv(["use", "12.4@base"]).succeeds();
    assert_eq!(ran.stderr.matches("cuenv exec").count(), 1, "{}", ran.stderr);
    let quiet = sandbox.cuenv(["-q", "use", "12.4@base"]).succeeds();
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
    let ran = sandbox.cuenv(["use", "system"]).succeeds();
    assert!(!ran.stderr.contains("Next"), "{}", ran.stderr);
}

#[test]
fn a_pause_is_told_and_offline_names_the_ways_out() {
    let (sandbox, index) = world();
    index.fault("cuda-toolkit", 1, Fault::Status(503, None));
    let ran = sandbox.cuenv(["resolve", "12.4"]).succeeds();
    assert!(ran.stderr.contains("answered 503"), "{}", ran.stderr);
    assert!(ran.stderr.contains("attempt 2 of 5 in 0."), "{}", ran.stderr);
    let sandbox = Sandbox::new().with_env("CUENV_INDEX_URL", index.url());
    let ran = sandbox.cuenv(["--offline", "resolve", "12.4"]).code(4);
    assert!(ran.stderr.contains("cuenv install --from FILE"), "{}", ran.stderr);
}

#[test]
fn small_things_answer_as_expected() {
    let (sandbox, _index) = world();
    sandbox.shims(&[]);
    let ran = sandbox.cuenv(["shim", "list"]).succeeds();
    assert!(ran.stdout.is_empty() && ran.stderr.contains("there are no shims"), "{}", ran.stderr);
    sandbox.cuenv(["use", "12.4@base"]).succeeds();
    let ran = sandbox.cuenv(["env", "--shell", "tcsh"]).succeeds();
    assert!(ran.stdout.ends_with(";\n"), "{:?}", ran.stdout);
    let ran = sandbox.cuenv(["help", "nvc"]).code(2);
    assert!(ran.stderr.contains("`cuenv help nvcc`"), "{}", ran.stderr);
    let ran = sandbox.cuenv(["help", "self", "updat"]).code(2);
    assert!(ran.stderr.contains("there is no command and no topic `self updat`"), "{}", ran.stderr);
    let whole = sandbox.cuenv(["verify", "--repair", "--json"]).succeeds().json();
    assert_eq!(whole["faults"].as_array().unwrap().len(), 0);
}

#[test]
fn a_bundle_honours_the_umask() {
    let (sandbox, _index) = world();
    sandbox.cuenv(["use", "12.4@base"]).succeeds();
    for (umask, mode) in [("077", 0o600), ("022", 0o644), ("002", 0o664)] {
        let line = format!("umask {umask}; exec {} bundle -o b{umask}.tar.zst", cuenv().display());
        let mut command = sandbox.command("sh");
        Ran::of(command.args(["-c", &line]), &sandbox).succeeds();
        let file = sandbox.project().join(format!("b{umask}.tar.zst"));
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, mode, "umask {umask}");
    }
}
