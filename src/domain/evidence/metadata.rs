//! The metadata of installed distributions: `*.dist-info/METADATA`, `torch/version.py`.

use super::requirements::package;
use super::{Package, Wanted};
use crate::domain::version::{PackageVersion, Version};
use crate::domain::wheel_name::normalise;

/// An installed distribution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Its name, normalised.
    pub distribution: String,
    /// Its version.
    pub version: PackageVersion,
    /// What it requires, with the extra that a requirement belongs to; other markers are dropped.
    pub requires: Vec<(Package, Option<String>)>,
}

/// Reads a `METADATA` file. Unlike the strict reader, it passes over requirements it does not understand: the file is
/// somebody else's, and one odd marker must not hide a framework.
pub fn parse(text: &str) -> Option<Installed> {
    let (mut name, mut version) = (None, None);
    let mut requires = Vec::new();
    for line in text.lines().take_while(|line| !line.trim().is_empty()) {
        let Some((field, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        match field.to_ascii_lowercase().as_str() {
            "name" => name = Some(normalise(value)),
            "version" => version = value.parse().ok(),
            "requires-dist" => {
                let (head, marker) = value.split_once(';').unwrap_or((value, ""));
                if let Some(package) = package(head, None) {
                    requires.push((package, extra_in(marker)));
                }
            }
            _ => {}
        }
    }
    Some(Installed { distribution: name?, version: version?, requires })
}

/// Returns the extra that a marker names: `extra == "and-cuda"`.
fn extra_in(marker: &str) -> Option<String> {
    let rest = marker.split_once("extra")?.1.trim_start().strip_prefix("==")?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    Some(normalise(rest[1..].split(quote).next()?))
}

/// Reads the CUDA that torch was built with from its `version.py`; `None` inside for a build without CUDA.
pub fn torch_cuda(text: &str) -> Option<Option<Version>> {
    let line = text.lines().find(|line| {
        line.trim_start().strip_prefix("cuda").is_some_and(|rest| {
            let rest = rest.trim_start();
            rest.starts_with(':') || rest.starts_with('=')
        })
    })?;
    let value = line.rsplit_once('=')?.1.trim();
    if value == "None" {
        return Some(None);
    }
    value.trim_matches(['\'', '"']).parse().ok().map(Some)
}

impl Installed {
    /// Returns the package as other files would name it.
    pub fn package(&self) -> Package {
        Package {
            distribution: self.distribution.clone(),
            extras: Vec::new(),
            version: Wanted::Exact(self.version.clone()),
            line: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_requirements_with_their_extras() {
        let text = "Metadata-Version: 2.1\nName: Tensor_Flow\nVersion: 2.16.1\nRequires-Dist: numpy<2\nRequires-Dist: nvidia-cudnn-cu12==8.9.7.29; extra == \"and-cuda\"\nRequires-Dist: odd; some_variable ~= 'x'\n\nRequires-Dist: body\n";
        let installed = parse(text).unwrap();
        assert_eq!(installed.distribution, "tensor-flow");
        let requires: Vec<_> = installed
            .requires
            .iter()
            .map(|(package, extra)| (package.distribution.as_str(), extra.as_deref()))
            .collect();
        assert_eq!(
            requires,
            [("numpy", None), ("nvidia-cudnn-cu12", Some("and-cuda")), ("odd", None)]
        );
        assert_eq!(parse("Name: x\n"), None);
    }

    #[test]
    fn reads_the_cuda_of_torch() {
        let text = "from typing import Optional\n__all__ = ['__version__', 'cuda']\n__version__ = '2.5.1+cu124'\ncuda: Optional[str] = '12.4'\n";
        assert_eq!(torch_cuda(text), Some(Some("12.4".parse().unwrap())));
        assert_eq!(torch_cuda("cuda = '11.8'\n"), Some(Some("11.8".parse().unwrap())));
        assert_eq!(torch_cuda("cuda: Optional[str] = None\n"), Some(None));
        assert_eq!(torch_cuda("hip = None\n"), None);
    }
}
