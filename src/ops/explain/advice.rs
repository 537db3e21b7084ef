//! Commands that fit the pin that holds: what it already has is not asked for again.

use super::{Explanation, Known, cut};
use crate::domain::manifest::symptom::{Depth, Symptom};
use crate::domain::spec::{Spec, ToolchainSpec};
use crate::domain::version::Version;

/// Runs a program in the toolchain that holds.
pub(super) const EXEC: &str = "cuenv exec -- COMMAND";

/// The CUDA that is named where nothing is pinned and any will do.
const ANY_CUDA: u64 = 12;

/// An explanation as the manifest has it.
pub(super) fn plain(known: &Known<'_>, symptom: &Symptom, line: &str) -> Explanation {
    let fix = match &symptom.wants {
        Some(wants) => with(known.spec.as_deref(), wants, &symptom.fix),
        None => symptom.fix.clone(),
    };
    of(symptom, line, symptom.cause.clone(), fix)
}

/// An explanation of a symptom with words of its own.
pub(super) fn of(symptom: &Symptom, line: &str, cause: String, fix: String) -> Explanation {
    Explanation {
        id: symptom.id.clone(),
        line: cut(line.lines().next().unwrap_or(line)),
        cause,
        fix: (symptom.depth != Depth::Harmless).then_some(fix),
        follows: false,
        depth: symptom.depth,
    }
}

/// The commands after which a toolchain with `wants` runs `then`.
pub(super) fn with(spec: Option<&str>, wants: &str, then: &str) -> String {
    match pin(spec, wants) {
        None => format!("{then} (the pin here has what it takes)"),
        Some(pin) => format!("cuenv use {pin}, then `{then}`"),
    }
}

/// The pin that has what `spec` has and what is wanted; `None` where `spec` has it already.
pub(super) fn pin(spec: Option<&str>, wants: &str) -> Option<ToolchainSpec> {
    let Ok(Spec::Toolchain(wants)) = wants.parse() else { return None };
    let Some(Spec::Toolchain(now)) = spec.and_then(|spec| spec.parse().ok()) else {
        let cuda = wants.cuda.clone().or_else(|| Some(Version::from_parts(&[ANY_CUDA])));
        return Some(ToolchainSpec { cuda, ..wants });
    };
    let mut pin = now.clone();
    if let (Some(wanted), Some(have)) = (&wants.cuda, &now.cuda)
        && wanted.major() != have.major()
    {
        pin.cuda = Some(wanted.clone());
    }
    for (component, wanted) in &wants.components {
        let serves = match (now.components.get(component), wanted) {
            (None, _) => false,
            (Some(_), None) | (Some(None), Some(_)) => true,
            // A pin that leaves the minor open takes the newest.
            (Some(Some(have)), Some(wanted)) => {
                have.major() == wanted.major()
                    && (have.minor().is_none() || have.minor() >= wanted.minor())
            }
        };
        if !serves {
            pin.components.insert(component.clone(), wanted.clone());
        }
    }
    if wants.profile() > now.profile() {
        pin.profile = wants.profile;
    }
    (pin != now).then_some(pin)
}

#[cfg(test)]
mod tests {
    use super::{pin, with};

    #[test]
    fn what_a_pin_has_is_not_asked_for_again() {
        let pin = |spec, wants| pin(spec, wants).map_or_else(String::new, |pin| pin.to_string());
        assert_eq!(pin(None, "auto+cudnn9"), "12+cudnn9");
        assert_eq!(pin(None, "auto@base"), "12@base");
        assert_eq!(pin(Some("12.4+cudnn9"), "auto+cudnn9"), "");
        assert_eq!(pin(Some("12.4+cudnn9"), "auto+cudnn9.8"), "");
        assert_eq!(pin(Some("12.4+cudnn8"), "auto+cudnn9"), "12.4+cudnn9");
        assert_eq!(pin(Some("12.4+cudnn9.1"), "auto+cudnn9.8"), "12.4+cudnn9.8");
        assert_eq!(pin(Some("12.4+cudnn9.10"), "auto+cudnn9.8"), "");
        assert_eq!(pin(Some("12.4"), "auto@devel"), "12.4@devel");
        assert_eq!(pin(Some("12.4@devel"), "auto@devel"), "");
        assert_eq!(pin(Some("12.4+cudnn9"), "13@devel"), "13+cudnn9@devel");
        assert_eq!(pin(Some("site"), "auto@devel"), "12@devel");
        assert!(with(Some("12.4@devel"), "auto@devel", "run").starts_with("run (the pin here"));
    }
}
