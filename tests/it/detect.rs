//! The pin that a project's environment and files ask for.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use cuenv::catalog::{Catalog, ProjectCatalog};
use cuenv::domain::compat::{Machine, MachineGpu};
use cuenv::domain::manifest::framework::{CudnnWish, FrameworkRelease};
use cuenv::domain::spec::{Spec, ToolchainSpec};
use cuenv::domain::version::Version;
use cuenv::domain::wish::{Tables, Wish};
use cuenv::ops::detect::{Detection, Request, detect};
use cuenv::platform::process::Process;

use crate::support::elf::Library;
use crate::support::sandbox::Sandbox;

/// Parsed once: the tests look at hundreds of projects.
static CATALOG: LazyLock<Catalog> = LazyLock::new(Catalog::builtin);
static KNOWN: LazyLock<ProjectCatalog> = LazyLock::new(ProjectCatalog::builtin);

struct Project {
    root: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
        Self { root: tempfile::Builder::new().prefix("detect").tempdir_in(base).unwrap() }
    }

    fn file(&self, path: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    fn site(&self, path: &str, bytes: impl AsRef<[u8]>) -> &Self {
        self.file(&format!(".venv/lib/python3.11/site-packages/{path}"), bytes)
    }

    fn installed(&self, name: &str, version: &str, requires: &[String]) -> &Self {
        let mut text = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n");
        for line in requires {
            text += &format!("Requires-Dist: {line}\n");
        }
        let directory = format!("{}-{version}.dist-info", name.replace('-', "_"));
        self.site(&format!("{directory}/METADATA"), text)
    }

    fn detect(&self) -> Detection {
        self.detect_on(&Machine::default())
    }

    fn detect_on(&self, machine: &Machine) -> Detection {
        let process = Process::for_test(self.root.path(), &[]);
        let directory = self.root.path().to_owned();
        let request = Request { directory, ..Request::default() };
        detect(&process, &CATALOG, &KNOWN, machine, &request)
    }

    #[track_caller]
    fn spec(&self) -> String {
        let found = self.detect();
        match &found.proposal {
            Some(proposal) => proposal.spec.to_string(),
            None => panic!("{found}"),
        }
    }
}

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

fn toolchain(text: &str) -> ToolchainSpec {
    match text.parse() {
        Ok(Spec::Toolchain(spec)) => spec,
        other => panic!("{other:?}"),
    }
}

/// A version that an entry of the table speaks of.
fn version_of(entry: &FrameworkRelease) -> String {
    let newest = entry.versions.iter().map(|specifier| specifier.version().clone()).max().unwrap();
    let star = entry.versions.to_string().contains('*');
    let mut text = if star { format!("{newest}.0") } else { newest.to_string() };
    // An upper bound that is excluded, as in `>=10.13.2,<10.14`.
    if !entry.versions.contains(&text.parse().unwrap()) {
        text = entry.versions.iter().map(|s| s.version().clone()).min().unwrap().to_string();
    }
    assert!(entry.versions.contains(&text.parse().unwrap()), "{} {}", entry.distribution, text);
    text
}

/// The entry whose pair counts for `entry`: the wheel on PyPI where a variant's label means the same build, and the
/// framework that decides where another one does.
fn deciding<'a>(known: &'a ProjectCatalog, entry: &'a FrameworkRelease) -> &'a FrameworkRelease {
    let all = &known.frameworks.release;
    if let [via] = entry.via.as_slice() {
        let name = via.split(['=', '<', '>']).next().unwrap();
        let specifiers: pep440_rs::VersionSpecifiers = via[name.len()..].parse().unwrap();
        return all
            .iter()
            .filter(|other| other.distribution == name && other.local.is_none())
            .rfind(|other| specifiers.contains(&version_of(other).parse().unwrap()))
            .unwrap();
    }
    if entry.local.is_some() {
        let text = version_of(entry);
        let plain = all.iter().find(|other| {
            other.distribution == entry.distribution
                && other.local.is_none()
                && other.versions.contains(&text.parse().unwrap())
                && other.cuda == entry.cuda
        });
        return plain.unwrap_or(entry);
    }
    entry
}

