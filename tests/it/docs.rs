//! The book: its generated pages must be what the program says, and what it tells people to type must be understood.
//!
//! `UPDATE_DOCS=1 cargo test --test it docs` writes the generated pages.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Arg, Command, CommandFactory as _};
use cuenv::catalog::{Catalog, ProjectCatalog};
use cuenv::cli::args::Cli;
use cuenv::cli::commands::help::TOPICS;
use cuenv::cli::exit::Exit;
use cuenv::domain::manifest::framework::CudnnWish;
use cuenv::ops::doctor::codes::CODES;
use cuenv::settings::variables::VARIABLES;

use crate::support::blocks::pages;
use crate::support::sandbox::Sandbox;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Compares a generated page with the file, or writes it.
#[track_caller]
fn page(name: &str, text: &str) {
    let path = root().join("docs/reference").join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == text,
        "docs/reference/{name} is not what the program says: run `UPDATE_DOCS=1 cargo test --test it docs`"
    );
}

const GENERATED: &str =
    "<!-- Generated from the program: UPDATE_DOCS=1 cargo test --test it docs -->\n\n";

#[test]
fn the_command_reference_is_current() {
    let mut root = Cli::command();
    root.build();
    let mut text = format!("{GENERATED}# Commands\n\n");
    text.push_str("Every command also takes the [global options](#global-options).\n");
    for command in root.get_subcommands().filter(|command| !command.is_hide_set()) {
        describe(command, "cuenv", 2, &mut text);
    }
    text.push_str("\n## Global options\n\n");
    options(root.get_arguments().filter(|arg| arg.is_global_set()), &mut text);
    page("commands.md", &text);
}

fn describe(command: &Command, above: &str, depth: usize, text: &mut String) {
    let name = format!("{above} {}", command.get_name());
    let _ = write!(text, "\n{} {name}\n\n", "#".repeat(depth));
    let about = command.get_long_about().or(command.get_about());
    let _ = writeln!(text, "{}\n", about.unwrap().to_string().trim());
    let aliases: Vec<_> = command.get_visible_aliases().map(|alias| format!("`{alias}`")).collect();
    if !aliases.is_empty() {
        let _ = writeln!(text, "Also: {}\n", aliases.join(", "));
    }
    if !command.has_subcommands() {
        let usage = command.clone().render_usage().to_string();
        let _ = writeln!(text, "```text\n{}\n```\n", usage.trim_start_matches("Usage: ").trim());
        options(command.get_arguments().filter(|arg| !arg.is_global_set()), text);
    }
    if let Some(after) = command.get_after_help() {
        let _ = writeln!(text, "\n```text\n{}\n```", after.to_string().trim());
    }
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        describe(sub, &name, depth + 1, text);
    }
}

fn options<'a>(args: impl Iterator<Item = &'a Arg>, text: &mut String) {
    let mut rows = String::new();
    for arg in args.filter(|arg| !arg.is_hide_set() && arg.get_id() != "help") {
        let value = arg.get_value_names().map_or_else(
            || arg.get_id().to_string().to_uppercase(),
            |names| names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        );
        let mut name = match (arg.get_short(), arg.get_long()) {
            (Some(short), Some(long)) => format!("-{short}, --{long}"),
            (None, Some(long)) => format!("--{long}"),
            (Some(short), None) => format!("-{short}"),
            (None, None) => value.clone(),
        };
        if arg.get_action().takes_values() && !arg.is_positional() {
            let _ = write!(name, " {value}");
        }
        let mut help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let possible: Vec<_> = arg
            .get_possible_values()
            .iter()
            .map(|value| format!("`{}`", value.get_name()))
            .collect();
        if !possible.is_empty() && arg.get_action().takes_values() {
            let _ = write!(help, " ({})", possible.join(", "));
        }
        let _ = writeln!(rows, "| `{name}` | {} |", help.replace('\n', " ").replace('|', "\\|"));
    }
    if !rows.is_empty() {
        let _ = write!(text, "| | |\n|---|---|\n{rows}");
    }
}

