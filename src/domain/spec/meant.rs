//! What was likely meant by a text that is no spec, or one of nothing: `cu124`, `124`, `cuda12.4`, `12.4.1-cudnn9`, an
//! image's tag.

use super::Spec;

/// Names of components that people write behind a release in these ways.
const COMPONENTS: [&str; 7] =
    ["cudnn", "nccl", "tensorrt", "cusparselt", "nvshmem", "cublas", "cufft"];
/// The end of an image's tag.
const SYSTEMS: [&str; 5] = ["ubuntu", "ubi", "rockylinux", "debian", "centos"];

/// Returns the spec that was likely meant; `None` when that is anybody's guess, or the text itself.
pub fn meant(text: &str) -> Option<String> {
    let lower = text.trim().to_ascii_lowercase().replace(',', ".");
    let tag = lower.rsplit(['/', ':']).next()?;
    let (mut cuda, mut components, mut profile) = (None, Vec::<String>::new(), None);
    for word in tag.split(['+', '-', '_', '@', ' ']).filter(|word| !word.is_empty()) {
        let digits_at = word.find(|c: char| c.is_ascii_digit()).unwrap_or(word.len());
        let (name, version) = word.split_at(digits_at);
        match name {
            "" | "cu" | "v" | "cuda" if cuda.is_none() && !version.is_empty() => {
                cuda = Some(dotted(version)?);
            }
            // `cudnn-9`: the version of what came before.
            "" if components
                .last()
                .is_some_and(|last| !last.ends_with(|c: char| c.is_ascii_digit())) =>
            {
                components.last_mut()?.push_str(version);
            }
            "cuda" if version.is_empty() => {}
            "base" | "runtime" | "devel" if version.is_empty() => profile = Some(name),
            name if COMPONENTS.contains(&name) => components.push(word.to_owned()),
            name if SYSTEMS.contains(&name) => {}
            _ => return None,
        }
    }
    let mut out = cuda?;
    for component in components {
        out.push('+');
        out.push_str(&component);
    }
    if let Some(profile) = profile {
        out.push('@');
        out.push_str(profile);
    }
    match out.parse() {
        Ok(spec @ Spec::Toolchain(_)) => Some(spec.to_string()).filter(|spec| spec != text),
        _ => None,
    }
}

/// Puts the dots into `124`, `118` and `1241`, as PyTorch's `cu124` leaves them out.
fn dotted(version: &str) -> Option<String> {
    if !version.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(version.to_owned());
    }
    match version.len() {
        1 | 2 => Some(version.to_owned()),
        3 => Some(format!("{}.{}", &version[..2], &version[2..])),
        4 => Some(format!("{}.{}.{}", &version[..2], &version[2..3], &version[3..])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::meant;

    #[test]
    fn what_people_write_leads_to_a_spec() {
        for (text, spec) in [
            ("cu124", "12.4"),
            ("124", "12.4"),
            ("118+cudnn8", "11.8+cudnn8"),
            ("1241", "12.4.1"),
            ("cuda12.4", "12.4"),
            ("CUDA-12.4", "12.4"),
            ("v12.4", "12.4"),
            ("12.4.1-cudnn9", "12.4.1+cudnn9"),
            ("12.4 cudnn9", "12.4+cudnn9"),
            ("12.4+cudnn-9", "12.4+cudnn9"),
            ("12,4", "12.4"),
            ("cu12", "12"),
            ("nvidia/cuda:12.4.1-cudnn-devel-ubuntu22.04", "12.4.1+cudnn@devel"),
            ("12.4-devel", "12.4@devel"),
        ] {
            assert_eq!(meant(text).as_deref(), Some(spec), "{text}");
        }
        for text in
            ["12.4", "13+cudnn8", "site", "site-12.4", "", "latest", "12.4+foo", "12..4", "99999"]
        {
            assert_eq!(meant(text), None, "{text}");
        }
    }
}
