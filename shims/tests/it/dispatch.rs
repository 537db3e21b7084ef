//! Runs the real shim binary over a data directory made by hand.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::Stdio;

use crate::support::{Bed, text};

/// A program that prints what it was given.
const SHOW: &str = r#"#!/bin/sh
echo "zero=$0"
for word in "$@"; do echo "arg=$word"; done
env | grep -E '^(CUDA|CUDNN|LD_LIBRARY_PATH|PATH|CUENV)' | sort
"#;

#[test]
fn a_pinned_tool_runs_in_its_toolchain() {
    let bed = Bed::new();
    let prefix = bed.toolchain("12.4.1-abc", "12.4");
    bed.program("bin/tool", SHOW);
    bed.shim("tool");
    bed.write("project/.cuenv", "12.4\n");
    bed.write("project/a b/x", "");
    let seen = text(bed.run("tool").arg("one two").current_dir(bed.path("project/a b")));
    let prefix = prefix.display();
    assert!(seen.contains(&format!("CUDA_HOME={prefix}\n")), "{seen}");
    assert!(seen.contains(&format!("LD_LIBRARY_PATH={prefix}/lib\n")), "{seen}");
    assert!(seen.contains(&format!("PATH={prefix}/bin:{}:", bed.path("data/shims").display())));
    assert!(seen.contains("arg=one two\n"));
    assert!(seen.contains("CUENV_ACTIVE=12.4.1-abc\n"));
    assert!(seen.contains(&format!("zero={}\n", bed.path("bin/tool").display())));
}

#[test]
fn without_a_pin_nothing_changes_and_nothing_is_said() {
    let bed = Bed::new();
    bed.program(
        "bin/tool",
        "#!/bin/sh\nenv | grep -v -e ^CUENV_SHIM_CHAIN -e ^_= -e ^PWD= | sort\n",
    );
    bed.shim("tool");
    let direct = bed.command(&bed.path("bin/tool")).output().unwrap();
    let through = bed.run("tool").output().unwrap();
    assert_eq!(through.stdout, direct.stdout);
    assert_eq!(text(bed.run("tool").stdout(Stdio::null())), "");
    assert_eq!(String::from_utf8_lossy(&through.stderr), "");
}

#[test]
fn a_pin_that_is_not_installed_names_the_command() {
    let bed = Bed::new();
    bed.program("bin/tool", SHOW);
    bed.shim("tool");
    bed.write("project/.cuenv", "12.4+cudnn9\n");
    let output = bed.run("tool").output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    let message = String::from_utf8(output.stderr).unwrap();
    let pin = bed.path("project/.cuenv");
    let expected = format!(
        "cuenv: `12.4+cudnn9` from `{}` is not installed: run `cuenv install`\n",
        pin.display()
    );
    assert_eq!(message, expected);
    assert_eq!(output.stdout, b"");
}

#[test]
fn auto_install_runs_cuenv_and_keeps_standard_output_clean() {
    let bed = Bed::new();
    bed.program("bin/tool", "#!/bin/sh\necho ran $CUDA_HOME\n");
    bed.shim("tool");
    bed.write("project/.cuenv", "12.4\n");
    // A stand-in for `cuenv install` that makes the toolchain.
    let made = bed.toolchain("12.4.1-abc", "9.9");
    let link = bed.path("data/active").join(shims::names::TARGET).join("12.4");
    let script = format!(
        "#!/bin/sh\necho \"on standard output: $*\"\nln -s {} {}\n",
        made.display(),
        link.display()
    );
    bed.program("data/bin/cuenv", &script);
    let output = bed.run("tool").env("CUENV_AUTO_INSTALL", "1").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("ran {}\n", made.display()));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "on standard output: install\n");
    std::fs::remove_file(&link).unwrap();
    // The settings say it where the variable does not, and the variable wins.
    bed.write("data/config/config.toml", "auto-install = true\n");
    let output = bed.run("tool").env("CUENV_AUTO_INSTALL", "0").output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    let output = bed.run("tool").env("CUENV_AUTO_INSTALL", "perhaps").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("is not `1` or `0`"), "{output:?}");
    let output = bed.run("tool").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("ran {}\n", made.display()));
    std::fs::remove_file(&link).unwrap();
    bed.program("data/bin/cuenv", "#!/bin/sh\nexit 4\n");
    let output = bed.run("tool").env("CUENV_AUTO_INSTALL", "1").output().unwrap();
    assert_eq!(output.status.code(), Some(125));
}

