//! A prefix that is not what was installed: files that are gone or have another size. Nothing is read, only looked at.

use super::predict::View;
use crate::context::Context;
use crate::domain::finding::{Finding, Severity};
use crate::ops::verify;

/// More are only counted.
const SHOWN: usize = 5;

pub(super) fn check(cx: &Context<'_>, view: &View<'_>) -> Option<Finding> {
    let (prefix, choice) = (view.launch.prefix()?, view.launch.choice.as_ref()?);
    let faults = verify::glance(cx, prefix);
    let first = faults.first()?;
    let what = match faults.len() {
        1 => format!("`{}` of the toolchain {}", first.path, first.fault),
        count => format!("{count} files of the toolchain are gone or changed"),
    };
    let mut finding = Finding::new("toolchain-damaged", Severity::Error, what)
        .proof(format!("`{}`", prefix.display()));
    if faults.len() > 1 {
        for fault in faults.iter().take(SHOWN) {
            finding = finding.proof(format!("`{}` {}", fault.path, fault.fault));
        }
    }
    if faults.len() > SHOWN {
        finding = finding.proof(format!("and {} more", faults.len() - SHOWN));
    }
    finding.fix = verify::mending(&faults, choice);
    Some(finding)
}
