//! Poetry's version constraints (`^2.1`, `~2.1`, `2.1.*`), as PEP 440 specifiers.

use pep440_rs::VersionSpecifiers;

/// Reads a constraint; `None` when it is not one.
pub fn specifiers(text: &str) -> Option<VersionSpecifiers> {
    // Alternatives (`^1.0 || ^2.0`) are joined by what they have in common: nothing is known then.
    if text.contains('|') {
        return Some(VersionSpecifiers::empty());
    }
    let mut parts = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        parts.push(specifier(part)?);
    }
    parts.retain(|part| !part.is_empty());
    parts.join(",").parse().ok()
}

fn specifier(text: &str) -> Option<String> {
    if text == "*" || text == "latest" {
        return Some(String::new());
    }
    if let Some(version) = text.strip_prefix('^') {
        // The leftmost number that is not zero may not change.
        let numbers = numbers(version)?;
        let fixed = numbers.iter().position(|number| *number > 0).unwrap_or(numbers.len() - 1);
        return Some(format!(">={},<{}", version.trim(), next(&numbers, fixed)));
    }
    if let Some(version) = text.strip_prefix("~=") {
        return Some(format!("~={}", version.trim()));
    }
    if let Some(version) = text.strip_prefix('~') {
        let numbers = numbers(version)?;
        let fixed = usize::from(numbers.len() > 1);
        return Some(format!(">={},<{}", version.trim(), next(&numbers, fixed)));
    }
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return Some(format!("=={text}"));
    }
    if let Some(version) = text.strip_prefix('=').filter(|rest| !rest.starts_with('=')) {
        return Some(format!("=={}", version.trim()));
    }
    Some(text.to_owned())
}

fn numbers(version: &str) -> Option<Vec<u64>> {
    let head = version.trim().split(|c: char| !(c.is_ascii_digit() || c == '.')).next()?;
    head.split('.').map(|part| part.parse().ok()).collect()
}

fn next(numbers: &[u64], fixed: usize) -> String {
    let head = numbers.iter().take(fixed).map(u64::to_string);
    let last = numbers.get(fixed).copied().unwrap_or(0).saturating_add(1).to_string();
    head.chain(std::iter::once(last)).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_become_specifiers() {
        for (constraint, expected) in [
            ("^2.1", ">=2.1, <3"),
            ("^0.4.30", ">=0.4.30, <0.5"),
            ("^0.0.3", ">=0.0.3, <0.0.4"),
            ("^0", ">=0, <1"),
            ("~2.1", ">=2.1, <2.2"),
            ("~2", ">=2, <3"),
            ("2.4.1", "==2.4.1"),
            ("=2.4.1", "==2.4.1"),
            ("2.1.*", "==2.1.*"),
            (">=1.0,<2.0", ">=1.0, <2.0"),
            ("*", ""),
            ("^1 || ^2", ""),
        ] {
            let found = specifiers(constraint).unwrap_or_else(|| panic!("{constraint}"));
            assert_eq!(found.to_string(), expected, "{constraint}");
        }
        assert_eq!(specifiers("newest"), None);
        assert_eq!(specifiers("^"), None);
    }
}
