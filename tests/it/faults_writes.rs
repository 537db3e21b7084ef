//! Killed while it writes the small files that people see: a half-made one stays nowhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::faults::was_killed;
use crate::support::sandbox::{Sandbox, cuenv};
use crate::support::toolkit;

/// Files that no finished run leaves: `.<name>-<pid>-<n>-<random>`.
fn litter(below: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            litter(&path, into);
            continue;
        }
        let name = path.file_name().unwrap().to_str().unwrap();
        let parts: Vec<&str> = name.rsplitn(4, '-').collect();
        let is_number = |at: usize| parts.get(at).is_some_and(|part| part.parse::<u32>().is_ok());
        if name.starts_with('.') && parts[0].len() == 8 && is_number(1) && is_number(2) {
            into.push(path);
        }
    }
}

fn litter_of(sandbox: &Sandbox) -> Vec<PathBuf> {
    let mut found = Vec::new();
    litter(sandbox.root(), &mut found);
    found
}

#[test]
fn a_kill_while_a_small_file_is_written_leaves_no_litter() {
    let index = toolkit::index();
    // First runs write new files, second ones replace them.
    let commands: &[[&[&str]; 2]] = &[
        [&["use", "12.4@base"], &["use", "11.8@base"]],
        [&["use", "--global", "12.4@base"], &["use", "--global", "11.8@base"]],
        [&["hook", "bash", "--install"], &["hook", "bash", "--uninstall"]],
        [&["shim", "add", "python"], &["shim", "add", "python"]],
    ];
    let mut kills = 0;
    for pair in commands {
        for point in ["file-written", "file-named", "link-made"] {
            for pass in 1..=4 {
                let sandbox = Sandbox::new()
                    .with_env("CUENV_DRIVER_VERSION", "none")
                    .with_env("CUENV_INDEX_URL", index.url());
                let mut killed = 0;
                for args in pair {
                    let mut command = sandbox.command(cuenv());
                    command.args(*args).env("CUENV_TEST_KILL_AT", format!("{point}:{pass}"));
                    let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
                    killed += usize::from(was_killed(&mut child));
                    let left = litter_of(&sandbox);
                    assert!(
                        point != "file-written" || left.is_empty(),
                        "{args:?} {point}: {left:?}"
                    );
                    // What was being put in the place of something has a name for a moment: it goes with the next writing.
                    for path in left {
                        age(&path);
                    }
                    sandbox.cuenv(*args).succeeds();
                }
                kills += killed;
                sandbox.cuenv(pair[0]).succeeds();
                sandbox.cuenv(pair[1]).succeeds();
                assert_eq!(
                    litter_of(&sandbox),
                    <[PathBuf; 0]>::default(),
                    "{pair:?} {point}:{pass}"
                );
                if killed == 0 {
                    break;
                }
            }
        }
    }
    assert!(kills >= 12, "{kills}");
}

/// Makes a left-over look as old as one that nobody works on.
fn age(path: &Path) {
    let old = SystemTime::now() - Duration::from_secs(3600);
    if path.is_symlink() {
        let mut touch = std::process::Command::new("touch");
        assert!(touch.args(["-h", "-d", "1 hour ago"]).arg(path).status().unwrap().success());
    } else {
        fs::File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
    }
}
