//! `cuenv explain`: lines of logs as people meet them.

use std::io::Write as _;
use std::process::Stdio;

use crate::support::sandbox::{Sandbox, cuenv};

/// Lines as frameworks print them, and the kind each is recognised as.
const LINES: &[(&str, &str)] = &[
    (
        "RuntimeError: CUDA error: no kernel image is available for execution on the device",
        "no-kernel-image",
    ),
    (
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
        "out-of-memory",
    ),
    (
        "RuntimeError: CUDA failed with error CUDA driver version is insufficient for CUDA runtime version",
        "driver-insufficient",
    ),
    (
        "Error 803: system has unsupported display driver / cuda driver combination",
        "driver-mismatch-803",
    ),
    ("Error 804: forward compatibility was attempted on non supported HW", "forward-compat-804"),
    ("CUDA driver is a stub library", "stub-driver"),
    ("RuntimeError: No CUDA GPUs are available: no CUDA-capable device is detected", "no-device"),
    ("CUDA_ERROR_UNSUPPORTED_PTX_VERSION (error 222)", "ptx-version"),
    ("CUDA unknown error - this may be due to an incorrectly set up environment", "unknown-999"),
    (
        "ImportError: /v/libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12",
        "nvjitlink",
    ),
    (
        "libcublas.so.11: undefined symbol: cublasLtGetStatusString, version libcublasLt.so.11",
        "cublaslt-symbol",
    ),
    ("ImportError: libtorch_cuda.so: undefined symbol: ncclCommRegister", "nccl-symbol"),
    (
        "RuntimeError: cuDNN version incompatibility: PyTorch was compiled  against (9, 1, 0) but found runtime version (9, 0, 0).",
        "torch-cudnn-incompatible",
    ),
    ("RuntimeError: cuDNN error: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH", "cudnn-sublibrary"),
    (
        "Unable to load any of {libcudnn_ops.so.9.1.0, libcudnn_ops.so.9.1, libcudnn_ops.so.9, libcudnn_ops.so}",
        "library",
    ),
    (
        "Could not load library libcudnn_ops_infer.so.8. Error: libcudnn_ops_infer.so.8: cannot open shared object file",
        "library",
    ),
    ("RuntimeError: Library libcublas.so.12 is not found or cannot be loaded", "library"),
    (
        "ImportError: libcudnn.so.8: cannot open shared object file: No such file or directory",
        "library",
    ),
    ("Invalid handle. Cannot load symbol cudnnCreateTensorDescriptor", "cudnn-missing-symbol"),
    ("2024-01-01 W tensorflow/core Cannot dlopen some GPU libraries. Please make sure", "tf-skip"),
    (
        "E external/xla: Loaded runtime CuDNN library: 9.1.0 but source was compiled with: 9.3.0.",
        "tf-cudnn-older",
    ),
    ("libdevice not found at ./libdevice.10.bc", "tf-libdevice"),
    (
        "An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed. Falling back to cpu.",
        "jax-no-gpu",
    ),
    (
        "The detected CUDA version (11.8) mismatches the version that was used to compile PyTorch (12.4).",
        "extension-mismatch",
    ),
    (
        "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.",
        "cuda-home",
    ),
    ("/bin/sh: 1: nvcc: not found", "nvcc-missing"),
    (
        "numba.cuda.cudadrv.error.NvvmSupportError: libNVVM cannot be found. Do `conda install cudatoolkit`",
        "numba-nvvm",
    ),
    ("Failed to initialize NVML: Driver/library version mismatch", "smi-mismatch"),
    ("RuntimeError: NCCL error: unhandled system error, NCCL version 2.21.5", "nccl-system"),
    (
        "docker: Error response from daemon: could not select device driver \"\" with capabilities: [[gpu]].",
        "container-runtime",
    ),
    (
        "/lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by x)",
        "glibc",
    ),
    (
        "OSError: libcuda.so.1: cannot open shared object file: No such file or directory",
        "libcuda-missing",
    ),
    ("ImportError: libz.so.1: cannot open shared object file: No such file or directory", "libz"),
    ("fatal error: nv/target: No such file or directory", "nv-target"),
    ("nvrtc: error: failed to open libnvrtc-builtins.so.12.1.", "nvrtc-builtins"),
];

#[test]
fn lines_are_recognised() {
    let sandbox = Sandbox::new();
    let wrong: Vec<String> = LINES
        .iter()
        .filter_map(|(line, id)| {
            let ran = sandbox.cuenv(["explain", "--json", line]);
            let found = if ran.code == Some(0) {
                ran.json()["explanations"][0]["id"].as_str().unwrap().to_owned()
            } else {
                "nothing".to_owned()
            };
            (found != *id).then(|| format!("{line}\n  is {found}, expected {id}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_soname_leads_to_the_pin_that_brings_it() {
    let sandbox = Sandbox::new();
    let fix = |name: &str| {
        let json = sandbox.cuenv(["explain", "--json", name]).succeeds().json();
        json["explanations"][0]["fix"].as_str().unwrap().to_owned()
    };
    assert!(fix("libcudnn.so.8").starts_with("cuenv use 12+cudnn8"), "{}", fix("libcudnn.so.8"));
    assert!(fix("libcublasLt.so.11").starts_with("cuenv use 11.8"));
    assert!(fix("libcufft.so.12").starts_with("cuenv use 13"));
    sandbox.write(".cuenv", "12.4+cudnn9\n");
    assert!(fix("libcudnn_graph.so.9").starts_with("cuenv exec -- COMMAND"));
    assert!(fix("libcudnn.so.8").starts_with("cuenv use 12.4+cudnn8"));
}

#[test]
fn a_log_is_read_from_standard_input_and_each_kind_is_told_once() {
    let sandbox = Sandbox::new();
    let mut child = sandbox
        .command(cuenv())
        .args(["explain", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let log = "starting\nCUDA out of memory\nsomething else\nCUDA out of memory\nlibcudnn.so.8: cannot open shared object file\n";
    child.stdin.take().unwrap().write_all(log.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.matches("  why: ").count(), 2, "{text}");
    assert_eq!(text.matches("  fix: ").count(), 2, "{text}");
}

#[test]
fn what_is_not_known_says_so() {
    let ran = Sandbox::new().cuenv(["explain", "all is well"]).code(3);
    assert!(ran.stderr.contains("cuenv doctor"), "{}", ran.stderr);
}

#[test]
fn the_manifest_knows_more_than_eighty_kinds() {
    let text = include_str!("../../manifests/symptoms.toml");
    let count = text.matches("[[symptom]]").count();
    println!("{count} kinds of lines");
    assert!(count >= 80);
}
