//! Findings about libraries: missing, mixed, shadowed, too old.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::predict::{Miss, Place, Prediction, View, file_name};
use super::project::Project;
use super::remedy::{self, pin_with};
use crate::domain::finding::{Finding, Severity};
use crate::domain::version::Version;
use crate::domain::wish::cudnn_serves;

/// What is known besides the libraries.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    /// What the project's parts want.
    pub(super) project: Option<&'a Project>,
    /// The spec that holds.
    pub(super) spec: Option<&'a str>,
    /// There is a driver.
    pub(super) driver: bool,
}

/// Findings about one framework's libraries.
pub(super) fn check(view: &View<'_>, prediction: &Prediction, asked: &Asked<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(missing(view, prediction, asked));
    found.extend(symbols(view, prediction));
    found.extend(mixed_cudnn(view, prediction));
    found.extend(older_cudnn(view, prediction, asked.project));
    found.extend(apart(view, prediction, "libcublas.so", "libcublasLt.so"));
    found.extend(shadowed(view, prediction));
    found
}

fn who(prediction: &Prediction) -> String {
    format!("{} {}", prediction.name, prediction.version)
}

fn missing(view: &View<'_>, prediction: &Prediction, asked: &Asked<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let (of_driver, rest): (Vec<&Miss>, Vec<&Miss>) =
        prediction.missing.iter().partition(|miss| view.catalog.is_driver_library(&miss.name));
    if let Some(miss) = of_driver.first() {
        let severity = if asked.driver { Severity::Error } else { Severity::Note };
        found.push(
            Finding::new(
                "driver-library-missing",
                severity,
                format!(
                    "{} wants `{}`, which comes with the NVIDIA driver",
                    who(prediction),
                    miss.name
                ),
            )
            .proof(format!("`{}` asks for it", miss.asker.display()))
            .fix("run on a machine with the driver; in a container, start it with `--gpus all`"),
        );
    }
    let (ours, others): (Vec<&Miss>, Vec<&Miss>) =
        rest.into_iter().partition(|miss| view.is_nvidia(file_name(&miss.name)));
    if !ours.is_empty() {
        let names: Vec<&str> = ours.iter().map(|miss| file_name(&miss.name)).collect();
        let text = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let mut finding = Finding::new(
            "library-missing",
            Severity::Error,
            format!("{} will not find {text}", who(prediction)),
        );
        for miss in &ours {
            finding = finding.proof(format!("`{}` asks for `{}`", miss.asker.display(), miss.name));
        }
        found.push(finding.fix(bringing(view, prediction, asked, &names)));
    }
    for miss in others {
        let fix = match file_name(&miss.name) {
            "libz.so.1" => Some("install zlib: `apt-get install zlib1g` or `dnf install zlib`"),
            "libstdc++.so.6" | "libgcc_s.so.1" => Some(
                "install the C++ runtime: `apt-get install libstdc++6` or `dnf install libstdc++`",
            ),
            "libgomp.so.1" => Some(
                "install OpenMP's runtime: `apt-get install libgomp1` or `dnf install libgomp`",
            ),
            _ => None,
        };
        // Anything else may be found at run time by means that are not the loader's.
        if let Some(fix) = fix {
            found.push(
                Finding::new(
                    "system-library-missing",
                    Severity::Error,
                    format!(
                        "{} wants `{}`, which this system does not have",
                        who(prediction),
                        miss.name
                    ),
                )
                .proof(format!("`{}` asks for it", miss.asker.display()))
                .fix(fix),
            );
        }
    }
    found
}

/// The command after which the names are there: what `use --detect` proposes, where that brings them.
fn bringing(view: &View<'_>, prediction: &Prediction, asked: &Asked<'_>, names: &[&str]) -> String {
    if let Some(fix) = asked.project.and_then(Project::way_out) {
        return fix;
    }
    let proposal = asked.project.and_then(Project::proposal).map(ToString::to_string);
    let proposed = proposal.filter(|spec| {
        pin_with(view.catalog, names, Some(spec))
            .is_some_and(|pin| pin == format!("cuenv use {spec}"))
    });
    let command = match &proposed {
        Some(spec) => Some(format!("cuenv use {spec}")),
        None => pin_with(view.catalog, names, asked.spec),
    };
    match (command, &view.launch.choice) {
        // What holds should have brought them: its prefix is not whole.
        (Some(command), Some(choice)) if command == format!("cuenv use {}", choice.spec) => {
            shims::prepare::command("cuenv verify --files --repair", choice)
        }
        (Some(command), _) => command,
        (None, _) => format!(
            "no single toolchain brings all of them: run the parts of the project in environments of their own, or \
             reinstall {} in a build for one CUDA major",
            prediction.name
        ),
    }
}

