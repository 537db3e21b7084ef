//! `cuenv doctor`: every way in which people get hurt, with the finding, its proof and its fix.

use std::fs;

use cuenv::ops::doctor::codes::CODES;

use crate::support::elf::Library;
use crate::support::host::FakeHost;
use crate::support::project::{Project, install, put};
use crate::support::sandbox::{Ran, Sandbox};

const CUDNN_PARTS: [&str; 7] = [
    "libcudnn_graph.so.9",
    "libcudnn_ops.so.9",
    "libcudnn_cnn.so.9",
    "libcudnn_adv.so.9",
    "libcudnn_heuristic.so.9",
    "libcudnn_engines_precompiled.so.9",
    "libcudnn_engines_runtime_compiled.so.9",
];

/// A cuDNN 9, front and parts.
fn cudnn9() -> Vec<(&'static str, Library)> {
    let mut all = vec![("libcudnn.so.9", Library::new("libcudnn.so.9").runpath("$ORIGIN"))];
    all.extend(CUDNN_PARTS.map(|part| (part, Library::new(part).runpath("$ORIGIN"))));
    all
}

fn finding(ran: &Ran, code: &str) -> serde_json::Value {
    let json = ran.json();
    let all = json["findings"].as_array().unwrap();
    let found = all.iter().find(|finding| finding["code"] == code);
    found.unwrap_or_else(|| panic!("no {code} in {all:#?}")).clone()
}

fn codes(ran: &Ran) -> Vec<String> {
    let json = ran.json();
    let all = json["findings"].as_array().unwrap();
    all.iter().map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
}

/// A torch with cuDNN of `version` beside it, found through `search`.
fn torch(project: &Project, version: &str, search: fn(&Library) -> Library) {
    let torch = search(&Library::new("libtorch_cuda.so").needs("libcudnn.so.9"));
    project.library("torch/lib/libtorch_cuda.so", &torch);
    project.distribution("torch", "2.9.1", &[&format!("nvidia-cudnn-cu12 (=={version})")]);
    project.distribution("nvidia-cudnn-cu12", version, &[]);
    for (name, library) in cudnn9() {
        project.library(&format!("nvidia/cudnn/lib/{name}"), &library);
    }
}

const BESIDE: &str = "$ORIGIN/../../nvidia/cudnn/lib";

/// K1: with RUNPATH a library path wins; with RPATH the environment's own does. `defer` keeps the environment's.
#[test]
fn k1_an_older_cudnn_that_beats_torchs_own_is_an_error() {
    let project = Project::pinned("12.4+cudnn9", "12.4.1+cudnn9.1.0.70", &cudnn9());
    torch(&project, "9.10.2.21", |torch| torch.clone().runpath(BESIDE));
    // The default policy keeps the environment's own libraries first: nothing is wrong.
    let ran = project.sandbox.cuenv(["doctor", "--json"]).succeeds();
    assert!(!codes(&ran).contains(&"cudnn-older-than-compiled".to_owned()), "{}", ran.stdout);
    // A stranger on the library path, and cuenv stepping aside: the old one wins.
    let old = project.sandbox.root().join("old");
    for (name, library) in cudnn9() {
        put(&old.join(name), &library);
    }
    std::os::unix::fs::symlink("libcudnn.so.9", old.join("libcudnn.so.9.1.0")).unwrap();
    project.sandbox.write(".cuenv", "toolchain = \"12.4+cudnn9\"\nvenv = \"override\"\n");
    let ran = project.sandbox.cuenv(["doctor", "--json"]).code(7);
    let found = finding(&ran, "cudnn-older-than-compiled");
    assert_eq!(
        found["what"],
        "torch 2.9.1 was compiled with cuDNN 9.10.2.21 and will get the older 9.1.0.70, which it refuses"
    );
    assert_eq!(found["fix"], "cuenv use 12.4.1+cudnn9.10");
    assert_eq!(found["severity"], "error");
    // The fix of the finding beside it, when followed, mends it.
    let shadowed = finding(&ran, "shadowed");
    assert_eq!(shadowed["fix"], "cuenv use 12.4+cudnn9 --venv defer");
    project.sandbox.write(".cuenv", "toolchain = \"12.4+cudnn9\"\nvenv = \"defer\"\n");
    let ran = project.sandbox.cuenv(["doctor", "--json"]).succeeds();
    assert!(!codes(&ran).iter().any(|code| code == "shadowed"), "{}", ran.stdout);
}

#[test]
fn k1_rpath_keeps_the_environments_own_whatever_the_library_path_says() {
    let project = Project::pinned("system", "12.4.1+cudnn9.1.0.70", &cudnn9());
    torch(&project, "9.10.2.21", |torch| torch.clone().rpath(BESIDE));
    let old = project.sandbox.root().join("old");
    put(&old.join("libcudnn.so.9"), &Library::new("libcudnn.so.9"));
    let Project { sandbox, .. } = project;
    let sandbox = sandbox.with_env("LD_LIBRARY_PATH", old.display().to_string());
    let ran = sandbox.cuenv(["doctor", "--json"]).succeeds();
    let rows = ran.json()["frameworks"][0]["libraries"].clone();
    let front = rows.as_array().unwrap().iter().find(|row| row["name"] == "libcudnn.so.9").unwrap();
    assert_eq!(front["place"], "environment", "{front}");
    assert!(front["because"].as_str().unwrap().starts_with("RPATH"), "{front}");
}

