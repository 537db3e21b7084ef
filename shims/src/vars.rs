//! An environment as a value. An empty variable counts as unset where cuenv asks a question of it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// An environment.
pub type Vars = BTreeMap<OsString, OsString>;

/// Reads this process's environment. Only `main` calls it.
#[expect(clippy::disallowed_methods, reason = "this is the one door")]
pub fn from_process() -> Vars {
    std::env::vars_os().collect()
}

/// Returns a variable, `None` when it is unset or empty.
pub fn var<'a>(vars: &'a Vars, name: &str) -> Option<&'a OsStr> {
    vars.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
}

/// Builds an environment from pairs, for tests and callers with a fixed list.
pub fn from_pairs(pairs: &[(&str, &str)]) -> Vars {
    pairs.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
}