/// Says where a wish differs from the pair of its entry.
fn difference(entry: &FrameworkRelease, wishes: &[Wish]) -> Option<String> {
    let [wish] = wishes else {
        // A framework that takes any CUDA and no cuDNN wishes for nothing but a compiler.
        return Some(format!("{} wishes", wishes.len()));
    };
    let made = wish
        .cuda
        .as_ref()
        .map(|cuda| cuda.made_with.clone().unwrap_or_else(|| Version::from_parts(&[cuda.major])));
    if let Some(cuda) = &entry.cuda {
        let same = match cuda.minor() {
            Some(_) => made.as_ref() == Some(cuda),
            None => made.as_ref().is_some_and(|made| made.major() == cuda.major()),
        };
        if !same {
            return Some(format!("CUDA {made:?}, not {cuda}"));
        }
    }
    let same = match &entry.cudnn {
        Some(CudnnWish::AtLeast(least)) => {
            wish.cudnn.as_ref().is_some_and(|cudnn| least.matches(cudnn.parts()))
        }
        Some(CudnnWish::None) => wish.cudnn.is_none() && wish.no_cudnn,
        None => wish.cudnn.is_none(),
    };
    (!same).then(|| format!("cuDNN {:?}, not {:?}", wish.cudnn, entry.cudnn))
}

/// For every release in the frameworks manifest, its metadata alone gives the pair that the table says.
#[test]
fn every_release_of_the_table_is_detected_from_its_metadata() {
    let known = &*KNOWN;
    let (mut rows, mut wrong) = (0, Vec::new());
    for entry in &known.frameworks.release {
        let text = version_of(entry);
        let expected = deciding(known, entry);
        // As pip would be asked for it.
        let project = Project::new();
        let extra = entry.extra.as_ref().map_or(String::new(), |extra| format!("[{extra}]"));
        let index = entry.local.as_ref().map_or(String::new(), |label| {
            format!("--extra-index-url https://index.example/whl/{label}\n")
        });
        project.file("requirements.txt", format!("{index}{}{extra}=={text}\n", entry.distribution));
        if let Some(found) = difference(expected, &project.detect().wishes) {
            wrong.push(format!("requirement {} {text}{extra}: {found}", entry.distribution));
        }
        rows += 1;
        // As it says of itself once it is installed; extras are not written there.
        if entry.extra.is_none() || !entry.requires.is_empty() && entry.framework == "tensorflow" {
            let project = Project::new();
            let label = entry.local.as_ref().map_or(String::new(), |label| format!("+{label}"));
            let mut requires = entry.requires.clone();
            requires.extend(entry.via.iter().cloned());
            project.installed(&entry.distribution, &format!("{text}{label}"), &requires);
            if let Some(found) = difference(expected, &project.detect().wishes) {
                wrong.push(format!("metadata of {} {text}{label}: {found}", entry.distribution));
            }
            rows += 1;
        }
    }
    assert!(wrong.is_empty(), "{} of {rows}:\n{}", wrong.len(), wrong.join("\n"));
    println!("{rows} detections of {} releases", known.frameworks.release.len());
}

/// The requirements of a wheel alone lead to its CUDA release: what holds for releases that no table knows yet.
#[test]
fn exact_requirements_name_the_release_without_the_table() {
    let catalog = Catalog::builtin();
    let known = ProjectCatalog::builtin();
    let tables = Tables {
        components: catalog.components(),
        releases: catalog.releases(),
        frameworks: &known.frameworks,
    };
    let mut rows = 0;
    for entry in known.frameworks.release.iter().filter(|entry| {
        ["torch", "tensorflow"].contains(&entry.framework.as_str())
            && entry
                .requires
                .first()
                .is_some_and(|line| line.split(';').next().unwrap().contains("=="))
    }) {
        let name = format!("{} {}", entry.distribution, entry.versions);
        let packages: Vec<_> = entry
            .requires
            .iter()
            .map(|line| {
                let line = line.split(';').next().unwrap();
                cuenv::domain::evidence::requirements::package(line, None).unwrap()
            })
            .collect();
        let facts = tables.read_pins(&packages);
        let cuda = facts.cuda.unwrap();
        assert_eq!(cuda.made_with, entry.cuda, "{name}");
        if entry.release.is_some() {
            assert_eq!(cuda.release, entry.release, "{name}");
        }
        let Some(CudnnWish::AtLeast(least)) = &entry.cudnn else { panic!("{name}") };
        assert_eq!(facts.cudnn.as_ref(), Some(least), "{name}");
        assert_eq!(
            facts.axes.contains_key("nccl"),
            entry.requires.iter().any(|line| line.contains("nccl"))
        );
        rows += 1;
    }
    assert!(rows >= 30, "{rows}");
}

