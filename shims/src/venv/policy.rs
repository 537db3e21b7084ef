//! The venv policy's words, and where the one that holds was said.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Who wins when both bring a library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// The Python environment; the toolchain fills the gaps.
    #[default]
    Defer,
    /// The toolchain, or a refusal.
    Override,
    /// Nobody: the library path is left alone.
    Off,
}

impl Policy {
    /// Every policy.
    pub const ALL: [Self; 3] = [Self::Defer, Self::Override, Self::Off];

    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Defer => "defer",
            Self::Override => "override",
            Self::Off => "off",
        }
    }
}

impl FromStr for Policy {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|policy| policy.name() == text).ok_or(())
    }
}

/// The policy that holds, and where it was said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// The policy.
    pub policy: Policy,
    /// Who said it.
    pub source: RuleSource,
}

/// Where a policy was said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RuleSource {
    /// `CUENV_VENV`.
    Variable,
    /// The project's pin.
    Pin(PathBuf),
    /// The user's settings.
    Settings(PathBuf),
    /// Nobody.
    #[default]
    Default,
}

impl fmt::Display for RuleSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable => f.write_str(crate::names::VENV),
            Self::Pin(path) | Self::Settings(path) => write!(f, "`{}`", path.display()),
            Self::Default => f.write_str("the default"),
        }
    }
}