/// K2: an older nvJitLink that wins lacks the symbols of a newer cuSPARSE.
#[test]
fn k2_an_older_nvjitlink_that_wins_is_foretold_with_the_loaders_words() {
    let name = "libnvJitLink.so.12";
    let old = Library::new(name).version(name).function("__nvJitLinkAddData_12_1", 1);
    let new = old.clone().function("__nvJitLinkAddData_12_4", 1);
    let project = Project::pinned("12.1", "12.1.1", &[(name, old)]);
    let cusparse = Library::new("libcusparse.so.12")
        .needs(name)
        .runpath("$ORIGIN/../../nvjitlink/lib")
        .import_version("__nvJitLinkAddData_12_4", name, name);
    project.library("nvidia/cusparse/lib/libcusparse.so.12", &cusparse);
    project.library("nvidia/nvjitlink/lib/libnvJitLink.so.12", &new);
    project.distribution("nvidia-cusparse-cu12", "12.3.1.170", &[]);
    project.distribution("nvidia-nvjitlink-cu12", "12.4.127", &[]);
    project.sandbox.cuenv(["doctor"]).succeeds();
    project.sandbox.write(".cuenv", "toolchain = \"12.1\"\nvenv = \"override\"\n");
    let ran = project.sandbox.cuenv(["doctor", "--json"]).code(7);
    let found = finding(&ran, "symbol-missing");
    let what = found["what"].as_str().unwrap();
    assert!(
        what.contains("undefined symbol: __nvJitLinkAddData_12_4, version libnvJitLink.so.12"),
        "{what}"
    );
    assert_eq!(found["fix"], "cuenv use 12.1 --venv defer");
}

/// K3: the parts of cuDNN are opened by bare name, so they may come from another cuDNN.
#[test]
fn k3_parts_of_two_cudnns_are_an_error() {
    let project = Project::pinned("system", "12.4.1+cudnn9.1.0.70", &cudnn9());
    torch(&project, "9.10.2.21", |torch| torch.clone().rpath(BESIDE));
    let other = project.sandbox.root().join("other");
    put(&other.join("libcudnn_graph.so.9.1.0"), &Library::new("libcudnn_graph.so.9"));
    std::os::unix::fs::symlink("libcudnn_graph.so.9.1.0", other.join("libcudnn_graph.so.9"))
        .unwrap();
    let Project { sandbox, .. } = project;
    let with_path = sandbox.with_env("LD_LIBRARY_PATH", other.display().to_string());
    let ran = with_path.cuenv(["doctor", "--json"]).code(7);
    let found = finding(&ran, "cudnn-mixed");
    assert_eq!(found["what"], "torch 2.9.1 will load parts of two cuDNNs: 9.1.0 and 9.10.2");
    assert!(found["proof"].to_string().contains("/other/libcudnn_graph.so.9"), "{found}");
    assert_eq!(found["fix"], "unset LD_LIBRARY_PATH");
    // Without the stranger nothing is wrong.
    let ran = with_path.with_env("LD_LIBRARY_PATH", "").cuenv(["doctor", "--json"]).succeeds();
    assert!(!codes(&ran).contains(&"cudnn-mixed".to_owned()));
}

#[test]
fn k3_a_missing_part_is_named() {
    let mut parts = cudnn9();
    parts.retain(|(name, _)| *name != "libcudnn_cnn.so.9");
    let project = Project::pinned("12.4+cudnn9", "12.4.1+cudnn9.1.0.70", &parts);
    project.library(
        "onnxruntime/capi/libonnxruntime_providers_cuda.so",
        &Library::nameless().needs("libcudnn.so.9"),
    );
    project.distribution("onnxruntime-gpu", "1.20.2", &[]);
    let ran = project.sandbox.cuenv(["doctor", "--json"]).code(7);
    let found = finding(&ran, "library-missing");
    assert_eq!(found["what"], "onnxruntime 1.20.2 will not find `libcudnn_cnn.so.9`");
}

/// P03, P04: another major is wanted than the pin gives; the fix is the pin that has it.
#[test]
fn a_build_for_another_major_names_the_pin_it_needs() {
    let project = Project::pinned("12.4+cudnn9", "12.4.1+cudnn9.1.0.70", &cudnn9());
    let provider = Library::nameless().needs("libcublasLt.so.11").needs("libcudnn.so.8");
    project.library("onnxruntime/capi/libonnxruntime_providers_cuda.so", &provider);
    project.distribution("onnxruntime-gpu", "1.17.1", &[]);
    let ran = project.sandbox.cuenv(["doctor", "--json"]).code(7);
    let found = finding(&ran, "library-missing");
    assert_eq!(
        found["what"],
        "onnxruntime 1.17.1 will not find `libcublasLt.so.11`, `libcudnn.so.8`"
    );
    assert_eq!(found["fix"], "cuenv use 11.8+cudnn8");
}

