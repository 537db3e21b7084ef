use super::*;
use crate::domain::receipt::{File, Receipt};

fn wheel(name: &str, files: &[(&str, &str)]) -> Entry {
    Entry {
        path: format!("/store/{name}").into(),
        receipt: Receipt {
            file: format!("{name}-1.0-py3-none-manylinux2014_x86_64.whl"),
            size: 1,
            digest: Digest::of(name.as_bytes()),
            boot: String::new(),
            files: files
                .iter()
                .map(|(path, bytes)| File {
                    path: (*path).to_owned(),
                    size: bytes.len() as u64,
                    digest: Digest::of(bytes.as_bytes()),
                    executable: false,
                })
                .collect(),
        },
        foreign: false,
    }
}

fn links(plan: &Plan) -> Vec<String> {
    plan.steps
        .iter()
        .filter_map(|(path, step)| match step {
            Step::Link(target) => Some(format!("{path} -> {target}")),
            _ => None,
        })
        .collect()
}

#[test]
fn a_prefix_has_what_compilers_and_loaders_look_for() {
    let wheels = [
        wheel(
            "nvidia_cuda_nvrtc_cu12",
            &[
                ("nvidia/__init__.py", ""),
                ("nvidia/cuda_nvrtc/lib/libnvrtc.so.12", "rtc"),
                ("nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.4", "builtins"),
            ],
        ),
        wheel(
            "nvidia_cuda_nvcc_cu12",
            &[
                ("nvidia/cuda_nvcc/nvvm/lib64/libnvvm.so", "nvvm"),
                ("nvidia/cuda_nvcc/include/crt/host_config.h", "h"),
            ],
        ),
    ];
    let plan = plan(&wheels, "12.4.1", Target::LinuxX86_64).unwrap();
    assert_eq!(
        links(&plan),
        [
            "lib/libnvrtc-builtins.so -> libnvrtc-builtins.so.12.4",
            "lib/libnvrtc.so -> libnvrtc.so.12",
            "lib64/libnvrtc-builtins.so -> ../lib/libnvrtc-builtins.so.12.4",
            "lib64/libnvrtc-builtins.so.12.4 -> ../lib/libnvrtc-builtins.so.12.4",
            "lib64/libnvrtc.so -> ../lib/libnvrtc.so.12",
            "lib64/libnvrtc.so.12 -> ../lib/libnvrtc.so.12",
            "nvvm/lib64/libnvvm.so.4 -> libnvvm.so",
            "targets/x86_64-linux/include -> ../../include",
            "targets/x86_64-linux/lib -> ../../lib64",
        ]
    );
    assert_eq!(
        plan.steps["version.json"],
        Step::Text("{\"cuda\": {\"name\": \"CUDA SDK\", \"version\": \"12.4.1\"}}\n".into())
    );
}

#[test]
fn cuda_13_shows_libnvvm_where_it_used_to_be() {
    let wheels = [
        wheel("nvidia_nvvm", &[("nvidia/cu13/lib/libnvvm.so.4", "nvvm")]),
        wheel(
            "nvidia_cuda_sanitizer_api",
            &[("nvidia/cu13/compute-sanitizer/compute-sanitizer", "tool")],
        ),
        wheel("nvidia_cuda_cupti", &[("nvidia/cu13/include/cupti.h", "h")]),
    ];
    let plan = plan(&wheels, "13.0.2", Target::LinuxAarch64).unwrap();
    let links = links(&plan);
    for link in [
        "nvvm/lib64/libnvvm.so -> libnvvm.so.4",
        "nvvm/lib64/libnvvm.so.4 -> ../../lib/libnvvm.so.4",
        "bin/compute-sanitizer -> ../compute-sanitizer/compute-sanitizer",
        "targets/sbsa-linux/lib -> ../../lib64",
        "extras/CUPTI/lib64 -> ../../lib64",
    ] {
        assert!(links.contains(&link.to_owned()), "{link} in {links:?}");
    }
}

#[test]
fn the_same_bytes_twice_are_one_file_and_other_bytes_are_an_error() {
    let header = "nvidia/cuda_cupti/include/generated_cuda_meta.h";
    let one = wheel("nvidia_cuda_cupti_cu12", &[(header, "a")]);
    let same = wheel("nvidia_other_cu12", &[("nvidia/other/include/generated_cuda_meta.h", "a")]);
    let other = wheel("nvidia_other_cu12", &[("nvidia/other/include/generated_cuda_meta.h", "b")]);
    let target = Target::LinuxX86_64;
    assert!(plan(&[one.clone(), same], "12.4.1", target).is_ok());
    let error = plan(&[one.clone(), other], "12.4.1", target).unwrap_err();
    assert!(error.to_string().contains("generated_cuda_meta.h"), "{error}");
    // The one real clash: the sanitizer's headers differ from CUPTI's, so they live apart.
    let sanitizer = wheel(
        "nvidia_cuda_sanitizer_api_cu12",
        &[("nvidia/cuda_sanitizer_api/include/generated_cuda_meta.h", "b")],
    );
    assert!(plan(&[one, sanitizer], "12.4.1", target).is_ok());
}