#[test]
fn the_exit_code_and_variable_references_are_current() {
    let mut text = format!("{GENERATED}# Exit codes\n\n| code | meaning |\n|---|---|\n");
    let mut table = String::new();
    for (exit, meaning) in Exit::ALL {
        let _ = writeln!(table, "| {} | {meaning} |", exit.code());
    }
    text.push_str(&table);
    text.push_str(
        "\nShims and `cuenv exec` replace themselves by the program they run, so every other code is the program's own.\n\
         With `--json` a failure is also a document on standard output: `{\"schema\": 1, \"error\": {\"exit\": …, \"message\": …, \
         \"causes\": […], \"hints\": […]}}`.\n",
    );
    page("exit-codes.md", &text);
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.contains(&table), "the table in README.md differs:\n{table}");

    let mut text = format!(
        "{GENERATED}# Variables\n\nAn empty variable counts as unset. A variable wins over the settings file, and an option over a \
         variable.\n\n| variable | what it does |\n|---|---|\n"
    );
    for variable in VARIABLES {
        let _ = writeln!(text, "| `{}` | {} |", variable.name, variable.about);
    }
    text.push_str(
        "\nRead as well: `NO_COLOR`, `CLICOLOR_FORCE`, `TERM`; `UV_INDEX_URL`, `PIP_INDEX_URL`, pip.conf and `.netrc`; \
         `HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY`; `SSL_CERT_FILE`; `XDG_DATA_HOME`, `XDG_CACHE_HOME`, `XDG_STATE_HOME`, \
         `XDG_CONFIG_HOME`.\n",
    );
    page("variables.md", &text);
}

#[test]
fn the_table_of_findings_is_current() {
    let mut text = format!("{GENERATED}# Findings of doctor\n\n");
    text.push_str("Severity is the worst that a code comes with. How to read them: [Reading doctor](../doctor.md).\n\n");
    text.push_str("| link | code | severity | meaning |\n|---|---|---|---|\n");
    for code in CODES {
        let link = if code.link.is_empty() { "surroundings" } else { code.link };
        let _ =
            writeln!(text, "| {link} | `{}` | {} | {} |", code.code, code.severity, code.meaning);
    }
    page("findings.md", &text);
}

#[test]
fn the_compatibility_tables_are_current() {
    let catalog = Catalog::builtin();
    let project = ProjectCatalog::builtin();
    let mark = |verified: bool| if verified { "" } else { "\\*" };
    let mut text = format!(
        "{GENERATED}# What fits together\n\nAs this version of cuenv knows it, collected on {}. Every fact and its source is in `manifests/`. \
         `*`: not read for this very release, but between neighbours that were.\n",
        catalog.releases.collected
    );

    text.push_str("\n## CUDA releases\n\nThe driver is the one that a release was made with; the oldest that runs it at all is the second table's.\n\n");
    text.push_str("| CUDA | driver | GPUs that nvcc knows | nvcc as a wheel | newest gcc | glibc |\n|---|---|---|---|---|---|\n");
    for release in catalog.releases().iter().rev() {
        let driver = release.driver.as_ref().map_or_else(
            || format!("R{}", release.driver_branch),
            |driver| format!("{driver}{}", mark(release.driver_verified)),
        );
        let _ = writeln!(
            text,
            "| {} | {driver} | {} – {}{} | {} | {} | {}{} |",
            release.version,
            release.cc_min,
            release.cc_max,
            mark(release.cc_verified),
            if release.nvcc { "yes" } else { "no" },
            release.gcc_max.map_or_else(String::new, |gcc| gcc.to_string()),
            release.glibc,
            mark(!release.glibc_sampled),
        );
    }
    text.push_str("\n| CUDA major | oldest driver |\n|---|---|\n");
    for floor in &catalog.releases.minor_compat {
        let _ = writeln!(text, "| {} | {} |", floor.cuda_major, floor.driver);
    }

    text.push_str("\n## cuDNN\n\nWith the CUDA releases of its support matrix; a build for CUDA 12 or 13 runs with later minors of its major too.\n\n");
    text.push_str("| cuDNN | CUDA | GPUs | x86_64 | aarch64 |\n|---|---|---|---|---|\n");
    for release in catalog.cudnn_releases().iter().rev() {
        for build in &release.builds {
            let there = |wheel: bool| if wheel { "yes" } else { "no" };
            let _ = writeln!(
                text,
                "| {} | {} – {}{} | {} – {}{} | {} | {} |",
                release.version,
                build.cuda_min,
                build.cuda_max,
                mark(build.cuda_verified),
                build.cc_min,
                build.cc_max,
                mark(build.cc_verified),
                there(build.linux_x86_64.is_some()),
                there(build.linux_aarch64.is_some()),
            );
        }
    }

    text.push_str("\n## GPUs\n\n| compute capability | architecture | CUDA | cuDNN | models |\n|---|---|---|---|---|\n");
    let or = |version: Option<&cuenv::domain::version::Version>| {
        version.map_or_else(String::new, ToString::to_string)
    };
    for gpu in &catalog.gpus.compute_capability {
        let mut models: Vec<_> = catalog
            .gpus
            .gpu
            .iter()
            .filter(|model| model.cc == gpu.cc)
            .map(|model| model.model.as_str())
            .collect();
        models.truncate(6);
        let _ = writeln!(
            text,
            "| {} | {} | {} – {} | {} – {}{} | {} |",
            gpu.cc,
            gpu.arch,
            gpu.first_cuda,
            or(gpu.last_cuda.as_ref()),
            or(gpu.first_cudnn.as_ref()),
            or(gpu.last_cudnn.as_ref()),
            if gpu.last_cudnn.is_some() { mark(gpu.last_cudnn_verified) } else { "" },
            models.join(", "),
        );
    }

    text.push_str("\n## Frameworks\n\nWhat each build wants. A version that is not listed is treated as the nearest older one.\n\n");
    let mut frameworks: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for release in &project.frameworks.release {
        frameworks.entry(&release.framework).or_default().push(release);
    }
    for (name, releases) in frameworks {
        let _ = write!(text, "\n### {name}\n\n| versions | CUDA | cuDNN | |\n|---|---|---|---|\n");
        for release in releases.iter().rev() {
            let cuda = match (&release.cuda_min, &release.cuda) {
                (Some(low), Some(cuda)) => format!("{cuda} (from {low})"),
                (Some(low), None) => format!("from {low}"),
                (None, Some(cuda)) => cuda.to_string(),
                (None, None) if release.via.is_empty() => String::new(),
                (None, None) => format!("as {}", release.via.join(", ")),
            };
            let cudnn = match &release.cudnn {
                Some(CudnnWish::AtLeast(version)) => {
                    format!("{version}{}", if release.cudnn_optional { " (optional)" } else { "" })
                }
                Some(CudnnWish::None) => "none".to_owned(),
                None => String::new(),
            };
            let build = [release.extra.as_deref(), release.local.as_deref()];
            let build: Vec<_> = build.into_iter().flatten().collect();
            let versions = format!("{}", release.versions);
            let _ = writeln!(
                text,
                "| {versions}{} | {cuda} | {cudnn} | {} |",
                mark(release.verified),
                build.join(", ")
            );
        }
    }
    page("compatibility.md", &text);
}

