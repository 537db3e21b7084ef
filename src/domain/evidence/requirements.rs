//! `requirements*.txt`: pip's own format.

use super::{Package, Wanted, label_in};
use crate::domain::requirement::Requirement;
use crate::domain::version::PackageVersion;
use crate::domain::wheel_name::{WheelName, normalise};

/// What one file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// The packages.
    pub packages: Vec<Package>,
    /// Files that it includes (`-r`, `-c`), as written.
    pub includes: Vec<String>,
    /// The label of the CUDA build that its indexes carry.
    pub label: Option<String>,
}

/// Reads a requirements file.
pub fn parse(text: &str) -> Requirements {
    let mut found = Requirements::default();
    let mut held = String::new();
    let mut start = 1;
    for (index, line) in text.lines().enumerate() {
        if held.is_empty() {
            start = index + 1;
        }
        if let Some(head) = line.trim_end().strip_suffix('\\') {
            held.push_str(head);
            held.push(' ');
            continue;
        }
        held.push_str(line);
        let whole = std::mem::take(&mut held);
        read_line(without_comment(&whole).trim(), start, &mut found);
    }
    read_line(without_comment(&held).trim(), start, &mut found);
    found
}

/// Reads one requirement as pip would take it on its command line: `torch==2.5.1+cu124 --hash=…`, `name @ address`.
pub fn package(text: &str, line: Option<usize>) -> Option<Package> {
    let text = text.split(" --").next()?.trim();
    if let Some((name, address)) = text.split_once('@')
        && !name.contains(['=', '<', '>', '~', '!', ';'])
    {
        let (name, extras) = match name.split_once('[') {
            Some((name, extras)) => (name, extras.trim_end().trim_end_matches(']')),
            None => (name, ""),
        };
        let extras = extras.split(',').map(|extra| normalise(extra.trim()));
        return Some(Package {
            distribution: normalise(name.trim()),
            extras: extras.filter(|extra| !extra.is_empty()).collect(),
            version: wheel_at(address.trim()).map_or_else(
                || Wanted::Range(pep440_rs::VersionSpecifiers::empty()),
                |wheel| Wanted::Exact(wheel.version),
            ),
            line,
        });
    }
    if let Some(wheel) = text.split_whitespace().next().and_then(wheel_at) {
        return Some(Package {
            distribution: wheel.distribution,
            extras: Vec::new(),
            version: Wanted::Exact(wheel.version),
            line,
        });
    }
    if let Ok(requirement) = text.parse::<Requirement>() {
        let elsewhere = requirement.marker.is_some() && is_for_another_system(text);
        return (!elsewhere).then(|| Package::of(requirement, line));
    }
    // A marker that is not understood does not make the requirement go away, unless it names another system.
    let (head, marker) = text.split_once(';')?;
    let requirement = head.trim().parse::<Requirement>().ok()?;
    (!is_for_another_system(marker)).then(|| Package::of(requirement, line))
}

fn is_for_another_system(text: &str) -> bool {
    let marker = text.split_once(';').map_or(text, |(_, marker)| marker).replace('"', "'");
    [
        "== 'win32'",
        "== 'darwin'",
        "== 'Windows'",
        "== 'Darwin'",
        "!= 'linux'",
        "=='win32'",
        "=='darwin'",
    ]
    .iter()
    .any(|mark| marker.contains(mark))
        && !marker.contains(" or ")
}

fn wheel_at(address: &str) -> Option<WheelName> {
    let path = address.split(['#', '?']).next()?;
    let file = path.rsplit('/').next()?.replace("%2B", "+").replace("%2b", "+");
    file.parse().ok()
}

fn read_line(line: &str, number: usize, found: &mut Requirements) {
    if line.is_empty() {
        return;
    }
    if line.starts_with('-') {
        let (option, value) = line.split_once(['=', ' ']).unwrap_or((line, ""));
        let value = value.trim();
        match option {
            "-r" | "--requirement" | "-c" | "--constraint" => {
                found.includes.push(value.to_owned());
            }
            "-i" | "--index-url" | "--extra-index-url" | "-f" | "--find-links" => {
                found.label = found.label.take().or_else(|| label_in(value));
            }
            _ => {}
        }
        return;
    }
    found.packages.extend(package(line, Some(number)));
}

fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with('#') {
        return "";
    }
    line.find(" #").or_else(|| line.find("\t#")).map_or(line, |at| &line[..at])
}

/// Reads a version that may be written with fewer or more parts than PEP 440 asks for.
pub fn version(text: &str) -> Option<PackageVersion> {
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let said = |package: &Package| match &package.version {
            Wanted::Exact(version) => format!("{}=={version}", package.distribution),
            Wanted::Range(range) => format!("{}{range}", package.distribution),
        };
        parse(text).packages.iter().map(said).collect()
    }

    #[test]
    fn reads_what_pip_reads() {
        let text = "\
# comment
torch==2.5.1+cu124   # pinned
numpy>=1.26,<3 ; python_version >= \"3.9\"
onnxruntime-gpu[cuda,cudnn]~=1.20 \\
    --hash=sha256:aaaa \\
    --hash=sha256:bbbb
pywin32==306 ; sys_platform == 'win32'
Faster_Whisper
-e .
-r more.txt
--constraint=limits.txt
--extra-index-url https://index.example/whl/cu124
flash-attn @ https://files.example/flash_attn-2.6.3%2Bcu123torch2.4-cp311-cp311-linux_x86_64.whl
https://files.example/torch-2.4.1%2Bcu121-cp311-cp311-linux_x86_64.whl
jax[cuda12]; platform_release != 'x'
";
        assert_eq!(
            names(text),
            [
                "torch==2.5.1+cu124",
                "numpy>=1.26, <3",
                "onnxruntime-gpu~=1.20",
                "faster-whisper",
                "flash-attn==2.6.3+cu123torch2.4",
                "torch==2.4.1+cu121",
                "jax",
            ]
        );
        let found = parse(text);
        assert_eq!(found.includes, ["more.txt", "limits.txt"]);
        assert_eq!(found.label.as_deref(), Some("cu124"));
        assert_eq!(found.packages[2].extras, ["cuda", "cudnn"]);
        assert_eq!(found.packages[2].line, Some(4));
        assert_eq!(found.packages[6].extras, ["cuda12"]);
    }

    #[test]
    fn never_panics_on_any_text() {
        arbtest::arbtest(|u| {
            let text: String = u.arbitrary()?;
            let _ = parse(&text);
            Ok(())
        });
    }
}
