//! The main job on NVIDIA's real wheels from the real index: two projects side by side, a C program, real consumers.
//!
//! Run by `tests/run` with `--ignored`; about 3 GB to download the first time. Everything that can be reused lies under
//! `CUENV_TEST_CACHE`, outside the checkout. Needs no GPU: what is checked is which files the real loader maps.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::pedantic,
    clippy::print_stdout,
    reason = "a test stops at the first surprise"
)]

#[path = "real/venv.rs"]
mod venv;

#[path = "support/blocks.rs"]
#[allow(dead_code, unreachable_pub, reason = "the black-box tests use the rest")]
mod blocks;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What a project pins, and what must come of it.
struct Case {
    name: &'static str,
    spec: &'static str,
    /// cuDNN's major version.
    cudnn: u64,
    /// A consumer whose CUDA provider is a plain loader test, and the pin to try it with.
    onnxruntime: (&'static str, &'static str),
}

const CASES: [Case; 2] = [
    Case {
        name: "asr",
        spec: "11.8+cudnn8@base",
        cudnn: 8,
        onnxruntime: ("1.17.1", "11.8+cudnn8+cufft+curand@base"),
    },
    Case {
        name: "trainer",
        spec: "12.4+cudnn9@base",
        cudnn: 9,
        // It needs every part of cuDNN, and a part of newer releases needs the driver's libcuda, which CI lacks.
        onnxruntime: ("1.20.2", "12.4+cudnn9.1+cufft+curand@base"),
    },
];

/// Prints the versions that the libraries give themselves and every CUDA file that is mapped, then waits for the end of
/// its input, so that two of them run at the same time.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <string.h>
extern unsigned long cudnnGetVersion(void);
extern unsigned long cublasLtGetVersion(void);
extern int cudaRuntimeGetVersion(int *);
extern int cublasGetProperty(int, int *);
int main(void) {
    int runtime = 0, cublas = 0;
    char line[4096];
    cudaRuntimeGetVersion(&runtime);
    cublasGetProperty(0, &cublas);
    printf("cudnn %lu\ncublas %d\ncublasLt %lu\n", cudnnGetVersion(), cublas, cublasLtGetVersion());
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) {
        char *path = strchr(line, '/');
        if (path && (strstr(path, "libcu") || strstr(path, "libnv"))) printf("map %s", path);
    }
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF) {}
    return 0;
}
"#;

/// Opens a session on the CUDA provider with a model of one node, written by hand (ONNX is protobuf). Without a GPU some
/// releases of onnxruntime crash behind that, so the loader itself is asked what it mapped (`LD_DEBUG`).
const SESSION: &str = r#"
import onnxruntime
def varint(n):
    out = b""
    while n >= 128:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])
def text(field, value): return varint(field << 3 | 2) + varint(len(value)) + value
def number(field, value): return varint(field << 3) + varint(value)
def tensor(name): return text(1, name) + text(2, text(1, number(1, 1) + text(2, text(1, number(1, 2)))))
node = text(1, b"x") + text(2, b"y") + text(4, b"Relu")
graph = text(1, node) + text(2, b"g") + text(11, tensor(b"x")) + text(12, tensor(b"y"))
model = number(1, 8) + text(8, text(1, b"") + number(2, 13)) + text(7, graph)
try:
    onnxruntime.InferenceSession(model, providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
except Exception as error:
    print("error", error)
"#;

struct World {
    cache: PathBuf,
    work: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let cache = std::env::var("CUENV_TEST_CACHE").map(PathBuf::from).unwrap_or_else(|_| {
            Path::new(&std::env::var("HOME").unwrap()).join(".cache/cuenv-test")
        });
        fs::create_dir_all(&cache).unwrap();
        let work = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Self { cache, work }
    }

    fn project(&self, name: &str) -> PathBuf {
        let path = self.work.path().join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn cuenv(&self, project: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cuenv"));
        command
            .current_dir(project)
            .env("CUENV_HOME", self.cache.join("cuenv"))
            .env_remove("LD_LIBRARY_PATH")
            .env_remove("VIRTUAL_ENV");
        command
    }

    fn run(&self, project: &Path, args: &[&str]) -> String {
        output(self.cuenv(project).args(args))
    }

    fn prefix(&self, project: &Path) -> PathBuf {
        PathBuf::from(self.run(project, &["where"]).trim_end())
    }

    /// A venv that holds one wheel and what is named with it, made once.
    fn venv(&self, requirement: &str, with: &[&str]) -> PathBuf {
        let venv = self.cache.join(format!("venv-{}", requirement.replace("==", "-")));
        let done = venv.join("done");
        if !done.exists() {
            output(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv));
            let pip = venv.join("bin/python");
            let mut install = Command::new(pip);
            install.args(["-m", "pip", "install", "-q", "--no-deps", requirement]).args(with);
            output(&mut install);
            fs::write(done, "").unwrap();
        }
        venv
    }
}

#[track_caller]
fn output(command: &mut Command) -> String {
    let ran = command.output().unwrap();
    assert!(
        ran.status.success(),
        "{command:?}\n{}\n{}",
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr)
    );
    String::from_utf8(ran.stdout).unwrap()
}

