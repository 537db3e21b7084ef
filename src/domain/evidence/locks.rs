//! `uv.lock` and `poetry.lock`: exact versions.

use toml::{Table, Value};

use super::{Package, Wanted};
use crate::domain::wheel_name::normalise;

/// Reads the packages of a lock file of uv, Poetry or PDM; `None` when it is not TOML.
///
/// A lock may hold one package twice, for different platforms; all of them are returned, in order.
pub fn parse(text: &str) -> Option<Vec<Package>> {
    let table: Table = text.parse().ok()?;
    let packages = table.get("package").and_then(Value::as_array);
    Some(
        packages
            .into_iter()
            .flatten()
            .filter_map(Value::as_table)
            .filter_map(|package| {
                let version = package.get("version")?.as_str()?.parse().ok()?;
                Some(Package {
                    distribution: normalise(package.get("name")?.as_str()?),
                    extras: Vec::new(),
                    version: Wanted::Exact(version),
                    line: None,
                })
            })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_and_versions() {
        let text = r#"
version = 1
[[package]]
name = "torch"
version = "2.5.1+cu124"
source = { registry = "https://index.example/whl/cu124" }
dependencies = [{ name = "numpy" }]
[[package]]
name = "my-project"
source = { editable = "." }
[[package]]
name = "Faster_Whisper"
version = "1.1.1"
"#;
        let found: Vec<_> = parse(text)
            .unwrap()
            .into_iter()
            .map(|package| (package.distribution, package.version))
            .collect();
        let exact = |text: &str| Wanted::Exact(text.parse().unwrap());
        assert_eq!(
            found,
            [
                ("torch".to_owned(), exact("2.5.1+cu124")),
                ("faster-whisper".to_owned(), exact("1.1.1"))
            ]
        );
        assert_eq!(parse("="), None);
    }
}
