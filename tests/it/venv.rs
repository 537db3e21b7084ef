//! The venv policy, asked of the real loader: which file does a program get for each soname?

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::bed::shared_object;
use crate::support::sandbox::{Ran, Sandbox};

const SITE: &str = ".venv/lib/python3.11/site-packages";

/// A project with a venv that brings a cuDNN with two parts, and a toolchain with three parts and more components.
fn bed(policy: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.toolchain(
        "12.4.1-b",
        "12.4",
        &[
            ("cudnn", "libcudnn.so.9"),
            ("cudnn", "libcudnn_ops.so.9"),
            ("cudnn", "libcudnn_extra.so.9"),
            ("cublas", "libcublas.so.12"),
        ],
    );
    sandbox.write(".cuenv", format!("toolchain = \"12.4\"\nvenv = \"{policy}\"\n"));
    sandbox.write(".venv/pyvenv.cfg", "home = /usr/bin\n");
    for file in ["libcudnn.so.9", "libcudnn_ops.so.9"] {
        shared_object(
            &sandbox.project().join(SITE).join("nvidia/cudnn/lib").join(file),
            file,
            "venv",
        );
    }
    sandbox
}

/// Compiles a program that opens each soname and prints who it got, linked with or without a run path.
fn asker(sandbox: &Sandbox, flags: &[&str]) -> Option<PathBuf> {
    let mut code =
        String::from("#include <dlfcn.h>\n#include <stdio.h>\nint main(int n, char **v) {\n");
    let _ = writeln!(
        code,
        "for (int i = 1; i < n; i++) {{ void *l = dlopen(v[i], RTLD_NOW);
         const char *(*f)(void) = l ? (const char *(*)(void))dlsym(l, \"whoami\") : 0;
         printf(\"%s=%s\\n\", v[i], f ? f() : \"none\"); }} return 0; }}"
    );
    let source = sandbox.write("ask.c", code);
    let program = sandbox.project().join("ask");
    let status = Command::new("gcc").arg("-o").arg(&program).arg(&source).args(flags).status();
    match status {
        Ok(status) if status.success() => Some(program),
        _ => {
            println!("skipped: no gcc");
            None
        }
    }
}

const ALL: [&str; 4] =
    ["libcudnn.so.9", "libcudnn_ops.so.9", "libcudnn_extra.so.9", "libcublas.so.12"];

fn ask(sandbox: &Sandbox, program: &Path) -> Ran {
    let mut args = vec!["exec", "--", program.to_str().unwrap()];
    args.extend(ALL);
    sandbox.cuenv(args)
}

#[test]
fn defer_takes_a_component_from_the_venv_as_a_whole() {
    let sandbox = bed("defer");
    let nvidia = format!("-Wl,-rpath,$ORIGIN/{SITE}/nvidia/cudnn/lib");
    for flags in [
        &[][..],
        &[nvidia.as_str(), "-Wl,--enable-new-dtags"],
        &[nvidia.as_str(), "-Wl,--disable-new-dtags"],
    ] {
        let Some(program) = asker(&sandbox, flags) else { return };
        // The venv's cuDNN has no `extra`: the toolchain's, of another version, must not complete it.
        ask(&sandbox, &program).code(0).says(
            "libcudnn.so.9=venv\nlibcudnn_ops.so.9=venv\nlibcudnn_extra.so.9=none\nlibcublas.so.12=12.4.1-b\n",
        );
    }
}

#[test]
fn override_takes_the_toolchains_or_is_refused() {
    let sandbox = bed("override");
    let Some(program) = asker(&sandbox, &[]) else { return };
    ask(&sandbox, &program).code(0).says(
        "libcudnn.so.9=12.4.1-b\nlibcudnn_ops.so.9=12.4.1-b\nlibcudnn_extra.so.9=12.4.1-b\nlibcublas.so.12=12.4.1-b\n",
    );
    // A framework library that would go past the library path.
    let library = sandbox.project().join(SITE).join("torch/lib/libtorch_cuda.so");
    std::fs::create_dir_all(library.parent().unwrap()).unwrap();
    let source = sandbox.write("t.c", "int t(void) { return 0; }\n");
    let status = Command::new("gcc")
        .args(["-shared", "-fPIC", "-Wl,--disable-new-dtags"])
        .arg("-Wl,-rpath,$ORIGIN/../../nvidia/cudnn/lib")
        .arg("-o")
        .arg(&library)
        .arg(&source)
        .status();
    assert!(status.unwrap().success());
    let ran = ask(&sandbox, &program).code(125);
    assert!(ran.stderr.contains("the venv policy `override` cannot hold"), "{}", ran.stderr);
    assert!(ran.stderr.contains("libtorch_cuda.so` carries DT_RPATH"), "{}", ran.stderr);
    let hint = |how: &str| format!("hint: {how}, or remove the venv's own cudnn wheel");
    let said = hint("write `venv = \"defer\"` into `[PROJECT]/.cuenv`");
    assert!(ran.stderr.contains(&said), "{}", ran.stderr);
    let sandbox = sandbox.with_env("CUENV_VENV", "override");
    let ran = ask(&sandbox, &program).code(125);
    assert!(ran.stderr.contains(&hint("set CUENV_VENV to `defer`")), "{}", ran.stderr);
    let ran = sandbox.cuenv(["doctor"]).code(7);
    assert!(ran.stdout.contains("fix: set CUENV_VENV to `defer`"), "{}", ran.stdout);
}

#[test]
fn off_leaves_the_library_path_alone() {
    let sandbox = bed("off").with_env("LD_LIBRARY_PATH", "/mine");
    sandbox
        .cuenv(["exec", "--", "sh", "-c", "echo $LD_LIBRARY_PATH $CUENV_ACTIVE"])
        .code(0)
        .says("/mine 12.4.1-b\n");
}

#[test]
fn the_variable_outranks_the_pin() {
    let sandbox = bed("off").with_env("CUENV_VENV", "defer");
    let ran = sandbox.cuenv(["exec", "--", "sh", "-c", "echo $LD_LIBRARY_PATH"]).code(0);
    assert!(ran.stdout.contains("/nvidia/cudnn/lib:"), "{}", ran.stdout);
    let sandbox = bed("off").with_env("CUENV_VENV", "sometimes");
    let ran = sandbox.cuenv(["exec", "--", "true"]).code(125);
    assert!(ran.stderr.contains("`sometimes` from CUENV_VENV is not"), "{}", ran.stderr);
}

#[test]
fn shim_exec_and_hook_agree() {
    let sandbox = bed("defer");
    let shims = sandbox.shims(&["show"]);
    let show = sandbox.program("bin/show", "#!/bin/sh\necho \"$LD_LIBRARY_PATH\"\n");
    let through_exec = sandbox.cuenv(["exec", "--", show.to_str().unwrap()]).code(0).stdout;
    let path = format!("{}:{}:/usr/bin:/bin", shims.display(), show.parent().unwrap().display());
    let mut command = sandbox.command("show");
    let through_shim = Ran::of(command.env("PATH", path), &sandbox).code(0).stdout;
    let hook = "eval \"$(CUENV hook bash)\"; echo \"$LD_LIBRARY_PATH\""
        .replace("CUENV", crate::support::sandbox::cuenv().to_str().unwrap());
    let mut command = sandbox.command("bash");
    let through_hook = Ran::of(command.args(["-c", &hook]), &sandbox).code(0).stdout;
    assert_eq!(through_exec, through_shim);
    assert_eq!(through_exec, through_hook);
    assert!(through_exec.contains("/nvidia/cudnn/lib:"));
}

/// Links a library with one version of its own, as NVIDIA's are, that defines and calls functions.
fn versioned(
    sandbox: &Sandbox,
    path: &Path,
    says: &str,
    defines: &str,
    calls: Option<(&str, &Path)>,
) {
    let name = path.file_name().unwrap().to_str().unwrap();
    let map = sandbox.write("map", format!("{name} {{ global: *; }};\n"));
    let call = calls.map_or(String::new(), |(function, _)| {
        format!("int {function}(void); int calls_{function}(void) {{ return {function}(); }}\n")
    });
    let code = format!(
        "const char *whoami(void) {{ return \"{says}\"; }}\nint {defines}(void) {{ return 1; }}\n{call}"
    );
    let source = sandbox.write("v.c", code);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let status = Command::new("gcc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(path)
        .arg(&source)
        .arg(format!("-Wl,-soname,{name}"))
        .arg(format!("-Wl,--version-script={}", map.display()))
        .args(calls.map(|(_, library)| library))
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn what_needs_a_newer_library_than_the_venvs_is_left_out() {
    let sandbox = Sandbox::new();
    let prefix = sandbox.toolchain(
        "12.4.1-b",
        "12.4",
        &[
            ("nvjitlink", "libnvJitLink.so.12"),
            ("cusparse", "libcusparse.so.12"),
            ("cublas", "libcublas.so.12"),
        ],
    );
    let Some(program) = asker(&sandbox, &[]) else { return };
    let lib = prefix.join("lib");
    let jit = lib.join("libnvJitLink.so.12");
    versioned(&sandbox, &jit, "12.4.1-b", "jit_12_4", None);
    versioned(
        &sandbox,
        &lib.join("libcusparse.so.12"),
        "12.4.1-b",
        "sparse",
        Some(("jit_12_4", &jit)),
    );
    sandbox.write(".cuenv", "12.4\n");
    sandbox.write(".venv/pyvenv.cfg", "home = /usr/bin\n");
    let venvs = sandbox.project().join(SITE).join("nvidia/nvjitlink/lib/libnvJitLink.so.12");
    let ask = || {
        let names = ["libcusparse.so.12", "libnvJitLink.so.12", "libcublas.so.12"];
        sandbox.cuenv(["exec", "--", program.to_str().unwrap()].iter().chain(&names)).code(0)
    };
    // The venv's is older: the toolchain's cuSPARSE could not be loaded with it.
    versioned(&sandbox, &venvs, "venv", "jit_12_1", None);
    ask().says("libcusparse.so.12=none\nlibnvJitLink.so.12=venv\nlibcublas.so.12=12.4.1-b\n");
    let shown = sandbox.cuenv(["current"]).code(0).stdout;
    let expected = format!(
        "from the venv: nvjitlink\n           from the toolchain: cublas\n           \
         left out: cusparse (`libcusparse.so.12` needs `jit_12_4`, which `[PROJECT]/{SITE}/nvidia/nvjitlink/lib/libnvJitLink.so.12` lacks)\n"
    );
    assert!(shown.contains(&expected), "{shown}");
    // It is as new: cuSPARSE is filled in, and takes the venv's.
    versioned(&sandbox, &venvs, "venv", "jit_12_4", None);
    ask().says("libcusparse.so.12=12.4.1-b\nlibnvJitLink.so.12=venv\nlibcublas.so.12=12.4.1-b\n");
}

#[test]
fn the_settings_hold_where_the_pin_is_silent() {
    let sandbox = bed("defer");
    let settings = sandbox.cuenv_home().join("config/config.toml");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let path = || {
        let ran = sandbox.cuenv(["exec", "--", "sh", "-c", "echo ${LD_LIBRARY_PATH-unset}"]);
        ran.code(0).stdout
    };
    let policy = || {
        let shown = sandbox.cuenv(["current", "--json"]).code(0).json();
        let shown = &shown["policy"];
        format!("{} {}", shown["name"].as_str().unwrap(), shown["because"].as_str().unwrap())
    };
    sandbox.write(".cuenv", "12.4\n");
    assert_eq!(policy(), "defer the default");
    std::fs::write(&settings, "# mine\nvenv = \"off\"\n\n[index]\nfresh-minutes = 1\n").unwrap();
    assert_eq!(path(), "unset\n");
    assert_eq!(policy(), "off `[CUENV]/config/config.toml`");
    sandbox.write(".cuenv", "toolchain = \"12.4\"\nvenv = \"defer\"\n");
    assert!(path().contains("/nvidia/cudnn/lib:"));
    assert_eq!(policy(), "defer `[PROJECT]/.cuenv`");
    sandbox.write(".cuenv", "12.4\n");
    std::fs::write(&settings, "venv = \"mabye\"\n").unwrap();
    let ran = sandbox.cuenv(["exec", "--", "true"]).code(125);
    assert!(
        ran.stderr
            .contains("cannot use `[CUENV]/config/config.toml`: `mabye` is not a value of `venv`"),
        "{}",
        ran.stderr
    );
    let hint = "hint: write `\"defer\"`, `\"override\"` or `\"off\"` behind `venv =` in `[CUENV]";
    assert!(ran.stderr.contains(hint), "{}", ran.stderr);
    // What cuenv takes as absent is absent for what it starts.
    std::fs::remove_file(&settings).unwrap();
    std::os::unix::fs::symlink("nowhere", &settings).unwrap();
    sandbox.cuenv(["list"]).succeeds();
    assert!(path().contains("/nvidia/cudnn/lib:"));
}

#[test]
fn a_hook_sees_another_policy_in_the_settings() {
    let sandbox = bed("defer");
    sandbox.write(".cuenv", "12.4\n");
    let settings = sandbox.cuenv_home().join("config/config.toml");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let script = format!(
        "eval \"$({} hook bash -q)\"; echo \"${{LD_LIBRARY_PATH:+set}}\"; echo 'venv = \"off\"' >{}; __cuenv_hook; \
         echo \"${{LD_LIBRARY_PATH:-unset}}\"",
        crate::support::sandbox::cuenv().display(),
        settings.display()
    );
    let mut command = sandbox.command("bash");
    Ran::of(command.args(["-c", &script]), &sandbox).code(0).says("set\nunset\n");
}

/// The real thing: torch with its own cuDNN, and a toolchain with another cuDNN 9, both installed beforehand.
///
/// `CUENV_TEST_VENV` is a virtual environment with torch and NVIDIA's wheels, `CUENV_TEST_HOME` a cuenv home and
/// `CUENV_TEST_SPEC` a spec installed in it.
#[test]
#[ignore = "needs a torch environment and an installed toolchain, some gigabytes"]
fn real_torch_gets_one_cudnn() {
    let var = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("set {name}"));
    let (venv, home, spec) =
        (var("CUENV_TEST_VENV"), var("CUENV_TEST_HOME"), var("CUENV_TEST_SPEC"));
    let sandbox = Sandbox::new();
    let script = "import torch, ctypes\n\
        version = torch.backends.cudnn.version()\n\
        torch.nn.functional\n\
        ctypes.CDLL('libcudnn.so.9'); ctypes.CDLL('libcudnn_graph.so.9'); ctypes.CDLL('libcudnn_ops.so.9')\n\
        maps = {line.split()[-1] for line in open('/proc/self/maps') if 'libcudnn' in line}\n\
        print(version); print(*sorted({m.rsplit('/', 1)[0] for m in maps}), sep='\\n')\n";
    let run = |policy: &str| {
        let mut command = sandbox.command(crate::support::sandbox::cuenv());
        command
            .env("CUENV_HOME", &home)
            .env("CUENV_VENV", policy)
            .args(["exec", &spec, "--"])
            .arg(format!("{venv}/bin/python"))
            .args(["-c", script]);
        Ran::of(&mut command, &sandbox)
    };
    let plain = Ran::of(
        sandbox
            .command(format!("{venv}/bin/python"))
            .args(["-c", "import torch; print(torch.backends.cudnn.version())"]),
        &sandbox,
    )
    .code(0)
    .stdout;
    let defer = run("defer").code(0);
    let lines: Vec<&str> = defer.stdout.lines().collect();
    assert_eq!(lines[0], plain.trim(), "the venv's version");
    assert_eq!(lines.len(), 2, "one directory of cuDNN: {lines:?}");
    assert!(lines[1].starts_with(&venv), "{lines:?}");
    let refused = run("override").code(125);
    assert!(refused.stderr.contains("carries DT_RPATH"), "{}", refused.stderr);
    println!("{}{}", defer.stdout, refused.stderr);
}