#[test]
fn a_framework_that_brings_its_own_libraries_yields() {
    let project = Project::new();
    let pins = ["nvidia-cudnn-cu12==9.1.0.70", "nvidia-cuda-runtime-cu12==12.4.127"];
    project
        .installed("torch", "2.5.1", &pins.map(str::to_owned))
        .installed("nvidia-cudnn-cu12", "9.1.0.70", &[])
        .installed("nvidia-cuda-runtime-cu12", "12.4.127", &[])
        .installed("ctranslate2", "3.24.0", &[]);
    let found = project.detect();
    let proposal = found.proposal.as_ref().unwrap();
    assert_eq!(proposal.spec.to_string(), "11.8+cudnn8");
    assert_eq!(
        proposal.notes,
        ["`torch 2.5.1` brings its own CUDA 12 libraries and is left alone"]
    );
    // Without its libraries it depends on the toolchain as well, and then the two cannot agree.
    let project = Project::new();
    project.installed("torch", "2.5.1", &pins.map(str::to_owned)).installed(
        "ctranslate2",
        "3.24.0",
        &[],
    );
    let conflict = project.detect().conflict.unwrap();
    assert_eq!(
        conflict.to_string(),
        "`ctranslate2 3.24.0` wants CUDA 11 and `torch 2.5.1` wants CUDA 12"
    );
}

#[test]
fn two_that_want_different_cudnns_are_named() {
    let project = Project::new();
    project.file("requirements.txt", "ctranslate2==4.4.0\nonnxruntime-gpu==1.20.1\n");
    let conflict = project.detect().conflict.unwrap();
    assert_eq!(
        conflict.to_string(),
        "`ctranslate2 4.4.0` wants cuDNN 8 and `onnxruntime-gpu 1.20.1` wants cuDNN 9"
    );
    assert_eq!(conflict.places.1, "requirements.txt:2");
}

/// m-bain/whisperX 1297: one library names 9.1.0 in its error, the other was compiled with 9.10; a later one serves both.
#[test]
fn the_newer_of_two_minima_serves_both() {
    let project = Project::new();
    let pins = ["nvidia-cudnn-cu12==9.10.2.21", "nvidia-cuda-runtime-cu12==12.8.90"];
    project.installed("torch", "2.8.0", &pins.map(str::to_owned)).installed(
        "ctranslate2",
        "4.6.0",
        &[],
    );
    let found = project.detect();
    let (least, who) = found.least(&toolchain("12.8+cudnn9"))["cudnn"].clone();
    assert_eq!((least.to_string().as_str(), who.as_str()), ("9.10.2.21", "torch 2.8.0"));
    assert_eq!(found.proposal.unwrap().spec.to_string(), "12.8+cudnn9+nccl2");
}

#[test]
fn installed_wins_over_locked_and_that_over_asked_for() {
    let project = Project::new();
    project.file("requirements.txt", "onnxruntime-gpu>=1.16\n");
    assert!(project.spec().starts_with("13."), "{}", project.spec());
    project.file("uv.lock", "[[package]]\nname = \"onnxruntime-gpu\"\nversion = \"1.20.1\"\n");
    assert_eq!(project.spec(), "12+cudnn9");
    project.installed("onnxruntime-gpu", "1.17.1", &[]);
    assert_eq!(project.spec(), "11.8+cudnn8");
    let wishes = project.detect().wishes;
    assert!(wishes[0].place.ends_with(".dist-info"), "{wishes:?}");
}

