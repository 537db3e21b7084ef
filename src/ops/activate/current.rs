//! `cuenv current`: what holds here, because of what, and what it beat.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use shims::dirs::Dirs;
use shims::environ;
use shims::locate::{Choice, LocateError};
use shims::prepare;

use super::Error;
use crate::catalog::Catalog;
use crate::domain::host::Host;
use crate::ops::drift::{self, Drift};
use crate::ops::verdict::{self, Line};
use crate::ops::{place, selection};
use crate::platform::process::Process;

/// What holds here.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The spec; `None` when nothing selects a toolchain.
    pub spec: Option<String>,
    /// Where it comes from.
    pub because: Option<String>,
    /// The toolchain's name; `None` when it is not installed.
    pub toolchain: Option<String>,
    /// Its prefix.
    pub prefix: Option<PathBuf>,
    /// Whether the lock beside the pin named the prefix.
    pub locked: bool,
    /// What is wrong with the lock beside the pin; `None` when it answers or there is none.
    pub drift: Option<Drift>,
    /// What it beat, in order of rank.
    pub beats: Vec<Beaten>,
    /// What happens where a Python environment brings NVIDIA libraries too; `None` when no toolchain is entered.
    pub policy: Option<Policy>,
    /// The project's Python environment, if it brings NVIDIA libraries.
    pub venv: Option<Venv>,
    /// The toolchain that is active in this process's environment.
    pub active: Option<String>,
    /// The variables that entering it changes.
    pub variables: Vec<String>,
    /// The driver of this machine and the newest CUDA it supports, which no toolchain changes.
    pub driver: Option<String>,
    /// The GPUs of this machine.
    pub gpus: Vec<String>,
    /// How this machine takes the toolchain; absent when nothing is known of one of them.
    pub verdict: Option<Line>,
    /// Pins that were not taken, and other remarks.
    pub notes: Vec<String>,
}

/// A choice that lost.
#[derive(Debug, Serialize)]
pub struct Beaten {
    /// Its spec.
    pub spec: String,
    /// Where it comes from.
    pub source: String,
}

/// The venv policy.
#[derive(Debug, Serialize)]
pub struct Policy {
    /// Its word.
    pub name: String,
    /// Who said it.
    pub because: String,
}

/// How the libraries are shared.
#[derive(Debug, Serialize)]
pub struct Venv {
    /// The environment's root.
    pub root: PathBuf,
    /// How it was found.
    pub via: String,
    /// Components that come from the environment.
    pub from_venv: Vec<String>,
    /// Components that come from the toolchain.
    pub from_toolchain: Vec<String>,
    /// Components that come from neither, each with the reason.
    pub left_out: Vec<String>,
}

/// Finds out what holds here.
pub fn current(process: &Process, dirs: &Dirs) -> Result<Report, Error> {
    let selection = selection::ask(process, dirs, None, true);
    let mut report = Report {
        spec: None,
        because: None,
        toolchain: None,
        prefix: None,
        locked: false,
        drift: None,
        beats: Vec::new(),
        policy: None,
        venv: None,
        active: process.var(shims::names::ACTIVE).map(str::to_owned),
        variables: Vec::new(),
        driver: None,
        gpus: Vec::new(),
        verdict: None,
        notes: selection.notices.iter().map(ToString::to_string).collect(),
    };
    for (path, keys) in &selection.unknown {
        report.notes.push(format!("`{}` holds unknown keys: {}", path.display(), keys.join(", ")));
    }
    if let Some(error) = selection.error {
        if selection.choices.is_empty() {
            return Err(place::Error::from(selection::Error(error)).into());
        }
        report.notes.push(error.to_string());
    }
    let mut choices = selection.choices.into_iter();
    let Some(choice) = choices.next() else { return Ok(report) };
    report.beats = choices
        .map(|beaten| Beaten { source: beaten.source.to_string(), spec: beaten.spec })
        .collect();
    report.spec = Some(choice.spec.clone());
    report.because = Some(choice.source.to_string());
    report.drift = drift::of(&choice);
    report.describe(process, dirs, &choice)?;
    Ok(report)
}

impl Report {
    /// Adds what is known of the machine.
    pub fn see(&mut self, host: &Host, catalog: &Catalog) {
        let knowledge = catalog.knowledge();
        // What is pinned and not installed yet is judged by its name, as far as that goes.
        let name = self.toolchain.as_deref().or(self.spec.as_deref());
        self.verdict = name.and_then(|name| verdict::of_toolchain(catalog, &host.machine(), name));
        self.driver = host.driver.as_ref().map(|found| {
            let told = host.driver_cuda.as_ref().map(|cuda| &cuda.value);
            match told.or_else(|| knowledge.driver_cuda(&found.value)) {
                Some(cuda) => format!("{}, supports CUDA up to {cuda}", found.value),
                None => found.value.to_string(),
            }
        });
        self.gpus = host
            .gpus
            .iter()
            .map(|gpu| {
                let name = gpu.name.as_deref().unwrap_or("GPU");
                match &gpu.cc {
                    Some(cc) => format!("{name} (compute capability {})", cc.value),
                    None => name.to_owned(),
                }
            })
            .collect();
    }