fn symbols(view: &View<'_>, prediction: &Prediction) -> Option<Finding> {
    let gap = prediction.symbol_gaps.first()?;
    let winner = Path::new(&gap.winner);
    let version = view.version(winner).map(|version| format!(" ({version})")).unwrap_or_default();
    let wants = view
        .version(Path::new(&gap.wanted_by))
        .map(|version| format!(" ({version})"))
        .unwrap_or_default();
    let fix = match view.place(winner) {
        Place::Toolchain => remedy::defer(view.launch),
        _ => remedy::off_path(&view.launch.inherited, &[directory(winner)]),
    };
    Some(
        Finding::new(
            "symbol-missing",
            Severity::Error,
            format!(
                "{} will fail: undefined symbol: {}, version {}",
                who(prediction),
                gap.symbol,
                gap.version
            ),
        )
        .proof(format!("`{}`{wants} wants it", gap.wanted_by))
        .proof(format!("`{}`{version} wins and does not have it", gap.winner))
        .fix(fix),
    )
}

/// Parts of two cuDNNs in one process.
fn mixed_cudnn(view: &View<'_>, prediction: &Prediction) -> Option<Finding> {
    let sources = cudnn_sources(prediction);
    if sources.len() < 2 {
        return None;
    }
    // A framework that bundles the front of cuDNN under a name of its own expects its parts from outside.
    let bundled = sources.values().flatten().any(|file| file.contains("libcudnn-"));
    let severity = if bundled { Severity::Warning } else { Severity::Error };
    let names: Vec<&str> = sources.keys().map(String::as_str).collect();
    let mut finding = Finding::new(
        "cudnn-mixed",
        severity,
        format!("{} will load parts of two cuDNNs: {}", who(prediction), names.join(" and ")),
    );
    for (source, files) in &sources {
        finding = finding.proof(format!("{source}: {}", listed(files)));
    }
    let rows = prediction.libraries.iter().filter(|row| row.name.starts_with("libcudnn"));
    let strangers: BTreeSet<&Path> =
        rows.filter(|row| row.place == Place::Elsewhere).map(|row| directory(&row.file)).collect();
    Some(finding.fix(if !strangers.is_empty() {
        let strangers: Vec<&Path> = strangers.into_iter().collect();
        remedy::off_path(&view.launch.inherited, &strangers)
    } else if bundled {
        // The front that is bundled cannot be moved; its parts can.
        let front =
            sources.iter().find(|(_, files)| files.iter().any(|file| file.contains("libcudnn-")));
        let version = front.map_or("9", |(version, _)| version.as_str());
        format!("cuenv use {}", with_cudnn(view, version))
    } else {
        remedy::defer(view.launch)
    }))
}

fn directory(file: &Path) -> &Path {
    file.parent().unwrap_or(file)
}

/// The releases of cuDNN whose files would be loaded, with the files; where no version is known, the directory.
pub(super) fn cudnn_sources(prediction: &Prediction) -> BTreeMap<String, Vec<String>> {
    let mut by_source: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in prediction.libraries.iter().filter(|row| row.name.starts_with("libcudnn")) {
        let source = match row.version.as_deref().map(numbers) {
            Some(version) => version.iter().map(u64::to_string).collect::<Vec<_>>().join("."),
            None => row.file.parent().unwrap_or(&row.file).display().to_string(),
        };
        by_source.entry(source).or_default().push(row.file.display().to_string());
    }
    by_source
}

/// Files by directory: a few names say as much as many paths.
fn listed(files: &[String]) -> String {
    let mut by_directory: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in files {
        let (directory, name) = file.rsplit_once('/').unwrap_or(("", file));
        by_directory.entry(directory).or_default().push(name);
    }
    let group = |(directory, names): (&str, Vec<&str>)| match names[..] {
        [name] => format!("`{directory}/{name}`"),
        [first, ..] => format!("`{first}` and {} more in `{directory}`", names.len() - 1),
        [] => String::new(),
    };
    by_directory.into_iter().map(group).collect::<Vec<_>>().join(", ")
}