#[test]
fn a_spec_as_first_argument() {
    let bed = Bed::new();
    bed.toolchain("11.8.0-x", "11.8");
    bed.toolchain("12.4.1-abc", "12.4");
    bed.program("bin/tool", SHOW);
    bed.shim("tool");
    bed.write("project/.cuenv", "12.4\n");
    let seen = text(bed.run("tool").args(["+11.8", "x"]));
    assert!(seen.contains("CUENV_ACTIVE=11.8.0-x") && seen.contains("arg=x\n"));
    assert!(seen.contains("CUENV_TOOLCHAIN=11.8\n") && !seen.contains("arg=+11.8"));
    let seen = text(bed.run("tool").args(["+%F", "x"]));
    assert!(seen.contains("CUENV_ACTIVE=12.4.1-abc") && seen.contains("arg=+%F\n"));
    let seen = text(bed.run("tool").args(["+system"]));
    assert!(!seen.contains("CUDA_HOME"));
    let output = bed.run("tool").args(["+12.9"]).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(String::from_utf8_lossy(&output.stderr).contains("run `cuenv install 12.9`"));
}

#[test]
fn no_such_command_behind_the_shim() {
    let bed = Bed::new();
    bed.shim("tool");
    let output = bed.run("tool").output().unwrap();
    assert_eq!(output.status.code(), Some(127));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "cuenv: tool: command not found\n");
    bed.write("bin/tool", "not executable");
    let output = bed.run("tool").output().unwrap();
    assert_eq!(output.status.code(), Some(126));
    bed.program("bin/tool", "#!/no/such/interpreter\n");
    let output = bed.run("tool").output().unwrap();
    assert_eq!(output.status.code(), Some(126));
    assert!(String::from_utf8_lossy(&output.stderr).contains("bad interpreter"));
    bed.program("bin/tool", "echo no first line: $1\n");
    assert_eq!(text(bed.run("tool").arg("x")), "no first line: x\n");
}

#[test]
fn no_way_of_writing_a_path_makes_a_shim_find_itself() {
    let bed = Bed::new();
    bed.program("bin/tool", "#!/bin/sh\necho real\n");
    bed.shim("tool");
    let shims = bed.path("data/shims").display().to_string();
    std::os::unix::fs::symlink(&shims, bed.path("alias")).unwrap();
    bed.copy(&bed.path("data/bin/cuenv-shim"), "copies/tool");
    let alias = bed.path("alias").display().to_string();
    let copies = bed.path("copies").display().to_string();
    let bin = bed.path("bin").display().to_string();
    for path in [
        format!("{shims}:{shims}/:{shims}//:{shims}/.:{bin}"),
        format!("{alias}:{shims}/../shims:{bin}"),
        format!("{shims}:{copies}:{bin}"),
        format!("::{shims}::{bin}:"),
    ] {
        let output = bed.run("tool").env("PATH", &path).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "real\n", "{path}");
    }
    // Another HOME does not make it another cuenv.
    let path = format!("{shims}:{bin}");
    let output = bed
        .run("tool")
        .env("HOME", "/nonexistent")
        .env_remove("CUENV_HOME")
        .env("PATH", &path)
        .output();
    assert_eq!(output.unwrap().stdout, b"real\n");
}

#[test]
fn two_installations_of_cuenv_do_not_loop() {
    let (one, two) = (Bed::new(), Bed::new());
    one.program("bin/tool", "#!/bin/sh\necho real\n");
    one.shim("tool");
    two.shim("tool");
    let path = format!(
        "{}:{}:{}",
        one.path("data/shims").display(),
        two.path("data/shims").display(),
        one.path("bin").display()
    );
    let output = one.run("tool").env("PATH", &path).output().unwrap();
    assert_eq!(output.stdout, b"real\n");
}

