//! The loader prediction against the real dynamic loader over real wheels: torch, ONNX Runtime, CTranslate2 and CuPy, each with
//! the right toolchain on its library path, with a wrong one, and with none.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cuenv::domain::loader::{Environment, Host, Loader};
use cuenv::domain::target::Target;
use cuenv::platform::loader::{RealFiles, probe_host};

use crate::loader::{Case, Kit, Shape, comparable, predicted, real};

/// CUDA 12.4 with cuDNN 9.1: what the consumers below were built for.
const RIGHT: &[&str] = &[
    "nvidia-cuda-runtime-cu12==12.4.127",
    "nvidia-cuda-nvrtc-cu12==12.4.127",
    "nvidia-cublas-cu12==12.4.5.8",
    "nvidia-cudnn-cu12==9.1.0.70",
    "nvidia-cufft-cu12==11.2.1.3",
    "nvidia-curand-cu12==10.3.5.147",
    "nvidia-cusolver-cu12==11.6.1.9",
    "nvidia-cusparse-cu12==12.3.1.170",
    "nvidia-nvjitlink-cu12==12.4.127",
    "nvidia-nccl-cu12==2.21.5",
];

/// CUDA 11.8 with cuDNN 8.9.
const WRONG: &[&str] = &[
    "nvidia-cuda-runtime-cu11==11.8.89",
    "nvidia-cuda-nvrtc-cu11==11.8.89",
    "nvidia-cublas-cu11==11.11.3.6",
    "nvidia-cudnn-cu11==8.9.6.50",
    "nvidia-cufft-cu11==10.9.0.58",
    "nvidia-curand-cu11==10.3.0.86",
    "nvidia-cusolver-cu11==11.4.1.48",
    "nvidia-cusparse-cu11==11.7.5.86",
];

/// Distribution, and the files whose closure is compared (a directory and the start of a file name).
const CONSUMERS: &[(&str, &[(&str, &str)])] = &[
    (
        "torch==2.4.1",
        &[
            ("torch/lib", "libtorch_cuda.so"),
            ("torch/lib", "libtorch_global_deps.so"),
            ("torch/lib", "libtorch_python.so"),
            ("torch/lib", "libcaffe2_nvrtc.so"),
        ],
    ),
    ("onnxruntime-gpu==1.20.2", &[("onnxruntime/capi", "libonnxruntime_providers_cuda.so")]),
    ("ctranslate2==4.6.0", &[("ctranslate2.libs", "libctranslate2"), ("ctranslate2", "_ext.")]),
    ("cupy-cuda12x==13.3.0", &[("cupy_backends/cuda/libs", "cudnn."), ("cupy/cuda", "thrust.")]),
];

/// What programs open by bare name.
const NAMES: &[&str] = &[
    "libcudart.so.12",
    "libcublas.so.12",
    "libcufft.so.11",
    "libcurand.so.10",
    "libcusolver.so.11",
    "libcusparse.so.12",
    "libnvrtc.so.12",
    "libnccl.so.2",
    "libcudnn.so.9",
    "libcudnn_graph.so.9",
    "libcudnn.so.8",
    "libcublasLt.so.11",
];

/// Where downloads are kept from run to run.
fn cache() -> PathBuf {
    std::env::var_os("CUENV_TEST_CACHE").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache/cuenv-test"),
        PathBuf::from,
    )
}

/// Lays a tree over another by hard links: the loader resolves the links of a program, so that symbolic ones would tell
/// another story.
fn overlay(from: &Path, onto: &Path) {
    let status = Command::new("cp").args(["-a", "-l", "-f"]).arg(from.join(".")).arg(onto).status();
    assert!(status.unwrap().success(), "{} onto {}", from.display(), onto.display());
}

/// Unpacks the wheel of a requirement below the test cache, fetching it through pip where it is not there.
fn unpacked(requirement: &str) -> PathBuf {
    let cache = cache();
    let (name, version) = requirement.split_once("==").unwrap();
    let start = format!("{}-{version}-", name.replace('-', "_"));
    let starting = |directory: &Path| {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).find(|path| {
            path.file_name()
                .unwrap()
                .to_str()
                .is_some_and(|name| name.starts_with(&start) && !name.ends_with(".part"))
        })
    };
    let (wheels, all) = (cache.join("wheels"), cache.join("unpacked"));
    if let Some(done) = starting(&all) {
        return done;
    }
    fs::create_dir_all(&wheels).unwrap();
    fs::create_dir_all(&all).unwrap();
    if starting(&wheels).is_none() {
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]);
        pip.args(["--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"]);
        for tag in ["manylinux_2_28", "manylinux_2_27", "manylinux2014", "manylinux1"] {
            pip.args(["--platform", &format!("{tag}_x86_64")]);
        }
        let status = pip.arg("-d").arg(&wheels).arg(requirement).status().unwrap();
        assert!(status.success(), "pip download {requirement}");
    }
    let wheel = starting(&wheels).unwrap();
    let to = all.join(wheel.file_stem().unwrap());
    let part = to.with_extension("part");
    let status = Command::new("python3")
        .args(["-m", "zipfile", "-e"])
        .arg(&wheel)
        .arg(&part)
        .status()
        .unwrap();
    assert!(status.success());
    fs::rename(&part, &to).unwrap();
    to
}

