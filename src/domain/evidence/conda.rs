//! `environment.yml`: the part of YAML that conda's environment files use.

use super::requirements::package;
use super::{Package, Wanted};
use crate::domain::version::Version;
use crate::domain::wheel_name::normalise;

/// What one file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// Python packages, of conda and of its `pip:` section, under their names on PyPI.
    pub packages: Vec<Package>,
    /// CUDA itself, where a package of conda names it: `cudatoolkit`, `cuda-version`, `pytorch-cuda`.
    pub cuda: Vec<Named>,
    /// cuDNN itself.
    pub cudnn: Vec<Named>,
}

/// A version that a package of conda stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The package.
    pub package: String,
    /// The version, perhaps partial.
    pub version: Version,
    /// The line that names it, counted from one.
    pub line: usize,
}

const CUDA: [&str; 6] =
    ["cudatoolkit", "cuda-version", "cuda-toolkit", "pytorch-cuda", "cuda", "cuda-runtime"];

/// Reads an environment file.
pub fn parse(text: &str) -> Environment {
    let mut found = Environment::default();
    let mut pip_indent = None;
    let mut inside = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.split(" #").next().unwrap_or(line);
        let trimmed = line.trim();
        let indent = line.len() - line.trim_start().len();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        if indent == 0 && !trimmed.starts_with('-') {
            inside = trimmed.starts_with("dependencies:");
            pip_indent = None;
            continue;
        }
        let Some(item) = trimmed.strip_prefix('-').map(str::trim).filter(|_| inside) else {
            continue;
        };
        let item = item.trim_matches(['"', '\'']);
        if pip_indent.is_some_and(|pip| indent <= pip) {
            pip_indent = None;
        }
        if item == "pip:" {
            pip_indent = Some(indent);
        } else if pip_indent.is_some() {
            found.packages.extend(package(item, Some(index + 1)));
        } else {
            read_item(item, index + 1, &mut found);
        }
    }
    found
}

fn read_item(item: &str, line: usize, found: &mut Environment) {
    // A channel may stand before the name, a build after the version: `pytorch::pytorch=2.4.1=py3.11_cuda12.1_0`.
    let item = item.rsplit("::").next().unwrap_or(item).trim();
    let end = item.find(['=', '<', '>', '!', '~', ' ']).unwrap_or(item.len());
    let name = normalise(item[..end].trim());
    let rest = item[end..].trim();
    let (version, build) = match rest.trim_start_matches('=').split_once('=') {
        Some((version, build)) if rest.starts_with('=') => (version, build),
        _ => (rest.trim_start_matches('='), ""),
    };
    let number = version.trim().trim_end_matches(".*").trim_end_matches('*');
    let exact = rest.starts_with('=') || rest.is_empty();
    if exact && let Ok(version) = number.parse::<Version>() {
        let named = || Named { package: name.clone(), version: version.clone(), line };
        if CUDA.contains(&name.as_str()) {
            found.cuda.push(named());
            return;
        }
        if name == "cudnn" {
            found.cudnn.push(named());
            return;
        }
    }
    // Builds of conda-forge and pytorch name the CUDA they are for: `cuda12.1`, `cuda120`.
    if let Some(version) = cuda_of_build(build) {
        found.cuda.push(Named { package: name.clone(), version, line });
    }
    let distribution = match name.as_str() {
        "pytorch" | "pytorch-gpu" => "torch".to_owned(),
        "tensorflow-gpu" => "tensorflow".to_owned(),
        "onnxruntime" if build.contains("cuda") => "onnxruntime-gpu".to_owned(),
        _ => name,
    };
    let specifiers = if rest.is_empty() {
        String::new()
    } else if exact {
        format!(
            "=={}",
            if number.matches('.').count() < 2 { format!("{number}.*") } else { number.to_owned() }
        )
    } else {
        rest.to_owned()
    };
    if let Ok(specifiers) = specifiers.parse() {
        found.packages.push(Package {
            distribution,
            extras: Vec::new(),
            version: Wanted::of(specifiers),
            line: Some(line),
        });
    }
}

fn cuda_of_build(build: &str) -> Option<Version> {
    let rest = build.split_once("cuda")?.1.trim_start_matches('_');
    let digits: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let digits = digits.trim_end_matches('.');
    if digits.contains('.') {
        return digits.parse().ok();
    }
    // `cuda120` is 12.0, `cuda12` is 12.
    let (major, minor) = digits.split_at_checked(2)?;
    match minor {
        "" => major.parse().ok(),
        minor => format!("{major}.{minor}").parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_conda_and_its_pip_section() {
        let text = "\
name: asr
channels:
  - pytorch
dependencies:
  - python=3.11
  - pytorch::pytorch=2.4.1=py3.11_cuda12.1_cudnn9.1.0_0
  - pytorch-cuda=12.1   # says it again
  - cudatoolkit=11.8
  - cudnn=8.9
  - tensorflow-gpu>=2.15
  - \"jaxlib=0.4.30=*cuda120*\"
  - pip
  - pip:
    - faster-whisper==1.1.1
    - onnxruntime-gpu>=1.20
  - numpy
variables:
  - torch==9
";
        let found = parse(text);
        let packages: Vec<String> = found
            .packages
            .iter()
            .map(|package| match &package.version {
                Wanted::Exact(version) => format!("{}=={version}", package.distribution),
                Wanted::Range(range) => format!("{}{range}", package.distribution),
            })
            .collect();
        assert_eq!(
            packages,
            [
                "python==3.11.*",
                "torch==2.4.1",
                "tensorflow>=2.15",
                "jaxlib==0.4.30",
                "pip",
                "faster-whisper==1.1.1",
                "onnxruntime-gpu>=1.20",
                "numpy"
            ]
        );
        let cuda: Vec<String> =
            found.cuda.iter().map(|named| format!("{} {}", named.package, named.version)).collect();
        assert_eq!(cuda, ["pytorch 12.1", "pytorch-cuda 12.1", "cudatoolkit 11.8", "jaxlib 12.0"]);
        assert_eq!(found.cudnn[0].version.to_string(), "8.9");
        assert_eq!(found.cudnn[0].line, 9);
    }

    #[test]
    fn never_panics_on_any_text() {
        arbtest::arbtest(|u| {
            let text: String = u.arbitrary()?;
            let _ = parse(&format!("dependencies:\n{text}"));
            Ok(())
        });
    }
}
