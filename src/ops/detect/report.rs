//! What was found in a project, and the pin that follows.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::domain::spec::{Spec, ToolchainSpec};
use crate::domain::version::Version;
use crate::domain::wish::{Conflict, Proposal, Unmet, Wish, unmet};

/// The report of [`super::detect`].
#[derive(Clone, Debug, Serialize)]
pub struct Detection {
    /// The pin; absent when nothing wants CUDA, or when two parts cannot agree.
    pub proposal: Option<Proposal>,
    /// The two parts that cannot agree.
    pub conflict: Option<Conflict>,
    /// The parts that what is pinned here does not give what they want.
    pub unmet: Vec<Unmet>,
    /// What is pinned here.
    pub pinned: Option<String>,
    /// What each part wants.
    pub wishes: Vec<Wish>,
    /// The Python environment.
    pub environment: Option<PathBuf>,
    /// The files and directories that were read.
    pub looked_at: Vec<PathBuf>,
    /// What else is worth saying.
    pub notes: Vec<String>,
}

impl Detection {
    pub(super) fn new(
        outcome: Result<Option<Proposal>, Box<Conflict>>,
        wishes: Vec<Wish>,
        environment: Option<PathBuf>,
        mut looked_at: Vec<PathBuf>,
        notes: Vec<String>,
    ) -> Self {
        looked_at.sort();
        looked_at.dedup();
        let (proposal, conflict) = match outcome {
            Ok(proposal) => (proposal, None),
            Err(conflict) => (None, Some(*conflict)),
        };
        let (unmet, pinned) = (Vec::new(), None);
        Self { proposal, conflict, unmet, pinned, wishes, environment, looked_at, notes }
    }

    /// Compares with what is pinned.
    pub(super) fn against(&mut self, spec: &str) {
        if let Ok(Spec::Toolchain(pin)) = spec.parse() {
            self.unmet = unmet(&self.wishes, &pin);
            self.pinned = Some(spec.to_owned());
        }
    }

    /// Returns the oldest version that will do, per component, with who asks for it: bounds for resolving `spec`.
    ///
    /// Only parts that depend on the toolchain count, and only those of the majors that `spec` names: whoever pins
    /// another major says that the parts will change, and is not held to what is there now.
    pub fn least(&self, spec: &ToolchainSpec) -> BTreeMap<String, (Version, String)> {
        let major = spec.cuda.as_ref().map(Version::major);
        let asked = spec.components.get("cudnn").and_then(Option::as_ref).map(Version::major);
        let depends = self.wishes.iter().filter(|wish| {
            let cuda = wish.cuda.as_ref().map(|cuda| cuda.major);
            !wish.own_libraries && !wish.cudnn_optional && (major.is_none() || cuda == major)
        });
        let cudnn = depends
            .filter_map(|wish| Some((wish.cudnn.clone()?, wish.who.clone())))
            .filter(|(least, _)| asked.is_none_or(|asked| asked == least.major()))
            .max();
        cudnn.map(|least| ("cudnn".to_owned(), least)).into_iter().collect()
    }
}

impl fmt::Display for Detection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for wish in &self.wishes {
            writeln!(f, "{} ({})", wish.who, wish.place)?;
            writeln!(f, "    {}", Wants(wish))?;
            for note in &wish.notes {
                writeln!(f, "    note: {note}")?;
            }
        }
        match (&self.proposal, &self.conflict) {
            (Some(proposal), _) => {
                if !self.wishes.is_empty() {
                    writeln!(f)?;
                }
                writeln!(f, "{}", proposal.spec)?;
                for reason in &proposal.reasons {
                    writeln!(f, "    {reason}")?;
                }
                for note in &proposal.notes {
                    writeln!(f, "    note: {note}")?;
                }
            }
            (None, Some(conflict)) => {
                writeln!(f, "\nno single pin works: {conflict}")?;
                writeln!(f, "    {} ({})", conflict.one.0, conflict.places.0)?;
                writeln!(f, "    {} ({})", conflict.other.0, conflict.places.1)?;
            }
            (None, None) => writeln!(f, "nothing here asks for CUDA")?,
        }
        if let Some(pinned) = &self.pinned {
            for Unmet { who, wants, .. } in &self.unmet {
                writeln!(f, "note: `{pinned}` is pinned here, and {who} wants {wants}")?;
            }
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        Ok(())
    }
}

/// A wish in one line.
struct Wants<'a>(&'a Wish);

impl fmt::Display for Wants<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(cuda) = &self.0.cuda {
            let made = cuda.release.as_ref().or(cuda.made_with.as_ref());
            parts.push(match made {
                Some(version) => format!("CUDA {version}"),
                None => match &cuda.least {
                    Some(least) => format!("CUDA {least} or a later {}", cuda.major),
                    None => format!("CUDA {}", cuda.major),
                },
            });
        }
        if let Some(cudnn) = &self.0.cudnn {
            let optional = if self.0.cudnn_optional { " (optional)" } else { "" };
            parts.push(format!("cuDNN {cudnn} or a later {}{optional}", cudnn.major()));
        } else if self.0.no_cudnn {
            parts.push("no cuDNN".to_owned());
        }
        parts.extend(self.0.axes.iter().map(|(axis, least)| format!("{axis} {least}")));
        if self.0.own_libraries {
            parts.push("brings its own".to_owned());
        }
        if !self.0.verified {
            parts.push("not verified".to_owned());
        }
        if parts.is_empty() {
            parts.push("any CUDA".to_owned());
        }
        f.write_str(&parts.join(", "))
    }
}
