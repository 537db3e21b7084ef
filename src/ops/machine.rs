//! What decides about this machine, for resolving.

use super::host;
use crate::catalog::Catalog;
use crate::context::Context;
use crate::domain::compat::Machine;
use crate::domain::target::Target;
use crate::domain::wheel_name::Glibc;
use crate::platform::host::{Depth, HostError};

/// This machine as far as resolving goes.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The C library; `None` when it is unknown or another machine is resolved for.
    pub glibc: Option<Glibc>,
    /// Driver and GPUs; empty when another machine is resolved for.
    pub machine: Machine,
}

/// Looks at this machine, or at none when `target` is another platform.
pub fn facts(cx: &Context<'_>, catalog: &Catalog, target: Target) -> Result<Facts, HostError> {
    if target != Target::host() {
        return Ok(Facts::default());
    }
    let host = host::probe(cx.process, catalog, Depth::Enough)?;
    let glibc = host.glibc().and_then(|version| {
        let part = |index: usize| u32::try_from(*version.parts().get(index).unwrap_or(&0)).ok();
        Some(Glibc::new(part(0)?, part(1)?))
    });
    Ok(Facts { glibc, machine: host.machine() })
}