/// A manager that passes over its own directory only and hands to the next one, as many do.
pub(crate) const MANAGER: &str = r#"#!/bin/sh
IFS=:; rest=
for d in $PATH; do case $d in */manager) ;; *) rest=$rest${rest:+:}$d ;; esac; done
unset IFS
for d in $(echo "$rest" | tr : ' '); do [ -x "$d/tool" ] && exec "$d/tool" "$@"; done
exit 99
"#;

#[test]
fn a_manager_that_hands_back_is_not_asked_twice() {
    let bed = Bed::new();
    bed.program("bin/tool", "#!/bin/sh\necho real $CUENV_SHIM_CHAIN | tr ';' '\\n' | wc -l\n");
    bed.program("manager/tool", MANAGER);
    bed.shim("tool");
    let path = |order: [&str; 3]| {
        let parts = order.map(|part| bed.path(part).display().to_string());
        format!("{}:/usr/bin:/bin", parts.join(":"))
    };
    for order in [["data/shims", "manager", "bin"], ["manager", "data/shims", "bin"]] {
        let output = bed.run("tool").env("PATH", path(order)).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    // With nothing behind both, the loop is ended and shown.
    std::fs::remove_file(bed.path("bin/tool")).unwrap();
    let output =
        bed.run("tool").env("PATH", path(["data/shims", "manager", "bin"])).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("tool: stopped after 32 shims in a row, a loop:"), "{message}");
    assert!(message.contains(&format!("-> {}", bed.path("manager/tool").display())), "{message}");
}

#[test]
fn the_process_is_replaced() {
    let bed = Bed::new();
    bed.toolchain("12.4.1-abc", "12.4");
    bed.write("project/.cuenv", "12.4\n");
    bed.shim("tool");
    bed.program("bin/tool", "#!/bin/sh\necho $$; read line <&3; echo $line; exit 42\n");
    let mut child = {
        let mut command = bed.command(Path::new("/bin/sh"));
        command.args(["-c", "exec 3<<E\nthree\nE\nexec tool"]);
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    let process = child.id();
    let status = child.wait().unwrap();
    let mut seen = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut seen).unwrap();
    assert_eq!(seen, format!("{process}\nthree\n"));
    assert_eq!(status.code(), Some(42));

    bed.program("bin/tool", "#!/bin/sh\nkill -TERM $$\n");
    assert_eq!(bed.run("tool").status().unwrap().signal(), Some(15));
    // A closed pipe ends the program, not a message about it: the default of SIGPIPE is back.
    bed.program("bin/tool", "#!/bin/sh\nexec yes\n");
    let output = bed.command(Path::new("/bin/sh")).args(["-c", "tool | head -1"]).output().unwrap();
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"y\n"[..], &b""[..]));
}

#[test]
fn a_name_of_the_callers_own_is_kept() {
    let bed = Bed::new();
    bed.copy(Path::new("/bin/cat"), "bin/tool");
    bed.shim("tool");
    let mut run = bed.run("tool");
    run.arg0("renamed").arg("/proc/self/cmdline");
    assert_eq!(text(&mut run), "renamed\0/proc/self/cmdline\0");
    let cmdline = text(bed.run("tool").arg("/proc/self/cmdline"));
    assert_eq!(cmdline, format!("{}\0/proc/self/cmdline\0", bed.path("bin/tool").display()));
}

#[test]
fn too_many_arguments_are_said_to_be_too_many() {
    let bed = Bed::new();
    bed.toolchain("12.4.1-abc", "12.4");
    bed.write("project/.cuenv", "12.4\n");
    bed.program("bin/tool", "#!/bin/sh\necho ran\n");
    bed.shim("tool");
    // One more than the longest single word fits for the shim and not with what it adds: PATH grows.
    let long = format!("{}:/usr/bin:/bin", bed.path("bin").display());
    let path = format!("{}:{long}", "/x".repeat((131_040 - long.len()) / 2));
    let output = bed.command(&bed.path("data/shims/tool")).env("PATH", &path).output().unwrap();
    assert_eq!(output.status.code(), Some(126), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("Argument list too long"));
}