#[test]
fn labels_come_from_the_version_the_index_or_torch_itself() {
    let project = Project::new();
    project.file("requirements.txt", "torch==2.4.1+cu118\n");
    assert_eq!(project.spec(), "11.8+cudnn9");
    let project = Project::new();
    project.file(
        "pyproject.toml",
        "[project]\ndependencies = [\"torch==2.4.1\"]\n[[tool.uv.index]]\nname = \"torch\"\nurl = \"https://index.example/whl/cu118\"\n",
    );
    assert_eq!(project.spec(), "11.8+cudnn9");
    let project = Project::new();
    project
        .installed("torch", "2.4.1", &[])
        .site("torch/version.py", "__version__ = '2.4.1'\ncuda: Optional[str] = '12.4'\n");
    assert_eq!(project.spec(), "12.4+cudnn9");
    // A build without CUDA asks for none, and says so.
    let project = Project::new();
    project
        .installed("torch", "2.4.1+cpu", &[])
        .site("torch/version.py", "cuda: Optional[str] = None\n");
    let found = project.detect();
    assert_eq!(found.proposal, None);
    assert!(found.wishes[0].notes[0].starts_with("a build without CUDA"), "{found}");
}

/// microsoft/onnxruntime 21684: the same version exists for CUDA 11 and 12 on different indexes, without a label.
#[test]
fn what_a_library_is_linked_against_wins_over_the_table() {
    let project = Project::new();
    let provider = |cublas: &str, cudnn: &str| {
        Library::new("libonnxruntime_providers_cuda.so")
            .needs(cublas)
            .needs(cudnn)
            .needs("libc.so.6")
            .bytes()
    };
    let path = "onnxruntime/capi/libonnxruntime_providers_cuda.so";
    project
        .installed("onnxruntime-gpu", "1.18.0", &[])
        .site(path, provider("libcublasLt.so.12", "libcudnn.so.8"));
    let found = project.detect();
    assert_eq!(found.proposal.as_ref().unwrap().spec.to_string(), "12+cudnn8", "{found}");
    assert!(found.wishes[0].notes.iter().any(|note| note.ends_with("asks for CUDA 12")), "{found}");
    project.site(path, provider("libcublasLt.so.11", "libcudnn.so.8"));
    assert_eq!(project.spec(), "11.8+cudnn8");
}

#[test]
fn modules_and_programs_that_no_table_knows_are_read() {
    let module = |names: &[&str]| {
        let library = Library::new("libmodule.so");
        names.iter().fold(library, |library, name| library.needs(name)).bytes()
    };
    let project = Project::new();
    project.site("llama_cpp/lib/libggml-cuda.so", module(&["libcudart.so.12", "libcublas.so.12"]));
    assert_eq!(project.spec(), "12");
    // What it brings along, also under a mangled name, is no wish.
    let project = Project::new();
    project
        .site("thing/_c.so", module(&["libcudart-0a1b2c3d.so.12", "libnvrtc.so.12"]))
        .site("thing/libnvrtc.so.12", module(&[]))
        .site("thing.libs/libcudart-0a1b2c3d.so.12", module(&[]));
    assert_eq!(project.detect().proposal, None);
    // A program of the project.
    let project = Project::new();
    project.file("build/trainer", module(&["libcudart.so.11.0", "libcudnn.so.8"]));
    assert_eq!(project.spec(), "11+cudnn8");
    // A name that exists in two majors decides nothing by itself.
    let project = Project::new();
    project.file("trainer", module(&["libcusolver.so.11"]));
    assert_eq!(project.detect().proposal, None);
    let project = Project::new();
    project.file("trainer", module(&["libcusolver.so.11", "libcusparse.so.12"]));
    assert_eq!(project.spec(), "12");
    // The minor that nvJitLink's symbols ask for.
    let project = Project::new();
    let library = Library::new("libmodule.so").needs("libnvJitLink.so.12").import_version(
        "__nvJitLinkComplete_12_4",
        "libnvJitLink.so.12",
        "libnvJitLink.so.12",
    );
    project.site("mine/_c.so", library.bytes());
    assert_eq!(project.spec(), "12.4");
}