/// One flat directory of links to all libraries of the wheels, as a prefix has it.
fn flat(to: &Path, requirements: &[&str]) {
    fs::create_dir_all(to).unwrap();
    for requirement in requirements {
        for package in fs::read_dir(unpacked(requirement).join("nvidia")).unwrap().flatten() {
            let Ok(files) = fs::read_dir(package.path().join("lib")) else { continue };
            for file in
                files.flatten().filter(|file| file.file_name().to_str().unwrap().contains(".so"))
            {
                std::os::unix::fs::symlink(file.path(), to.join(file.file_name())).unwrap();
            }
        }
    }
}

/// What the loader says when it is asked to list and not to start, as `ldd` asks it: name → file, or nothing.
fn listed(host: &Host, file: &Path, library_path: &str) -> BTreeMap<String, Option<String>> {
    let mut command = Command::new(&host.interpreter);
    command.env_clear().env("LD_TRACE_LOADED_OBJECTS", "1").arg(file).current_dir("/");
    if !library_path.is_empty() {
        command.env("LD_LIBRARY_PATH", library_path);
    }
    let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(!text.is_empty(), "{command:?}");
    text.lines()
        .filter_map(|line| line.trim().split_once(" => "))
        .map(|(name, rest)| {
            let found = rest.split_once(" (0x").map(|(path, _)| path.to_owned());
            (name.to_owned(), found)
        })
        .collect()
}

/// What the prediction says of the same.
fn foretold(host: &Host, file: &Path, library_path: &str) -> BTreeMap<String, Option<String>> {
    let files = RealFiles::default();
    let environment = Environment {
        library_path: library_path.to_owned(),
        cwd: "/".to_owned(),
        ..Environment::default()
    };
    let loader = Loader::start(&files, host, environment, file.to_str().unwrap()).unwrap();
    let mut found = BTreeMap::new();
    for lookup in loader.lookups() {
        let path =
            lookup.answer.as_ref().ok().map(|(index, _)| loader.loaded()[*index].path.clone());
        found.entry(lookup.name.clone()).or_insert(path);
    }
    found.retain(|name, _| !name.starts_with("ld-linux"));
    found
}

#[test]
#[ignore = "needs the network"]
fn prediction_equals_the_real_loader_over_real_wheels() {
    if Target::host() != Target::LinuxX86_64 {
        println!("skipped: the wheels are for x86_64");
        return;
    }
    let host = probe_host(Target::host());
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let root = directory.path().canonicalize().unwrap();
    let Some(kit) = Kit::new(&root, &host) else {
        println!("skipped: no gcc");
        return;
    };
    fs::create_dir_all(cache()).unwrap();
    let trees = tempfile::tempdir_in(cache()).unwrap();
    let program = root.join("program");
    kit.program(&program, &Shape::default());
    flat(&root.join("right"), RIGHT);
    flat(&root.join("wrong"), WRONG);
    let path = |name: &str| root.join(name).display().to_string();
    let pins = [("right", path("right")), ("wrong", path("wrong")), ("none", String::new())];
    let (mut compared, mut names, mut unequal) = (0, 0, Vec::new());
    for (requirement, entries) in CONSUMERS {
        // Beside NVIDIA's own wheels, as in a full environment, and without them, as torch is found in a pinned project.
        let bare = unpacked(requirement);
        let full = trees.path().join(requirement.split('=').next().unwrap());
        fs::create_dir(&full).unwrap();
        overlay(&bare, &full);
        for wheel in RIGHT {
            overlay(&unpacked(wheel), &full);
        }
        for site in [&bare, &full] {
            for (directory, start) in *entries {
                let entries =
                    fs::read_dir(site.join(directory)).unwrap().flatten().map(|entry| entry.path());
                let mut files: Vec<PathBuf> = entries
                    .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(start))
                    .filter(|path| path.to_str().unwrap().contains(".so"))
                    .collect();
                files.sort();
                assert!(!files.is_empty(), "{requirement} has no {directory}/{start}");
                for file in files {
                    for (pin, library_path) in &pins {
                        let (a, b) = (
                            listed(&host, &file, library_path),
                            foretold(&host, &file, library_path),
                        );
                        compared += 1;
                        names += a.len();
                        if a != b {
                            unequal.push(format!(
                                "{} with {pin}:\n  real {a:?}\n  predicted {b:?}",
                                file.display()
                            ));
                        }
                    }
                }
            }
        }
    }
    for (pin, library_path) in &pins {
        let case = Case {
            root: root.clone(),
            program: program.clone(),
            library_path: Some(library_path.clone()).filter(|path| !path.is_empty()),
            preload: None,
            opens: NAMES.iter().map(|name| (*name).to_owned()).collect(),
            features: Vec::new(),
        };
        let (mut a, mut b) = (real(&case), predicted(&case, &host, &RealFiles::default()));
        comparable(&mut a, &host);
        comparable(&mut b, &host);
        compared += 1;
        names += NAMES.len();
        if a != b {
            unequal.push(format!("openings with {pin}:\n  real {a:?}\n  predicted {b:?}"));
        }
    }
    println!(
        "{} of {compared} cases over real wheels equal: {names} names",
        compared - unequal.len()
    );
    assert!(unequal.is_empty(), "{}", unequal.join("\n"));
    assert!(compared >= 40, "{compared}");
}
