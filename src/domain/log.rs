//! Reads what lines of logs say in numbers and names: libraries, error numbers, driver and cuDNN versions, GPUs.

use super::capability::ComputeCapability;
use super::version::Version;

/// Words that say that a library is missing, and not merely named.
const MISSING: [&str; 8] = [
    "cannot open",
    "could not load",
    "unable to load",
    "failed to load",
    "not found",
    "cannot be loaded",
    "could not open",
    "no such file",
];

/// The names of shared libraries in a line: `libcudnn_ops.so.9`, without directories.
pub fn sonames(line: &str) -> Vec<&str> {
    let is_name = |next: char| next.is_ascii_alphanumeric() || "._-+".contains(next);
    let mut found = Vec::new();
    for word in line.split(|next: char| !is_name(next)) {
        let word = word.trim_end_matches(['.', '-']);
        let Some((stem, version)) = word.split_once(".so") else { continue };
        let plain = version.is_empty()
            || version.strip_prefix('.').is_some_and(|rest| {
                rest.split('.')
                    .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
            });
        if stem.starts_with("lib") && plain && !found.contains(&word) {
            found.push(word);
        }
    }
    found
}

/// The libraries that a line says are missing. `Could not load library A. Error: B: cannot open shared object file`
/// names two, and B is the one that is not there. A line about symbols or versions names files that are there.
pub fn missing(line: &str) -> Vec<&str> {
    let lower = line.to_lowercase();
    // A pattern is no name.
    let is_other =
        ["undefined symbol", "version `", ".so.*"].iter().any(|words| lower.contains(words));
    if is_other {
        return Vec::new();
    }
    if let Some(at) = line.find(": cannot open shared object") {
        return sonames(&line[..at]).pop().into_iter().collect();
    }
    if MISSING.iter().any(|words| lower.contains(words)) { sonames(line) } else { Vec::new() }
}

/// The number of an error of the driver or runtime API: `CUDA error 35`, `CUDA failure 100`, `error code 209`,
/// `code=803(`, `cuInit returned 999`.
pub fn api_number(line: &str) -> Option<u32> {
    const BEFORE: [&str; 10] = [
        "cuda error",
        "cuda failure",
        "error code",
        "cuda_error",
        "code",
        "error",
        "returned",
        "failed with",
        "result",
        "status",
    ];
    let lower = line.to_lowercase();
    if !["cuda", "cuinit", "curesult", "nvml"].iter().any(|word| lower.contains(word)) {
        return None;
    }
    BEFORE.iter().find_map(|word| {
        lower.match_indices(word).find_map(|(at, _)| {
            let rest = lower[at + word.len()..].trim_start_matches([' ', ':', '=', '(', '#', '[']);
            let end = rest.find(|next: char| !next.is_ascii_digit()).unwrap_or(rest.len());
            // `error 35.2` and `code 12345` are other numbers.
            let whole = !rest[end..].starts_with('.')
                || !rest[end + 1..].starts_with(|c: char| c.is_ascii_digit());
            if (1..=3).contains(&end) && whole { rest[..end].parse().ok() } else { None }
        })
    })
}

/// The CUDA of a number of the APIs: 11040 is 11.4.
pub fn cuda_of_number(number: u64) -> Option<Version> {
    let (major, minor) = (number / 1000, number % 1000 / 10);
    (number.is_multiple_of(10) && (9..=19).contains(&major))
        .then(|| Version::from_parts(&[major, minor]))
}

/// The cuDNN of its own number: 8907 is 8.9.7, 90100 is 9.1.0.
pub fn cudnn_of_number(number: u64) -> Option<Version> {
    match number {
        7000..=8999 => {
            Some(Version::from_parts(&[number / 1000, number % 1000 / 100, number % 100]))
        }
        90_000..=199_999 => {
            Some(Version::from_parts(&[number / 10_000, number / 100 % 100, number % 100]))
        }
        _ => None,
    }
}

/// The newest CUDA that the driver of a line supports: `too old (found version 11040)`.
pub fn driver_cuda(line: &str) -> Option<Version> {
    let lower = line.to_lowercase();
    if !lower.contains("driver") {
        return None;
    }
    lower
        .split(|next: char| !next.is_ascii_digit())
        .filter(|digits| digits.len() == 5)
        .find_map(|digits| cuda_of_number(digits.parse().ok()?))
}

