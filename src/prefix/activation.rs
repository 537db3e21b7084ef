//! The activation file of a prefix.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::build::Request;
use super::plan::{Plan, Step};

/// Renders it.
pub(super) fn render(request: &Request<'_>, plan: &Plan) -> String {
    let mut text =
        format!("cuenv-activation 1\ntoolchain {}\nprefix {}\n", request.toolchain, request.name);
    for name in ["CUDA_HOME", "CUDA_PATH", "CUDAToolkit_ROOT"] {
        let _ = writeln!(text, "set {name} .");
    }
    if plan.steps.contains_key("include/cudnn.h") {
        text.push_str("set CUDNN_PATH .\n");
    }
    text.push_str("prepend PATH bin\nprepend LD_LIBRARY_PATH lib\n");
    text.push_str("build prepend CPATH include\nbuild prepend LIBRARY_PATH lib64\n");
    for (component, libraries) in components(request, plan) {
        let _ =
            writeln!(text, "component {component} .cuenv/lib/{component} {}", libraries.join(" "));
    }
    text
}

/// Returns the libraries of each component, by the wheel that brings them.
pub(super) fn components(request: &Request<'_>, plan: &Plan) -> BTreeMap<String, Vec<String>> {
    let mut components: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, step) in &plan.steps {
        let (Some(name), Step::File(origin)) = (path.strip_prefix("lib/"), step) else { continue };
        let component = component(request.wheels[origin.wheel].receipt.distribution().0);
        components.entry(component).or_default().push(name.to_owned());
    }
    if let Some(nvrtc) = components.get_mut("cuda-nvrtc") {
        nvrtc.push("libnvrtc.so".to_owned());
    }
    components
}

/// Returns `cudnn` for `nvidia_cudnn_cu12`.
fn component(distribution: &str) -> String {
    let name = distribution.to_ascii_lowercase().replace('_', "-");
    let name = name.strip_prefix("nvidia-").unwrap_or(&name);
    match name.rsplit_once("-cu") {
        Some((name, digits)) if digits.bytes().all(|byte| byte.is_ascii_digit()) => name.to_owned(),
        _ => name.to_owned(),
    }
}
