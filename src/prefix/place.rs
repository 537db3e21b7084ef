//! Where a file of a wheel goes in a prefix. Pure: names in, a path out.

/// Where one file goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    /// Nowhere: packaging, not toolkit.
    Nowhere,
    /// To this path.
    At(String),
}

/// Decides for `path` inside the wheel of `distribution` (normalised: lower case, `-`).
pub(super) fn place(distribution: &str, path: &str) -> Spot {
    let (first, rest) = path.split_once('/').unwrap_or(("", path));
    if first.ends_with(".dist-info") {
        return licence(distribution, rest);
    }
    if path.ends_with("/__init__.py") || path.contains("/.metadata/") {
        return Spot::Nowhere;
    }
    let inner = match (first, rest.split_once('/')) {
        // `nvidia/<component>/…` up to CUDA 12, `nvidia/cu13/…` from 13 on.
        ("nvidia", Some((_, inner))) => inner,
        // TensorRT brings its libraries as `tensorrt_libs/libnvinfer.so.10`.
        (folder, None) if folder.ends_with("_libs") && is_library(rest) => {
            return Spot::At(format!("lib/{rest}"));
        }
        // A Python package beside the toolkit's files is no part of a toolkit.
        _ => return Spot::Nowhere,
    };
    if distribution.contains("sanitizer") {
        let inner = inner.strip_prefix("compute-sanitizer/").unwrap_or(inner);
        return Spot::At(format!("compute-sanitizer/{inner}"));
    }
    let Some((folder, name)) = inner.split_once('/') else {
        return Spot::At(format!("share/doc/{distribution}/{inner}"));
    };
    if folder != "lib" {
        return Spot::At(inner.to_owned());
    }
    Spot::At(format!("{}/{name}", library_folder(name)))
}

/// The directory for a file of a wheel's `lib`. The library path holds NVIDIA's shared libraries and nothing else: what
/// would shadow the driver (`libcuda`), the distribution's own loader (`libOpenCL`, which CUDA 11 carries in the wheel of
/// its runtime) or the compiler's run time goes beside it.
fn library_folder(name: &str) -> &'static str {
    const DRIVER: [&str; 2] = ["libcuda.so", "libnvidia-"];
    const COMPILER: [&str; 4] = ["libstdc++.so", "libgcc_s.so", "libgomp.so", "libc.so"];
    let begins = |names: &[&str]| names.iter().any(|known| name.starts_with(known));
    if name.starts_with("libOpenCL.so") {
        "opencl/lib"
    } else if begins(&DRIVER) {
        "lib64/stubs"
    } else if begins(&COMPILER) {
        "share/withheld"
    } else if is_library(name) && !name.contains('/') {
        "lib"
    } else {
        "lib64"
    }
}

fn licence(distribution: &str, rest: &str) -> Spot {
    let name = rest.rsplit('/').next().unwrap_or(rest);
    let lower = name.to_ascii_lowercase();
    let is_licence = rest.starts_with("licenses/")
        || ["license", "licence", "notice", "copying", "third_party"]
            .iter()
            .any(|word| lower.starts_with(word));
    if is_licence { Spot::At(format!("LICENSES/{distribution}/{name}")) } else { Spot::Nowhere }
}

/// Tells whether a file name is a shared library's: `libX.so` or `libX.so.N…`.
pub(super) fn is_library(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    name.strip_suffix(".so").is_some() || stem_of_soname(name).is_some()
}