#[test]
fn a_path_of_two_thousand_elements() {
    let bed = Bed::new();
    bed.toolchain("12.4.1-abc", "12.4");
    bed.write("project/.cuenv", "12.4\n");
    bed.program("bin/tool", "#!/bin/sh\necho $CUENV_ACTIVE\n");
    bed.shim("tool");
    let many: Vec<String> = (0..2000).map(|number| format!("/nowhere/{number}")).collect();
    let path = format!(
        "{}:{}:{}:/usr/bin:/bin",
        bed.path("data/shims").display(),
        many.join(":"),
        bed.path("bin").display()
    );
    assert_eq!(text(bed.run("tool").env("PATH", path)), "12.4.1-abc\n");
}

#[test]
fn odd_directories() {
    for name in ["with space", "new\nline", "quo'te\"s", "dollar$(id)", "ünï"] {
        let bed = Bed::named(name);
        let prefix = bed.toolchain("12.4.1-abc", "12.4");
        bed.program("bin/tool", "#!/bin/sh\nprintf %s \"$CUDA_HOME\"\n");
        bed.shim("tool");
        bed.write("project/.cuenv", "12.4\n");
        let output = bed.run("tool").output().unwrap();
        assert_eq!(output.stdout, prefix.as_os_str().as_bytes(), "{output:?}");
    }
}

#[test]
fn an_empty_environment() {
    let bed = Bed::new();
    let prefix = bed.toolchain("12.4.1-abc", "12.4");
    bed.shim("env");
    bed.write("project/.cuenv", "12.4\n");
    let mut run = bed.run("env");
    run.env_clear();
    let seen = text(&mut run);
    assert!(seen.contains(&format!("CUDA_HOME={}\n", prefix.display())), "{seen}");
    assert!(seen.contains(&format!("PATH={}/bin:/usr/local/sbin:", prefix.display())), "{seen}");
    assert!(!seen.contains("HOME=/root\n"));
}

#[test]
fn a_worker_elsewhere_keeps_what_it_inherited() {
    let bed = Bed::new();
    bed.toolchain("12.4.1-abc", "12.4");
    bed.toolchain("11.8.0-x", "11.8");
    bed.write("data/config/default", "11.8\n");
    bed.write("project/.cuenv", "12.4\n");
    bed.write("other/.cuenv", "11.8\n");
    bed.write("elsewhere/x", "");
    bed.program(
        "bin/tool",
        "#!/bin/sh\necho $CUENV_ACTIVE\n[ -n \"$1\" ] && cd \"$1\" && exec tool\n:\n",
    );
    bed.shim("tool");
    let run = |to: &str| text(bed.run("tool").arg(bed.path(to)));
    assert_eq!(
        run("elsewhere"),
        "12.4.1-abc\n12.4.1-abc\n",
        "no pin there: the default does not win"
    );
    assert_eq!(run("other"), "12.4.1-abc\n11.8.0-x\n", "another project's pin does");
    assert_eq!(text(bed.run("tool").current_dir(bed.path("elsewhere"))), "11.8.0-x\n");
}

#[test]
fn an_active_virtual_environment_comes_first() {
    let bed = Bed::new();
    bed.toolchain("12.4.1-abc", "12.4");
    bed.write("project/.cuenv", "12.4\n");
    bed.shim("tool");
    bed.program("bin/tool", "#!/bin/sh\necho system\n");
    bed.program("venv/bin/tool", "#!/bin/sh\necho venv\n");
    bed.write("venv/pyvenv.cfg", "");
    assert_eq!(text(bed.run("tool").env("VIRTUAL_ENV", bed.path("venv"))), "venv\n");
    assert_eq!(text(bed.run("tool").env("VIRTUAL_ENV", bed.path("gone"))), "system\n");
}

