//! `pyproject.toml`: dependencies as the standard, uv, Poetry and pixi write them.

use toml::{Table, Value};

use super::requirements::package;
use super::{Package, Wanted, label_in, poetry};
use crate::domain::wheel_name::normalise;

/// What one file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pyproject {
    /// The packages.
    pub packages: Vec<Package>,
    /// The label of the CUDA build that an index of the project carries.
    pub label: Option<String>,
}

/// Reads a `pyproject.toml`; `None` when it is not TOML.
pub fn parse(text: &str) -> Option<Pyproject> {
    let table: Table = text.parse().ok()?;
    let mut found = Pyproject::default();
    let project = at(&table, &["project"]);
    list(project.and_then(|project| project.get("dependencies")), &mut found.packages);
    if let Some(extras) = at(&table, &["project", "optional-dependencies"]) {
        extras.values().for_each(|extra| list(Some(extra), &mut found.packages));
    }
    if let Some(groups) = at(&table, &["dependency-groups"]) {
        groups.values().for_each(|group| list(Some(group), &mut found.packages));
    }
    if let Some(uv) = at(&table, &["tool", "uv"]) {
        list(uv.get("dev-dependencies"), &mut found.packages);
    }
    poetry_tables(&table, &mut found.packages);
    for path in [&["tool", "pixi", "dependencies"][..], &["tool", "pixi", "pypi-dependencies"]] {
        if let Some(dependencies) = at(&table, path) {
            found.packages.extend(dependencies.iter().filter_map(poetry_package));
        }
    }
    found.label = label(&table);
    Some(found)
}

fn at<'a>(table: &'a Table, path: &[&str]) -> Option<&'a Table> {
    path.iter().try_fold(table, |table, key| table.get(*key)?.as_table())
}

fn list(value: Option<&Value>, into: &mut Vec<Package>) {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    into.extend(items.filter_map(Value::as_str).filter_map(|text| package(text, None)));
}

fn poetry_tables(table: &Table, into: &mut Vec<Package>) {
    let Some(poetry) = at(table, &["tool", "poetry"]) else { return };
    let groups = poetry.get("group").and_then(Value::as_table);
    let groups = groups.into_iter().flat_map(Table::values).filter_map(Value::as_table);
    for holder in std::iter::once(poetry).chain(groups) {
        if let Some(dependencies) = holder.get("dependencies").and_then(Value::as_table) {
            into.extend(dependencies.iter().filter_map(poetry_package));
        }
    }
}

fn poetry_package((name, value): (&String, &Value)) -> Option<Package> {
    if name == "python" {
        return None;
    }
    let (text, extras) = match value {
        Value::String(text) => (text.as_str(), Vec::new()),
        Value::Table(table) => {
            let extras = table.get("extras").and_then(Value::as_array);
            let extras = extras.into_iter().flatten().filter_map(Value::as_str).map(normalise);
            // An address of a wheel names the version in its file.
            if let Some(address) = table.get("url").and_then(Value::as_str) {
                return package(&format!("{name} @ {address}"), None);
            }
            (table.get("version").and_then(Value::as_str).unwrap_or("*"), extras.collect())
        }
        _ => return None,
    };
    Some(Package {
        distribution: normalise(name),
        extras,
        version: Wanted::of(poetry::specifiers(text)?),
        line: None,
    })
}

/// Finds the label in the project's indexes: the addresses of uv, Poetry and PDM, and the names that uv's sources use.
fn label(table: &Table) -> Option<String> {
    let mut texts = Vec::new();
    for path in
        [&["tool", "uv", "index"][..], &["tool", "poetry", "source"], &["tool", "pdm", "source"]]
    {
        let (last, parents) = path.split_last()?;
        let items = at(table, parents).and_then(|parent| parent.get(*last)?.as_array());
        for item in items.into_iter().flatten().filter_map(Value::as_table) {
            texts.extend(["url", "name"].into_iter().filter_map(|key| item.get(key)?.as_str()));
        }
    }
    if let Some(uv) = at(table, &["tool", "uv"]) {
        texts.extend(["index-url"].into_iter().filter_map(|key| uv.get(key)?.as_str()));
        let extra = uv.get("extra-index-url").and_then(Value::as_array);
        texts.extend(extra.into_iter().flatten().filter_map(Value::as_str));
    }
    texts.into_iter().find_map(label_in)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let mut names: Vec<String> = parse(text)
            .unwrap()
            .packages
            .iter()
            .map(|package| match &package.version {
                Wanted::Exact(version) => format!("{}=={version}", package.distribution),
                Wanted::Range(range) => format!("{}{range}", package.distribution),
            })
            .collect();
        names.sort();
        names
    }

    #[test]
    fn reads_the_standard_and_uv() {
        let text = r#"
[project]
dependencies = ["torch==2.5.1", "numpy"]
[project.optional-dependencies]
asr = ["faster-whisper>=1.1"]
[dependency-groups]
dev = ["pytest", {include-group = "lint"}]
[tool.uv]
dev-dependencies = ["cupy-cuda12x==13.3.0"]
[[tool.uv.index]]
name = "pytorch-cu124"
url = "https://index.example/whl/cu124"
explicit = true
"#;
        assert_eq!(
            names(text),
            ["cupy-cuda12x==13.3.0", "faster-whisper>=1.1", "numpy", "pytest", "torch==2.5.1"]
        );
        assert_eq!(parse(text).unwrap().label.as_deref(), Some("cu124"));
    }

    #[test]
    fn reads_poetry() {
        let text = r#"
[tool.poetry.dependencies]
python = "^3.11"
torch = {version = "2.4.1", source = "pytorch"}
tensorflow = {version = "^2.16", extras = ["and-cuda"]}
jax = "~0.4.30"
[tool.poetry.group.gpu.dependencies]
onnxruntime-gpu = "1.20.1"
[[tool.poetry.source]]
name = "pytorch"
url = "https://index.example/whl/cu121"
"#;
        assert_eq!(
            names(text),
            [
                "jax>=0.4.30, <0.5",
                "onnxruntime-gpu==1.20.1",
                "tensorflow>=2.16, <3",
                "torch==2.4.1"
            ]
        );
        let found = parse(text).unwrap();
        assert_eq!(found.label.as_deref(), Some("cu121"));
        let tensorflow = found.packages.iter().find(|package| package.distribution == "tensorflow");
        assert_eq!(tensorflow.unwrap().extras, ["and-cuda"]);
    }

    #[test]
    fn what_is_not_toml_says_nothing() {
        assert_eq!(parse("[project\n"), None);
        assert_eq!(parse("").unwrap(), Pyproject::default());
    }
}