#[test]
fn images_and_conda_environments_are_read() {
    let cases = [
        ("FROM nvcr.io/nvidia/pytorch:24.06-py3\n", "12.5+cudnn9"),
        ("FROM nvidia/cuda:12.4.1-cudnn-devel-ubuntu22.04\n", "12.4+cudnn9@devel"),
        ("FROM docker.io/nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04\n", "11.8+cudnn8"),
        ("FROM pytorch/pytorch:2.2.1-cuda12.1-cudnn8-runtime\n", "12.1+cudnn8"),
        ("FROM nvidia/cuda:12.6.3-base-ubuntu24.04\n", "12.6"),
        (
            "ARG V=12.4.1\nFROM nvidia/cuda:$V-devel-ubuntu22.04 AS build\nFROM nvidia/cuda:$V-cudnn-runtime-ubuntu22.04\n",
            "12.4+cudnn9@devel",
        ),
    ];
    for (text, expected) in cases {
        let project = Project::new();
        project.file("Dockerfile", text);
        assert_eq!(project.spec(), expected, "{text}");
    }
    let project = Project::new();
    project.file(
        "environment.yml",
        "dependencies:\n  - cudatoolkit=11.8\n  - cudnn=8.9\n  - pip:\n    - ctranslate2==3.24.0\n",
    );
    assert_eq!(project.spec(), "11.8+cudnn8");
    // The image and the program in it want different things.
    project.file("Dockerfile", "FROM nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04\n");
    let conflict = project.detect().conflict.unwrap().to_string();
    assert!(conflict.contains("CUDA 11") && conflict.contains("CUDA 12"), "{conflict}");
}

#[test]
fn other_frameworks_decide_for_those_built_on_them() {
    let project = Project::new();
    project.file("requirements.txt", "faster-whisper==1.1.1\nctranslate2==4.4.0\n");
    assert_eq!(project.spec(), "12.2+cudnn8");
    let project = Project::new();
    project.file("requirements.txt", "vllm==0.5.5\n");
    let found = project.detect();
    assert_eq!(found.wishes.len(), 1);
    assert_eq!(found.wishes[0].who, "torch 2.4.0");
    assert_eq!(found.wishes[0].place, "requirements.txt:1 (vllm)");
    let project = Project::new();
    project.file("requirements.txt", "jax[cuda12]==0.4.30\n");
    assert_eq!(project.detect().wishes[0].who, "jax-cuda12-plugin 0.4.30");
}

#[test]
fn programs_that_compile_get_headers_and_the_compilers_parts() {
    let project = Project::new();
    project.file("requirements.txt", "cupy-cuda12x==13.3.0\n");
    // Its documentation ends at 12.9.
    assert_eq!(project.spec(), "12.9@devel");
    let project = Project::new();
    project.file("requirements.txt", "numba==0.60.0\n");
    assert_eq!(project.spec(), "auto@devel");
}

#[test]
fn the_machine_moves_the_minor_and_caps_cudnn() {
    let on = |driver: &str, cc: &str| Machine {
        driver: Some(version(driver)),
        driver_cuda: None,
        gpus: vec![MachineGpu { cc: cc.parse().unwrap(), kind: None }],
    };
    let project = Project::new();
    // Built with 12.8, runs with any 12.
    project.file("requirements.txt", "onnxruntime-gpu==1.24.1\n");
    assert_eq!(project.spec(), "12.8+cudnn9");
    let found = project.detect_on(&on("550.54.15", "9.0"));
    assert_eq!(found.proposal.unwrap().spec.to_string(), "12.4+cudnn9");
    // torch cu128 wants at least that.
    let project = Project::new();
    project.file("requirements.txt", "torch==2.8.0\n");
    let found = project.detect_on(&on("550.54.15", "9.0"));
    assert_eq!(found.proposal.unwrap().spec.to_string(), "12.8+cudnn9");
    // A new GPU with a framework build that has no code for it.
    let project = Project::new();
    project.file("requirements.txt", "torch==2.7.0+cu126\n");
    let found = project.detect_on(&on("570.86.10", "12.0"));
    assert!(
        found.proposal.as_ref().unwrap().notes.iter().any(|note| note.contains("not for 12.0")),
        "{found}"
    );
}