    fn describe(&mut self, process: &Process, dirs: &Dirs, choice: &Choice) -> Result<(), Error> {
        let installed = match place::of(dirs, choice.clone()) {
            Ok(place) => place.installed,
            // What is wrong with the lock is told as such.
            Err(
                place::Error::Selection(selection::Error(LocateError::Lock { .. }))
                | place::Error::Missing(_),
            ) => None,
            Err(error) => return Err(error.into()),
        };
        let Some(installed) = installed else { return Ok(()) };
        self.toolchain = Some(installed.activation.toolchain.clone());
        self.prefix = Some(installed.prefix.clone());
        self.locked = installed.locked;
        let vars = process.env();
        let request = prepare::Request::new(&installed, choice, vars, dirs);
        if let Ok(rule) = prepare::rule(vars, choice, dirs) {
            let (name, because) = (rule.policy.name().to_owned(), rule.source.to_string());
            self.policy = Some(Policy { name, because });
        }
        match prepare::prepare(&request) {
            Ok(prepared) => {
                // From outside of any toolchain: what is active already would hide the changes.
                let outside = environ::apply(vars, &environ::leave(vars));
                self.variables = environ::enter(&outside, &prepared.wanted, dirs)
                    .into_iter()
                    .map(|(name, _)| name.to_string_lossy().into_owned())
                    .filter(|name| !name.starts_with("CUENV_"))
                    .collect();
                let libraries = prepared.libraries;
                self.venv = libraries.env.map(|env| Venv {
                    root: env.root,
                    via: env.via.to_string(),
                    from_venv: libraries.from_env,
                    from_toolchain: libraries.from_toolchain,
                    left_out: libraries.left_out.iter().map(ToString::to_string).collect(),
                });
            }
            Err(error) => self.notes.push(error.to_string()),
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line =
            |f: &mut fmt::Formatter<'_>, name: &str, value: &str| writeln!(f, "{name:<11}{value}");
        let Some(spec) = &self.spec else {
            line(f, "active", "none (system)")?;
            return self.notes.iter().try_for_each(|note| line(f, "note", note));
        };
        let spec = if self.toolchain.is_none() && spec != shims::spec::SYSTEM {
            format!("{spec} (not installed)")
        } else {
            spec.clone()
        };
        line(f, "active", &spec)?;
        line(f, "because", self.because.as_deref().unwrap_or_default())?;
        for beaten in &self.beats {
            line(f, "beats", &format!("{} from {}", beaten.spec, beaten.source))?;
        }
        if let (Some(toolchain), Some(prefix)) = (&self.toolchain, &self.prefix) {
            let locked = if self.locked { " (locked)" } else { "" };
            line(f, "toolchain", &format!("{toolchain}{locked}"))?;
            line(f, "prefix", &prefix.display().to_string())?;
        }
        if let Some(drift) = &self.drift {
            line(f, "lock", &format!("{} (fix: {})", drift.what, drift.fix))?;
        }
        if let Some(venv) = &self.venv {
            let list = |names: &[String]| match names {
                [] => "nothing".to_owned(),
                names => names.join(" "),
            };
            line(f, "venv", &format!("{} ({})", venv.root.display(), venv.via))?;
            line(f, "", &format!("from the venv: {}", list(&venv.from_venv)))?;
            line(f, "", &format!("from the toolchain: {}", list(&venv.from_toolchain)))?;
            for left in &venv.left_out {
                line(f, "", &format!("left out: {left}"))?;
            }
        }
        if let Some(policy) = &self.policy {
            line(f, "policy", &format!("{} ({})", policy.name, policy.because))?;
        }
        if !self.variables.is_empty() {
            line(f, "sets", &self.variables.join(" "))?;
        }
        if let Some(active) = &self.active
            && Some(active) != self.toolchain.as_ref()
        {
            line(f, "shell", &format!("{active} is what this shell is in now"))?;
        }
        if let Some(driver) = &self.driver {
            line(f, "driver", &format!("{driver} (not changed by a toolchain)"))?;
        }
        for gpu in &self.gpus {
            line(f, "gpu", gpu)?;
        }
        if let Some(words) = self.verdict.as_ref().and_then(Line::text) {
            line(f, "verdict", &words)?;
        }
        self.notes.iter().try_for_each(|note| line(f, "note", note))
    }
}
