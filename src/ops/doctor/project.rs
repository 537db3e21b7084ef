//! What the project's parts want against what is pinned: the verdict of `use --detect`, said as findings.

use super::predict::View;
use crate::catalog::ProjectCatalog;
use crate::context::Context;
use crate::domain::compat::Machine;
use crate::domain::finding::{Finding, Severity};
use crate::domain::manifest::framework::{CudnnWish, FrameworkRelease};
use crate::domain::spec::{Spec, ToolchainSpec};
use crate::domain::wish::{Conflict, Wish, unmet};
use crate::ops::detect::{self, Detection};
use crate::ops::launch::{Launch, State};

/// What `use --detect` would say of the project, seen from the program that is looked at.
pub(super) struct Project {
    tables: ProjectCatalog,
    pub(super) detection: Detection,
    /// The name of the environment's directory, with which the places of what is installed begin.
    environment: Option<String>,
}

impl Project {
    pub(super) fn look(
        cx: &Context<'_>,
        catalog: &crate::catalog::Catalog,
        machine: &Machine,
        launch: &Launch,
    ) -> Option<Self> {
        let tables = cx.project_catalog().ok()?;
        let beside = launch.choice.as_ref().and_then(|choice| choice.pin_directory());
        let root = launch.env.as_ref().map(|env| env.root.clone());
        let environment = root.as_deref().and_then(|root| root.file_name()?.to_str());
        let environment = environment.map(str::to_owned);
        let request = detect::Request {
            directory: beside.unwrap_or(&launch.cwd).to_owned(),
            venv: root,
            python: None,
        };
        let detection = detect::detect(cx.process, catalog, &tables, machine, &request);
        Some(Self { tables, detection, environment })
    }

    /// The command that pins what satisfies every part.
    pub(super) fn proposal(&self) -> Option<&ToolchainSpec> {
        self.detection.proposal.as_ref().map(|proposal| &proposal.spec)
    }

    /// What to do where no single pin works.
    pub(super) fn way_out(&self) -> Option<String> {
        self.detection.conflict.as_ref().map(|conflict| self.mending(conflict))
    }

    /// The wish of an installed distribution.
    pub(super) fn wish(&self, distribution: &str, version: &str) -> Option<&Wish> {
        let who = format!("{distribution} {version}");
        self.detection.wishes.iter().find(|wish| wish.who == who)
    }

    /// Whether a place is in the Python environment, and not in a file that may speak of another machine.
    fn is_installed(&self, place: &str) -> bool {
        self.environment.as_deref().is_some_and(|name| place.starts_with(&format!("{name}/")))
    }

    /// Findings; `known` are those about libraries, one of which may be the same matter.
    pub(super) fn check(&self, view: &View<'_>, known: &mut [Finding]) -> Vec<Finding> {
        if let Some(conflict) = &self.detection.conflict {
            return vec![self.conflict(conflict)];
        }
        let Some(proposal) = self.proposal() else { return Vec::new() };
        let pin = match &view.launch.state {
            State::Installed(installed) => installed.activation.toolchain.parse(),
            State::Missing => match &view.launch.choice {
                Some(choice) => choice.spec.parse(),
                None => return Vec::new(),
            },
            State::Nothing => return self.unpinned(proposal).into_iter().collect(),
            State::System | State::Broken(_) => return Vec::new(),
        };
        // A linked toolkit has a name of its own, which says nothing.
        let Ok(Spec::Toolchain(pin)) = pin else { return Vec::new() };
        let unmet = unmet(&self.detection.wishes, &pin);
        let Some(first) = unmet.first() else { return Vec::new() };
        let fix = format!("cuenv use {proposal}");
        let proof = |finding: Finding| {
            unmet.iter().fold(finding, |finding, unmet| {
                finding.proof(format!("{} wants {} (`{}`)", unmet.who, unmet.wants, unmet.place))
            })
        };
        if let Some(same) = known.iter_mut().find(|finding| finding.fix.as_ref() == Some(&fix)) {
            *same = proof(same.clone());
            return Vec::new();
        }
        let certain = unmet.iter().any(|unmet| unmet.is_certain && self.is_installed(&unmet.place));
        let severity = if certain { Severity::Error } else { Severity::Warning };
        let holds = view.launch.choice.as_ref().map_or("", |choice| choice.spec.as_str());
        let what = match unmet.len() {
            1 => format!("`{holds}` holds here, and {} wants {}", first.who, first.wants),
            count => format!(
                "`{holds}` holds here, and {count} parts of the project want something else"
            ),
        };
        vec![proof(Finding::new("pin-unfit", severity, what)).fix(fix)]
    }

