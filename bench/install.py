#!/usr/bin/env python3
"""Installs the same wheels with cuenv, uv and pip, from a loopback index, and compares.

    bench/install.py WHEELS [--cuenv target/release/cuenv] [--scratch DIR] [--rounds 3] [--only floor,cuenv,uv,pip]
    bench/install.py WHEELS --wheels any [--make SITE-PACKAGES]     with all wheels of NVIDIA in WHEELS; made if asked
    bench/install.py WHEELS --rate 10 --delay 50                    10 MB/s a connection, 50 ms until it answers

WHEELS is a folder with the twelve wheels of CUDA 12.4.1 (runtime) and cuDNN 9.1.0, see `wheels.py`; with a wheel of another
cuDNN for CUDA 12 in it, changing to that is measured too. `--wheels NAME,NAME` takes those of the twelve whose names hold one of
the words. `--make` packs what NVIDIA's distributions have installed into wheels again, for a machine without a network.
Nothing leaves this machine. Every figure comes from one run on one machine; compare the ratios, not the seconds. The floor
inflates with ISA-L where `pip install isal` was run.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
import zipfile

try:
    from isal import isal_zlib as engine
except ImportError:
    import zlib as engine

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from server import Index, digest  # noqa: E402
from wheels import NAMES, every, make, twelve  # noqa: E402

EVERYTHING = f"inflate every member, one after the other ({engine.__name__})"


def other_cudnn(folder):
    """Returns a wheel of another cuDNN for the same CUDA, when there is one."""
    ours = [name for name in NAMES if "cudnn" in name][0]
    return next((file for file in sorted(os.listdir(folder)) if file.startswith("nvidia_cudnn_cu12-")
                 and file.endswith("x86_64.whl") and not file.startswith(ours + "-")), None)


def lock(folder, files):
    """Writes a lock of exactly these wheels, so that every tool installs the same bytes."""
    wheels = []
    for file in files:
        distribution, version = file.split("-")[:2]
        wheels.append({
            "target": "linux-x86_64", "component": distribution.replace("nvidia_", "").replace("_cu12", "").replace("_cu13", "").replace("_", "-"),
            "distribution": distribution.replace("_", "-"), "version": version, "file": file,
            "size": os.path.getsize(os.path.join(folder, file)), "sha256": digest(os.path.join(folder, file)),
        })
    wheels.sort(key=lambda wheel: (wheel["component"], wheel["distribution"]))
    identity = "1\nruntime\n" + "\n".join(sorted(f"{wheel['component']} {wheel['sha256']}" for wheel in wheels))
    cuda = next((wheel["version"] for wheel in wheels if wheel["component"] == "cuda-runtime"), "12.4.1")
    cudnn = next((wheel["version"] for wheel in wheels if wheel["component"].startswith("cudnn")), None)
    toolchain = ("12.4.1" if cuda.startswith("12.4.") else cuda) + (f"+cudnn{cudnn}" if cudnn else "")
    name = toolchain + "-" + hashlib.sha256(identity.encode()).hexdigest()[:12]
    text = f'version = 1\nspec = "{toolchain}"\ntoolchain = "{toolchain}"\nprefix.linux-x86_64 = "{name}"\nprofile = "runtime"\n'
    for wheel in wheels:
        text += "\n[[wheel]]\n" + "".join(
            f"{key} = {value}\n" if isinstance(value, int) else f'{key} = "{value}"\n' for key, value in wheel.items()
        )
    return text


def run(command, env, cwd):
    """Runs a command; returns wall seconds, CPU seconds and peak memory in MB of it and its children."""
    started = time.monotonic()
    process = subprocess.Popen(command, env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - started
    if status != 0:
        sys.exit(f"{' '.join(command)} failed:\n{output.decode(errors='replace')}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def settle():
    """Lets the disk finish what the last round left to it."""
    os.sync()


class Bench:
    def __init__(self, options):
        self.options = options
        if options.make:
            make(options.make, options.wheels)
        self.files = every(options.wheels) if options.which == "any" else twelve(options.wheels)
        if options.which not in ("any", "all"):
            self.files = [file for file in self.files if any(word in file for word in options.which.split(","))]
        self.scratch = os.path.abspath(options.scratch)
        self.other = other_cudnn(options.wheels) if options.which == "all" else None
        self.index = Index(options.wheels, {*self.files, *filter(None, [self.other])}, options.rate, options.delay)
        self.index.start()
        self.requirements = [f"{file.split('-')[0].replace('_', '-')}=={file.split('-')[1]}" for file in self.files]

    def fresh(self, name):
        path = os.path.join(self.scratch, name)
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        return path

    def env(self, home, **more):
        env = {"HOME": home, "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "NO_PROXY": "127.0.0.1"}
        if "PYENV_ROOT" in os.environ or os.path.isdir(os.path.expanduser("~/.pyenv")):
            env["PYENV_ROOT"] = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
        return env | more

    def cuenv(self):
        home = self.fresh("cuenv")
        project = os.path.join(home, "project")
        os.makedirs(project)

        def pin(files):
            text = lock(self.options.wheels, files)
            with open(os.path.join(project, ".cuenv.lock"), "w") as file:
                file.write(text)
            with open(os.path.join(project, ".cuenv"), "w") as file:
                file.write(text.split('"')[1] + "\n")

        pin(self.files)
        env = self.env(home, CUENV_HOME=os.path.join(home, "cuenv"), CUENV_INDEX_URL=self.index.url)
        command = [os.path.abspath(self.options.cuenv), "install", "--locked", "-q"]
        results = {"cuenv cold": run(command, env, project)}

        def warm():
            shutil.rmtree(os.path.join(home, "cuenv", "toolchains"))
            return run(command, env, project)

        results["cuenv warm: wheels in the store, new prefix"] = min(warm() for _ in range(5))
        results["cuenv installed already"] = min(run(command, env, project) for _ in range(5))
        if self.other:
            self.index.served.clear()
            pin([self.other if "_cudnn_" in file else file for file in self.files])
            results["cuenv, another cuDNN on the same CUDA"] = run(command, env, project)
            if set(self.index.served) != {self.other}:
                sys.exit(f"only the cuDNN was to be fetched, not {self.index.served}")
        return results

    def uv(self):
        home = self.fresh("uv")
        env = self.env(home, UV_CACHE_DIR=os.path.join(home, "cache"), UV_INDEX_URL=self.index.url)
        command = ["uv", "pip", "install", "-q", "--no-deps", "--python", sys.executable, "--target"]
        cold = run([*command, os.path.join(home, "cold"), *self.requirements], env, home)
        warm = min(run([*command, os.path.join(home, f"warm{n}"), *self.requirements], env, home) for n in range(5))
        return {"uv cold": cold, "uv warm: wheels in its cache": warm}

    def pip(self):
        home = self.fresh("pip")
        env = self.env(home, PIP_INDEX_URL=self.index.url, PIP_DISABLE_PIP_VERSION_CHECK="1", TMPDIR=home)
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-cache-dir", "--target"]
        return {"pip cold": run([*command, os.path.join(home, "cold"), *self.requirements], env, home)}

    def floor(self):
        """What no installer can be faster than on this machine: reading, hashing, inflating the largest member."""
        paths = [os.path.join(self.options.wheels, file) for file in self.files]
        block = bytearray(1 << 20)

        def read():
            for path in paths:
                with open(path, "rb", buffering=0) as file:
                    while file.readinto(block):
                        pass

        def sha():
            for path in paths:
                with open(path, "rb") as file:
                    hashlib.file_digest(file, "sha256")

        members = [(path, member) for path in paths for member in zipfile.ZipFile(path).infolist()]
        members.sort(key=lambda pair: -pair[1].file_size)

        def inflate(path, member):
            if member.compress_type != zipfile.ZIP_DEFLATED:
                return
            stream = engine.decompressobj(-15)
            with open(path, "rb") as file:
                file.seek(member.header_offset + 26)
                lengths = file.read(4)
                file.seek(int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little"), 1)
                left = member.compress_size
                while left:
                    piece = file.read(min(left, 1 << 18))
                    left -= len(piece)
                    stream.decompress(piece)

        def measure(work):
            started, cpu = time.monotonic(), time.process_time()
            work()
            return time.monotonic() - started, time.process_time() - cpu, 0

        results = {"floor: read once": measure(read), "floor: sha256 once": measure(sha)}
        results[f"floor: inflate the largest member ({engine.__name__})"] = measure(lambda: inflate(*members[0]))
        results[EVERYTHING] = measure(lambda: [inflate(*pair) for pair in members])
        return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("wheels")
    parser.add_argument("--cuenv", default="target/release/cuenv")
    parser.add_argument("--scratch", default="target/bench")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="floor,cuenv,uv,pip")
    parser.add_argument("--wheels", dest="which", default="all", help="`any`, or words in the names of those of the twelve")
    parser.add_argument("--make", metavar="SITE-PACKAGES", help="make wheels of what is installed there first")
    parser.add_argument("--rate", type=float, help="MB/s that the index sends on one connection")
    parser.add_argument("--delay", type=float, default=0, help="ms after which the index answers a request")
    options = parser.parse_args()
    bench = Bench(options)
    size = sum(os.path.getsize(os.path.join(options.wheels, file)) for file in bench.files)
    print(f"{len(bench.files)} wheels, {size / 1e6:.0f} MB, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    best = {}
    for _ in range(options.rounds):
        for name in options.only.split(","):
            settle()
            for what, figures in getattr(bench, name)().items():
                print(f"  {what}: {figures[0]:.3f} s, load {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
                best[what] = min(best.get(what, figures), figures)
    print(f"{'':44} {'wall s':>8} {'CPU s':>8} {'peak MB':>8}")
    for what, (wall, cpu, memory) in best.items():
        print(f"{what:44} {wall:8.3f} {cpu:8.3f} {memory:8.0f}")
    ours = best.get("cuenv cold")
    for other in ("uv cold", "pip cold"):
        if ours and other in best:
            print(f"cuenv cold / {other}: {ours[0] / best[other][0]:.2f} (CPU {ours[1] / best[other][1]:.2f})")
    # The floors are one thread's work, so their CPU time is what a quiet machine would show as wall time.
    floors = {what: figures[1] for what, figures in best.items() if what.startswith("floor: ")}
    if ours and floors:
        what = max(floors, key=floors.get)
        print(f"cuenv cold / {what}: {ours[0] / floors[what]:.2f}")
        work = best["floor: sha256 once"][1] + best[EVERYTHING][1]
        print(f"cuenv cold, CPU / hashing and inflating everything, CPU: {ours[1] / work:.2f}")
    for name in ("cuenv", "uv", "pip"):
        shutil.rmtree(os.path.join(bench.scratch, name), ignore_errors=True)


if __name__ == "__main__":
    main()