/// A running program, and what it printed before `ready`.
struct Running {
    child: Child,
    lines: Vec<String>,
}

impl Running {
    fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = Vec::new();
        for line in BufReader::new(child.stdout.as_mut().unwrap()).lines() {
            match line.unwrap() {
                line if line == "ready" => return Self { child, lines },
                line => lines.push(line),
            }
        }
        let mut errors = String::new();
        child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        panic!("{command:?} ended early: {lines:?} {errors}");
    }

    fn value(&self, name: &str) -> u64 {
        let line = self.lines.iter().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().parse().unwrap()
    }

    fn mapped(&self) -> BTreeSet<PathBuf> {
        self.lines.iter().filter_map(|line| line.strip_prefix("map ")).map(PathBuf::from).collect()
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

/// Everything a program prints, however it ends.
fn said(command: &mut Command) -> String {
    let ran = command.output().unwrap();
    String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned()
}

/// Whether a file is a library of NVIDIA's toolchains (the loader's own names do not count).
fn outside(mapped: &BTreeSet<PathBuf>, prefix: &Path) -> Vec<PathBuf> {
    mapped.iter().filter(|path| !path.starts_with(prefix)).cloned().collect()
}

#[test]
#[ignore = "needs the network: downloads about 3 GB of NVIDIA's wheels the first time"]
fn two_projects_run_side_by_side_on_real_wheels() {
    let world = World::new();
    let source = world.work.path().join("versions.c");
    fs::write(&source, PROGRAM).unwrap();

    let mut prepared = Vec::new();
    for case in &CASES {
        let project = world.project(case.name);
        println!("{}: cuenv use {}", case.name, case.spec);
        world.run(&project, &["use", case.spec, "--no-progress"]);
        world.run(&project, &["lock", "--check"]);
        println!("{}", world.run(&project, &["verify"]));

        let prefix = world.prefix(&project);
        let program = project.join("versions");
        output(
            Command::new("gcc")
                .arg(&source)
                .arg("-o")
                .arg(&program)
                .arg(format!("-L{}", prefix.join("lib64").display()))
                .args(["-lcudart", "-lcudnn", "-lcublas", "-lcublasLt"]),
        );
        let bare = Command::new(&program).env_remove("LD_LIBRARY_PATH").output().unwrap();
        assert!(!bare.status.success(), "without cuenv there is no such library on this machine");
        prepared.push((case, project, prefix, program));
    }

    // Both run at the same time, each with its own libraries.
    let running: Vec<Running> = prepared
        .iter()
        .map(|(_, project, _, program)| {
            Running::start(world.cuenv(project).args(["exec", "--"]).arg(program))
        })
        .collect();
    for ((case, _, prefix, _), running) in prepared.iter().zip(&running) {
        let version = running.value("cudnn ");
        let major = if version >= 90_000 { version / 10_000 } else { version / 1_000 };
        assert_eq!(major, case.cudnn, "cudnnGetVersion says {version}");
        let mapped = running.mapped();
        assert!(mapped.len() >= 4, "{mapped:?}");
        assert_eq!(outside(&mapped, prefix), Vec::<PathBuf>::new(), "from a third place");
        println!(
            "{}: cudnn {version}, {} files from {}",
            case.name,
            mapped.len(),
            prefix.display()
        );
    }
    running.into_iter().for_each(Running::end);
}

#[test]
#[ignore = "needs the network: downloads onnxruntime-gpu and NVIDIA's wheels the first time"]
fn onnxruntimes_cuda_provider_resolves_under_exec_and_not_without() {
    let world = World::new();
    for case in &CASES {
        let project = world.project(case.name);
        let (version, spec) = case.onnxruntime;
        world.run(&project, &["use", spec, "--no-progress"]);
        let venv = world.venv(
            &format!("onnxruntime-gpu=={}", version),
            &[
                "numpy<2",
                "flatbuffers",
                "protobuf",
                "packaging",
                "coloredlogs",
                "humanfriendly",
                "sympy",
                "mpmath",
            ],
        );
        let provider = output(
            Command::new("find").arg(&venv).args(["-name", "libonnxruntime_providers_cuda.so"]),
        );
        let provider = provider.trim_end();
        assert!(provider.ends_with(".so"), "onnxruntime-gpu {} has its provider", version);

        let missing = |text: &str| -> Vec<String> {
            text.lines()
                .filter(|line| line.contains("not found"))
                .map(|line| line.trim().to_owned())
                .collect()
        };
        let without = output(Command::new("ldd").arg(provider).env_remove("LD_LIBRARY_PATH"));
        assert!(missing(&without).iter().any(|line| line.contains("libcudnn.so")), "{without}");
        let with = output(world.cuenv(&project).args(["exec", "--", "ldd", provider]));
        assert_eq!(missing(&with), Vec::<String>::new(), "{with}");
        let prefix = world.prefix(&project);
        let cuda = with.lines().filter(|line| line.contains("libcu") || line.contains("libnv"));
        for line in cuda {
            assert!(line.contains(prefix.to_str().unwrap()), "{line} is not the prefix's");
        }

        // And onnxruntime itself: it opens its CUDA provider, which without a GPU ends at the driver, not at a library.
        let python = venv.join("bin/python");
        let mut bare = Command::new(&python);
        let bare = said(bare.args(["-c", SESSION]).env_remove("LD_LIBRARY_PATH"));
        assert!(bare.contains("cannot open shared object file"), "{bare}");
        let mut with = world.cuenv(&project);
        let with = said(
            with.args(["exec", "--", "env", "LD_DEBUG=libs"]).arg(&python).args(["-c", SESSION]),
        );
        assert!(!with.contains("cannot open shared object file"), "{with}");
        let mapped: BTreeSet<PathBuf> = with
            .lines()
            .filter_map(|line| {
                line.split_once("calling init: ").map(|(_, path)| PathBuf::from(path))
            })
            .filter(|path| {
                let name = path.file_name().unwrap().to_str().unwrap();
                name.starts_with("libcu") || name.starts_with("libnv")
            })
            .collect();
        assert!(
            mapped.iter().any(|path| path.to_str().unwrap().contains("libcudnn")),
            "{mapped:?}"
        );
        assert_eq!(outside(&mapped, &prefix), Vec::<PathBuf>::new());
        println!("onnxruntime-gpu {} loads its CUDA provider under {}", version, spec);
    }
}

#[test]
#[ignore = "needs the network: downloads ctranslate2 and NVIDIA's wheels the first time"]
fn ctranslate2_finds_cudnn_9_under_exec_and_not_without() {
    let world = World::new();
    let project = world.project("trainer");
    world.run(&project, &["use", CASES[1].spec, "--no-progress"]);
    let venv = world.venv("ctranslate2==4.6.0", &[]);
    let shim = output(Command::new("find").arg(&venv).args(["-name", "libcudnn-*.so*"]));
    let shim = shim.trim_end();
    // ctranslate2 carries cuDNN's entry library alone; the parts are looked up by bare name at the first call.
    let call = "import ctypes, sys; c = ctypes.CDLL(sys.argv[1]); c.cudnnOpsVersionCheck.restype = ctypes.c_int; print(c.cudnnOpsVersionCheck())";
    let python = venv.join("bin/python");
    let mut bare = Command::new(&python);
    bare.args(["-c", call, shim]).env_remove("LD_LIBRARY_PATH");
    let bare = bare.output().unwrap();
    assert!(!bare.status.success(), "{}", String::from_utf8_lossy(&bare.stdout));
    assert!(String::from_utf8_lossy(&bare.stderr).contains("libcudnn_ops"));
    let said =
        output(world.cuenv(&project).args(["exec", "--"]).arg(&python).args(["-c", call, shim]));
    assert_eq!(said.trim_end(), "0", "cudnnOpsVersionCheck");
}

#[test]
#[ignore = "needs the network: reads the listings of every CUDA release"]
fn every_release_on_the_index_resolves() {
    let world = World::new();
    let project = world.project("all");
    let available: serde_json::Value =
        serde_json::from_str(&world.run(&project, &["list", "--available", "--json"])).unwrap();
    let releases = available["cuda"].as_array().unwrap();
    assert!(releases.len() > 35, "{releases:?}");
    for release in releases {
        let release = release.as_str().unwrap();
        for profile in ["base", "runtime", "devel"] {
            let said =
                world.run(&project, &["resolve", "-q", &format!("{release}+cudnn@{profile}")]);
            assert!(said.starts_with(release), "{release}@{profile}: {said}");
        }
    }
    println!("{} releases resolve in three profiles", releases.len());
    std::io::stdout().flush().unwrap();
}

#[test]
#[ignore = "needs the network: what the book tells to type, on NVIDIA's real wheels"]
fn the_books_blocks_for_real_wheels_run() {
    let world = World::new();
    let mut ran = 0;
    for page in blocks::pages() {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&page)).unwrap();
        let all = blocks::blocks(&text);
        let real: Vec<_> =
            all.iter().filter(|block| block.runs == blocks::Where::RealWheels).collect();
        if real.is_empty() {
            continue;
        }
        ran += real.len();
        let home = world.project(&format!("home{ran}"));
        let bin = Path::new(env!("CARGO_BIN_EXE_cuenv")).parent().unwrap();
        let path = std::env::var("PATH").unwrap();
        let mut bash = Command::new("bash");
        bash.current_dir(&home)
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("HOME", &home)
            // What earlier runs fetched is not fetched again.
            .env("CUENV_HOME", world.cache.join("cuenv"))
            .env_remove("LD_LIBRARY_PATH")
            .env_remove("VIRTUAL_ENV");
        blocks::run(bash, &real, &world.project("blocks"))
            .unwrap_or_else(|told| panic!("{}: {told}", page.display()));
    }
    assert!(ran > 0, "no block was found: the search is broken");
    println!("{ran} blocks ran on real wheels");
}
