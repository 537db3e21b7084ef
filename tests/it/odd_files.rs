//! Files of others that are not what they seem: pipes that block, text that steers a terminal, places that no list of paths
//! can hold.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use crate::support::sandbox::{Ran, Sandbox};
use crate::support::toolkit;

/// Runs with a limit: nothing may block.
fn cuenv(sandbox: &Sandbox, args: &[&str]) -> Ran {
    let mut command = sandbox.command("timeout");
    Ran::of(command.arg("20").arg(crate::support::sandbox::cuenv()).args(args), sandbox)
}

fn fifo(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn adopted(sandbox: &Sandbox, name: &str) -> String {
    let toolkit = sandbox.root().join(name);
    fs::create_dir_all(toolkit.join("bin")).unwrap();
    fs::write(toolkit.join("bin/nvcc"), "").unwrap();
    toolkit.to_str().unwrap().to_owned()
}

#[test]
fn a_pipe_for_version_json_does_not_block() {
    let sandbox = Sandbox::new().with_env("CUENV_DRIVER_VERSION", "none");
    let path = adopted(&sandbox, "cuda");
    fifo(&Path::new(&path).join("version.json"));
    cuenv(&sandbox, &["link", "site", &path]).succeeds();
    cuenv(&sandbox, &["list"]).succeeds();
}

#[test]
fn foreign_text_steers_no_terminal() {
    let sandbox = Sandbox::new().with_env("CUENV_DRIVER_VERSION", "none");
    let evil = "\u{1b}]0;pwned\u{7}\u{1b}[2J\rfake\u{202e}";
    let clean = |ran: &Ran| {
        for text in [&ran.stdout, &ran.stderr] {
            let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!text.contains(bad), "{text:?}");
        }
    };
    let path = adopted(&sandbox, &format!("cuda{evil}"));
    clean(&cuenv(&sandbox, &["link", "site", &path]).code(1));
    let path = adopted(&sandbox, "cuda");
    let version = serde_json::json!({"cuda": {"version": format!("12.4{evil}\nerror: forged")}});
    fs::write(Path::new(&path).join("version.json"), version.to_string()).unwrap();
    let ran = cuenv(&sandbox, &["link", "site", &path]).succeeds();
    clean(&ran);
    assert!(!ran.stdout.contains("forged"), "{}", ran.stdout);
    clean(&cuenv(&sandbox, &["list"]).succeeds());
    // A directory's name, in what holds there and why; a line break in it starts no line.
    let project = sandbox.project().join(format!("p{evil}\nactive forged"));
    fs::create_dir_all(&project).unwrap();
    fs::write(project.join(".cuenv"), "site\n").unwrap();
    let directory = project.to_str().unwrap();
    for args in [
        &["current"][..],
        &["where"],
        &["doctor"],
        &["exec", "-v", "--", "true"],
        &["hook-env", "bash"],
    ] {
        let args: Vec<&str> = ["-C", directory].iter().chain(args).copied().collect();
        let ran = cuenv(&sandbox, &args);
        if !args.contains(&"hook-env") {
            clean(&ran);
        }
        assert!(!ran.stderr.contains('\u{1b}'), "{}", ran.stderr);
        let words = args.contains(&"hook-env");
        assert!(
            words || !ran.stdout.lines().any(|line| line.starts_with("active forged")),
            "{}",
            ran.stdout
        );
    }
    fs::write(project.join(".cuenv"), format!("12.4{evil}\n")).unwrap();
    clean(&cuenv(&sandbox, &["-C", directory, "current"]).code(2));
    // The lines of a log that are quoted.
    let line = format!("{evil}libcudnn.so.9: cannot open shared object file");
    let ran = cuenv(&sandbox, &["explain", &line]).succeeds();
    clean(&ran);
    assert!(ran.stdout.contains("\\u{1b}"), "{}", ran.stdout);
    // With colours on, cuenv's own pass and no others.
    let ran = cuenv(&sandbox, &["--color", "always", "explain", &line]).succeeds();
    assert!(
        !ran.stdout.contains("\u{1b}]") && !ran.stdout.contains("\u{1b}[2J"),
        "{:?}",
        ran.stdout
    );
}