/// P10: cuBLAS and cuBLASLt of two releases.
#[test]
fn siblings_of_two_releases_are_an_error() {
    let project = Project::pinned("system", "12.4.1", &[]);
    let cublas = Library::new("libcublas.so.12").needs("libcublasLt.so.12").runpath("$ORIGIN");
    project.library("nvidia/cublas/lib/libcublas.so.12", &cublas);
    project.library("nvidia/cublas/lib/libcublasLt.so.12", &Library::new("libcublasLt.so.12"));
    project.library(
        "torch/lib/libtorch_cuda.so",
        &Library::nameless().needs("libcublas.so.12").rpath("$ORIGIN/../../nvidia/cublas/lib"),
    );
    project.distribution("torch", "2.4.1", &[]);
    project.distribution("nvidia-cublas-cu12", "12.4.5.8", &[]);
    let other = project.sandbox.root().join("other");
    put(&other.join("libcublasLt.so.12.1.3.1"), &Library::new("libcublasLt.so.12"));
    std::os::unix::fs::symlink("libcublasLt.so.12.1.3.1", other.join("libcublasLt.so.12")).unwrap();
    let sandbox = project.sandbox.with_env("LD_LIBRARY_PATH", other.display().to_string());
    let ran = sandbox.cuenv(["doctor", "--json"]).code(7);
    let found = finding(&ran, "siblings-apart");
    assert!(
        found["what"]
            .as_str()
            .unwrap()
            .contains("`libcublas.so.12` 12.4.5.8 and `libcublasLt.so.12` 12.1.3.1")
    );
}

/// K4: directories of stubs, a second driver library.
#[test]
fn k4_stubs_and_second_drivers_are_found() {
    let sandbox = Sandbox::new();
    let stubs = sandbox.root().join("cuda/lib64/stubs");
    put(&stubs.join("libcuda.so.1"), &Library::new("libcuda.so.1"));
    let sandbox = sandbox.with_env("LD_LIBRARY_PATH", format!("/opt/x:{}", stubs.display()));
    let ran = sandbox.cuenv(["doctor", "--json"]).code(7);
    let found = finding(&ran, "stub-driver");
    assert_eq!(found["fix"], "export LD_LIBRARY_PATH=/opt/x");
    // The fix, when followed, mends it.
    let ran = sandbox.with_env("LD_LIBRARY_PATH", "/opt/x").cuenv(["doctor", "--json"]).succeeds();
    assert!(!codes(&ran).contains(&"stub-driver".to_owned()));
}

#[test]
fn k4_a_compat_driver_on_a_geforce_is_an_error() {
    let sandbox = Sandbox::new();
    let compat = sandbox.root().join("cuda/compat");
    put(&compat.join("libcuda.so.1"), &Library::new("libcuda.so.1"));
    let sandbox = sandbox.with_env("LD_LIBRARY_PATH", compat.display().to_string());
    let ran = sandbox.cuenv(["doctor", "--json"]);
    let found = finding(&ran, "driver-copies");
    assert_eq!(found["fix"], "unset LD_LIBRARY_PATH");
    let ran = sandbox.with_env("LD_LIBRARY_PATH", "").cuenv(["doctor", "--json"]);
    assert!(!codes(&ran).contains(&"driver-copies".to_owned()), "{}", ran.stdout);
}

/// K4: a driver that is too old for the pin.
#[test]
fn k4_an_old_driver_is_named_with_the_pin_that_it_runs() {
    let project = Project::pinned("12.4+cudnn9", "12.4.1+cudnn9.1.0.70", &cudnn9());
    let sandbox = project
        .sandbox
        .with_env("CUENV_DRIVER_VERSION", "470.223.02")
        .with_env("CUENV_COMPUTE_CAPABILITY", "8.6");
    let ran = sandbox.cuenv(["doctor", "--json"]).code(7);
    let found = finding(&ran, "driver-too-old");
    assert!(
        found["what"].as_str().unwrap().contains("driver 470.223.02 is too old for CUDA 12.4.1"),
        "{found}"
    );
    // 11.4 has no wheels; the driver runs 11.8 by minor-version compatibility.
    assert_eq!(found["fix"], "cuenv use 11.8+cudnn9");
    install(&sandbox, "11.8+cudnn9", "11.8.0+cudnn9.10.2.21", &[]);
    sandbox.write(".cuenv", "11.8+cudnn9\n");
    let ran = sandbox.cuenv(["doctor", "--json"]).succeeds();
    assert!(!codes(&ran).contains(&"driver-too-old".to_owned()), "{}", ran.stdout);
}

