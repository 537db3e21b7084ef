//! What a probing child prints: one fact a line, a key and a value.
//!
//! ```text
//! library /usr/lib/x86_64-linux-gnu/libcuda.so.1
//! driver 550.54.15
//! cuda 12040
//! gpu 9.0 GPU-5f2a… NVIDIA H100 80GB HBM3
//! refused cuInit 803
//! done
//! ```
//!
//! A child that stops before `done` was stopped: what it printed up to there still counts.

use std::fmt::Write as _;

use super::Fault;
use crate::domain::capability::ComputeCapability;
use crate::domain::version::Version;

/// The facts that one probe found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The file that was loaded.
    pub library: Option<String>,
    /// The driver.
    pub driver: Option<Version>,
    /// The newest CUDA it supports.
    pub cuda: Option<Version>,
    /// The GPUs.
    pub gpus: Vec<AnswerGpu>,
    /// The first thing that did not work.
    pub fault: Option<Fault>,
    /// Whether the probe came to its end.
    pub complete: bool,
}

/// A GPU as a probe sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerGpu {
    /// Its compute capability.
    pub cc: Option<ComputeCapability>,
    /// Its unique identifier.
    pub uuid: Option<String>,
    /// Its name.
    pub name: Option<String>,
}

/// Implausibly many GPUs or lines are not read.
const MAX_LINES: usize = 300;

impl Answer {
    /// Writes the lines.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        if let Some(library) = &self.library {
            let _ = writeln!(text, "library {library}");
        }
        if let Some(driver) = &self.driver {
            let _ = writeln!(text, "driver {driver}");
        }
        if let Some(cuda) = &self.cuda {
            let minor = cuda.minor().unwrap_or(0);
            let _ = writeln!(text, "cuda {}", cuda.major() * 1000 + minor * 10);
        }
        for gpu in &self.gpus {
            let cc = gpu.cc.map_or_else(|| "-".to_owned(), |cc| cc.to_string());
            let uuid = gpu.uuid.as_deref().unwrap_or("-");
            let _ = writeln!(text, "gpu {cc} {uuid} {}", gpu.name.as_deref().unwrap_or("-"));
        }
        match &self.fault {
            Some(Fault::Absent) => text.push_str("absent\n"),
            Some(Fault::Refused { call, code }) => {
                let _ = writeln!(text, "refused {call} {code}");
            }
            _ => {}
        }
        text.push_str("done\n");
        text
    }

    /// Reads the lines; what cannot be read is left out.
    pub fn parse(text: &str) -> Self {
        let known = |word: &str| (word != "-" && !word.is_empty()).then(|| word.to_owned());
        let mut answer = Self::default();
        for line in text.lines().take(MAX_LINES) {
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            match key {
                "library" => answer.library = known(value),
                "driver" => answer.driver = value.parse().ok(),
                "cuda" => answer.cuda = value.parse().ok().and_then(cuda_version),
                "gpu" => {
                    let mut words = value.splitn(3, ' ');
                    let mut word = || words.next().unwrap_or("");
                    answer.gpus.push(AnswerGpu {
                        cc: word().parse().ok(),
                        uuid: known(word()),
                        name: known(word()),
                    });
                }
                "absent" => answer.fault = Some(Fault::Absent),
                "refused" => {
                    if let Some((call, code)) = value.rsplit_once(' ')
                        && let Ok(code) = code.parse()
                        && answer.fault.is_none()
                    {
                        answer.fault = Some(Fault::Refused { call: call.to_owned(), code });
                    }
                }
                "done" => answer.complete = true,
                _ => {}
            }
        }
        answer
    }
}

/// Reads `12040` as 12.4; implausible numbers are refused.
fn cuda_version(number: u64) -> Option<Version> {
    (1000..100_000)
        .contains(&number)
        .then(|| Version::from_parts(&[number / 1000, number % 1000 / 10]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_and_print_round_trip() {
        let answer = Answer {
            library: Some("/usr/lib/libcuda.so.1".to_owned()),
            driver: Some("550.54.15".parse().unwrap()),
            cuda: Some("12.4".parse().unwrap()),
            gpus: vec![
                AnswerGpu {
                    cc: Some(ComputeCapability::new(9, 0)),
                    uuid: Some("GPU-1".to_owned()),
                    name: Some("NVIDIA H100 80GB HBM3".to_owned()),
                },
                AnswerGpu::default(),
            ],
            fault: Some(Fault::Refused { call: "cuInit".to_owned(), code: 803 }),
            complete: true,
        };
        assert_eq!(Answer::parse(&answer.to_text()), answer);
    }

    #[test]
    fn what_a_stopped_child_said_still_counts() {
        let answer = Answer::parse("library /x\ndriver 550.54.15\ncuda 1204");
        assert_eq!(answer.driver, Some("550.54.15".parse().unwrap()));
        assert!(!answer.complete);
    }

    #[test]
    fn implausible_numbers_are_refused() {
        for number in ["0", "-1", "12", "99999999", "x"] {
            assert_eq!(Answer::parse(&format!("cuda {number}")).cuda, None, "{number}");
        }
    }

    #[test]
    fn never_panics_on_any_text() {
        arbtest::arbtest(|u| {
            let text: String = u.arbitrary()?;
            let _ = Answer::parse(&text);
            Ok(())
        });
    }
}