#[test]
fn another_toolkits_compiler_runs_with_a_note() {
    let bed = Bed::new();
    let prefix = bed.toolchain("12.4.1-abc", "12.4");
    bed.write("project/.cuenv", "12.4\n");
    bed.shim("nvcc");
    let other = bed.program("bin/nvcc", "#!/bin/sh\necho other\n");
    let output = bed.run("nvcc").output().unwrap();
    assert_eq!(output.stdout, b"other\n");
    let expected =
        format!("cuenv: `nvcc` is not part of 12.4.1-abc; running `{}`\n", other.display());
    assert_eq!(String::from_utf8_lossy(&output.stderr), expected);
    std::fs::create_dir_all(prefix.join("bin")).unwrap();
    bed.program(
        &format!("data/toolchains/{}/12.4.1-abc/bin/nvcc", shims::names::TARGET),
        "#!/bin/sh\necho own\n",
    );
    let output = bed.run("nvcc").output().unwrap();
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"own\n"[..], &b""[..]));
}

#[test]
fn a_program_that_changes_its_user_is_warned_about() {
    use std::os::unix::fs::PermissionsExt as _;
    let bed = Bed::new();
    bed.toolchain("12.4.1-abc", "12.4");
    bed.write("project/.cuenv", "12.4\n");
    bed.shim("tool");
    let tool = bed.program("bin/tool", "#!/bin/sh\necho ran\n");
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o4755)).unwrap();
    let output = bed.run("tool").output().unwrap();
    assert_eq!(output.stdout, b"ran\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("the loader drops LD_LIBRARY_PATH"));
}

#[test]
fn a_pin_that_others_may_write_is_one_notice() {
    use std::os::unix::fs::PermissionsExt as _;
    let bed = Bed::new();
    bed.toolchain("12.4.1-abc", "12.4");
    let pin = bed.write("project/.cuenv", "12.4\n");
    std::fs::set_permissions(&pin, std::fs::Permissions::from_mode(0o666)).unwrap();
    bed.program("bin/tool", "#!/bin/sh\necho \"[$CUENV_ACTIVE]\"\n[ -n \"$1\" ] && exec tool\n:\n");
    bed.shim("tool");
    let output = bed.run("tool").arg("again").output().unwrap();
    assert_eq!(output.stdout, b"[]\n[]\n");
    let expected = format!("cuenv: ignored `{}`: everybody may write it\n", pin.display());
    assert_eq!(String::from_utf8_lossy(&output.stderr), expected);
}

#[test]
fn a_broken_pin_stops_with_its_place() {
    let bed = Bed::new();
    bed.program("bin/tool", "#!/bin/sh\necho ran\n");
    bed.shim("tool");
    for (pin, expected) in [
        ("toolchain = \"$(touch owned)\"\n", "line 1: `$(touch owned)` is not a spec"),
        ("12.4\n11.8\n", "line 2: one spec is enough"),
    ] {
        let path = bed.write("project/.cuenv", pin);
        let output = bed.run("tool").output().unwrap();
        assert_eq!(output.status.code(), Some(125));
        let message = format!("cuenv: cannot use the pin `{}`: {expected}\n", path.display());
        assert_eq!(String::from_utf8_lossy(&output.stderr), message);
    }
    assert!(!bed.path("project/owned").exists());
}

