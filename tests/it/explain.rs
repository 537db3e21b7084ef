//! `cuenv explain`: lines of logs as people meet them.

use std::io::Write as _;
use std::process::Stdio;

use crate::support::sandbox::{Ran, Sandbox, cuenv};

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
    ("cuInit failed with error code 34", "stub-driver"),
    (
        "[E:onnxruntime:Default, cuda_call.cc:116 CudaCall] CUDA failure 35 ; GPU=0 ; hostname=x",
        "driver-insufficient",
    ),
    ("RuntimeError: CUDA runtime error (100) : see above", "no-device"),
    ("CUDA error at vectorAdd.cu:73 code=209(cudaErrorNoKernelImageForDevice)", "no-kernel-image"),
    ("cuModuleLoadData returned error 222 from the CUDA driver", "ptx-version"),
    ("CUDA initialization failure with error: 803", "driver-mismatch-803"),
    ("Unexpected error from cudaGetDeviceCount(). Error code 804", "forward-compat-804"),
    ("cuInit returned 999", "unknown-999"),
    (
        "2024-02-01 E failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected",
        "no-device",
    ),
    ("failed call to cuInit: UNKNOWN ERROR (303)", "tf-no-driver"),
    ("CUDA error 802: system not yet initialized", "system-not-ready"),
    ("RuntimeError: CUDA error: an illegal memory access was encountered", "illegal-access"),
    ("RuntimeError: CUDA error: device-side assert triggered", "device-assert"),
    ("RuntimeError: CUDA error: unspecified launch failure", "launch-failure"),
    ("RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable", "device-busy"),
    ("RuntimeError: CUDA error: invalid device ordinal", "invalid-device"),
    ("CUDA error: a PTX JIT compilation failed", "invalid-ptx"),
    ("PTX JIT compiler library not found", "jit-compiler-missing"),
    (
        "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing",
        "fork",
    ),
    (
        "ImportError: /v/libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12",
        "nvjitlink",
    ),
    (
        "libcublas.so.11: undefined symbol: cublasLtGetStatusString, version libcublasLt.so.11",
        "cublaslt-symbol",
    ),
    ("ImportError: libtorch_cuda.so: undefined symbol: ncclCommRegister", "nccl-symbol"),
    ("ImportError: x.so: undefined symbol: _ZN3c104cuda9SetDeviceEi", "torch-symbol"),
    (
        "Could not load library libcudnn_cnn_train.so.8. Error: libcudnn_cnn_train.so.8: undefined symbol: _ZN5cudnn3cnn, version libcudnn_cnn_infer.so.8",
        "cudnn-train-infer",
    ),
    (
        "RuntimeError: cuDNN version incompatibility: PyTorch was compiled  against (9, 1, 0) but found runtime version (9, 0, 0).",
        "torch-cudnn-incompatible",
    ),
    ("RuntimeError: cuDNN error: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH", "cudnn-sublibrary"),
    ("RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED", "cudnn-not-initialized"),
    ("RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED", "cudnn-exec"),
    (
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)",
        "cublas-alloc",
    ),
    ("RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED", "cublas-not-initialized"),
    (
        "RuntimeError: CUDA error: CUBLAS_STATUS_INVALID_VALUE when calling `cublasGemmEx`",
        "cublas-invalid",
    ),
    ("RuntimeError: cuFFT error: CUFFT_INTERNAL_ERROR", "cufft-internal"),
    (
        "RuntimeError: GET was unable to find an engine to execute this computation",
        "cudnn-not-supported",
    ),
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
    (
        "Could not load library libcudnn_cnn_infer.so.8. Error: libnvrtc.so: cannot open shared object file: No such file or directory",
        "library",
    ),
    (
        "Could not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared object file",
        "library",
    ),
    (
        "[ONNXRuntimeError] : 1 : FAIL : Failed to load library libonnxruntime_providers_cuda.so with error: libcublasLt.so.11: cannot open shared object file: No such file or directory",
        "library",
    ),
    (
        "RuntimeError: CuPy failed to load libnvrtc.so.12: OSError: libnvrtc.so.12: cannot open shared object file: No such file or directory",
        "library",
    ),
    (
        "PreconditionNotMetError: Cannot load cudnn shared library. Cannot invoke method cudnnGetVersion.",
        "paddle-cudnn",
    ),
    ("OSError: libcudart.so: cannot open shared object file: No such file or directory", "library"),
    (
        "Could not load library libcudnn_cnn_infer.so.8. Error: libcuda.so: cannot open shared object file: No such file or directory",
        "libcuda-missing",
    ),
    ("Invalid handle. Cannot load symbol cudnnCreateTensorDescriptor", "cudnn-missing-symbol"),
    (
        "OSError: libcuda.so.1: cannot open shared object file: No such file or directory",
        "libcuda-missing",
    ),
    ("libcuda.so.1: cannot open", "libcuda-missing"),
    ("OSError: libnvidia-ml.so.1: cannot open shared object file", "nvml-missing"),
    ("ImportError: libz.so.1: cannot open shared object file: No such file or directory", "libz"),
    (
        "/lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by x)",
        "libstdcxx-version",
    ),
    ("python: /lib/libc.so.6: version `GLIBC_2.34' not found (required by x)", "glibc"),
    ("Segmentation fault (core dumped)", "segfault"),
    ("OSError: libcublas.so.12: invalid ELF header", "dso-text"),
    ("ValueError: libcublas.so.*[0-9] not found in the system path ['/x']", "torch-libcublas"),
    (
        "NVIDIA H100 PCIe with CUDA capability sm_90 is not compatible with the current PyTorch installation.",
        "sm-capability",
    ),
    ("Found GPU0 Tesla K80 which is of cuda capability 3.7.", "sm-too-old"),
    (
        "RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver",
        "torch-old-driver",
    ),
    ("AssertionError: Torch not compiled with CUDA enabled", "torch-cpu"),
    ("RuntimeError: Distributed package doesn't have NCCL built in", "nccl-not-built"),
    (
        "RuntimeError: DataLoader worker (pid 12) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory.",
        "loader-shm",
    ),
    ("RuntimeError: FlashAttention only supports Ampere GPUs or newer.", "gpu-too-old-for-kernel"),
    (
        "The detected CUDA version (11.8) mismatches the version that was used to compile PyTorch (12.4).",
        "extension-mismatch",
    ),
    (
        "Installed CUDA version 11.8 does not match the version torch was compiled with 12.1",
        "extension-mismatch",
    ),
    (
        "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.",
        "cuda-home",
    ),
    ("/bin/sh: 1: nvcc: not found", "nvcc-missing"),
    (
        "FileNotFoundError: [Errno 2] No such file or directory: '/usr/local/cuda/bin/nvcc'",
        "nvcc-missing",
    ),
    ("nvcc fatal   : Unsupported gpu architecture 'compute_120'", "unsupported-arch"),
    ("fatal error: cuda_runtime.h: No such file or directory", "header-missing"),
    ("/usr/bin/ld: cannot find -lcudart: No such file or directory", "link-cudart"),
    (
        "CMake Error: Could NOT find CUDAToolkit (missing: CUDAToolkit_INCLUDE_DIRECTORIES)",
        "cmake-toolkit",
    ),
    ("fatal error: nv/target: No such file or directory", "nv-target"),
    ("nvrtc: error: failed to open libnvrtc-builtins.so.12.1.", "nvrtc-builtins"),
    ("nvrtc: error: invalid value for --gpu-architecture (-arch)", "nvrtc-arch"),
    ("2024-01-01 W tensorflow/core Cannot dlopen some GPU libraries. Please make sure", "tf-skip"),
    (
        "I external/local_tsl/tsl/cuda/cudart_stub.cc:31] Could not find cuda drivers on your machine, GPU will not be used.",
        "tf-cudart",
    ),
    (
        "E external/xla: Loaded runtime CuDNN library: 9.1.0 but source was compiled with: 9.3.0.",
        "tf-cudnn-older",
    ),
    (
        "E0101 cuda_dnn.cc:535] Loaded runtime CuDNN library: 9.1.0 but source was compiled with: 9.8.0.  CuDNN library needs to have matching major version and equal or higher minor version.",
        "tf-cudnn-older",
    ),
    ("libdevice not found at ./libdevice.10.bc", "tf-libdevice"),
    ("Couldn't invoke ptxas --version", "tf-ptxas"),
    ("ptxas not found in path", "tf-ptxas"),
    ("ptxas fatal   : Value 'sm_120' is not defined for option 'gpu-name'", "ptxas-arch"),
    ("ptxas fatal   : Unsupported .version 8.5; current version is '8.2'", "ptxas-version"),
    ("ptxas fatal   : Ptx assembly aborted due to errors", "ptxas-other"),
    ("XlaRuntimeError: FAILED_PRECONDITION: DNN library initialization failed.", "tf-dnn"),
    (
        "Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when one has already been registered",
        "tf-register",
    ),
    (
        "successful NUMA node read from SysFS had negative value (-1), but there must be at least one NUMA node",
        "tf-numa",
    ),
    (
        "An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed. Falling back to cpu.",
        "jax-no-gpu",
    ),
    (
        "RuntimeError: Found cuDNN version 90100, but JAX was built against version 90800, which is newer.",
        "jax-version",
    ),
    (
        "The NVIDIA driver's CUDA version is 12.2 which is older than the ptxas CUDA version (12.4.131).",
        "jax-driver-ptxas",
    ),
    (
        "Unable to initialize backend 'cuda': INTERNAL: no supported devices found for platform CUDA",
        "jax-plugin",
    ),
    (
        "Failed to create CUDAExecutionProvider. Require cuDNN 9.* and CUDA 12.*. Please install all dependencies",
        "ort-create",
    ),
    (
        "UserWarning: Specified provider 'CUDAExecutionProvider' is not in available provider names.",
        "ort-no-provider",
    ),
    (
        "ValueError: Requested float16 compute type, but the target device or backend do not support efficient float16 computation.",
        "ct2-compute-type",
    ),
    ("CuPy failed to load lib from the driver", "cupy-load"),
    ("catastrophic error: cannot open source file \"vector_types.h\"", "cupy-headers"),
    (
        "numba.cuda.cudadrv.error.NvvmSupportError: libNVVM cannot be found. Do `conda install cudatoolkit`",
        "numba-nvvm",
    ),
    (
        "numba.cuda.cudadrv.error.CudaSupportError: Error at driver init: CUDA driver library cannot be found",
        "numba-driver",
    ),
    ("AssertionError: libcuda.so cannot found!", "libcuda-missing"),
    ("cuda.pathfinder DynamicLibNotFoundError: Failure finding \"libnvrtc.so\"", "pathfinder"),
    ("RuntimeError: NCCL error: unhandled system error, NCCL version 2.21.5", "nccl-system"),
    (
        "torch.distributed.DistBackendError: NCCL error in: ncclUnhandledCudaError: Call to CUDA function failed.",
        "nccl-unhandled",
    ),
    ("NCCL WARN Bootstrap : no socket interface found", "nccl-bootstrap"),
    (
        "NCCL WARN Error while creating shared memory segment /dev/shm/nccl-XYZ (size 9637888)",
        "nccl-shm",
    ),
    (
        "NCCL WARN Cuda failure 'peer access is not supported between these two devices'",
        "nccl-peer",
    ),
    ("NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory", "nccl-verbs"),
    (
        "ncclInvalidUsage: Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 40",
        "nccl-invalid",
    ),
    (
        "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE",
        "nccl-timeout",
    ),
    ("Failed to initialize NVML: Driver/library version mismatch", "smi-mismatch"),
    (
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
        "smi-no-driver",
    ),
    (
        "docker: Error response from daemon: could not select device driver \"\" with capabilities: [[gpu]].",
        "container-runtime",
    ),
    (
        "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.4, please update your driver",
        "container-requirement",
    ),
    ("modprobe: ERROR: could not insert 'nvidia': Key was rejected by service", "secure-boot"),
    ("bash: ./a.out: cannot execute binary file: Exec format error", "wrong-machine"),
    ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "pip-hashes"),
    ("OSError: [Errno 28] No space left on device", "no-space"),
];