#[test]
fn an_unreadable_file_of_settings_matters_when_an_index_is_asked() {
    let index = toolkit::index();
    for place in ["home/.config/pip/pip.conf", "cuenv/config/config.toml", "home/.netrc"] {
        let sandbox = Sandbox::new()
            .with_env("CUENV_DRIVER_VERSION", "none")
            .with_env("PIP_INDEX_URL", index.url());
        fifo(&sandbox.root().join(place));
        cuenv(&sandbox, &["list"]).succeeds();
        cuenv(&sandbox, &["use", "system"]).succeeds();
        let ran = cuenv(&sandbox, &["resolve", "12.4"]);
        if place.ends_with("netrc") {
            ran.succeeds();
        } else {
            let ran = ran.code(2);
            assert!(ran.stderr.contains("it is a FIFO, not a file"), "{place}: {}", ran.stderr);
            let file = Path::new(place).file_name().unwrap().to_str().unwrap();
            assert!(ran.stderr.contains(file), "{place}: {}", ran.stderr);
        }
    }
    // Where cuenv's own variable names the index, pip's file does not matter.
    let sandbox = Sandbox::new()
        .with_env("CUENV_DRIVER_VERSION", "none")
        .with_env("CUENV_INDEX_URL", index.url());
    fifo(&sandbox.home().join(".config/pip/pip.conf"));
    cuenv(&sandbox, &["resolve", "12.4"]).succeeds();
}

#[test]
fn a_start_up_file_in_any_encoding_keeps_its_bytes_its_link_and_its_mode() {
    let sandbox = Sandbox::new();
    let dotfiles = sandbox.root().join("dotfiles");
    fs::create_dir_all(&dotfiles).unwrap();
    let real = dotfiles.join("bashrc");
    let before = b"# caf\xe9\nalias x=y\n";
    fs::write(&real, before).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    let link = sandbox.home().join(".bashrc");
    symlink("../dotfiles/bashrc", &link).unwrap();
    cuenv(&sandbox, &["hook", "bash", "--install"]).succeeds();
    let after = fs::read(&real).unwrap();
    assert!(after.starts_with(before) && after.len() > before.len());
    assert!(link.is_symlink(), "a link into a repository stays one");
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    cuenv(&sandbox, &["hook", "bash", "--uninstall"]).succeeds();
    assert_eq!(fs::read(&real).unwrap(), before);
    // A link to a file that is not there yet makes that file.
    fs::remove_file(&real).unwrap();
    cuenv(&sandbox, &["hook", "bash", "--install"]).succeeds();
    assert!(link.is_symlink() && real.is_file());
    fs::remove_file(&link).unwrap();
    fifo(&link);
    let ran = cuenv(&sandbox, &["hook", "bash", "--install"]).code(1);
    assert!(ran.stderr.contains("not a regular file"), "{}", ran.stderr);
}

#[test]
fn a_colon_in_a_place_is_refused_before_anything_is_there() {
    let index = toolkit::index();
    let sandbox = Sandbox::new()
        .with_env("CUENV_DRIVER_VERSION", "none")
        .with_env("CUENV_INDEX_URL", index.url());
    let path = adopted(&sandbox, "cu:da");
    let ran = cuenv(&sandbox, &["link", "site", &path]).code(2);
    assert!(ran.stderr.contains("holds a colon"), "{}", ran.stderr);
    let home = sandbox.root().join("a:b");
    for args in [&["install", "12.4@base"][..], &["use", "12.4@base"]] {
        let mut command = sandbox.command(crate::support::sandbox::cuenv());
        let ran = Ran::of(command.args(args).env("CUENV_HOME", &home), &sandbox).code(2);
        assert!(ran.stderr.contains("holds a colon"), "{}", ran.stderr);
        assert!(!home.join("store").exists() && !sandbox.project().join(".cuenv").exists());
    }
}

