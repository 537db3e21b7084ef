//! The text of a pin, written over the one that is there.

use std::fmt::Write as _;

/// Returns the pin's new text: `before` with the spec replaced, its comments and other keys kept. `venv` sets the
/// policy; `None` keeps what is there.
pub(super) fn rewrite(before: Option<&str>, spec: &str, venv: Option<&str>) -> String {
    let before = before.unwrap_or_default();
    let is_toml = before
        .lines()
        .map(str::trim)
        .any(|line| !line.starts_with('#') && (line.contains('=') || line.starts_with('[')));
    if is_toml || venv.is_some() { toml(before, is_toml, spec, venv) } else { line(before, spec) }
}

fn line(before: &str, spec: &str) -> String {
    let mut out = String::new();
    let mut written = false;
    for old in before.lines() {
        let code = old.split('#').next().unwrap_or_default().trim();
        if code.is_empty() {
            out.push_str(old);
        } else {
            let comment = old.find('#').map(|at| &old[at..]);
            out.push_str(spec);
            if let Some(comment) = comment {
                let _ = write!(out, "  {comment}");
            }
            written = true;
        }
        out.push('\n');
    }
    if !written {
        let _ = writeln!(out, "{spec}");
    }
    out
}

fn toml(before: &str, was_toml: bool, spec: &str, venv: Option<&str>) -> String {
    let mut out = String::new();
    let mut open_array = false;
    let mut written = false;
    let write_head = |out: &mut String| {
        let _ = writeln!(out, "toolchain = \"{spec}\"");
        if let Some(venv) = venv {
            let _ = writeln!(out, "venv = \"{venv}\"");
        }
    };
    for old in before.lines() {
        let code = old.trim();
        if open_array {
            open_array = !code.contains(']');
            continue;
        }
        if !was_toml && !code.is_empty() && !code.starts_with('#') {
            continue;
        }
        if code.starts_with('[') && !written {
            write_head(&mut out);
            written = true;
        }
        let key = code.split('=').next().unwrap_or_default().trim();
        match key {
            "toolchain" if !written => {
                write_head(&mut out);
                written = true;
            }
            // The spec holds them now.
            "toolchain" | "profile" => {}
            "components" => open_array = code.contains('[') && !code.contains(']'),
            "venv" if venv.is_some() => {}
            _ => {
                out.push_str(old);
                out.push('\n');
            }
        }
    }
    if !written {
        write_head(&mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::rewrite;
    use shims::pin::Pin;

    #[test]
    fn the_one_line_form_keeps_comments() {
        assert_eq!(rewrite(None, "12.4+cudnn9", None), "12.4+cudnn9\n");
        let before = "# ours\n\n11.8+cudnn8  # ctranslate2\n";
        assert_eq!(rewrite(Some(before), "12.4", None), "# ours\n\n12.4  # ctranslate2\n");
    }

    #[test]
    fn the_toml_form_keeps_other_keys_and_drops_what_the_spec_says() {
        let before = "# ours\ntoolchain = \"11.8\"\ncomponents = [\n  \"nccl2\",\n]\nprofile = \"base\"\nvenv = \"off\"\n[x]\ny = \"z\"\n";
        let after = rewrite(Some(before), "12.4+cudnn9@devel", None);
        assert_eq!(
            after,
            "# ours\ntoolchain = \"12.4+cudnn9@devel\"\nvenv = \"off\"\n[x]\ny = \"z\"\n"
        );
        assert_eq!(Pin::parse(&after).unwrap().spec(), "12.4+cudnn9@devel");
    }

    #[test]
    fn a_policy_turns_a_line_into_toml() {
        let after = rewrite(Some("# ours\n11.8\n"), "12.4", Some("override"));
        assert_eq!(after, "# ours\ntoolchain = \"12.4\"\nvenv = \"override\"\n");
        let again = rewrite(Some(&after), "12.6", Some("defer"));
        assert_eq!(again, "# ours\ntoolchain = \"12.6\"\nvenv = \"defer\"\n");
    }
}
