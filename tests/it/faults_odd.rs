//! Where cuenv looks for a file there may be anything: a FIFO that nobody writes into, a socket, a directory, a device
//! without end. Nothing may block on it, and what can do without that file does.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::sandbox::{Ran, Sandbox};
use crate::support::toolkit;

const KINDS: [&str; 4] = ["FIFO", "socket", "directory", "device"];

fn put(kind: &str, path: &Path) {
    match kind {
        "FIFO" => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        // The name of a socket is limited, so it is made elsewhere and moved.
        "socket" => {
            let short = tempfile::tempdir().unwrap();
            drop(UnixListener::bind(short.path().join("s")).unwrap());
            let status = Command::new("mv").arg(short.path().join("s")).arg(path).status();
            assert!(status.unwrap().success());
        }
        "directory" => fs::create_dir(path).unwrap(),
        _ => symlink("/dev/zero", path).unwrap(),
    }
}

fn take_away(path: &Path) {
    match path.symlink_metadata() {
        Ok(seen) if seen.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// Runs with a limit on time and memory.
fn cuenv(sandbox: &Sandbox, args: &[&str]) -> Ran {
    let mut command = sandbox.command("timeout");
    command.args(["30", "sh", "-c", "ulimit -v 2000000; exec \"$@\"", "sh"]);
    Ran::of(command.arg(crate::support::sandbox::cuenv()).args(args), sandbox)
}

fn first(directory: PathBuf) -> PathBuf {
    let mut names: Vec<_> =
        fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.is_file());
    names.sort();
    names.into_iter().next().unwrap_or_else(|| panic!("{} is empty", directory.display()))
}

#[test]
fn nothing_blocks_on_what_is_no_file() {
    let index = toolkit::index();
    let sandbox = Sandbox::new()
        .with_env("CUENV_DRIVER_VERSION", "none")
        .with_env("CUENV_INDEX_URL", index.url());
    cuenv(&sandbox, &["use", "12.4+cudnn9"]).succeeds();
    cuenv(&sandbox, &["use", "--global", "12.4+cudnn9"]).succeeds();
    let home = sandbox.cuenv_home();
    let entry = fs::read_dir(home.join("store")).unwrap().next().unwrap().unwrap().path();
    let toolchains = home.join("toolchains/linux-x86_64");
    let prefix = fs::read_dir(toolchains).unwrap().next().unwrap().unwrap().path();
    let listings = home.join("cache/listings");
    let mut places = vec![
        first(home.join("state/projects")),
        home.join("config/default"),
        home.join("config/config.toml"),
        home.join("locks/store"),
        sandbox.project().join(".cuenv"),
        sandbox.project().join(".cuenv.lock"),
        entry.join(".cuenv-wheel"),
        prefix.join(".cuenv/receipt.json"),
        prefix.join(".cuenv/activation"),
        prefix.join("version.json"),
    ];
    assert!(listings.is_dir(), "{}", listings.display());
    places.push(first(listings.clone()));
    places.push(first(listings.join("metadata")));
    let aside = sandbox.root().join("aside");
    for place in places {
        let had = place.exists();
        for kind in KINDS {
            if had {
                fs::rename(&place, &aside).unwrap();
            }
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            put(kind, &place);
            for args in [
                &["resolve", "12.4+cudnn9"][..],
                &["install", "--locked"],
                &["gc", "-n"],
                &["list"],
                &["current"],
                &["verify", "--files"],
            ] {
                let ran = cuenv(&sandbox, args);
                let shown = format!("{} as a {kind}, {args:?}: {}", place.display(), ran.stderr);
                assert!(ran.code.is_some_and(|code| code < 70), "{:?} {shown}", ran.code);
                if args[0] == "resolve" && place.starts_with(home.join("cache")) {
                    // A cache only saves time.
                    assert_eq!(ran.code, Some(0), "{shown}");
                }
                if args[0] == "install" && place.ends_with(".cuenv.lock") {
                    // A directory of that name is somebody else's, and no lock.
                    let named = kind == "directory" || ran.stderr.contains(kind);
                    assert!(named && ran.stderr.contains(".cuenv.lock"), "{shown}");
                }
            }
            take_away(&place);
            if had {
                fs::rename(&aside, &place).unwrap();
            }
        }
    }
    cuenv(&sandbox, &["verify", "--files"]).succeeds();
}