/// The command lines of `cuenv` in a page: in fenced blocks and in inline code.
fn mentions(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fence: Option<String> = None;
    for line in text.lines() {
        if let Some(kind) = line.trim().strip_prefix("```") {
            fence = if fence.is_some() { None } else { Some(kind.to_owned()) };
            continue;
        }
        match fence.as_deref() {
            Some("sh" | "console" | "dockerfile" | "ini") => {
                let line = line.split(" #").next().unwrap();
                found
                    .extend(line.split(&['&', ';', '|', '(', ')', '`'][..]).filter_map(command_of));
            }
            Some(_) => {}
            None => found.extend(line.split('`').skip(1).step_by(2).filter_map(command_of)),
        }
    }
    found
}

fn command_of(text: &str) -> Option<String> {
    let mut words = text.split_whitespace();
    // What may stand before it: variables, sudo, launchers, a path.
    let at = words
        .position(|word| word == "cuenv" || (word.ends_with("/cuenv") && !word.contains('=')))?;
    let before: Vec<_> = text.split_whitespace().take(at).collect();
    let launcher = |word: &&str| {
        word.contains('=')
            || word.starts_with('-')
            || ["$", "sudo", "srun", "mpirun", "eval", "\"$", "exec", "RUN", "ssh", "host"]
                .contains(word)
    };
    if !before.iter().all(launcher) {
        return None;
    }
    let rest: Vec<_> = words.take_while(|word| !word.starts_with('>') && *word != "2>&1").collect();
    Some(rest.join(" "))
}

