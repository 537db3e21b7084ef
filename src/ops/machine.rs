//! What decides about this machine, for resolving.

use crate::context::Context;
use crate::domain::compat::Machine;
use crate::domain::target::Target;
use crate::domain::wheel_name::Glibc;

/// This machine as far as resolving goes.
pub struct Facts {
    /// The C library; `None` when resolving for another machine.
    pub glibc: Option<Glibc>,
    /// Driver and GPUs; empty when resolving for another machine.
    pub facts: Machine,
}

/// Looks at this machine, or at none when `target` is another platform.
pub fn probe(_cx: &Context<'_>, _target: Target) -> Facts {
    Facts { glibc: None, facts: Machine::default() }
}