#[test]
fn lines_are_recognised() {
    let sandbox = Sandbox::new().with_env("CUENV_DRIVER_VERSION", "none");
    let mut dead_ends = 0;
    let wrong: Vec<String> = LINES
        .iter()
        .filter_map(|(line, id)| {
            let ran = sandbox.cuenv(["explain", "--json", line]);
            let found = if ran.code == Some(0) {
                let json = ran.json();
                let fix = json["explanations"][0]["fix"].as_str().unwrap_or_default();
                dead_ends += usize::from(fix == "cuenv doctor");
                json["explanations"][0]["id"].as_str().unwrap().to_owned()
            } else {
                "nothing".to_owned()
            };
            (found != *id).then(|| format!("{line}\n  is {found}, expected {id}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(LINES.len() >= 80, "{} lines", LINES.len());
    assert_eq!(dead_ends, 0, "a line that is recognised leads to more than `cuenv doctor`");
    println!("{} lines recognised", LINES.len());
}

fn first(sandbox: &Sandbox, text: &str) -> serde_json::Value {
    sandbox.cuenv(["explain", "--json", text]).succeeds().json()["explanations"][0].clone()
}

fn fix(sandbox: &Sandbox, text: &str) -> String {
    first(sandbox, text)["fix"].as_str().unwrap_or_default().to_owned()
}

fn cause(sandbox: &Sandbox, text: &str) -> String {
    first(sandbox, text)["cause"].as_str().unwrap().to_owned()
}

/// A sandbox on a machine with this driver and GPU.
fn machine(driver: &str, cc: &str) -> Sandbox {
    Sandbox::new().with_env("CUENV_DRIVER_VERSION", driver).with_env("CUENV_COMPUTE_CAPABILITY", cc)
}

#[test]
fn a_soname_leads_to_the_pin_that_brings_it() {
    let sandbox = Sandbox::new();
    let fix = |name: &str| fix(&sandbox, name);
    assert!(fix("libcudnn.so.8").starts_with("cuenv use 12+cudnn8,"), "{}", fix("libcudnn.so.8"));
    assert!(fix("libcublasLt.so.11").starts_with("cuenv use 11.8,"));
    assert!(fix("libcufft.so.12").starts_with("cuenv use 13,"));
    // The smallest profile that has it.
    assert!(fix("libcudart.so.12").starts_with("cuenv use 12@base,"), "{}", fix("libcudart.so.12"));
    assert!(fix("libnvrtc.so.12").starts_with("cuenv use 12@base,"), "{}", fix("libnvrtc.so.12"));
    sandbox.write(".cuenv", "12.4+cudnn9\n");
    assert!(fix("libcudnn_graph.so.9").starts_with("cuenv exec -- COMMAND"));
    assert!(fix("libcudnn.so.8").starts_with("cuenv use 12.4+cudnn8,"));
}

#[test]
fn a_library_of_the_driver_belongs_to_nobody_else() {
    let sandbox = Sandbox::new();
    let cause = cause(&sandbox, "libcuda.so.1");
    assert!(cause.contains("comes with the NVIDIA driver"), "{cause}");
    assert!(!fix(&sandbox, "libcuda.so.1").contains("cuenv use"));
}

#[test]
fn what_the_pin_has_is_not_asked_for_again() {
    let line = "OSError: CUDA_HOME environment variable is not set.";
    let sandbox = Sandbox::new();
    assert_eq!(fix(&sandbox, line), "cuenv use 12@devel, then `cuenv exec -- COMMAND`");
    sandbox.write(".cuenv", "12.4+cudnn9\n");
    assert_eq!(
        fix(&sandbox, line),
        "cuenv exec -- COMMAND (it sets CUDA_HOME; a build wants `cuenv use 12.4+cudnn9@devel` first)"
    );
    sandbox.write(".cuenv", "12.4+cudnn9@devel\n");
    assert_eq!(fix(&sandbox, line), "cuenv exec -- COMMAND");
}

#[test]
fn an_older_cudnn_is_compared_and_moved() {
    let line = "Loaded runtime CuDNN library: 9.1.0 but source was compiled with: 9.8.0.";
    let sandbox = Sandbox::new();
    assert!(cause(&sandbox, line).contains("cuDNN 9.1.0 was loaded"), "{}", cause(&sandbox, line));
    // A stranger's came first.
    assert_eq!(fix(&sandbox, line), "env -u LD_LIBRARY_PATH cuenv exec -- COMMAND");
    sandbox.write(".cuenv", "12.4+cudnn9.1\n");
    assert_eq!(fix(&sandbox, line), "cuenv use 12.4+cudnn9.8, then `cuenv exec -- COMMAND`");
    sandbox.write(".cuenv", "12.4+cudnn9\n");
    let older = "Loaded runtime CuDNN library: 8.9.2 but source was compiled with: 9.1.0.";
    assert_eq!(fix(&sandbox, older), "cuenv exec -- COMMAND");
    sandbox.write(".cuenv", "12.4+cudnn9.1\n");
    let torch = "cuDNN version incompatibility: PyTorch was compiled  against (9, 10, 2) but found runtime version (9, 1, 0)";
    assert_eq!(fix(&sandbox, torch), "cuenv use 12.4+cudnn9.10, then `cuenv exec -- COMMAND`");
    let jax = "Found cuDNN version 90100, but JAX was built against version 90800, which is newer.";
    assert_eq!(fix(&sandbox, jax), "cuenv use 12.4+cudnn9.8, then `cuenv exec -- COMMAND`");
}

#[test]
fn a_gpu_may_be_newer_or_older_than_a_build() {
    let sandbox = Sandbox::new();
    let new = "NVIDIA H100 PCIe with CUDA capability sm_90 is not compatible with the current PyTorch installation.\nThe current PyTorch install supports CUDA capabilities sm_37 sm_50 sm_60 sm_70 sm_75 sm_80 sm_86.";
    assert!(cause(&sandbox, new).contains("(compute capability 9.0) is newer than this build"));
    assert!(cause(&sandbox, new).contains("CUDA 11.8 is the first"), "{}", cause(&sandbox, new));
    let old = "Found GPU0 Tesla K80 which is of cuda capability 3.7.\nPyTorch no longer supports this GPU because it is too old.\nThe minimum cuda capability supported by this library is 5.0.";
    assert!(cause(&sandbox, old).contains("(compute capability 3.7) is older than this build"));
    assert!(cause(&sandbox, old).contains("CUDA 11.8 is the last"), "{}", cause(&sandbox, old));
    // Without a list the GPU itself decides.
    let v100 = "Tesla V100 with CUDA capability sm_70 is not compatible with the current PyTorch installation.";
    assert!(cause(&sandbox, v100).contains("is older than this build"));
    let blackwell = "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.";
    assert!(cause(&sandbox, blackwell).contains("is newer than this build"));
    assert!(
        fix(&sandbox, blackwell).starts_with("pip install 'torch=="),
        "{}",
        fix(&sandbox, blackwell)
    );
    let ptxas = "ptxas fatal   : Value 'sm_120' is not defined for option 'gpu-name'";
    // Wheels hold nvcc from CUDA 13 on.
    let nvcc = "nvcc fatal   : Unsupported gpu architecture 'compute_120'";
    assert_eq!(fix(&sandbox, nvcc), "cuenv use 13.0@devel, then `cuenv exec -- COMMAND`");
    let old = "nvcc fatal   : Unsupported gpu architecture 'compute_61'";
    assert!(fix(&sandbox, old).contains("cuenv link NAME PATH"), "{}", fix(&sandbox, old));
    sandbox.write(".cuenv", "12.4+cudnn9\n");
    assert_eq!(fix(&sandbox, ptxas), "cuenv use 12.8+cudnn9@devel, then `cuenv exec -- COMMAND`");
}

#[test]
fn a_drivers_number_is_decoded_to_what_it_allows() {
    let line = "The NVIDIA driver on your system is too old (found version 11040).";
    let sandbox = Sandbox::new();
    let why = cause(&sandbox, line);
    assert!(
        why.contains("supports CUDA up to 11.4: it runs every CUDA 11, and no CUDA 12"),
        "{why}"
    );
    assert!(fix(&sandbox, line).contains("driver 525.60.13 or later"), "{}", fix(&sandbox, line));
    // The pin is what is too new: one that runs, and that PyPI has.
    sandbox.write(".cuenv", "12.4+cudnn9.10\n");
    assert_eq!(fix(&sandbox, line), "cuenv use 11.8+cudnn9, then `cuenv exec -- COMMAND`");
    // Without a number this machine's driver counts.
    let sandbox = machine("470.57.02", "8.6");
    sandbox.write(".cuenv", "12.4\n");
    let line = "CUDA driver version is insufficient for CUDA runtime version";
    assert!(cause(&sandbox, line).contains("driver 470.57.02 here supports CUDA up to 11.4"));
    assert_eq!(fix(&sandbox, line), "cuenv use 11.8, then `cuenv exec -- COMMAND`");
    let sandbox = machine("550.54.15", "8.0");
    sandbox.write(".cuenv", "12.8@devel\n");
    let ptx = "the provided PTX was compiled with an unsupported toolchain.";
    assert_eq!(fix(&sandbox, ptx), "cuenv use 12.4@devel, then `cuenv exec -- COMMAND`");
}

#[test]
fn a_kernel_that_is_missing_is_laid_to_the_pin_where_that_is_at_fault() {
    let line = "CUDA error: no kernel image is available for execution on the device";
    let sandbox = machine("575.51.03", "12.0");
    sandbox.write(".cuenv", "12.4+cudnn9\n");
    assert_eq!(fix(&sandbox, line), "cuenv use 12.8+cudnn9, then `cuenv exec -- COMMAND`");
    let sandbox = machine("580.65.06", "6.1");
    sandbox.write(".cuenv", "13.0+cudnn9\n");
    assert_eq!(fix(&sandbox, line), "cuenv use 12.9+cudnn9, then `cuenv exec -- COMMAND`");
    // Elsewhere it is the program's: the build is named that has code for the GPU.
    let sandbox = machine("580.65.06", "9.0");
    let told = fix(&sandbox, line);
    assert!(told.starts_with("for torch: pip install 'torch==") && !told.contains("+cu"), "{told}");
    assert!(told.contains("-gencode arch=compute_90,code=sm_90"), "{told}");
    // PyPI has no torch for it any more, or never had.
    let old = fix(&machine("470.82.01", "3.7"), line);
    assert!(!old.contains("pip install 'torch==") || !old.contains("+cu"), "{old}");
    let nowhere = fix(&machine("none", "none"), line);
    assert!(
        nowhere.contains("CUENV_COMPUTE_CAPABILITY=") && !nowhere.contains("cuenv doctor"),
        "{nowhere}"
    );
}

#[test]
fn no_fix_asks_pip_for_a_build_that_its_index_does_not_have() {
    for line in [
        "AssertionError: Torch not compiled with CUDA enabled",
        "RuntimeError: Distributed package doesn't have NCCL built in",
    ] {
        let fix = fix(&Sandbox::new(), line);
        assert!(fix.contains("pip install") && !fix.contains("+cu"), "{fix}");
    }
}

#[test]
fn the_old_findcuda_wants_a_compiler() {
    let line = "Could NOT find CUDA (missing: CUDA_TOOLKIT_ROOT_DIR CUDA_NVCC_EXECUTABLE)";
    let fix = fix(&Sandbox::new(), line);
    assert!(fix.starts_with("cuenv use 13@devel, then "), "{fix}");
}

#[test]
fn memory_is_not_the_toolchains_fault() {
    let told = first(&Sandbox::new(), "CUDA out of memory. Tried to allocate 20.00 MiB");
    assert!(told["cause"].as_str().unwrap().contains("neither the toolchain nor the driver"));
    assert!(!told["fix"].as_str().unwrap().contains("cuenv"), "{told}");
}

fn log(sandbox: &Sandbox, args: &[&str], log: &str) -> Ran {
    let mut child = sandbox
        .command(cuenv())
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(log.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_log_is_read_from_standard_input_and_each_kind_is_told_once() {
    let sandbox = Sandbox::new();
    let text = "starting\nCUDA out of memory\nsomething else\nCUDA out of memory\nlibcudnn.so.8: cannot open shared object file\n";
    let text = log(&sandbox, &["explain", "-"], text).stdout;
    assert_eq!(text.matches("  why: ").count(), 2, "{text}");
    assert_eq!(text.matches("  fix: ").count(), 2, "{text}");
}

#[test]
fn the_deepest_cause_of_a_log_comes_first_with_the_one_command() {
    let sandbox = Sandbox::new();
    let tensorflow = "\
2024-01-01 I successful NUMA node read from SysFS had negative value (-1)
2024-01-01 W Could not load dynamic library 'libcublas.so.11'; dlerror: libcublas.so.11: cannot open shared object file
2024-01-01 W Could not load dynamic library 'libcudnn.so.8'; dlerror: libcudnn.so.8: cannot open shared object file
2024-01-01 W Could not load dynamic library 'libcudnn.so.8'; dlerror: libcudnn.so.8: cannot open shared object file
2024-01-01 W Cannot dlopen some GPU libraries. Please make sure the missing libraries mentioned above are installed properly
Skipping registering GPU devices...
Aborted (core dumped)
";
    let json = log(&sandbox, &["explain", "--json"], tensorflow).json();
    let all = json["explanations"].as_array().unwrap();
    let ids: Vec<&str> = all.iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["library", "tf-skip", "abort", "tf-numa"]);
    assert!(
        all[0]["cause"].as_str().unwrap().starts_with("`libcublas.so.11`, `libcudnn.so.8` belong")
    );
    assert_eq!(all[0]["fix"], "cuenv use 11.8+cudnn8, then `cuenv exec -- COMMAND`");
    assert!(all[1..].iter().all(|one| one["fix"].is_null()), "{all:#?}");
    let text = log(&sandbox, &["explain"], tensorflow).stdout;
    assert_eq!(text.matches("fix: ").count(), 1, "{text}");
    assert!(text.contains("follows from the above") && text.contains("nothing has to be done"));
    // Whisper: the front of cuDNN says twice that a part is missing.
    let whisper = "\
Unable to load any of {libcudnn_ops.so.9.1.0, libcudnn_ops.so.9.1, libcudnn_ops.so.9, libcudnn_ops.so}
Invalid handle. Cannot load symbol cudnnCreateTensorDescriptor
Aborted (core dumped)
";
    let text = log(&sandbox, &["explain"], whisper).stdout;
    assert!(text.contains("fix: cuenv use 12+cudnn9, then"), "{text}");
    assert_eq!(text.matches("fix: ").count(), 1, "{text}");
    // Two majors: no pin brings both, and each is told.
    let two = "libcublas.so.11: cannot open shared object file\nlibcufft.so.12: cannot open shared object file\n";
    let text = log(&sandbox, &["explain"], two).stdout;
    assert!(text.contains("cuenv use 11.8") && text.contains("cuenv use 13"), "{text}");
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
    let ends = text.matches("\nfix = \"cuenv doctor\"").count();
    println!("{count} kinds of lines");
    assert!(count >= 80);
    assert_eq!(ends, 0, "a fix that is a question");
}