/// The cuDNN that wins is older than the one that the framework was compiled with.
fn older_cudnn(
    view: &View<'_>,
    prediction: &Prediction,
    project: Option<&Project>,
) -> Option<Finding> {
    // The requirements of the distribution say it; where they do not, the table of frameworks does.
    let wish =
        project.and_then(|project| project.wish(&prediction.distribution, &prediction.version));
    let of_wish = wish.and_then(|wish| wish.cudnn.clone());
    let of_metadata =
        || view.sites.required(&prediction.distribution, "nvidia-cudnn-cu")?.parse().ok();
    let compiled: Version = of_wish.or_else(of_metadata)?;
    let row = prediction.libraries.iter().find(|row| {
        row.name.starts_with("libcudnn.so.") || row.name.starts_with("libcudnn_graph.so.")
    })?;
    let running = row.version.as_deref()?;
    let version: Version = running.parse().ok()?;
    if version.major() != compiled.major() || cudnn_serves(&version, &compiled) {
        return None;
    }
    let wanted = compiled.major_minor();
    Some(
        Finding::new(
            "cudnn-older-than-compiled",
            Severity::Error,
            format!(
                "{} was compiled with cuDNN {compiled} and will get the older {running}, which it refuses",
                who(prediction)
            ),
        )
        .proof(format!("`{}`, by {}", row.file.display(), row.because))
        .fix(match row.place {
            Place::Toolchain => format!("cuenv use {}", with_cudnn(view, &wanted.to_string())),
            _ => remedy::off_path(&view.launch.inherited, &[directory(&row.file)]),
        }),
    )
}

fn with_cudnn(view: &View<'_>, cudnn: &str) -> String {
    let cuda = view.launch.toolchain().and_then(|name| name.split('+').next()).unwrap_or("12");
    format!("{cuda}+cudnn{cudnn}")
}

fn numbers(version: &str) -> Vec<u64> {
    version.split('.').map_while(|part| part.parse().ok()).take(3).collect()
}

/// Two siblings of one release that come from different ones.
fn apart(view: &View<'_>, prediction: &Prediction, one: &str, other: &str) -> Option<Finding> {
    let of = |start: &str| prediction.libraries.iter().find(|row| row.name.starts_with(start));
    let (a, b) = (of(one)?, of(other)?);
    if a.version.is_none() || b.version.is_none() || a.version == b.version {
        return None;
    }
    let version = |row: &super::predict::Row| row.version.clone().unwrap_or_default();
    Some(
        Finding::new(
            "siblings-apart",
            Severity::Error,
            format!(
                "{} will get `{}` {} and `{}` {}, which belong together",
                who(prediction),
                a.name,
                version(a),
                b.name,
                version(b)
            ),
        )
        .proof(format!("`{}`, by {}", a.file.display(), a.because))
        .proof(format!("`{}`, by {}", b.file.display(), b.because))
        .fix(match [a, b].iter().find(|row| row.place == Place::Elsewhere) {
            Some(stranger) => {
                remedy::off_path(&view.launch.inherited, &[directory(&stranger.file)])
            }
            None => remedy::defer(view.launch),
        }),
    )
}

/// A library that the environment brings, and that another copy beats.
fn shadowed(view: &View<'_>, prediction: &Prediction) -> Option<Finding> {
    let own: BTreeSet<String> = view
        .launch
        .env
        .as_ref()
        .map(|env| shims::venv::Supplied::by(env).libraries.into_keys().collect())
        .unwrap_or_default();
    let beaten: Vec<_> = prediction
        .libraries
        .iter()
        .filter(|row| row.place != Place::Environment && own.contains(&row.name))
        .collect();
    let first = beaten.first()?;
    let names: Vec<String> = beaten.iter().map(|row| format!("`{}`", row.name)).collect();
    let by = match first.place {
        Place::Toolchain => "the toolchain's",
        _ => "a stranger's",
    };
    let mut finding = Finding::new(
        "shadowed",
        Severity::Warning,
        match &names[..] {
            [first, rest @ ..] if rest.len() > 2 => format!(
                "{by} {first} and {} more beat the copies that came with {}",
                rest.len(),
                who(prediction)
            ),
            _ => format!(
                "{by} {} beat the copies that came with {}",
                names.join(", "),
                who(prediction)
            ),
        },
    );
    let mut by_rule: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for row in &beaten {
        by_rule.entry(&row.because).or_default().push(row.file.display().to_string());
    }
    for (rule, files) in by_rule {
        finding = finding.proof(format!("{}, by {rule}", listed(&files)));
    }
    Some(finding.fix(match first.place {
        Place::Toolchain => remedy::defer(view.launch),
        _ => remedy::off_path(&view.launch.inherited, &[directory(&first.file)]),
    }))
}
