//! Search path texts: splitting, `$ORIGIN` and its kind, plain path arithmetic.

/// What the tokens stand for.
pub(super) struct Tokens<'a> {
    pub(super) origin: &'a str,
    pub(super) lib: &'a str,
    pub(super) platform: Option<&'a str>,
    /// In a privileged process `$ORIGIN` counts at the start of an element only.
    pub(super) secure: bool,
}

impl Tokens<'_> {
    /// Replaces the tokens in one element; `None` where one has no value, which voids the element.
    pub(super) fn expand(&self, element: &str) -> Option<String> {
        let mut out = String::with_capacity(element.len() + self.origin.len());
        let mut rest = element;
        while let Some(dollar) = rest.find('$') {
            out.push_str(&rest[..dollar]);
            let at_start = out.is_empty();
            let tail = &rest[dollar + 1..];
            if let Some(length) = token(tail, "ORIGIN") {
                let ends = matches!(tail[length..].chars().next(), None | Some('/'));
                if self.secure && !(at_start && ends) {
                    return None;
                }
                out.push_str(self.origin);
                rest = &tail[length..];
            } else if let Some(length) = token(tail, "PLATFORM") {
                out.push_str(self.platform?);
                rest = &tail[length..];
            } else if let Some(length) = token(tail, "LIB") {
                out.push_str(self.lib);
                rest = &tail[length..];
            } else {
                out.push('$');
                rest = tail;
            }
        }
        out.push_str(rest);
        Some(out)
    }
}

/// Length of the token `name` (`NAME` or `{NAME}`) at the start of `text`.
fn token(text: &str, name: &str) -> Option<usize> {
    if let Some(inner) = text.strip_prefix('{') {
        return inner.strip_prefix(name)?.starts_with('}').then_some(name.len() + 2);
    }
    let rest = text.strip_prefix(name)?;
    let longer = rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_');
    (!longer).then_some(name.len())
}

/// A directory as the loader keeps it: one slash at its end, none for the current directory.
pub(super) fn with_slash(directory: &str) -> String {
    if directory.is_empty() {
        return String::new();
    }
    format!("{}/", directory.trim_end_matches('/'))
}

/// `path` seen from `cwd`; nothing is normalised.
pub(super) fn absolute(cwd: &str, path: &str) -> String {
    if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{}/{path}", cwd.trim_end_matches('/'))
    }
}

/// The directory part of an absolute path.
pub(super) fn parent(path: &str) -> &str {
    match path.rfind('/') {
        None | Some(0) => "/",
        Some(slash) => &path[..slash],
    }
}

/// `.`, `..` and double slashes taken out by text alone, as the loader does for its check of trusted directories.
pub(super) fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}