#[test]
fn every_command_that_the_pages_name_is_understood() {
    let placeholders = [
        ("NAME", "site"),
        ("PATH", "/opt/cuda"),
        ("SPEC", "12.4"),
        ("FILE", "toolchain.tar.zst"),
        ("DIR", "there"),
        ("TOOL", "nvcc"),
        ("SHELL", "bash"),
        ("TOPIC", "nvcc"),
        ("COMMAND", "use"),
        ("...", "prog"),
        ("…", "prog"),
        ("TEXT", "text"),
    ];
    let mut wrong = Vec::new();
    let mut seen = 0;
    // The command reference is generated from the help texts, which may name a command in passing.
    for path in pages().into_iter().filter(|path| !path.ends_with("reference/commands.md")) {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        for mention in mentions(&text) {
            let words = mention.split(' ').map(|word| {
                let word = word.trim_matches(&['"', '\''][..]);
                placeholders
                    .iter()
                    .find(|(name, _)| *name == word)
                    .map_or(word, |(_, stand_in)| stand_in)
            });
            let words: Vec<_> =
                std::iter::once("cuenv").chain(words.filter(|word| !word.is_empty())).collect();
            if words.len() == 1 {
                continue;
            }
            seen += 1;
            if let Err(error) = Cli::command().try_get_matches_from(&words) {
                use clap::error::ErrorKind::{
                    DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion,
                };
                // A command named without its arguments is a name, not a line to type.
                let named = words.len() == 2
                    && error.kind() == clap::error::ErrorKind::MissingRequiredArgument;
                if named
                    || matches!(
                        error.kind(),
                        DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand
                    )
                {
                    continue;
                }
                wrong.push(format!("{}: `cuenv {mention}`: {:?}", path.display(), error.kind()));
            }
        }
    }
    assert!(seen > 40, "only {seen} command lines were found: the search is broken");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The anchors of a page, as mdBook and code hosts make them of its headings.
fn anchors(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in text.lines() {
        fenced ^= line.starts_with("```");
        let Some(title) = line.strip_prefix('#').filter(|_| !fenced) else { continue };
        let title = title.trim_start_matches('#').trim();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        found.push(kept.collect::<String>().to_lowercase().replace(' ', "-"));
    }
    found
}

#[test]
fn links_lead_to_pages_and_headings_that_exist() {
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for page in pages() {
        let path = root().join(&page);
        let text = read(&path);
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split(')').next().unwrap();
            if target.contains("://") {
                continue;
            }
            seen += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let to = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            if !to.exists() {
                wrong.push(format!("{}: {target}", page.display()));
            } else if !anchor.is_empty() && !anchors(&read(&to)).iter().any(|one| one == anchor) {
                wrong.push(format!("{}: no heading for {target}", page.display()));
            } else if page.starts_with("docs")
                && !fs::canonicalize(&to).unwrap().starts_with(root().join("docs"))
            {
                wrong.push(format!("{}: {target} leaves the book", page.display()));
            }
        }
    }
    assert!(seen > 60, "only {seen} links were found: the search is broken");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_summary_lists_every_page_once() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let mut listed: Vec<PathBuf> = summary
        .match_indices("](")
        .map(|(at, _)| PathBuf::from(summary[at + 2..].split(')').next().unwrap()))
        .collect();
    listed.sort();
    let mut there: Vec<PathBuf> = pages()
        .iter()
        .filter_map(|page| page.strip_prefix("docs").ok().map(Path::to_owned))
        .filter(|page| page != Path::new("SUMMARY.md"))
        .collect();
    there.sort();
    assert_eq!(listed, there);
}

#[test]
fn every_topic_is_a_page_and_every_page_a_topic() {
    let mut pages: Vec<_> = fs::read_dir(root().join("docs/topics"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    pages.sort();
    let mut topics: Vec<_> = TOPICS.iter().map(|topic| topic.name.to_owned()).collect();
    topics.sort();
    assert_eq!(topics, pages);
    let overview = fs::read_to_string(root().join("docs/topics.md")).unwrap();
    let sandbox = Sandbox::new();
    let list = sandbox.cuenv(["help", "topics"]).succeeds().stdout;
    for topic in &TOPICS {
        assert!(overview.contains(&format!("(topics/{}.md)", topic.name)), "{}", topic.name);
        assert!(list.lines().any(|line| line.trim_start().starts_with(topic.name)), "{list}");
        for word in [topic.name].iter().chain(topic.aliases) {
            let text = sandbox.cuenv(["help", word]).succeeds().stdout;
            assert!(text.ends_with(topic.text), "{word}");
        }
    }
    // A command that is a topic as well has both.
    assert!(sandbox.cuenv(["help", "hook"]).succeeds().stdout.contains("Usage: cuenv hook"));
    let help = sandbox.cuenv(["help", "self", "update"]).succeeds().stdout;
    assert!(help.contains("Usage: cuenv self update"), "{help}");
    for (word, hint) in [
        ("drivr", "did you mean `cuenv help driver`?"),
        ("instal", "did you mean `cuenv help install`?"),
        ("quantum mechanics", "`cuenv help topics` lists the topics"),
    ] {
        let words: Vec<_> = std::iter::once("help").chain(word.split(' ')).collect();
        let ran = sandbox.cuenv(words).code(2);
        assert!(ran.stderr.contains(hint), "{word}: {}", ran.stderr);
    }
}
