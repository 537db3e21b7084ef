//! `cuenv doctor`: every way in which people get hurt, with the finding, its proof and its fix.

use std::fs;

use crate::support::elf::Library;
use crate::support::project::{Project, put};
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
    assert!(shadowed["fix"].as_str().unwrap().contains("`venv = \"defer\"`"), "{shadowed}");
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
    assert!(found["fix"].as_str().unwrap().contains("venv = \"defer\""), "{found}");
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
    assert!(found["fix"].as_str().unwrap().contains("take the other cuDNN off LD_LIBRARY_PATH"));
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
    assert!(
        found["fix"].as_str().unwrap().contains("/cuda/compat` off LD_LIBRARY_PATH"),
        "{found}"
    );
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
    assert_eq!(found["fix"], "cuenv use 11.4");
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
    assert!(found["fix"].as_str().unwrap().starts_with("cuenv use 12.8"), "{found}");
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
    assert_eq!(finding(&ran, "cuda-majors-mixed")["severity"], "warning");
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
    assert_eq!(finding(&ran, "nccl-twice")["proof"][0], "nvidia-nccl-cu11 2.21.5");
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
    assert_eq!(finding(&ran, "not-installed")["fix"], "cuenv install 12.4+cudnn9");
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
        "fix: cuenv use 12.4+cudnn8",
        "1 error",
    ] {
        assert!(ran.stdout.contains(part), "no {part} in\n{}", ran.stdout);
    }
    assert!(!ran.stdout.contains('\u{1b}'), "no colour into a pipe");
    let ran = project.sandbox.cuenv(["doctor", "--color=always"]).code(7);
    assert!(ran.stdout.contains("\u{1b}[31;1m✗"), "{}", ran.stdout);
}