#[test]
fn a_project_without_cuda_asks_for_none() {
    let project = Project::new();
    project.file("requirements.txt", "numpy\nrequests==2.32\n").file("main.py", "print()\n");
    let found = project.detect();
    assert_eq!((found.proposal.is_some(), found.conflict.is_some()), (false, false));
    assert!(found.to_string().contains("nothing here asks for CUDA"));
}

#[test]
fn includes_stay_inside_the_project() {
    let project = Project::new();
    project
        .file("sub/requirements.txt", "torch==2.5.1\n")
        .file("app/requirements.txt", "-r ../sub/requirements.txt\n-r base.txt\n")
        .file("app/base.txt", "-r requirements.txt\nonnxruntime-gpu==1.17.1\n");
    let process = Process::for_test(project.root.path(), &[]);
    let request = Request { directory: project.root.path().join("app"), ..Request::default() };
    let machine = Machine::default();
    let found = detect(&process, &CATALOG, &KNOWN, &machine, &request);
    assert_eq!(found.proposal.unwrap().spec.to_string(), "11.8+cudnn8");
    assert_eq!(found.wishes.len(), 1);
}

#[test]
fn hostile_files_neither_hang_nor_panic() {
    let project = Project::new();
    project
        .file("requirements.txt", vec![0xff; 4096])
        .file("pyproject.toml", "[project\n")
        .file("uv.lock", "=")
        .file("Dockerfile", "FROM\nFROM $\nFROM ${\nFROM :\n")
        .file("environment.yml", "dependencies:\n  - =\n  - pip:\n    - \n")
        .file("broken.so", "\u{7f}ELF")
        .site("torch-.dist-info/METADATA", "Name: torch\n")
        .site("torch-2.5.1.dist-info/METADATA", vec![b'x'; 100_000]);
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        project.root.path().join("requirements-pipe.txt"),
        rustix::fs::Mode::RUSR,
    )
    .unwrap();
    std::os::unix::fs::symlink("/dev/zero", project.root.path().join("requirements-zero.txt"))
        .unwrap();
    assert_eq!(project.detect().proposal, None);
}

