//! The little that a shim must know of a spec: which texts can be one, and one spelling for each.
//!
//! A spec's text is a file name under `active/<target>/`, so its characters are few and it is never `..`.
//! `cuenv` itself parses specs fully; a test there holds both to the same canonical text.

/// Longest spec that is read, in bytes.
pub const MAX: usize = 200;

/// Steps aside: no toolchain.
pub const SYSTEM: &str = "system";
/// Stands for the user's default.
pub const DEFAULT: &str = "default";

/// Tells whether a text can be a spec: its characters, its first character and its length.
pub fn is_spec(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".+@_-".contains(&byte);
    !text.is_empty()
        && text.len() <= MAX
        && text.bytes().all(allowed)
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
}

/// Tells whether a text can be the name of a prefix: one path component with a spec's characters.
pub fn is_prefix_name(text: &str) -> bool {
    is_spec(text)
}

/// Returns the one spelling of a spec: cuDNN first, then the other components in order of name, then the profile.
pub fn canonical(text: &str) -> String {
    let (body, profile) = match text.split_once('@') {
        Some((body, profile)) => (body, Some(profile)),
        None => (text, None),
    };
    let mut parts = body.split('+');
    let mut out = parts.next().unwrap_or_default().to_owned();
    let mut components: Vec<&str> = parts.collect();
    // Names hold no digit, so the text up to the first digit is the name.
    let name = |part: &str| part.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    components.sort_by_key(|part| {
        let name = &part[..name(part)];
        (name != "cudnn", name.to_owned())
    });
    for component in components {
        out.push('+');
        out.push_str(component);
    }
    if let Some(profile) = profile {
        out.push('@');
        out.push_str(profile);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_are_specs() {
        for good in ["12.4+cudnn9", "auto", "system", "site-12.4", "12+cudnn9.1+nccl2@devel", "a_b"]
        {
            assert!(is_spec(good), "{good}");
        }
        for bad in ["", "..", ".x", "-n", "+x", "a/b", "a b", "$(id)", "a\nb", "ä", "@devel"] {
            assert!(!is_spec(bad), "{bad}");
        }
        assert!(!is_spec(&"1".repeat(MAX + 1)));
    }

    #[test]
    fn one_spelling_for_each_spec() {
        assert_eq!(canonical("12.4+nccl2.21+cudnn9@devel"), "12.4+cudnn9+nccl2.21@devel");
        assert_eq!(canonical("12.4+nvshmem+nccl"), "12.4+nccl+nvshmem");
        assert_eq!(canonical("system"), "system");
        assert_eq!(canonical(""), "");
    }
}