/// P30, P31: the GPU and the pin do not meet.
#[test]
fn a_gpu_outside_the_pins_range_is_an_error() {
    let project = Project::pinned("12.4+cudnn9", "12.4.1+cudnn9.1.0.70", &cudnn9());
    let sandbox = project
        .sandbox
        .with_env("CUENV_DRIVER_VERSION", "575.51.03")
        .with_env("CUENV_COMPUTE_CAPABILITY", "12.0");
    let ran = sandbox.cuenv(["doctor", "--json"]).code(7);
    let found = finding(&ran, "gpu-and-cuda");
    assert!(
        found["what"].as_str().unwrap().contains("compute capability 12.0 needs CUDA 12.8"),
        "{found}"
    );
    assert_eq!(found["fix"], "cuenv use 12.8+cudnn9");
    install(&sandbox, "12.8+cudnn9", "12.8.1+cudnn9.10.2.21", &[]);
    sandbox.write(".cuenv", "12.8+cudnn9\n");
    let ran = sandbox.cuenv(["doctor", "--json"]).succeeds();
    assert!(!codes(&ran).contains(&"gpu-and-cuda".to_owned()), "{}", ran.stdout);
}

/// K5: sudo drops the variables.
#[test]
fn k5_sudo_is_noticed_with_the_form_that_works() {
    let sandbox = Sandbox::new().with_env("SUDO_USER", "ada");
    let ran = sandbox.cuenv(["doctor", "--json"]).succeeds();
    let found = finding(&ran, "sudo");
    assert_eq!(found["fix"], "sudo \"$(command -v cuenv)\" exec -- COMMAND");
}

/// K6: an empty element is the current directory.
#[test]
fn k6_empty_elements_are_found_and_their_fix_has_none() {
    for (value, fix) in [
        ("/x:", "export LD_LIBRARY_PATH=/x"),
        (":/x", "export LD_LIBRARY_PATH=/x"),
        ("/a b::/y", "export LD_LIBRARY_PATH='/a b:/y'"),
        (":", "unset LD_LIBRARY_PATH"),
    ] {
        let sandbox = Sandbox::new().with_env("LD_LIBRARY_PATH", value);
        let ran = sandbox.cuenv(["doctor", "--json"]).succeeds();
        let found = finding(&ran, "empty-element");
        assert_eq!(found["fix"], fix);
    }
    let ran =
        Sandbox::new().with_env("LD_LIBRARY_PATH", "/x").cuenv(["doctor", "--json"]).succeeds();
    assert!(!codes(&ran).contains(&"empty-element".to_owned()));
}

/// F4: two CUDA majors on one library path.
#[test]
fn two_majors_on_the_library_path_are_a_warning() {
    let sandbox = Sandbox::new();
    for (directory, name) in [("c11", "libcublas.so.11"), ("c12", "libcublas.so.12")] {
        put(&sandbox.root().join(directory).join(name), &Library::new(name));
    }
    let path = format!("{0}/c11:{0}/c12", sandbox.root().display());
    let ran = sandbox.with_env("LD_LIBRARY_PATH", path).cuenv(["doctor", "--json"]).succeeds();
    let found = finding(&ran, "cuda-majors-mixed");
    assert_eq!(found["severity"], "warning");
    assert_eq!(found["fix"], "export LD_LIBRARY_PATH=[ROOT]/c11");
}

/// P35: a process that was started for another toolchain.
#[test]
fn a_stale_activation_is_noticed() {
    let project = Project::pinned("12.4+cudnn9", "12.4.1+cudnn9.1.0.70", &cudnn9());
    let sandbox = project.sandbox.with_env("CUENV_ACTIVE", "11.8.0+cudnn8.9.6.50");
    let ran = sandbox.cuenv(["doctor", "--json"]).succeeds();
    let found = finding(&ran, "stale-activation");
    assert!(
        found["what"].as_str().unwrap().contains("started for 11.8.0+cudnn8.9.6.50"),
        "{found}"
    );
}

/// P56: an active environment before the shims.
#[test]
fn a_bypassed_shim_is_noticed() {
    let project = Project::pinned("12.4+cudnn9", "12.4.1+cudnn9.1.0.70", &cudnn9());
    let bin = project.venv().join("bin");
    let shims = project.sandbox.cuenv_home().join("shims");
    fs::create_dir_all(&shims).unwrap();
    let sandbox = project
        .sandbox
        .with_env("PATH", format!("{}:{}:/usr/bin:/bin", bin.display(), shims.display()));
    let ran = sandbox.cuenv(["doctor", "--json"]).succeeds();
    assert_eq!(finding(&ran, "shims-bypassed")["fix"], "cuenv exec -- python");
}

/// P16: headers of one CUDA, NVRTC of another.
#[test]
fn headers_and_nvrtc_of_two_releases_are_noticed() {
    let nvrtc = Library::new("libnvrtc.so.12");
    let project = Project::pinned("12.9", "12.9.1", &[("libnvrtc.so.12.9.86", nvrtc)]);
    std::os::unix::fs::symlink("libnvrtc.so.12.9.86", project.prefix.join("lib/libnvrtc.so.12"))
        .unwrap();
    fs::create_dir_all(project.prefix.join("include")).unwrap();
    fs::write(project.prefix.join("include/cuda.h"), "#define CUDA_VERSION 12000\n").unwrap();
    let ran = project.sandbox.cuenv(["doctor", "--json"]).succeeds();
    let found = finding(&ran, "headers-apart");
    assert!(
        found["what"].as_str().unwrap().contains("headers are of CUDA 12.0, NVRTC is of 12.9"),
        "{found}"
    );
}

