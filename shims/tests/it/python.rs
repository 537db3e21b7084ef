//! Python behind a shim: it must find itself, and what it makes must not lead back to the shim.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::support::{Bed, text};

const EXECUTABLE: &str = "import sys; print(sys.executable)";

/// A pinned project with shims for Python, first on PATH; `None` where the system has no Python.
fn bed() -> Option<(Bed, String)> {
    if !Path::new("/usr/bin/python3").exists() {
        println!("skipped: no /usr/bin/python3");
        return None;
    }
    let bed = Bed::new();
    bed.toolchain("12.4.1-abc", "12.4");
    bed.write("project/.cuenv", "12.4\n");
    bed.shim("python3");
    bed.shim("python");
    let path = format!("{}:/usr/bin:/bin", bed.path("data/shims").display());
    Some((bed, path))
}

/// Makes a virtual environment with pip; `None` where Python cannot.
fn with_pip(bed: &Bed, path: &str) -> Option<PathBuf> {
    let venv = bed.path("with-pip");
    let made = bed.run("python3").env("PATH", path).args(["-m", "venv"]).arg(&venv).output();
    if made.unwrap().status.success() {
        return Some(venv);
    }
    println!("skipped: no ensurepip");
    None
}

#[test]
fn python_behind_the_shim_makes_healthy_virtual_environments() {
    let bed = Bed::new();
    bed.toolchain("12.4.1-abc", "12.4");
    bed.write("project/.cuenv", "12.4\n");
    bed.shim("python3");
    let shims = bed.path("data/shims");
    let path = format!("{}:/usr/bin:/bin", shims.display());
    if !Path::new("/usr/bin/python3").exists() {
        println!("skipped: no /usr/bin/python3");
        return;
    }
    let executable = "import sys; print(sys.executable)";
    let seen = text(bed.run("python3").env("PATH", &path).args(["-c", executable]));
    assert_eq!(seen, "/usr/bin/python3\n");
    let venv = bed.path("v");
    let made = bed
        .run("python3")
        .env("PATH", &path)
        .args(["-m", "venv", "--without-pip"])
        .arg(&venv)
        .status();
    assert!(made.unwrap().success());
    let home = std::fs::read_to_string(venv.join("pyvenv.cfg")).unwrap();
    assert!(home.contains("home = /usr/bin\n"), "{home}");
    let real = std::fs::canonicalize(venv.join("bin/python3")).unwrap();
    assert!(real.file_name().is_some_and(|name| name.as_bytes().starts_with(b"python3.")));
    // Inside the environment the shim leads to the environment's own interpreter.
    let inside = format!("{}:{}/bin:/usr/bin", shims.display(), venv.display());
    let seen =
        text(bed.run("python3").env("PATH", inside).args(["-c", "import sys; print(sys.prefix)"]));
    assert_eq!(seen, format!("{}\n", venv.display()));
}

#[test]
fn pip_and_scripts_are_the_environments_own() {
    let Some((bed, path)) = bed() else { return };
    let Some(venv) = with_pip(&bed, &path) else { return };
    let inside =
        format!("{}:{}/bin:/usr/bin:/bin", bed.path("data/shims").display(), venv.display());
    let seen = text(bed.run("python").env("PATH", &inside).args(["-m", "pip", "--version"]));
    assert!(seen.contains(&format!("from {}/", venv.display())), "{seen}");
    let first = std::fs::read_to_string(venv.join("bin/pip")).unwrap();
    assert!(first.starts_with(&format!("#!{}/bin/python", venv.display())), "{first}");
    // Activated by its variable alone, behind the system on PATH.
    let mut named = bed.run("python3");
    named.env("PATH", &path).env("VIRTUAL_ENV", &venv).args(["-c", EXECUTABLE]);
    assert_eq!(text(&mut named), format!("{}/bin/python3\n", venv.display()));
}

#[test]
fn a_script_that_asks_for_python_gets_the_toolchain() {
    let Some((bed, path)) = bed() else { return };
    let script = bed.program(
        "bin/script",
        "#!/usr/bin/env python3\nimport os, sys; print(sys.executable, os.environ['CUENV_ACTIVE'])\n",
    );
    let seen = text(bed.command(&script).env("PATH", &path));
    assert_eq!(seen, "/usr/bin/python3 12.4.1-abc\n");
    // What Python starts by `sys.executable` goes past the shim and keeps the environment.
    let again = "import os, subprocess, sys; subprocess.run([sys.executable, '-c', \
                 'import os; print(os.environ[\"CUENV_ACTIVE\"], os.environ[\"CUENV_SHIM_CHAIN\"].split(\"/\")[1:])'])";
    let seen = text(bed.run("python3").env("PATH", &path).args(["-c", again]));
    assert_eq!(seen, "12.4.1-abc ['1']\n");
}

#[test]
fn other_makers_of_environments_take_the_real_interpreter() {
    let Some((bed, path)) = bed() else { return };
    let places = std::env::var_os("PATH").unwrap_or_default();
    let places: Vec<PathBuf> = std::env::split_paths(&places).collect();
    let shim = bed.path("data/shims/python3");
    for (maker, args) in
        [("uv", &["venv", "--offline", "--python"][..]), ("virtualenv", &["--no-download", "-p"])]
    {
        // A manager's shim would bring the manager's own PATH.
        let found = places.iter().map(|place| place.join(maker)).find(|file| {
            let is_managers = |bytes: &[u8]| bytes.windows(5).any(|word| word == b"pyenv");
            std::fs::read(file)
                .is_ok_and(|bytes| bytes.starts_with(b"\x7fELF") || !is_managers(&bytes))
        });
        let Some(program) = found else {
            println!("skipped: no {maker}");
            continue;
        };
        let venv = bed.path(maker);
        let output = bed
            .command(&program)
            .env("PATH", &path)
            .env("UV_CACHE_DIR", bed.path("uv-cache"))
            .args(args)
            .arg(&shim)
            .arg(&venv)
            .output()
            .unwrap();
        assert!(output.status.success(), "{maker}: {output:?}");
        let home = std::fs::read_to_string(venv.join("pyvenv.cfg")).unwrap();
        assert!(home.contains("home = /usr/bin"), "{maker}: {home}");
        let real = std::fs::canonicalize(venv.join("bin/python")).unwrap();
        assert!(real.starts_with("/usr/bin"), "{maker}: {}", real.display());
    }
}