#[test]
fn use_detect_shows_what_it_found_and_fails_with_the_reason() {
    let sandbox = Sandbox::new()
        .with_env("CUENV_DRIVER_VERSION", "none")
        .with_env("CUENV_COMPUTE_CAPABILITY", "none");
    let ran = sandbox.cuenv(["use", "--detect", "-n"]).code(3);
    assert_eq!(ran.stdout, "nothing here asks for CUDA\n");
    assert!(
        ran.stderr.starts_with("error: nothing in `[PROJECT]` asks for CUDA\n"),
        "{}",
        ran.stderr
    );

    sandbox.write("requirements.txt", "faster-whisper==1.1.1\nctranslate2==4.4.0\n");
    let ran = sandbox.cuenv(["use", "--detect", "-n"]).code(0);
    assert_eq!(
        ran.stdout,
        "ctranslate2 4.4.0 (requirements.txt:2)\n    CUDA 12.2, cuDNN 8.9.7 or a later 8\n\n12.2+cudnn8\n    CUDA 12.2: `ctranslate2 4.4.0` was made with it\n    cuDNN 8.9.7 or a later 8: `ctranslate2 4.4.0`\n"
    );
    assert!(!sandbox.project().join(".cuenv").exists());

    sandbox.write("requirements.txt", "ctranslate2==4.4.0\nonnxruntime-gpu==1.20.1\n");
    let ran = sandbox.cuenv(["use", "--detect"]).code(3);
    assert!(
        ran.stderr.contains("wants cuDNN 8 and `onnxruntime-gpu 1.20.1` wants cuDNN 9"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("hint: "), "{}", ran.stderr);
    let ran = sandbox.cuenv(["use", "--detect", "-n", "--json"]).code(3);
    let document: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(document["conflict"]["one"][0], "ctranslate2 4.4.0");
    sandbox.cuenv(["use", "--detect", "12.4"]).code(2);
}

#[test]
fn detect_looks_where_doctor_does() {
    let sandbox = Sandbox::new()
        .with_env("CUENV_DRIVER_VERSION", "none")
        .with_env("CUENV_COMPUTE_CAPABILITY", "none");
    let root = sandbox.root().join("system");
    let info = root.join("lib/python3.11/site-packages/ctranslate2-4.6.0.dist-info");
    fs::create_dir_all(&info).unwrap();
    let text = "Metadata-Version: 2.1\nName: ctranslate2\nVersion: 4.6.0\n";
    fs::write(info.join("METADATA"), text).unwrap();
    let python = root.join("bin/python3");
    fs::create_dir_all(python.parent().unwrap()).unwrap();
    fs::write(&python, "").unwrap();
    let path = format!("{}:/usr/bin:/bin", root.join("bin").display());
    let sandbox = sandbox.with_env("PATH", path);
    let ran = sandbox.cuenv(["use", "--detect", "-n"]).code(0);
    assert!(ran.stdout.contains("ctranslate2 4.6.0"), "{}", ran.stdout);
    assert!(ran.stdout.contains("(system/lib/python3.11/"), "{}", ran.stdout);
    let doctor = sandbox.cuenv(["doctor", "--json"]).json();
    assert_eq!(doctor["environment"], "[ROOT]/system");
    fs::remove_dir_all(info).unwrap();
    let ran = sandbox.cuenv(["use", "--detect"]).code(3);
    assert!(ran.stderr.contains("the packages in `[ROOT]/system`"), "{}", ran.stderr);
}

#[test]
fn bounds_hold_for_the_majors_that_are_pinned_only() {
    let project = Project::new();
    project.file("requirements.txt", "ctranslate2==4.6.0\n");
    let found = project.detect();
    let least = |spec| found.least(&toolchain(spec)).get("cudnn").map(|(v, _)| v.to_string());
    assert_eq!(least("12.4+cudnn9").as_deref(), Some("9.1"));
    assert_eq!(least("auto+cudnn").as_deref(), Some("9.1"));
    // Whoever pins another major is about to change what is installed.
    assert_eq!(least("12.4+cudnn8"), None);
    assert_eq!(least("11.8+cudnn9"), None);
    // What brings its own libraries sets no bound for the toolchain's.
    let project = Project::new();
    project.file("requirements.txt", "torch==2.8.0\n");
    let found = project.detect();
    assert!(found.wishes[0].own_libraries);
    assert!(found.least(&toolchain("12.8+cudnn9")).is_empty());
}

#[test]
fn every_image_of_the_table_is_detected_from_its_reference() {
    let mut images = 0;
    for image in KNOWN.images.ngc.iter().filter(|image| image.cuda.is_some()) {
        let project = Project::new();
        project.file("Dockerfile", format!("FROM {}:{}\n", image.repository, image.tag));
        let found = project.detect();
        let [wish] = found.wishes.as_slice() else { panic!("{}: {found}", image.tag) };
        let cuda = wish.cuda.as_ref().unwrap();
        let expected = image.cuda.as_ref().unwrap();
        assert_eq!(cuda.made_with, Some(expected.major_minor()), "{}", image.tag);
        assert_eq!(wish.cudnn, image.cudnn, "{}", image.tag);
        assert_eq!(wish.verified, image.unverified.is_empty() && wish.notes.is_empty());
        images += 1;
    }
    for shape in &KNOWN.images.tag {
        let project = Project::new();
        project.file("Dockerfile", format!("FROM {}:{}\n", shape.repository, shape.example));
        let found = project.detect();
        assert!(found.wishes[0].cuda.is_some(), "{}", shape.example);
        let named = shape.pattern.contains("{cudnn}") || shape.cudnn_major.is_some();
        assert_eq!(found.wishes[0].cudnn.is_some(), named, "{}", shape.example);
        images += 1;
    }
    assert!(images >= 40, "{images}");
}