/// The cuDNN that runs and the one that something was compiled with, where a line names both.
pub fn cudnn_pair(line: &str) -> Option<(Version, Version)> {
    let lower = line.to_lowercase();
    let at = lower.find("cudnn")?;
    let compiled =
        ["compiled", "built against", "built with"].iter().find_map(|word| lower.find(word))?;
    let mut numbers = versions(&lower).into_iter();
    let (first, second) = (numbers.next()?, numbers.next()?);
    if first.0 < at {
        return None;
    }
    // Whichever the word for it stands nearest before.
    if compiled < first.0 { Some((second.1, first.1)) } else { Some((first.1, second.1)) }
}

/// Versions in a text, with their places: `9.1.0`, `(9, 1, 0)`, and cuDNN's own numbers.
fn versions(text: &str) -> Vec<(usize, Version)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) =
        text[at..].find(|next: char| next.is_ascii_digit()).map(|step| at + step)
    {
        let tuple = text[..start].ends_with('(');
        let is_part = |next: char| {
            next.is_ascii_digit() || next == '.' || (tuple && (next == ',' || next == ' '))
        };
        let end =
            text[start..].find(|next: char| !is_part(next)).map_or(text.len(), |step| start + step);
        at = end;
        let plain = text[start..end].replace(", ", ".").replace(' ', "");
        let plain = plain.trim_matches(['.', ',']);
        let version = if plain.contains('.') {
            plain.parse().ok()
        } else {
            plain.parse().ok().and_then(cudnn_of_number)
        };
        found.extend(version.map(|version| (start, version)));
    }
    found
}

/// A GPU that a build has no code for, and the GPUs it has code for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unserved {
    /// The GPU.
    pub gpu: ComputeCapability,
    /// What the build has code for; empty where the log does not say.
    pub built: Vec<ComputeCapability>,
}

/// Reads torch's warnings about a GPU it was not built for; `text` begins with the line and goes on with what follows.
pub fn unserved(text: &str) -> Option<Unserved> {
    let gpu = capabilities(text.lines().next()?).into_iter().next()?;
    let list =
        ["supports cuda capabilities", "minimum cuda capability supported", "minimum and maximum"];
    let lower = text.to_lowercase();
    let built = list.iter().find_map(|words| lower.find(words)).map(|at| {
        let end = lower[at..].find("\n\n").map_or(lower.len(), |step| at + step);
        capabilities(&lower[at..end])
    });
    Some(Unserved { gpu, built: built.unwrap_or_default() })
}