#[test]
fn a_stale_lock_is_one_line_and_a_broken_one_stops() {
    let bed = Bed::new();
    bed.toolchain("12.4.1-abc", "12.4");
    bed.write("project/.cuenv", "12.4\n");
    // It calls the shim once more, which says it no second time.
    bed.program("bin/tool", "#!/bin/sh\necho \"[$CUENV_ACTIVE]\"\n[ -n \"$1\" ] && tool\n:\n");
    bed.shim("tool");
    let lock = |head: &str| bed.write("project/.cuenv.lock", head);
    let run = || {
        let output = bed.run("tool").arg("again").output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    let twice = "[12.4.1-abc]\n[12.4.1-abc]\n";
    let answers =
        format!("version = 1\nspec = \"12.4\"\nprefix.{} = \"12.4.1-abc\"\n", shims::names::TARGET);
    lock(&answers);
    assert_eq!(run(), (0, twice.to_owned(), String::new()));
    let path = lock(&answers.replace("\"12.4\"", "\"12.3\""));
    let said = format!(
        "cuenv: `{}` does not hold: it answers `12.3`, and the pin says `12.4`; using 12.4.1-abc (fix: cuenv lock)\n",
        path.display()
    );
    assert_eq!(run(), (0, twice.to_owned(), said));
    for (text, why) in [
        ("nonsense\n".to_owned(), "it is not a lockfile"),
        (format!("<<<<<<< HEAD\n{answers}"), "it holds the marks of a merge conflict"),
    ] {
        lock(&text);
        let said = format!("cuenv: cannot use the lock `{}`: {why}\n", path.display());
        assert_eq!(run(), (125, String::new(), said));
    }
    // A toolkit has no lock, so none beside its pin means anything.
    bed.toolchain("site-1", "site");
    bed.write("project/.cuenv", "site\n");
    assert_eq!(run().0, 0);
}

#[test]
fn it_works_in_a_deleted_directory() {
    let bed = Bed::new();
    bed.program("bin/tool", "#!/bin/sh\necho ran\n");
    bed.shim("tool");
    bed.write("project/gone/x", "");
    let script = "cd gone && rm -r ../gone && exec tool";
    let output = bed.command(Path::new("/bin/sh")).args(["-c", script]).output().unwrap();
    assert_eq!(output.stdout, b"ran\n", "{output:?}");
}

/// What a shim asks of the system, three directories below its pin. The bounds are there to be seen when they break.
#[test]
fn a_shim_asks_little_of_the_system() {
    if !Path::new("/usr/bin/strace").exists() {
        println!("skipped: no strace");
        return;
    }
    let bed = Bed::new();
    bed.toolchain("12.4.1-abc", "12.4");
    bed.shim("true");
    bed.write("project/.cuenv", "12.4\n");
    bed.write("project/a/b/x", "");
    bed.write("home/elsewhere/x", "");
    let calls = |below: &str| {
        let log = bed.path("trace");
        let mut command = bed.command(Path::new("/usr/bin/strace"));
        command.args(["-f", "-e", "trace=%file,read", "-o"]).arg(&log);
        let ran = command.arg(bed.path("data/shims/true")).current_dir(bed.path(below)).status();
        if !ran.unwrap().success() {
            println!("skipped: strace cannot trace here");
            return None;
        }
        let text = std::fs::read_to_string(log).unwrap();
        let own: Vec<String> = text
            .lines()
            // Before it the loader of a shim that is not static, behind it the program.
            .skip_while(|line| !line.contains("getcwd("))
            .take_while(|line| !line.contains("execve("))
            .map(str::to_owned)
            .collect();
        assert!(text.lines().count() > own.len() + 1, "the program was started: {text}");
        Some(own)
    };
    for (below, most) in [("project/a/b", 50), ("home/elsewhere", 32)] {
        let Some(own) = calls(below) else { return };
        assert!(own.len() <= most, "{below}: {} calls: {own:#?}", own.len());
        // A program is megabytes; its first bytes say what it is.
        let read = own.iter().filter_map(|line| {
            line.split_once("read(")?.1.rsplit_once("= ")?.1.parse::<u64>().ok()
        });
        assert!(read.sum::<u64>() < 3000, "{below}: {own:#?}");
    }
}

#[test]
fn it_names_itself() {
    let bed = Bed::new();
    let own = bed.path("data/bin/cuenv-shim");
    let seen = text(bed.command(&own).arg("--version"));
    assert!(seen.contains(shims::program::MARK));
    let output = bed.command(&own).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(OsStr::from_bytes(&output.stderr).to_str().unwrap().contains("cuenv shim --help"));
}
