//! The activation file of a prefix.

use std::collections::BTreeMap;

use shims::activation::{Activation, ActivationError, COMPONENT_DIRECTORY, Component};

use super::build::Request;
use super::plan::{Plan, Step};

/// Writes it, in the shims' own grammar.
pub(super) fn render(request: &Request<'_>, plan: &Plan) -> Result<String, ActivationError> {
    let has_cudnn = plan.steps.contains_key("include/cudnn.h");
    let mut activation = Activation::standard(request.toolchain, request.name, has_cudnn);
    activation.components = components(request, plan)
        .into_iter()
        .map(|(name, libraries)| Component {
            directory: format!("{COMPONENT_DIRECTORY}/{name}").into(),
            name,
            libraries,
        })
        .collect();
    activation.render()
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