/// P12: two NCCL distributions share one file.
#[test]
fn two_nccls_are_noticed() {
    let project = Project::pinned("12.4", "12.4.1", &[]);
    project.distribution("nvidia-nccl-cu11", "2.21.5", &[]);
    project.distribution("nvidia-nccl-cu12", "2.23.4", &[]);
    let ran = project.sandbox.cuenv(["doctor", "--json"]).succeeds();
    let found = finding(&ran, "nccl-twice");
    assert_eq!(found["proof"][0], "nvidia-nccl-cu11 2.21.5");
    assert_eq!(
        found["fix"],
        "pip uninstall -y nvidia-nccl-cu11 && pip install --force-reinstall --no-deps nvidia-nccl-cu12==2.23.4"
    );
}

#[test]
fn switches_are_a_note() {
    let sandbox =
        Sandbox::new().with_env("NVIDIA_TF32_OVERRIDE", "0").with_env("CUDA_VISIBLE_DEVICES", "");
    let ran = sandbox.cuenv(["doctor", "--json"]).succeeds();
    let proof = finding(&ran, "switches")["proof"].to_string();
    assert!(
        proof.contains("NVIDIA_TF32_OVERRIDE=0") && proof.contains("hides every GPU"),
        "{proof}"
    );
}

#[test]
fn what_holds_and_is_not_installed_is_an_error() {
    let sandbox = Sandbox::new();
    sandbox.write(".cuenv", "12.4+cudnn9\n");
    let ran = sandbox.cuenv(["doctor", "--json"]).code(7);
    assert_eq!(finding(&ran, "not-installed")["fix"], "cuenv install");
    sandbox.write(".cuenv", "site\n");
    let ran = sandbox.cuenv(["doctor", "--json"]).code(7);
    assert_eq!(finding(&ran, "not-installed")["fix"], "cuenv link site /path/to/toolkit");
}

#[test]
fn the_screen_shows_the_chain_and_the_broken_link() {
    let project = Project::pinned("12.4+cudnn9", "12.4.1+cudnn9.1.0.70", &cudnn9());
    project.library(
        "onnxruntime/capi/libonnxruntime_providers_cuda.so",
        &Library::nameless().needs("libcudnn.so.8"),
    );
    project.distribution("onnxruntime-gpu", "1.17.1", &[]);
    let ran = project.sandbox.cuenv(["doctor"]).code(7);
    for part in [
        "GPU",
        "driver",
        "✓ runtime",
        "✓ cuDNN",
        "✗ framework",
        "fix: cuenv use 11.8+cudnn8",
        "1 error",
    ] {
        assert!(ran.stdout.contains(part), "no {part} in\n{}", ran.stdout);
    }
    assert!(!ran.stdout.contains('\u{1b}'), "no colour into a pipe");
    let ran = project.sandbox.cuenv(["doctor", "--color=always"]).code(7);
    assert!(ran.stdout.contains("\u{1b}[31;1m✗"), "{}", ran.stdout);
}

/// Two GPUs and two adapters on another machine.
fn cluster_node() -> FakeHost {
    FakeHost::new()
        .driver("550.54.15")
        .gpu("0000:17:00.0", "NVIDIA H100 80GB HBM3")
        .gpu("0000:ca:00.0", "NVIDIA H100 80GB HBM3")
        .file("/sys/bus/pci/devices/0000:17:00.0/numa_node", "0\n")
        .file("/sys/bus/pci/devices/0000:ca:00.0/numa_node", "1\n")
        .file("/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n")
        .file("/sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n")
        .file("/sys/class/infiniband/mlx5_0/device/numa_node", "0\n")
        .file("/sys/class/infiniband/mlx5_1/ports/1/state", "1: DOWN\n")
        .file("/sys/class/net/lo/operstate", "unknown\n")
        .file("/sys/class/net/docker0/operstate", "up\n")
        .file("/sys/class/net/eth0/operstate", "up\n")
        .file("/proc/self/mounts", "shm /dev/shm tmpfs rw,nosuid,size=65536k 0 0\n")
        .file("/etc/nccl.conf", "# site\nNCCL_DEBUG=WARN\n")
}

fn seen(host: &FakeHost, env: &[(&str, &str)]) -> Ran {
    let mut sandbox = Sandbox::new().with_env("CUENV_HOST_ROOT", host.root().to_str().unwrap());
    for (name, value) in env {
        sandbox = sandbox.with_env(name, *value);
    }
    sandbox.cuenv(["doctor", "--json"])
}