/// Returns `libX.so` for `libX.so.N…`, where every part after it is a number.
pub(super) fn stem_of_soname(name: &str) -> Option<&str> {
    let at = name.find(".so.")?;
    let version = &name[at + 4..];
    let numeric = version
        .split('.')
        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    numeric.then(|| &name[..at + 3])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_three_layouts() {
        let cases = [
            ("nvidia-cublas-cu12", "nvidia/cublas/lib/libcublas.so.12", "lib/libcublas.so.12"),
            ("nvidia-cublas", "nvidia/cu13/lib/libcublas.so.13", "lib/libcublas.so.13"),
            ("nvidia-cudnn-cu13", "nvidia/cudnn/include/cudnn.h", "include/cudnn.h"),
            (
                "nvidia-cuda-cupti-cu12",
                "nvidia/cuda_cupti/lib/libnvperf_host.so",
                "lib/libnvperf_host.so",
            ),
            (
                "nvidia-cuda-runtime",
                "nvidia/cu13/lib/libcudart_static.a",
                "lib64/libcudart_static.a",
            ),
            ("nvidia-nccl-cu12", "nvidia/nccl/lib/cmake/x.cmake", "lib64/cmake/x.cmake"),
            (
                "nvidia-cuda-nvcc-cu12",
                "nvidia/cuda_nvcc/nvvm/lib64/libnvvm.so",
                "nvvm/lib64/libnvvm.so",
            ),
            ("nvidia-cuda-nvcc-cu12", "nvidia/cuda_nvcc/bin/ptxas", "bin/ptxas"),
            (
                "nvidia-cuda-sanitizer-api-cu12",
                "nvidia/cuda_sanitizer_api/include/a.h",
                "compute-sanitizer/include/a.h",
            ),
            ("nvidia-cuda-sanitizer-api", "nvidia/cu13/compute-sanitizer/x", "compute-sanitizer/x"),
            (
                "nvidia-cuda-opencl-cu12",
                "nvidia/cuda_opencl/lib/libOpenCL.so.1",
                "opencl/lib/libOpenCL.so.1",
            ),
            ("nvidia-cuda-opencl-cu12", "nvidia/cuda_opencl/include/CL/cl.h", "include/CL/cl.h"),
            (
                "nvidia-cuda-runtime-cu11",
                "nvidia/cuda_runtime/lib/libOpenCL.so.1",
                "opencl/lib/libOpenCL.so.1",
            ),
            ("x", "nvidia/x/lib/libstdc++.so.6", "share/withheld/libstdc++.so.6"),
            ("x", "nvidia/x/lib/libnvidia-ml.so.1", "lib64/stubs/libnvidia-ml.so.1"),
            ("x", "nvidia/x/lib/libcuda.so.1", "lib64/stubs/libcuda.so.1"),
            ("x", "nvidia/x/lib/stubs/libcuda.so", "lib64/stubs/libcuda.so"),
            (
                "nvidia-nvshmem-cu12",
                "nvidia/nvshmem/LICENSE.txt",
                "share/doc/nvidia-nvshmem-cu12/LICENSE.txt",
            ),
            (
                "nvidia-cudnn-cu12",
                "nvidia_cudnn_cu12-9.1.dist-info/License.txt",
                "LICENSES/nvidia-cudnn-cu12/License.txt",
            ),
            (
                "nvidia-cublas",
                "nvidia_cublas-13.dist-info/licenses/License.txt",
                "LICENSES/nvidia-cublas/License.txt",
            ),
            ("tensorrt-cu12-libs", "tensorrt_libs/libnvinfer.so.10", "lib/libnvinfer.so.10"),
        ];
        for (distribution, path, at) in cases {
            assert_eq!(place(distribution, path), Spot::At(at.to_owned()), "{path}");
        }
        for path in [
            "nvidia/__init__.py",
            "nvidia/cublas/lib/__init__.py",
            "nvidia/cu13/.metadata/x.json",
            "nvidia_cublas-13.dist-info/RECORD",
            "tensorrt_libs/__init__.py",
            "_distutils_hack.pth",
        ] {
            assert_eq!(place("x", path), Spot::Nowhere, "{path}");
        }
    }

    #[test]
    fn sonames_end_in_numbers() {
        assert_eq!(stem_of_soname("libcudart.so.11.0"), Some("libcudart.so"));
        assert_eq!(stem_of_soname("libnvrtc.alt.so.12"), Some("libnvrtc.alt.so"));
        assert_eq!(stem_of_soname("libx.so"), None);
        assert_eq!(stem_of_soname("libx.so.1.debug"), None);
        assert_eq!(stem_of_soname("libx.so."), None);
    }
}
