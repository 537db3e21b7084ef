//! What `doctor` shows: the chain, the libraries that win, the findings.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::chain::{Health, Link};
use super::predict::{Place, Prediction, Row};
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
    /// Every library with the rule that leads to it; otherwise those alone that are not as they should be.
    pub verbose: bool,
    /// The width of the terminal; `None` where lines may be as long as they are.
    pub columns: Option<usize>,
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

impl Style {
    /// Breaks a text at blanks: the first line begins at column `first`, the others at `next`. A word that is longer than
    /// a line stays whole.
    fn wrapped(self, text: &str, first: usize, next: usize) -> Vec<String> {
        let Some(columns) = self.columns else { return vec![text.to_owned()] };
        let mut lines = vec![String::new()];
        let mut used = first;
        for word in text.split(' ') {
            let length = word.chars().count();
            let line = lines.last_mut().expect("there is one");
            if line.is_empty() {
                line.push_str(word);
                used += length;
            } else if used + 1 + length <= columns {
                line.push(' ');
                line.push_str(word);
                used += 1 + length;
            } else {
                lines.push(word.to_owned());
                used = next + length;
            }
        }
        lines
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
            self.link(style, link, &mut out);
        }
        for prediction in self.frameworks.iter().filter(|prediction| prediction.is_shown()) {
            self.framework(style, prediction, &mut out);
        }
        for finding in &self.findings {
            self.finding(style, finding, &mut out);
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

    /// One line, and where it was learnt: behind it where there is room, below it where there is none.
    fn link(&self, style: Style, link: &Link, out: &mut String) {
        const INDENT: usize = 15;
        let from = link.from.as_ref().map(|from| self.short(from));
        let from_width = from.as_ref().map_or(0, |from| from.chars().count() + 4);
        let what = self.short(&link.what);
        let room = style
            .columns
            .is_none_or(|columns| INDENT + what.chars().count() + from_width <= columns);
        let name = style.paint("1", &format!("{:<9}", link.name));
        let mut lines = style.wrapped(&what, INDENT, INDENT).into_iter();
        let first = lines.next().unwrap_or_default();
        let _ = write!(out, "  {} {name}  {first}", style.mark(link.health));
        for line in lines {
            let _ = write!(out, "\n{:INDENT$}{line}", "");
        }
        match from {
            Some(from) if room => {
                let _ = write!(out, "  {}", style.paint("2", &format!("({from})")));
            }
            Some(from) => {
                for line in style.wrapped(&format!("({from})"), INDENT, INDENT) {
                    let _ = write!(out, "\n{:INDENT$}{}", "", style.paint("2", &line));
                }
            }
            None => {}
        }
        out.push('\n');
    }

    fn finding(&self, style: Style, finding: &Finding, out: &mut String) {
        const INDENT: usize = 4;
        let head = finding.severity.to_string().chars().count() + finding.code.len() + 4;
        let mut lines = style.wrapped(&self.short(&finding.what), head, INDENT).into_iter();
        let _ = writeln!(
            out,
            "\n{} {} {}",
            style.severity(finding.severity),
            style.paint("2", &format!("[{}]", finding.code)),
            lines.next().unwrap_or_default()
        );
        for line in lines {
            let _ = writeln!(out, "{:INDENT$}{line}", "");
        }
        for proof in &finding.proof {
            for (index, line) in
                style.wrapped(&self.short(proof), INDENT, INDENT + 2).iter().enumerate()
            {
                let indent = if index == 0 { INDENT } else { INDENT + 2 };
                let _ = writeln!(out, "{:indent$}{}", "", style.paint("2", line));
            }
        }
        // Never broken into lines: it is there to be copied.
        if let Some(fix) = &finding.fix {
            let _ = writeln!(out, "    {} {fix}", style.paint("32;1", "fix:"));
        }
    }

    fn framework(&self, style: Style, prediction: &Prediction, out: &mut String) {
        let title = format!("{} {}", prediction.name, prediction.version);
        let entry = self.short(&prediction.entry.display().to_string());
        let room = style
            .columns
            .is_none_or(|columns| title.chars().count() + entry.chars().count() + 4 <= columns);
        let _ = write!(out, "\n  {}", style.paint("1", &title));
        if room || style.verbose {
            let _ = write!(out, "  {}", style.paint("2", &entry));
        }
        out.push('\n');
        let is_mixed = super::has_two_cudnns(prediction);
        let stands_out = |row: &&Row| {
            style.verbose
                || row.place == Place::Elsewhere
                || (is_mixed && row.name.starts_with("libcudnn"))
        };
        let quiet: Vec<&Row> = prediction.libraries.iter().filter(|row| !stands_out(row)).collect();
        if !quiet.is_empty() {
            let count = |place| quiet.iter().filter(|row| row.place == place).count();
            let parts: Vec<String> = [
                (count(Place::Environment), "from the environment"),
                (count(Place::Toolchain), "from the toolchain"),
            ]
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, place)| format!("{count} {place}"))
            .collect();
            let _ = writeln!(
                out,
                "    {} {}: {}",
                style.mark(Health::Good),
                if quiet.len() == 1 { "library" } else { "libraries" },
                parts.join(", ")
            );
        }
        let shown: Vec<&Row> = prediction.libraries.iter().filter(stands_out).collect();
        let names = shown.iter().map(|row| &row.name);
        let names = names.chain(prediction.missing.iter().map(|miss| &miss.name));
        let width = names.map(String::len).max().unwrap_or(0);
        for row in shown {
            self.row(style, row, width, out);
        }
        for miss in &prediction.missing {
            let _ =
                writeln!(out, "    {} {:width$}  not found", style.mark(Health::Broken), miss.name);
        }
    }

    fn row(&self, style: Style, row: &Row, width: usize, out: &mut String) {
        let place = match row.place {
            Place::Toolchain => "toolchain",
            Place::Environment => "environment",
            Place::Elsewhere => "elsewhere",
        };
        let health = if row.place == Place::Elsewhere { Health::Limited } else { Health::Good };
        let version = row.version.as_deref().unwrap_or("-");
        let _ = write!(
            out,
            "    {} {:width$}  {version:<12} {place:<11}",
            style.mark(health),
            row.name
        );
        if style.verbose || row.place == Place::Elsewhere {
            let file = self.short(&row.file.display().to_string());
            let because = self.short(&row.because);
            let used = width + 34 + file.chars().count() + because.chars().count();
            if style.columns.is_none_or(|columns| used <= columns) {
                let _ = write!(out, "  {file}  {}", style.paint("2", &because));
            } else {
                for text in [file, because] {
                    for line in style.wrapped(&text, 8, 8) {
                        let _ = write!(out, "\n        {}", style.paint("2", &line));
                    }
                }
            }
        }
        while out.ends_with(' ') {
            out.pop();
        }
        out.push('\n');
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

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let link = |name, health, what: &str, from: &str| Link {
            name,
            health,
            what: what.to_owned(),
            from: Some(from.to_owned()),
        };
        Report {
            toolchain: None,
            prefix: Some("/home/ada/.local/share/cuenv/toolchains/x".into()),
            program: "/p".into(),
            environment: None,
            chain: vec![
                link("driver", Health::Good, "550.54.15, runs CUDA up to 12.4", "`/sys/module/nvidia/version`"),
                link("runtime", Health::Broken, "`12.4+cudnn9`, not installed", "because of `/home/ada/projects/speech/recognition/.cuenv`"),
            ],
            frameworks: Vec::new(),
            findings: vec![
                Finding::new("library-missing", Severity::Error, "torch 2.4.1 will not find `libnvToolsExt.so.1`, `libcupti.so.12`, `libcublasLt.so.12`")
                    .proof("`/home/ada/.local/share/cuenv/toolchains/x/lib/libtorch_global_deps.so` asks for `libnvToolsExt.so.1`")
                    .fix("cuenv use 12.1+cudnn9 # a command that is longer than the line and is copied, so it is not broken"),
            ],
        }
    }

    #[test]
    fn no_line_but_a_fix_is_wider_than_the_terminal() {
        for columns in [72, 80, 120] {
            let style = Style { columns: Some(columns), ..Style::default() };
            let text = report().render(style);
            for line in text.lines().filter(|line| !line.contains("fix: ")) {
                assert!(line.chars().count() <= columns, "{columns}: {line}\n{text}");
            }
            assert!(text.contains("    fix: cuenv use 12.1+cudnn9 # a command"), "{text}");
            assert!(text.contains("[toolchain]/lib"), "{text}");
        }
    }

    #[test]
    fn a_broken_link_is_set_apart_in_colour_and_without() {
        let text = report().render(Style::default());
        assert!(text.contains("  ╎\n  ✗ runtime"), "{text}");
        assert!(!text.contains('\u{1b}'));
        let text = report().render(Style { colour: true, ..Style::default() });
        assert!(text.contains("\u{1b}[31;1m✗\u{1b}[0m"), "{text}");
    }
}