#[test]
fn a_file_where_the_data_directory_is_to_be_is_told() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("file", "");
    let mut command = sandbox.command(crate::support::sandbox::cuenv());
    let ran = Ran::of(command.arg("list").env("CUENV_HOME", &file), &sandbox).code(2);
    assert!(ran.stderr.contains("`[PROJECT]/file` is not a directory"), "{}", ran.stderr);
    assert!(file.as_os_str().as_bytes().len() > 1);
}

#[test]
fn use_looks_whether_it_can_write_before_it_fetches() {
    let index = toolkit::index();
    let sandbox = Sandbox::new()
        .with_env("CUENV_DRIVER_VERSION", "none")
        .with_env("CUENV_INDEX_URL", index.url());
    fs::create_dir(sandbox.project().join(".cuenv.lock")).unwrap();
    let ran = cuenv(&sandbox, &["use", "12.4@base"]).code(1);
    assert!(ran.stderr.contains("[PROJECT]/.cuenv.lock"), "{}", ran.stderr);
    assert_eq!(index.connections(), 0);
    assert!(!sandbox.project().join(".cuenv").exists(), "no half of the two files");
    fs::remove_dir(sandbox.project().join(".cuenv.lock")).unwrap();
    // Root may write everywhere but on a read-only file system.
    let ran = cuenv(&sandbox, &["-C", "/proc", "use", "12.4@base"]).code(1);
    assert!(ran.stderr.contains("cannot write into `/proc`"), "{}", ran.stderr);
    assert_eq!(index.connections(), 0);
}

#[test]
fn sizes_that_no_disk_has_overflow_nothing() {
    let index = toolkit::index();
    let sandbox = Sandbox::new()
        .with_env("CUENV_DRIVER_VERSION", "none")
        .with_env("CUENV_INDEX_URL", index.url());
    cuenv(&sandbox, &["use", "12.4+cudnn9"]).succeeds();
    let path = sandbox.project().join(".cuenv.lock");
    let lock = fs::read_to_string(&path).unwrap();
    let huge = lock.lines().map(|line| match line.strip_prefix("size = ") {
        Some(_) => format!("size = {}\n", i64::MAX),
        None => format!("{line}\n"),
    });
    fs::write(&path, huge.collect::<String>()).unwrap();
    for part in ["store", "toolchains"] {
        fs::remove_dir_all(sandbox.cuenv_home().join(part)).unwrap();
    }
    let ran = cuenv(&sandbox, &["install"]).code(1);
    assert!(ran.stderr.contains("are needed"), "{}", ran.stderr);
}

#[test]
fn pipes_in_a_project_block_no_look_at_it() {
    let index = toolkit::index();
    let sandbox = Sandbox::new()
        .with_env("CUENV_DRIVER_VERSION", "none")
        .with_env("CUENV_INDEX_URL", index.url());
    sandbox.write(".venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.11.2\n");
    let site = sandbox.project().join(".venv/lib/python3.11/site-packages");
    fifo(&site.join("torch-2.4.1.dist-info/METADATA"));
    fifo(&site.join("torch/version.py"));
    for file in ["requirements.txt", "pyproject.toml", "environment.yml", "Dockerfile"] {
        fifo(&sandbox.project().join(file));
    }
    cuenv(&sandbox, &["use", "12.4@base"]).succeeds();
    let told = cuenv(&sandbox, &["use", "--detect", "-n"]);
    assert!(told.code.is_some_and(|code| code != 124), "{}", told.stderr);
    let told = cuenv(&sandbox, &["doctor"]);
    assert!(told.code.is_some_and(|code| code != 124), "{}", told.stderr);
}