    /// Nothing is pinned, and something here would need it.
    fn unpinned(&self, proposal: &ToolchainSpec) -> Option<Finding> {
        let depends = self
            .detection
            .wishes
            .iter()
            .find(|wish| !wish.own_libraries && (wish.cuda.is_some() || wish.compiles))?;
        Some(
            Finding::new(
                "not-pinned",
                Severity::Note,
                format!("nothing is pinned here, and {} wants CUDA from outside", depends.who),
            )
            .proof(format!("`{}`", depends.place))
            .fix(format!("cuenv use {proposal}")),
        )
    }

    fn conflict(&self, conflict: &Conflict) -> Finding {
        let (one, other) = (&conflict.places.0, &conflict.places.1);
        let certain = self.is_installed(one) && self.is_installed(other);
        let severity = if certain { Severity::Error } else { Severity::Warning };
        Finding::new("no-single-pin", severity, format!("no single pin works: {conflict}"))
            .proof(format!("{}: `{one}`", conflict.one.0))
            .proof(format!("{}: `{other}`", conflict.other.0))
            .fix(self.mending(conflict))
    }

    fn mending(&self, conflict: &Conflict) -> String {
        self.agreeing(conflict).unwrap_or_else(|| {
            "give each part a directory with an environment and a pin of its own".to_owned()
        })
    }

    /// The command that exchanges one of the two by a release that agrees with the other.
    fn agreeing(&self, conflict: &Conflict) -> Option<String> {
        let wish = |who: &str| self.detection.wishes.iter().find(|wish| wish.who == who);
        let (one, other) = (wish(&conflict.one.0)?, wish(&conflict.other.0)?);
        let major = |wish: &Wish| wish.cuda.as_ref().map(|cuda| cuda.major);
        // The part for the older CUDA moves, if a release of it is known to.
        let (newer, older) = if major(one) >= major(other) { (one, other) } else { (other, one) };
        [(newer, older), (older, newer)].into_iter().find_map(|(keep, change)| {
            let distribution = change.who.split(' ').next()?;
            let entries = self.tables.frameworks.release.iter();
            let fitting = entries.filter(|entry| {
                entry.distribution == distribution && agrees(entry, keep) && entry.broken.is_none()
            });
            let newest = fitting.max_by_key(|entry| {
                entry.versions.iter().map(|specifier| specifier.version().clone()).max()
            })?;
            Some(format!("pip install '{distribution}{}'", newest.versions))
        })
    }
}

/// Whether a build, as it lies on PyPI, goes with the toolchain that `keep` wants.
fn agrees(entry: &FrameworkRelease, keep: &Wish) -> bool {
    let same_cuda = match (&entry.cuda, &keep.cuda) {
        (Some(cuda), Some(kept)) => cuda.major() == kept.major,
        _ => false,
    };
    let same_cudnn = match (&entry.cudnn, &keep.cudnn) {
        (Some(CudnnWish::AtLeast(version)), Some(kept)) => version.major() == kept.major(),
        _ => true,
    };
    entry.extra.is_none()
        && entry.local.is_none()
        && entry.via.is_empty()
        && same_cuda
        && same_cudnn
}
