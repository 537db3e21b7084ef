//! A small CUDA on a loopback index: metapackages that pin, components with true names, all of a few hundred bytes.

use super::index::Index;
use super::wheel::{Builder, Wheel};

/// One library component: distribution, version, path inside the wheel.
const CU12: &[(&str, &str, &str)] = &[
    ("nvidia-cuda-runtime-cu12", "12.4.127", "nvidia/cuda_runtime/lib/libcudart.so.12"),
    ("nvidia-cuda-nvrtc-cu12", "12.4.127", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"),
    ("nvidia-cublas-cu12", "12.4.5.8", "nvidia/cublas/lib/libcublas.so.12"),
];
const CU11: &[(&str, &str, &str)] = &[
    ("nvidia-cuda-runtime-cu11", "11.8.89", "nvidia/cuda_runtime/lib/libcudart.so.11.0"),
    ("nvidia-cuda-nvrtc-cu11", "11.8.89", "nvidia/cuda_nvrtc/lib/libnvrtc.so.11.2"),
    ("nvidia-cublas-cu11", "11.11.3.6", "nvidia/cublas/lib/libcublas.so.11"),
];
const CUDNN: &[(&str, &str, &str)] = &[
    ("nvidia-cudnn-cu12", "8.9.7.29", "nvidia/cudnn/lib/libcudnn.so.8"),
    ("nvidia-cudnn-cu12", "9.1.0.70", "nvidia/cudnn/lib/libcudnn.so.9"),
    ("nvidia-cudnn-cu12", "9.10.2.21", "nvidia/cudnn/lib/libcudnn.so.9"),
    ("nvidia-cudnn-cu12", "9.14.0.64", "nvidia/cudnn/lib/libcudnn.so.9"),
    ("nvidia-cudnn-cu11", "8.9.6.50", "nvidia/cudnn/lib/libcudnn.so.8"),
    ("nvidia-cudnn-cu11", "9.1.0.70", "nvidia/cudnn/lib/libcudnn.so.9"),
];

/// A component's wheel; the library's bytes tell distribution and version.
pub fn component(distribution: &str, version: &str, library: &str) -> Builder {
    let component = library.split('/').nth(1).unwrap();
    Builder::new(distribution, version)
        .file("nvidia/__init__.py", "")
        .file(&format!("nvidia/{component}/__init__.py"), "")
        .file(library, format!("{distribution} {version}"))
        .file(
            &format!("{}-{version}.dist-info/License.txt", distribution.replace('-', "_")),
            "EULA",
        )
}

/// The metapackage of a release: what its `all` extra pins.
pub fn metapackage(version: &str, parts: &[(&str, &str, &str)]) -> Wheel {
    let lines: Vec<String> = parts
        .iter()
        .map(|(distribution, version, _)| {
            format!("{distribution}=={version}.*; (sys_platform == \"linux\" or sys_platform == \"win32\") and extra == \"all\"")
        })
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    Builder::metapackage("cuda-toolkit", version, &lines).build()
}

/// Fills an index with CUDA 11.8.0, 12.4.1 and some cuDNN releases.
pub fn fill(index: &Index) {
    index.add(&metapackage("11.8.0", CU11));
    index.add(&metapackage("12.4.1", CU12));
    for (distribution, version, library) in CU11.iter().chain(CU12).chain(CUDNN) {
        index.add(&component(distribution, version, library).build());
    }
    // What real indexes list as well, and what must never be taken.
    index.add_bytes("nvidia-cudnn-cu12", "nvidia-cudnn-cu12-0.0.1.tar.gz", b"placeholder");
    index.add(&Builder::new("nvidia-cublas-cu12", "0.0.0a0").tags("py3-none-any").build());
    index.add(&Builder::new("nvidia-cudnn-cu12", "9.99.0.1.dev1").build());
}

/// An index that has them.
pub fn index() -> Index {
    let index = Index::start();
    fill(&index);
    index
}
