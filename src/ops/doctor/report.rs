//! What `doctor` shows: the chain, the libraries that win, the findings.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::chain::{Health, Link};
use super::predict::{Place, Prediction};
use crate::domain::finding::{Finding, Severity};

/// The whole look.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The toolchain that holds.
    pub toolchain: Option<String>,
    /// Its prefix.
    pub prefix: Option<PathBuf>,
    /// The program that was looked at.
    pub program: PathBuf,
    /// Its Python environment.
    pub environment: Option<PathBuf>,
    /// GPU, driver, runtime, cuDNN, framework.
    pub chain: Vec<Link>,
    /// What the loader will do for each framework.
    pub frameworks: Vec<Prediction>,
    /// What was found, worst first.
    pub findings: Vec<Finding>,
}

/// How it is printed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Colour.
    pub colour: bool,
    /// Every library, not only those that are not as the toolchain has them.
    pub verbose: bool,
}

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    fn mark(self, health: Health) -> String {
        match health {
            Health::Good => self.paint("32", "✓"),
            Health::Unknown => self.paint("2", "·"),
            Health::Limited => self.paint("33", "!"),
            Health::Broken => self.paint("31;1", "✗"),
        }
    }

    fn severity(self, severity: Severity) -> String {
        match severity {
            Severity::Note => self.paint("36", "note"),
            Severity::Warning => self.paint("33", "warning"),
            Severity::Error => self.paint("31;1", "error"),
        }
    }
}

impl Report {
    /// Whether anything goes wrong.
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Error)
    }

    /// The report as text.
    pub fn render(&self, style: Style) -> String {
        let mut out = String::new();
        for (index, link) in self.chain.iter().enumerate() {
            if index > 0 {
                let broken =
                    link.health == Health::Broken || self.chain[index - 1].health == Health::Broken;
                let line = if broken { style.paint("31", "╎") } else { style.paint("2", "│") };
                let _ = writeln!(out, "  {line}");
            }
            let _ = write!(
                out,
                "  {} {}  {}",
                style.mark(link.health),
                style.paint("1", &format!("{:<9}", link.name)),
                link.what
            );
            if let Some(from) = &link.from {
                let _ = write!(out, "  {}", style.paint("2", &format!("({})", self.short(from))));
            }
            out.push('\n');
        }
        for prediction in &self.frameworks {
            self.framework(style, prediction, &mut out);
        }
        for finding in &self.findings {
            let _ = write!(
                out,
                "\n{} {} ",
                style.severity(finding.severity),
                style.paint("2", &format!("[{}]", finding.code))
            );
            let _ = writeln!(out, "{}", self.short(&finding.what));
            for proof in &finding.proof {
                let _ = writeln!(out, "    {}", style.paint("2", &self.short(proof)));
            }
            if let Some(fix) = &finding.fix {
                let _ = writeln!(out, "    {} {}", style.paint("32;1", "fix:"), self.short(fix));
            }
        }
        let count =
            |severity| self.findings.iter().filter(|finding| finding.severity == severity).count();
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        let _ = match (errors, warnings) {
            (0, 0) => writeln!(out, "\n{}", style.paint("32", "nothing wrong")),
            _ => writeln!(out, "\n{}, {}", plural(errors, "error"), plural(warnings, "warning")),
        };
        out
    }

    fn framework(&self, style: Style, prediction: &Prediction, out: &mut String) {
        let _ = writeln!(
            out,
            "\n  {}  {}",
            style.paint("1", &format!("{} {}", prediction.name, prediction.version)),
            style.paint("2", &self.short(&prediction.entry.display().to_string()))
        );
        let width = prediction.libraries.iter().map(|row| row.name.len()).max().unwrap_or(0);
        for row in &prediction.libraries {
            let place = match row.place {
                Place::Toolchain => "toolchain",
                Place::Environment => "environment",
                Place::Elsewhere => "elsewhere",
            };
            let _ = write!(
                out,
                "    {} {:width$}  {:<12} {place:<11}",
                style.mark(if row.place == Place::Elsewhere {
                    Health::Limited
                } else {
                    Health::Good
                }),
                row.name,
                row.version.as_deref().unwrap_or("-"),
            );
            if style.verbose || row.place == Place::Elsewhere {
                let file = self.short(&row.file.display().to_string());
                let _ = write!(out, "  {file}  {}", style.paint("2", &self.short(&row.because)));
            }
            while out.ends_with(' ') {
                out.pop();
            }
            out.push('\n');
        }
        for miss in &prediction.missing {
            let _ =
                writeln!(out, "    {} {:width$}  not found", style.mark(Health::Broken), miss.name);
        }
    }

    /// Long paths of the two trees that everybody knows, cut.
    fn short(&self, text: &str) -> String {
        let mut text = text.to_owned();
        let mut cut = |path: Option<&Path>, name: &str| {
            if let Some(path) = path {
                text = text.replace(&format!("{}/", path.display()), &format!("{name}/"));
            }
        };
        cut(self.prefix.as_deref(), "[toolchain]");
        cut(self.environment.as_deref(), "[environment]");
        text
    }
}

fn plural(count: usize, noun: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{s}")
}
