//! `cuenv exec`, `env`, `current` and `shim`.

use std::process::Command;

use crate::support::sandbox::{Ran, Sandbox, cuenv};

fn bed() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.toolchain("11.8.0-a", "11.8", &[]);
    sandbox.toolchain("12.4.1-b", "12.4", &[]);
    sandbox.write(".cuenv", "12.4\n");
    sandbox
}

#[test]
fn exec_replaces_the_process_by_the_program() {
    let sandbox = bed();
    sandbox
        .cuenv(["exec", "--", "sh", "-c", "echo $CUENV_ACTIVE $CUENV_TOOLCHAIN; exit 42"])
        .code(42)
        .says("12.4.1-b\n");
    // An explicit spec holds for everything below.
    sandbox
        .cuenv(["x", "11.8", "--", "sh", "-c", "echo $CUENV_ACTIVE $CUENV_TOOLCHAIN"])
        .code(0)
        .says("11.8.0-a 11.8\n");
    let mut command = sandbox.command("sh");
    command.args(["-c", &format!("echo $$; exec {} run -- sh -c 'echo $$'", cuenv().display())]);
    let ran = Ran::of(&mut command, &sandbox);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[0], lines[1], "the process number is kept");
}

#[test]
fn exec_gives_a_shells_exit_codes() {
    let sandbox = bed();
    sandbox.write("plain", "x");
    for (args, code, said) in [
        (&["exec", "--", "no-such-program"][..], 127, "no-such-program: command not found"),
        (&["exec", "--", "./no/such"], 127, "./no/such: No such file or directory"),
        (&["exec", "--", "./plain"], 126, "./plain: Permission denied"),
        (
            &["exec", "99", "--", "true"],
            125,
            "`99` from the command line is not installed: run `cuenv install 99`",
        ),
        (&["exec", "a/b", "--", "true"], 125, "`a/b` from the command line is not a spec"),
        (&["exec", "--"], 125, "required"),
        (&["exec", "--nosuch"], 125, "unexpected argument '--nosuch'"),
        (&["-C", "bad", "exec", "--", "true"], 125, "there is no directory `[PROJECT]/bad`"),
        (&["exec", "nosuchprogram", "--flag"], 127, "nosuchprogram: command not found"),
        (&["exec", "12.4+cudn9", "true"], 125, "there is no component `cudn`"),
    ] {
        let ran = sandbox.cuenv(args).code(code);
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("as a value"), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn exec_works_with_an_empty_environment() {
    let sandbox = bed();
    let mut command = Command::new(cuenv());
    command
        .env_clear()
        .env("CUENV_HOME", sandbox.cuenv_home())
        .current_dir(sandbox.project())
        .args(["exec", "--", "env"]);
    let ran = Ran::of(&mut command, &sandbox).code(0);
    assert!(ran.stdout.contains("PATH=[CUENV]/toolchains/"), "{}", ran.stdout);
    assert!(ran.stdout.contains("/bin:/usr/local/sbin:/usr/local/bin:"), "{}", ran.stdout);
}

#[test]
fn exec_leaves_another_toolchain_first() {
    let sandbox = bed();
    let cli = cuenv().display();
    let script = format!("exec {cli} exec 11.8 -- sh -c 'echo $LD_LIBRARY_PATH; echo $PATH'");
    let ran = sandbox.cuenv(["exec", "12.4", "--", "sh", "-c", &script]).code(0);
    assert!(!ran.stdout.contains("12.4.1-b"), "{}", ran.stdout);
    assert!(ran.stdout.contains("11.8.0-a/lib\n"));
    let script = format!("exec {cli} exec system -- env");
    let ran = sandbox.cuenv(["exec", "12.4", "--", "sh", "-c", &script]).code(0);
    assert!(!ran.stdout.contains("12.4.1-b") && !ran.stdout.contains("LD_LIBRARY_PATH"));
}

#[test]
fn env_can_be_evaluated_and_undone() {
    let sandbox = bed();
    let cli = cuenv().display();
    let script = format!(
        "LD_LIBRARY_PATH=/mine::; export LD_LIBRARY_PATH\n\
         eval \"$({cli} env --shell sh)\"\necho \"$LD_LIBRARY_PATH\"\n\
         eval \"$({cli} env system --shell sh)\"\necho \"$LD_LIBRARY_PATH\" \"${{CUDA_HOME-unset}}\""
    );
    let mut command = sandbox.command("sh");
    let ran = Ran::of(command.args(["-euc", &script]), &sandbox).code(0);
    let target = shims::names::TARGET;
    assert_eq!(
        ran.stdout,
        format!("[CUENV]/toolchains/{target}/12.4.1-b/lib:/mine\n/mine:: unset\n")
    );
}

#[test]
fn env_speaks_to_launchers() {
    let sandbox = bed();
    let lib = format!("[CUENV]/toolchains/{}/12.4.1-b/lib", shims::names::TARGET);
    for (format, expected) in [
        ("dotenv", format!("LD_LIBRARY_PATH='{lib}'\n")),
        ("github", format!("LD_LIBRARY_PATH={lib}\n")),
        ("docker", format!("LD_LIBRARY_PATH={lib}\n")),
        ("deepspeed", format!("LD_LIBRARY_PATH={lib}\n")),
        ("systemd", format!("Environment=\"LD_LIBRARY_PATH={lib}\"\n")),
        ("mpirun", format!("-x LD_LIBRARY_PATH={lib}")),
        ("sbatch", format!("LD_LIBRARY_PATH={lib},")),
        ("json", format!("\"LD_LIBRARY_PATH\": \"{lib}\"")),
    ] {
        let ran = sandbox.cuenv(["env", "--format", format]).code(0);
        assert!(ran.stdout.contains(&expected), "{format}: {}", ran.stdout);
        assert!(!ran.stdout.contains("CUENV_UNDO"), "{format}");
    }
    let ran = sandbox.cuenv(["env", "--build"]).code(0);
    assert!(ran.stdout.contains("LIBRARY_PATH=") && ran.stdout.contains("CPATH="));
    assert!(!sandbox.cuenv(["env"]).code(0).stdout.contains("CPATH="));
}

#[test]
fn env_says_what_to_do_when_there_is_none() {
    let sandbox = Sandbox::new();
    let ran = sandbox.cuenv(["env"]).code(3);
    assert_eq!(
        ran.stderr,
        "error: no pin and no default holds in `[PROJECT]`\n  hint: pin one with `cuenv use 12.4+cudnn9`, for example\n"
    );
    sandbox.write(".cuenv", "12.4\n");
    let ran = sandbox.cuenv(["env"]).code(3);
    assert_eq!(
        ran.stderr,
        "error: `12.4` from `[PROJECT]/.cuenv` is not installed\n  hint: run `cuenv install`\n"
    );
}

#[test]
fn current_says_why_and_what_it_beat() {
    let sandbox = bed();
    sandbox.write(".cuda-version", "11.8\n");
    std::fs::create_dir_all(sandbox.cuenv_home().join("config")).unwrap();
    std::fs::write(sandbox.cuenv_home().join("config/default"), "11.8\n").unwrap();
    let ran = sandbox.cuenv(["current"]).code(0);
    let target = shims::names::TARGET;
    assert_eq!(
        ran.stdout,
        format!(
            "active     12.4\n\
             because    `[PROJECT]/.cuenv`\n\
             beats      11.8 from `[PROJECT]/.cuda-version`\n\
             beats      11.8 from the default, `[CUENV]/config/default`\n\
             toolchain  12.4.1-b\n\
             prefix     [CUENV]/toolchains/{target}/12.4.1-b\n\
             policy     defer (the default)\n\
             sets       CUDAToolkit_ROOT CUDA_HOME CUDA_PATH CUDNN_PATH LD_LIBRARY_PATH PATH\n"
        )
    );
    sandbox.cuenv(["show", "-q"]).code(0).says("12.4\n");
    let none = Sandbox::new();
    none.cuenv(["current"]).code(0).says("active     none (system)\n");
    none.cuenv(["current", "-q"]).code(0).says("none\n");
    none.write(".cuenv", "12.9+cudnn9\n");
    none.cuenv(["current"])
        .code(0)
        .says("active     12.9+cudnn9 (not installed)\nbecause    `[PROJECT]/.cuenv`\n");
}

#[test]
fn current_shows_the_venv_and_its_policy() {
    let sandbox = Sandbox::new();
    sandbox.toolchain(
        "12.4.1-b",
        "12.4",
        &[("cudnn", "libcudnn.so.9"), ("cublas", "libcublas.so.12")],
    );
    sandbox.write(".cuenv", "toolchain = \"12.4\"\nvenv = \"defer\"\n");
    sandbox.write(".venv/pyvenv.cfg", "");
    sandbox.write(".venv/lib/python3.11/site-packages/nvidia/cudnn/lib/libcudnn.so.9", "");
    let ran = sandbox.cuenv(["current"]).code(0);
    assert!(
        ran.stdout.contains(
            "venv       [PROJECT]/.venv (beside the pin)\n           from the venv: cudnn\n           \
             from the toolchain: cublas\npolicy     defer (`[PROJECT]/.cuenv`)\n"
        ),
        "{}",
        ran.stdout
    );
}

#[test]
fn shims_are_added_listed_and_removed() {
    let sandbox = bed();
    sandbox.program(
        &format!("cuenv/toolchains/{}/12.4.1-b/bin/cuobjdump", shims::names::TARGET),
        "#!/bin/sh\n",
    );
    let ran = sandbox.cuenv(["shim", "add"]).code(0);
    assert_eq!(ran.stdout, "Added cuobjdump nvcc ptxas python python3 torchrun\n");
    assert_eq!(ran.stderr, "put `[CUENV]/shims` first on PATH to use them\n");
    sandbox.cuenv(["shim", "remove", "python", "python3", "torchrun", "ptxas"]).code(0);
    sandbox.cuenv(["shim", "list"]).code(0).says("cuobjdump\nnvcc\n");
    for tool in ["sh", "sudo", "ls", "env"] {
        let ran = sandbox.cuenv(["shim", "add", tool]).code(2);
        assert_eq!(
            ran.stderr,
            format!("error: `{tool}` never has a shim: too much stands on it\n")
        );
    }
    let mut command = sandbox.command(sandbox.cuenv_home().join("shims/cuobjdump"));
    Ran::of(&mut command, &sandbox).code(0);
}