/// Capabilities in a text: `sm_90`, `compute_90`, `capability 3.7`, `(CC) 6.1`.
pub fn capabilities(text: &str) -> Vec<ComputeCapability> {
    let mut found = Vec::new();
    for word in
        text.split(|next: char| !(next.is_ascii_alphanumeric() || next == '_' || next == '.'))
    {
        let word = word.trim_end_matches('.');
        let digits = word
            .strip_prefix("sm_")
            .or_else(|| word.strip_prefix("compute_"))
            .map(|digits| digits.trim_end_matches(|c: char| c.is_ascii_alphabetic()));
        let cc = match digits {
            Some(digits)
                if digits.len() >= 2 && digits.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                let (major, minor) = digits.split_at(digits.len() - 1);
                major
                    .parse()
                    .ok()
                    .zip(minor.parse().ok())
                    .map(|(major, minor)| ComputeCapability::new(major, minor))
            }
            Some(_) => None,
            None => word.parse().ok(),
        };
        found.extend(cc);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_libraries_are_found_in_lines() {
        assert_eq!(
            sonames("OSError: /a/b/libcublas.so.12: cannot open; see libfoo.so, libbar.so.1.2."),
            ["libcublas.so.12", "libfoo.so", "libbar.so.1.2"]
        );
        assert_eq!(sonames("{libcudnn_ops.so.9.1.0, libcudnn_ops.so.9}").len(), 2);
        assert!(sonames("libtorch.source lib.sox so.so.so").is_empty());
    }

    #[test]
    fn the_inner_library_is_the_missing_one() {
        assert_eq!(
            missing(
                "Could not load library libcudnn_cnn_infer.so.8. Error: libnvrtc.so: cannot open shared object file: No such file"
            ),
            ["libnvrtc.so"]
        );
        assert_eq!(
            missing("Library libcublas.so.12 is not found or cannot be loaded"),
            ["libcublas.so.12"]
        );
        assert!(missing("Could not load library libcudnn_cnn_train.so.8. Error: libcudnn_cnn_train.so.8: undefined symbol: x").is_empty());
        assert!(missing("libstdc++.so.6: version `GLIBCXX_3.4.30' not found").is_empty());
        assert!(missing("loaded libcublas.so.12").is_empty());
    }

    #[test]
    fn numbers_of_errors_are_read_where_they_are_errors_of_cuda() {
        for (line, number) in [
            ("CUDA error 35: CUDA driver version is insufficient", Some(35)),
            ("[E:onnxruntime] CUDA failure 100: no device ; GPU=0", Some(100)),
            ("cuInit failed with error code 999", Some(999)),
            ("CUDA error at x.cu:12 code=209(cudaErrorNoKernelImageForDevice)", Some(209)),
            (
                "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 804: forward",
                Some(804),
            ),
            ("cuInit returned 34", Some(34)),
            ("HTTP error code 404", None),
            ("torch 2.4 with CUDA 12.4", None),
            ("CUDA error code 12345", None),
        ] {
            assert_eq!(api_number(line), number, "{line}");
        }
    }

    #[test]
    fn versions_are_read_out_of_numbers() {
        let text = |version: Option<Version>| {
            version.map(|version| version.to_string()).unwrap_or_default()
        };
        assert_eq!(text(cuda_of_number(11040)), "11.4");
        assert_eq!(text(cuda_of_number(12080)), "12.8");
        assert_eq!(text(cuda_of_number(11041)), "");
        assert_eq!(text(cudnn_of_number(8907)), "8.9.7");
        assert_eq!(text(cudnn_of_number(90100)), "9.1.0");
        assert_eq!(text(cudnn_of_number(91002)), "9.10.2");
        let line =
            "The NVIDIA driver on your system is too old (found version 11040). Please update";
        assert_eq!(text(driver_cuda(line)), "11.4");
        assert_eq!(text(driver_cuda("port 11040 is taken")), "");
    }

    #[test]
    fn two_cudnns_in_a_line_are_told_apart() {
        let pair = |line| {
            cudnn_pair(line)
                .map(|(running, compiled)| format!("{running} {compiled}"))
                .unwrap_or_default()
        };
        assert_eq!(
            pair(
                "Loaded runtime CuDNN library: 9.1.0 but source was compiled with: 9.8.0.  CuDNN library needs"
            ),
            "9.1.0 9.8.0"
        );
        assert_eq!(
            pair(
                "cuDNN version incompatibility: PyTorch was compiled  against (9, 1, 0) but found runtime version (9, 0, 0)."
            ),
            "9.0.0 9.1.0"
        );
        assert_eq!(
            pair(
                "Found cuDNN version 90100, but JAX was built against version 90800, which is newer."
            ),
            "9.1.0 9.8.0"
        );
        assert_eq!(pair("cuDNN 9.1.0 is loaded"), "");
    }

    #[test]
    fn gpus_without_code_are_read_with_what_the_build_has() {
        let read = |text| {
            let found = unserved(text).unwrap();
            let built: Vec<String> = found.built.iter().map(ToString::to_string).collect();
            format!("{}: {}", found.gpu, built.join(" "))
        };
        assert_eq!(
            read(
                "NVIDIA H100 PCIe with CUDA capability sm_90 is not compatible with the current PyTorch installation.\nThe current PyTorch install supports CUDA capabilities sm_37 sm_50 sm_86.\n\nIf you want"
            ),
            "9.0: 3.7 5.0 8.6"
        );
        assert_eq!(
            read(
                "Found GPU0 Tesla K80 which is of cuda capability 3.7.\nPyTorch no longer supports this GPU because it is too old.\nThe minimum cuda capability supported by this library is 5.0."
            ),
            "3.7: 5.0"
        );
        assert_eq!(read("RTX 5090 with CUDA capability sm_120 is not compatible"), "12.0: ");
    }
}
