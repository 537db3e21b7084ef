//! Programs that ask for CUDA libraries: where their own files lie, and what they open by name.
//!
//! Needed names are read from the files; this table has what cannot be read: which file the interpreter opens first, and
//! names that are put together at run time.

/// A framework as the loader sees it.
pub(super) struct Consumer {
    /// Its name for people.
    pub(super) name: &'static str,
    /// Distributions that bring it; the first that is installed counts.
    pub(super) distributions: &'static [&'static str],
    /// Files that the interpreter opens, in order; a pattern may name several builds.
    pub(super) entries: &'static [&'static str],
    /// Names that it opens.
    pub(super) opens: Opens,
}

/// What a framework opens by name.
#[derive(Clone, Copy)]
pub(super) enum Opens {
    /// Nothing beyond what its files need.
    Nothing,
    /// What stands in the constants of the object whose name begins so.
    Constants(&'static str),
    /// The usual libraries of this CUDA major, and of this cuDNN major where it uses one.
    Usual(u64, Option<u64>),
    /// TensorFlow: as its release says.
    Tensorflow,
}

pub(super) const CONSUMERS: &[Consumer] = &[
    Consumer {
        name: "torch",
        distributions: &["torch"],
        entries: &[
            "torch/lib/libtorch_global_deps.so",
            "torch/_C.*.so",
            "torch/lib/libtorch_cuda.so",
        ],
        opens: Opens::Nothing,
    },
    Consumer {
        name: "onnxruntime",
        distributions: &["onnxruntime-gpu"],
        entries: &["onnxruntime/capi/libonnxruntime_providers_cuda.so"],
        opens: Opens::Nothing,
    },
    Consumer {
        name: "ctranslate2",
        distributions: &["ctranslate2"],
        entries: &["ctranslate2/_ext.*.so"],
        opens: Opens::Constants("libctranslate2"),
    },
    Consumer {
        name: "tensorflow",
        distributions: &["tensorflow", "tensorflow-gpu"],
        entries: &["tensorflow/libtensorflow_framework.so.2", "tensorflow/libtensorflow_cc.so.2"],
        opens: Opens::Tensorflow,
    },
    Consumer {
        name: "jax",
        distributions: &["jax-cuda12-plugin", "jax-cuda12-pjrt"],
        entries: &["jax_plugins/xla_cuda12/xla_cuda_plugin.so"],
        opens: Opens::Usual(12, Some(9)),
    },
    Consumer {
        name: "jax",
        distributions: &["jax-cuda13-plugin", "jax-cuda13-pjrt"],
        entries: &["jax_plugins/xla_cuda13/xla_cuda_plugin.so"],
        opens: Opens::Usual(13, Some(9)),
    },
    Consumer {
        name: "cupy",
        distributions: &["cupy-cuda11x"],
        entries: &["cupy_backends/cuda/_softlink.*.so"],
        opens: Opens::Usual(11, None),
    },
    Consumer {
        name: "cupy",
        distributions: &["cupy-cuda12x"],
        entries: &["cupy_backends/cuda/_softlink.*.so"],
        opens: Opens::Usual(12, None),
    },
    Consumer {
        name: "cupy",
        distributions: &["cupy-cuda13x"],
        entries: &["cupy_backends/cuda/_softlink.*.so"],
        opens: Opens::Usual(13, None),
    },
    Consumer {
        name: "paddle",
        distributions: &["paddlepaddle-gpu"],
        entries: &["paddle/base/libpaddle.so", "paddle/libs/libphi_core.so"],
        opens: Opens::Nothing,
    },
    Consumer {
        name: "vllm",
        distributions: &["vllm"],
        entries: &["vllm/_C.abi3.so"],
        opens: Opens::Nothing,
    },
    Consumer {
        name: "tensorrt",
        distributions: &["tensorrt", "tensorrt-cu12", "tensorrt-cu13"],
        entries: &["tensorrt_libs/libnvinfer.so.*"],
        opens: Opens::Nothing,
    },
    Consumer {
        name: "llama-cpp",
        distributions: &["llama-cpp-python"],
        entries: &["llama_cpp/lib/libggml-cuda.so"],
        opens: Opens::Nothing,
    },
    Consumer {
        name: "flash-attn",
        distributions: &["flash-attn"],
        entries: &["flash_attn_2_cuda.*.so"],
        opens: Opens::Nothing,
    },
    Consumer {
        name: "nvidia-cusparse",
        distributions: &["nvidia-cusparse-cu12"],
        entries: &["nvidia/cusparse/lib/libcusparse.so.12"],
        opens: Opens::Nothing,
    },
];

/// The libraries that most programs of a CUDA major open by name.
pub(super) fn usual(cuda_major: u64) -> &'static [&'static str] {
    match cuda_major {
        11 => &[
            "libcudart.so.11.0",
            "libcublas.so.11",
            "libcublasLt.so.11",
            "libcufft.so.10",
            "libcurand.so.10",
            "libcusolver.so.11",
            "libcusparse.so.11",
        ],
        12 => &[
            "libcudart.so.12",
            "libcublas.so.12",
            "libcublasLt.so.12",
            "libcufft.so.11",
            "libcurand.so.10",
            "libcusolver.so.11",
            "libcusparse.so.12",
        ],
        _ => &[
            "libcudart.so.13",
            "libcublas.so.13",
            "libcublasLt.so.13",
            "libcufft.so.12",
            "libcurand.so.10",
            "libcusolver.so.12",
            "libcusparse.so.12",
        ],
    }
}

/// The parts that a cuDNN opens by bare name at its first use.
pub(super) fn cudnn_parts(file_name: &str) -> &'static [&'static str] {
    if !file_name.starts_with("libcudnn") || file_name.starts_with("libcudnn_") {
        return &[];
    }
    if file_name.contains(".so.8") {
        &[
            "libcudnn_ops_infer.so.8",
            "libcudnn_cnn_infer.so.8",
            "libcudnn_adv_infer.so.8",
            "libcudnn_ops_train.so.8",
            "libcudnn_cnn_train.so.8",
            "libcudnn_adv_train.so.8",
        ]
    } else if file_name.contains(".so.9") {
        &[
            "libcudnn_graph.so.9",
            "libcudnn_ops.so.9",
            "libcudnn_cnn.so.9",
            "libcudnn_adv.so.9",
            "libcudnn_heuristic.so.9",
            "libcudnn_engines_precompiled.so.9",
            "libcudnn_engines_runtime_compiled.so.9",
        ]
    } else {
        &[]
    }
}

/// TensorFlow's CUDA and cuDNN majors, by its release.
pub(super) fn tensorflow(version: &str) -> (u64, u64) {
    let mut parts = version.split('.').map(|part| part.parse::<u64>().unwrap_or(0));
    let release = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    match release {
        (2, 18..) | (3.., _) => (12, 9),
        (2, 15..=17) => (12, 8),
        _ => (11, 8),
    }
}
