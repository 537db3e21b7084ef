//! Another machine in a directory: its `/proc`, `/sys` and `/dev`, and a driver whose libraries do as they are told.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A root that `CUENV_HOST_ROOT` points at.
pub struct FakeHost {
    root: tempfile::TempDir,
}

/// What the fake libraries do.
#[derive(Clone, Copy)]
pub enum Behaviour {
    /// Answer with driver 550.54.15, CUDA 12.4 and one GPU of capability 9.0.
    Answer,
    /// Return this code from the first call that initialises.
    Refuse(i32),
    /// Never return from it.
    Hang,
    /// Die in it.
    Crash,
    /// Die while being loaded.
    CrashOnLoad,
}

impl FakeHost {
    pub fn new() -> Self {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
        Self { root: tempfile::Builder::new().prefix("host").tempdir_in(base).unwrap() }
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    pub fn file(self, path: &str, text: &str) -> Self {
        let path = self.root.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// A loaded kernel module.
    pub fn driver(self, version: &str) -> Self {
        self.file("/sys/module/nvidia/version", &format!("{version}\n")).file("/dev/nvidiactl", "")
    }

    /// A GPU that the kernel module lists.
    pub fn gpu(self, bus: &str, model: &str) -> Self {
        let text = format!("Model: \t\t {model}\nIRQ:   \t\t 345\nGPU UUID: \t GPU-{bus}\n");
        self.file(&format!("/proc/driver/nvidia/gpus/{bus}/information"), &text)
    }

    /// A libcuda and an NVML, made with the C compiler.
    pub fn libraries(self, nvml: Behaviour, libcuda: Behaviour) -> Self {
        let directory = self.root.path().join("usr/lib/x86_64-linux-gnu");
        fs::create_dir_all(&directory).unwrap();
        let build = |name: &str, source: &str, behaviour: Behaviour| {
            let define = match behaviour {
                Behaviour::Answer => "ON_INIT=return 0".to_owned(),
                Behaviour::Refuse(code) => format!("ON_INIT=return {code}"),
                Behaviour::Hang => "ON_INIT=for (;;) pause()".to_owned(),
                Behaviour::Crash => "ON_INIT=abort()".to_owned(),
                Behaviour::CrashOnLoad => "ON_LOAD=*(volatile int *)0 = 0".to_owned(),
            };
            let path = directory.join(name);
            let status = Command::new("cc")
                .args(["-shared", "-fPIC", "-w", "-x", "c", "-"])
                .arg(format!("-D{define}"))
                .arg(format!("-Wl,-soname,{name}"))
                .arg("-o")
                .arg(&path)
                .stdin(source_file(&self.root, source))
                .status()
                .unwrap();
            assert!(status.success());
        };
        build("libnvidia-ml.so.1", NVML, nvml);
        build("libcuda.so.1", LIBCUDA, libcuda);
        self
    }

    /// A program in `/usr/bin` that prints `text`.
    pub fn nvidia_smi(self, text: &str) -> Self {
        use std::os::unix::fs::PermissionsExt as _;
        let this = self.file("/usr/bin/nvidia-smi", &format!("#!/bin/sh\necho '{text}'\n"));
        let path = this.root.path().join("usr/bin/nvidia-smi");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        this
    }

    pub fn library(&self, name: &str) -> PathBuf {
        self.root.path().join("usr/lib/x86_64-linux-gnu").join(name)
    }
}

fn source_file(root: &tempfile::TempDir, source: &str) -> fs::File {
    let path = root.path().join("source.c");
    fs::write(&path, format!("{HEAD}{source}")).unwrap();
    fs::File::open(path).unwrap()
}

const HEAD: &str = r#"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef ON_LOAD
__attribute__((constructor)) static void load(void) { ON_LOAD; }
#define ON_INIT return 0
#endif
"#;

const NVML: &str = r#"
int nvmlInit_v2(void) { ON_INIT; }
int nvmlSystemGetDriverVersion(char *s, unsigned n) { strcpy(s, "550.54.15"); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *v) { *v = 12040; return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = (void *)1; return 0; }
int nvmlDeviceGetName(void *d, char *s, unsigned n) { strcpy(s, "NVIDIA H100 80GB HBM3"); return 0; }
int nvmlDeviceGetUUID(void *d, char *s, unsigned n) { strcpy(s, "GPU-nvml"); return 0; }
int nvmlDeviceGetCudaComputeCapability(void *d, int *a, int *b) { *a = 9; *b = 0; return 0; }
"#;

const LIBCUDA: &str = r#"
int cuDriverGetVersion(int *v) { *v = 12040; return 0; }
int cuInit(unsigned f) { ON_INIT; }
int cuDeviceGetCount(int *n) { *n = 1; return 0; }
int cuDeviceGet(int *d, int i) { *d = i; return 0; }
int cuDeviceGetName(char *s, int n, int d) { strcpy(s, "NVIDIA H100 80GB HBM3"); return 0; }
int cuDeviceGetAttribute(int *v, int a, int d) { *v = a == 75 ? 9 : 0; return 0; }
"#;