#[test]
fn what_nccl_reaches_gpus_by_is_read_from_the_kernels_files() {
    let host = cluster_node();
    let ran = seen(&host, &[]);
    let note = finding(&ran, "nccl");
    assert_eq!(note["severity"], "note");
    let proof: Vec<&str> =
        note["proof"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    for line in [
        "GPU 0000:17:00.0, NUMA node 0",
        "GPU 0000:ca:00.0, NUMA node 1",
        "`mlx5_0`: InfiniBand, active, NUMA node 0",
        "`mlx5_1`: adapter, no active port",
        "`/dev/shm`: 67.1 MB",
    ] {
        assert!(proof.contains(&line), "no {line} in {proof:#?}");
    }
    assert!(proof.iter().any(|line| line.starts_with("`nvidia_peermem` is not loaded")));
    assert!(
        proof.iter().any(|line| line.starts_with("NCCL_DEBUG=WARN makes NCCL write a log (in"))
    );
    // Docker's 64 MB; what its fix gives is enough.
    let small = finding(&ran, "nccl-shared-memory");
    assert!(small["what"].as_str().unwrap().contains("`/dev/shm` has 67.1 MB"), "{small}");
    let host = host.file("/proc/self/mounts", "shm /dev/shm tmpfs rw,size=1g 0 0\n");
    assert!(!codes(&seen(&host, &[])).contains(&"nccl-shared-memory".to_owned()));
    let inside = cluster_node().file("/.dockerenv", "");
    let fix = finding(&seen(&inside, &[]), "nccl-shared-memory")["fix"].clone();
    assert!(fix.as_str().unwrap().contains("--shm-size=1g"), "{fix}");
    // One GPU and no variable: nobody asks.
    let one = FakeHost::new().driver("550.54.15").gpu("0000:17:00.0", "NVIDIA H100 80GB HBM3");
    assert!(!codes(&seen(&one, &[])).iter().any(|code| code.starts_with("nccl")));
    let note = finding(&seen(&one, &[("NCCL_P2P_DISABLE", "1")]), "nccl");
    assert!(note["proof"][0].as_str().unwrap().starts_with("NCCL_P2P_DISABLE=1 keeps GPUs"));
    let note = finding(&seen(&one, &[("NCCL_P2P_DISABLE", "0")]), "nccl");
    assert_eq!(note["proof"][0], "NCCL_P2P_DISABLE=0 changes nothing");
}

#[test]
fn nccl_variables_that_name_nothing_here_are_found_and_their_fix_mends_it() {
    let host = cluster_node();
    for (name, bad, code, good) in [
        ("NCCL_SOCKET_IFNAME", "ib0", "nccl-interface", Some("eth0")),
        ("NCCL_SOCKET_IFNAME", "=eth", "nccl-interface", Some("eth0")),
        ("NCCL_SOCKET_IFNAME", "^docker,lo,eth", "nccl-interface", Some("eth0")),
        ("NCCL_IB_HCA", "=mlx5_7:1", "nccl-adapter", None),
        ("NCCL_IB_DISABLE", "1", "nccl-adapter-unused", None),
    ] {
        let ran = seen(&host, &[(name, bad)]);
        let found = finding(&ran, code);
        let (fix, value) = match good {
            Some(value) => (format!("export {name}={value}"), value),
            None => (format!("unset {name}"), ""),
        };
        assert_eq!(found["fix"], fix, "{name}={bad}");
        assert_eq!(ran.code, Some(if code == "nccl-interface" { 7 } else { 0 }), "{name}={bad}");
        let mended = seen(&host, &[(name, value)]);
        assert!(!codes(&mended).contains(&code.to_owned()), "{name}: {}", mended.stdout);
    }
    for good in ["eth", "=eth0", "^docker,lo", "ib0,eth0"] {
        let ran = seen(&host, &[("NCCL_SOCKET_IFNAME", good)]);
        assert!(!codes(&ran).contains(&"nccl-interface".to_owned()), "{good}");
    }
}

#[test]
fn a_gpu_that_is_not_there_hides_those_behind_it() {
    let host = cluster_node();
    let found = finding(&seen(&host, &[("CUDA_VISIBLE_DEVICES", "0,2,1")]), "visible-devices");
    assert_eq!(
        found["what"],
        "CUDA_VISIBLE_DEVICES names `2`, which is not here, so programs see the 1 before it"
    );
    assert_eq!(found["fix"], "export CUDA_VISIBLE_DEVICES=0");
    let found = finding(&seen(&host, &[("CUDA_VISIBLE_DEVICES", "4")]), "visible-devices");
    assert_eq!(found["fix"], "unset CUDA_VISIBLE_DEVICES");
    for good in ["1,0", "0", "GPU-0000:17", "MIG-x"] {
        let ran = seen(&host, &[("CUDA_VISIBLE_DEVICES", good)]);
        assert!(!codes(&ran).contains(&"visible-devices".to_owned()), "{good}");
    }
}

/// `use --detect` and `doctor` say the same of one environment.
#[test]
fn two_frameworks_that_cannot_agree_are_named_by_doctor_as_by_detect() {
    let project = Project::pinned("12.4+cudnn9", "12.4.1+cudnn9.1.0.70", &cudnn9());
    project.distribution("onnxruntime-gpu", "1.17.1", &[]);
    project.distribution("ctranslate2", "4.6.0", &[]);
    let ran = project.sandbox.cuenv(["doctor", "--json"]).code(7);
    let found = finding(&ran, "no-single-pin");
    assert_eq!(found["severity"], "error");
    let what = found["what"].as_str().unwrap();
    assert!(what.contains("`onnxruntime-gpu 1.17.1`") && what.contains("`ctranslate2 4.6.0`"));
    let detect = project.sandbox.cuenv(["use", "--detect", "-n"]).code(3);
    assert!(detect.stderr.contains(what), "{what}\n{}", detect.stderr);
    // The fix exchanges one of them by a release that agrees; with it, both are content.
    let fix = found["fix"].as_str().unwrap();
    let version =
        fix.strip_prefix("pip install 'onnxruntime-gpu==").unwrap().trim_end_matches('\'');
    fs::remove_dir_all(project.site().join("onnxruntime_gpu-1.17.1.dist-info")).unwrap();
    project.distribution("onnxruntime-gpu", version, &[]);
    let ran = project.sandbox.cuenv(["doctor", "--json"]);
    assert!(!codes(&ran).contains(&"no-single-pin".to_owned()), "{}", ran.stdout);
    project.sandbox.cuenv(["use", "--detect", "-n"]);
}

#[test]
fn a_pin_that_contradicts_what_detect_proposes_is_a_finding_with_that_proposal() {
    let project = Project::pinned("12.4+cudnn9", "12.4.1+cudnn9.1.0.70", &cudnn9());
    project.distribution("onnxruntime-gpu", "1.17.1", &[]);
    let ran = project.sandbox.cuenv(["doctor", "--json"]).code(7);
    let found = finding(&ran, "pin-unfit");
    assert_eq!(
        found["what"],
        "`12.4+cudnn9` holds here, and onnxruntime-gpu 1.17.1 wants CUDA 11 and cuDNN 8"
    );
    let proposal = project.sandbox.cuenv(["use", "--detect", "-n", "--json"]).json();
    let spec = proposal["proposal"]["spec"].as_str().unwrap();
    assert_eq!(found["fix"], format!("cuenv use {spec}"));
    assert_eq!(proposal["unmet"][0]["wants"], "CUDA 11 and cuDNN 8");
    // With that pin there is nothing to say.
    install(&project.sandbox, spec, "11.8.0+cudnn8.9.6.50", &[]);
    project.sandbox.write(".cuenv", format!("{spec}\n"));
    let ran = project.sandbox.cuenv(["doctor", "--json"]).succeeds();
    assert!(!codes(&ran).contains(&"pin-unfit".to_owned()), "{}", ran.stdout);
    // A framework that brings its own libraries wants nothing of the pin.
    let own = Project::pinned("11.8+cudnn8", "11.8.0+cudnn8.9.6.50", &[]);
    own.distribution(
        "torch",
        "2.9.1",
        &["nvidia-cudnn-cu12 (==9.10.2.21)", "nvidia-cublas-cu12 (==12.8.4.1)"],
    );
    own.distribution("nvidia-cudnn-cu12", "9.10.2.21", &[]);
    own.distribution("nvidia-cublas-cu12", "12.8.4.1", &[]);
    let ran = own.sandbox.cuenv(["doctor", "--json"]).succeeds();
    assert!(!codes(&ran).contains(&"pin-unfit".to_owned()), "{}", ran.stdout);
}

#[test]
fn nothing_pinned_and_something_that_wants_it_is_a_note() {
    let project = Project::pinned("12.4+cudnn9", "12.4.1+cudnn9.1.0.70", &[]);
    fs::remove_file(project.sandbox.project().join(".cuenv")).unwrap();
    project.distribution("ctranslate2", "4.6.0", &[]);
    let sandbox = project.sandbox;
    let env = sandbox.project().join(".venv").display().to_string();
    let sandbox = sandbox.with_env("VIRTUAL_ENV", env);
    let found = finding(&sandbox.cuenv(["doctor", "--json"]), "not-pinned");
    assert!(found["fix"].as_str().unwrap().starts_with("cuenv use 12"), "{found}");
}

/// The cuDNN that a framework was compiled with is known from the table where its metadata does not name one.
#[test]
fn the_table_of_frameworks_knows_what_a_build_was_compiled_with() {
    let project = Project::pinned("12.4+cudnn9.1", "12.4.1+cudnn9.1.0.70", &cudnn9());
    let plugin = Library::nameless().needs("libcudnn.so.9");
    project.library("jax_plugins/xla_cuda12/xla_cuda_plugin.so", &plugin);
    project.distribution("jax-cuda12-plugin", "0.6.2", &[]);
    let ran = project.sandbox.cuenv(["doctor", "--json"]).code(7);
    let found = finding(&ran, "cudnn-older-than-compiled");
    assert!(
        found["what"].as_str().unwrap().contains("jax 0.6.2 was compiled with cuDNN 9.8"),
        "{found}"
    );
    assert_eq!(found["fix"], "cuenv use 12.4.1+cudnn9.8");
    // The same minor in an older patch serves: that is the rule that frameworks check.
    let project = Project::pinned("12.4+cudnn9", "12.4.1+cudnn9.8.0.1", &cudnn9());
    project.library("jax_plugins/xla_cuda12/xla_cuda_plugin.so", &plugin);
    project.distribution("jax-cuda12-plugin", "0.6.2", &[]);
    let ran = project.sandbox.cuenv(["doctor", "--json"]);
    assert!(!codes(&ran).contains(&"cudnn-older-than-compiled".to_owned()), "{}", ran.stdout);
}

/// P19: a compiler of another CUDA than the toolchain's.
#[test]
fn a_foreign_compiler_is_told_with_its_release() {
    let project = Project::pinned("12.4+cudnn9", "12.4.1+cudnn9.1.0.70", &cudnn9());
    let root = project.sandbox.root().join("cuda-11.8");
    fs::create_dir_all(root.join("bin")).unwrap();
    fs::write(root.join("bin/nvcc"), "#!/bin/sh\n").unwrap();
    let path = format!("{}:/usr/bin:/bin", root.join("bin").display());
    let sandbox = project.sandbox.with_env("PATH", path);
    let found = finding(&sandbox.cuenv(["doctor", "--json"]), "nvcc-elsewhere");
    assert!(found["what"].as_str().unwrap().contains("`nvcc` of CUDA 11.8"), "{found}");
    // A toolkit of the pinned release is welcome.
    fs::write(root.join("version.json"), r#"{"cuda": {"version": "12.4.99"}}"#).unwrap();
    let ran = sandbox.cuenv(["doctor", "--json"]);
    assert!(!codes(&ran).contains(&"nvcc-elsewhere".to_owned()), "{}", ran.stdout);
}

/// A shell's own LD_LIBRARY_PATH with another CUDA, or with a toolchain that does not hold any more.
#[test]
fn a_stale_library_path_is_found_and_its_fix_keeps_the_rest() {
    let project = Project::pinned("12.4+cudnn9", "12.4.1+cudnn9.1.0.70", &cudnn9());
    let old = install(&project.sandbox, "11.8", "11.8.0", &[]);
    put(&old.join("lib/libcudart.so.11.0"), &Library::new("libcudart.so.11.0"));
    let mine = project.sandbox.root().join("mine");
    put(&mine.join("libmine.so"), &Library::new("libmine.so"));
    let value = format!("{}:{}", old.join("lib").display(), mine.display());
    let sandbox = project.sandbox.with_env("LD_LIBRARY_PATH", value);
    let found = finding(&sandbox.cuenv(["doctor", "--json"]), "library-path");
    assert!(found["what"].as_str().unwrap().contains("that does not hold here"), "{found}");
    assert_eq!(found["fix"], "export LD_LIBRARY_PATH=[ROOT]/mine");
    let sandbox = sandbox.with_env("LD_LIBRARY_PATH", mine.display().to_string());
    let ran = sandbox.cuenv(["doctor", "--json"]);
    assert!(!codes(&ran).contains(&"library-path".to_owned()), "{}", ran.stdout);
}

/// K5: an interpreter with rights of its own starts in secure mode, where the variable is gone. The real loader agrees.
#[test]
fn k5_an_interpreter_that_changes_its_group_loses_the_library_path() {
    use std::os::unix::fs::{PermissionsExt as _, chown};
    let project = Project::pinned("12.4+cudnn9", "12.4.1+cudnn9.1.0.70", &cudnn9());
    let python = project.venv().join("bin/python");
    fs::remove_file(&python).unwrap();
    fs::copy("/usr/bin/printenv", &python).unwrap();
    let root = std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").unwrap()) == 0;
    if !root || chown(&python, None, Some(65534)).is_err() {
        println!("skipped: only root can make a program change its group");
        return;
    }
    fs::set_permissions(&python, fs::Permissions::from_mode(0o2755)).unwrap();
    let sandbox = &project.sandbox;
    let prints = || sandbox.cuenv(["exec", "--", python.to_str().unwrap(), "LD_LIBRARY_PATH"]);
    let ran = sandbox.cuenv(["doctor", "--json"]).code(7);
    let found = finding(&ran, "secure-program");
    assert!(found["what"].as_str().unwrap().contains("changes the group it runs as"), "{found}");
    assert!(!prints().stdout.contains("12.4.1+cudnn"), "the loader keeps the variable after all");
    let fix =
        found["fix"].as_str().unwrap().replace("[PROJECT]", sandbox.project().to_str().unwrap());
    assert!(
        std::process::Command::new("sh").args(["-c", &fix]).status().unwrap().success(),
        "{fix}"
    );
    let ran = sandbox.cuenv(["doctor", "--json"]);
    assert!(!codes(&ran).contains(&"secure-program".to_owned()), "{}", ran.stdout);
    assert!(prints().stdout.contains("12.4.1+cudnn"), "{:?}", prints().stdout);
}

/// Every code is in the table that the documentation shows, and the table holds no other.
#[test]
fn every_code_is_documented() {
    fn sources(directory: &std::path::Path, into: &mut String) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, into);
            } else if path.file_name().unwrap() != "codes.rs" {
                into.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }
    let mut text = String::new();
    sources(std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/ops")), &mut text);
    for code in CODES {
        assert!(text.contains(&format!("\"{}\"", code.code)), "`{}` is never found", code.code);
    }
    let mut found = 0;
    for (at, _) in text.match_indices("Finding::new(") {
        let rest = text[at + "Finding::new(".len()..].trim_start();
        let Some(literal) = rest.strip_prefix('"') else { continue };
        let code = literal.split('"').next().unwrap();
        assert!(CODES.iter().any(|known| known.code == code), "`{code}` is not in the table");
        found += 1;
    }
    assert!(found > 30, "{found}");
}
