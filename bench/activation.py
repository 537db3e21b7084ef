#!/usr/bin/env python3
"""What a shim, `cuenv exec` and the hook cost, against the bare program and against other tools.

    cargo build --release && cargo build -p cuenv-shim --profile shim --target x86_64-unknown-linux-musl
    bench/activation.py [--cuenv PATH] [--shim PATH] [--runs N] [--peer NAME=COMMAND ...]

All programs of one table are started in turn, one round after the other, by one small loop of `posix_spawn` and
`wait4`, so that a slow moment of the machine hits all of them. Shown are medians and the difference from the first
line. Peers that are not installed are left out and said so. `--peer` adds one by its command line.
Exit code 1: a shim costs more than the bar, half a millisecond over `/bin/true` started twice.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent.parent
TARGET = "linux-" + os.uname().machine.replace("arm64", "aarch64")


def spawn(argv, env, cwd):
    """Starts a program, waits, returns the microseconds."""
    os.chdir(cwd)
    null = os.open("/dev/null", os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)]
    start = time.perf_counter_ns()
    pid = os.posix_spawn(argv[0], argv, env, file_actions=actions)
    _, status, _ = os.wait4(pid, 0)
    took = (time.perf_counter_ns() - start) / 1000
    os.close(null)
    if status != 0:
        raise SystemExit(f"{argv} ended with status {status}")
    return took


def table(title, rows, runs):
    """Runs all rows in turn and prints their medians. A row is (name, argv or list of argvs, env, cwd)."""
    times = {name: [] for name, *_ in rows}
    for round_ in range(runs + 5):
        for name, argv, env, cwd in rows:
            many = argv if isinstance(argv[0], list) else [argv]
            took = sum(spawn(one, env, cwd) for one in many)
            if round_ >= 5:
                times[name].append(took)
    base = statistics.median(times[rows[0][0]])
    print(f"\n{title}\n\n| program | median us | over the first | ratio | p95 us |\n|---|---|---|---|---|")
    medians = {}
    for name, *_ in rows:
        ordered = sorted(times[name])
        medians[name] = statistics.median(ordered)
        p95 = ordered[int(len(ordered) * 0.95) - 1]
        over = medians[name] - base
        print(f"| {name} | {medians[name]:.0f} | {over:+.0f} | {medians[name] / base:.2f} | {p95:.0f} |")
    return medians


def make_home(root, shim, projects, toolchains):
    """A data directory with many toolchains, and many projects that pin them."""
    data = root / "data"
    for part in ("bin", "shims", f"active/{TARGET}", f"toolchains/{TARGET}"):
        (data / part).mkdir(parents=True)
    shutil.copy(shim, data / "bin/cuenv-shim")
    for number in range(toolchains):
        name = f"12.4.{number}"
        prefix = data / "toolchains" / TARGET / name
        (prefix / ".cuenv").mkdir(parents=True)
        (prefix / "lib").mkdir()
        (prefix / "bin").mkdir()
        (prefix / ".cuenv/activation").write_text(
            f"cuenv-activation 1\ntoolchain {name}\nprefix {name}\nset CUDA_HOME .\nset CUDA_PATH .\n"
            "set CUDAToolkit_ROOT .\nset CUDNN_PATH .\nprepend PATH bin\nprepend LD_LIBRARY_PATH lib\n"
        )
        (data / "active" / TARGET / name).symlink_to(f"../../toolchains/{TARGET}/{name}")
    for number in range(projects):
        project = root / f"projects/p{number}/src/deep/er"
        project.mkdir(parents=True)
        (root / f"projects/p{number}/.cuenv").write_text(f"12.4.{number % toolchains}\n")
    (data / "shims/true").symlink_to("../bin/cuenv-shim")
    (data / "shims/python3").symlink_to("../bin/cuenv-shim")
    return data


def hook_times(shell_line, env, cwd, commands, count):
    """Runs a shell over a script that repeats commands; returns microseconds a repetition."""
    script = shell_line[2].format(setup=commands[0], body=commands[1], count=count)
    start = time.perf_counter_ns()
    subprocess.run(shell_line[:2] + [script], env=env, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (time.perf_counter_ns() - start) / 1000


def hooks(cuenv, data, root, runs):
    """The hook's function alone, called as a prompt calls it: unchanged, and between two projects."""
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(root), "CUENV_HOME": str(data)}
    one, two = root / "projects/p0/src/deep/er", root / "projects/p1"
    loop = 'i=0; while [ $i -lt {count} ]; do {body}; i=$((i+1)); done'
    shells = {
        "bash": (["bash", "-c", "{setup}\n" + loop], f'eval "$({cuenv} hook bash --quiet)"', "__cuenv_hook"),
        "zsh": (["zsh", "-fc", "{setup}\n" + loop], f'eval "$({cuenv} hook zsh --quiet)"', "__cuenv_hook"),
        "fish": (
            ["fish", "--no-config", "-c", "{setup}\nfor i in (seq {count}); {body}; end"],
            f"{cuenv} hook fish --quiet | source",
            "__cuenv_hook",
        ),
    }
    peers = {}
    if shutil.which("direnv"):
        for path in (one, two):
            (path / ".envrc").write_text("export A=1\n")
            subprocess.run(["direnv", "allow", str(path)], env=env, check=True, stderr=subprocess.DEVNULL)
        peers["direnv"] = (["bash", "-c", "{setup}\n" + loop], 'eval "$(direnv hook bash)"', "_direnv_hook")
    mise = shutil.which("mise") or os.environ.get("MISE")
    if mise:
        peers["mise"] = (["bash", "-c", "{setup}\n" + loop], f'eval "$({mise} activate bash)"', "_mise_hook_prompt_command")
    print("\nHook, one prompt\n\n| shell and tool | unchanged us | entering and leaving, us a change |\n|---|---|---|")
    result = {}
    for name, (line, setup, call) in {**{f"{s}, cuenv": v for s, v in shells.items()}, **{f"bash, {p}": v for p, v in peers.items()}}.items():
        if not shutil.which(line[0]):
            print(f"| {name} | not installed | |")
            continue
        extra = dict(env)
        if name.endswith("mise"):
            for path in (one, two):
                (path / "mise.toml").write_text('[env]\nA = "1"\n')
            extra |= {"MISE_TRUSTED_CONFIG_PATHS": str(root), "MISE_OFFLINE": "1"}
            call = "_mise_hook"
        quiet, busy = (200, 40)
        still, change = [], []
        for _ in range(max(3, runs // 100)):
            base = hook_times(line, extra, one, (setup + f"\n{call}", ":"), quiet)
            full = hook_times(line, extra, one, (setup + f"\n{call}", call), quiet)
            still.append((full - base) / quiet)
            body = f"cd {two}; {call}; cd {one}; {call}"
            cds = f"cd {two}; cd {one}"
            base = hook_times(line, extra, one, (setup + f"\n{call}", cds), busy)
            full = hook_times(line, extra, one, (setup + f"\n{call}", body), busy)
            change.append((full - base) / busy / 2)
        result[name] = (statistics.median(still), statistics.median(change))
        print(f"| {name} | {result[name][0]:.0f} | {result[name][1]:.0f} |")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuenv", default=HERE / "target/release/cuenv")
    parser.add_argument("--shim", default=HERE / f"target/{os.uname().machine}-unknown-linux-musl/shim/cuenv-shim")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=COMMAND")
    parser.add_argument("--no-hook", action="store_true")
    options = parser.parse_args()
    root = pathlib.Path(tempfile.mkdtemp(prefix="cuenv-bench-", dir=os.environ.get("BENCH_DIR")))
    try:
        data = make_home(root / "many", options.shim, 1000, 200)
        small = make_home(root / "few", options.shim, 2, 2)
        pinned, plain = root / "many/projects/p7/src/deep/er", root / "few"
        path = f"{data}/shims:/usr/local/bin:/usr/bin:/bin"
        env = {"PATH": path, "HOME": str(root)}
        bare = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(root)}
        true = "/bin/true"
        rows = [
            ("`/bin/true`", [true], bare, pinned),
            ("`/bin/true` twice", [[true], [true]], bare, pinned),
            ("shim, pinned, 1,000 projects and 200 toolchains", [f"{data}/shims/true"], env, pinned),
            ("shim, pinned, 2 and 2", [f"{small}/shims/true"], env | {"PATH": f"{small}/shims:/usr/bin:/bin"}, root / "few/projects/p1/src/deep/er"),
            ("shim, no pin", [f"{data}/shims/true"], env, plain),
            ("`cuenv exec -- true`", [str(options.cuenv), "exec", "--", "true"], env | {"CUENV_HOME": str(data)}, pinned),
        ]
        for peer in options.peer:
            name, command = peer.split("=", 1)
            argv = command.split()
            argv[0] = shutil.which(argv[0]) or argv[0]
            rows.append((name, argv, os.environ | {"PATH": os.environ["PATH"]}, pinned))
        mise = shutil.which("mise") or os.environ.get("MISE")
        if mise:
            rows.append(("`mise exec -- true`", [mise, "exec", "--", true], bare | {"MISE_OFFLINE": "1"}, plain))
        if shutil.which("direnv"):
            envrc = root / "few/direnv"
            envrc.mkdir()
            (envrc / ".envrc").write_text("export A=1\n")
            subprocess.run(["direnv", "allow", str(envrc)], env=bare, check=True, stderr=subprocess.DEVNULL)
            rows.append(("`direnv exec . true`", [shutil.which("direnv"), "exec", str(envrc), true], bare, envrc))
        seen = table("Starting `true`", rows, options.runs)
        print()
        pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
        rows = [
            ("python3 itself", ["/usr/bin/python3", "-S", "-c", ""], bare, pinned),
            ("cuenv's shim", [f"{data}/shims/python3", "-S", "-c", ""], env | {"PATH": f"{data}/shims:/usr/bin:/bin"}, pinned),
        ]
        if (pyenv / "shims/python3").exists():
            pyenv_env = bare | {"PYENV_ROOT": str(pyenv), "PYENV_VERSION": "system", "PATH": f"{pyenv}/shims:{pyenv}/bin:/usr/bin:/bin"}
            rows.append(("pyenv's shim", [str(pyenv / "shims/python3"), "-S", "-c", ""], pyenv_env, pinned))
        table("Starting python3", rows, max(20, options.runs // 10))
        cargo = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo"))
        rustc = cargo / "bin/rustc"
        if rustc.is_symlink() or rustc.exists():
            found = subprocess.run([str(cargo / "bin/rustup"), "which", "rustc"], capture_output=True, text=True)
            if found.returncode == 0:
                env_r = dict(os.environ)
                rows = [("rustc itself", [found.stdout.strip(), "--version"], env_r, str(HERE)), ("rustup's proxy", [str(rustc), "--version"], env_r, str(HERE))]
                table("Starting rustc --version", rows, max(20, options.runs // 10))
        if not options.no_hook:
            hooks(options.cuenv, data, root / "many", options.runs)
        os.chdir("/")
    finally:
        shutil.rmtree(root)
    shim, twice = seen["shim, pinned, 1,000 projects and 200 toolchains"], seen["`/bin/true` twice"]
    print(f"\nThe shim is {shim - twice:+.0f} us against `/bin/true` started twice (bar: +500).")
    return 1 if shim - twice > 500 else 0


if __name__ == "__main__":
    sys.exit(main())
