//! Compute capabilities: which machine code a GPU runs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A GPU's compute capability, such as 9.0; code for it is called `sm_90`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ComputeCapability {
    /// The generation: machine code never crosses it.
    pub major: u32,
    /// The step within the generation: code for a lower step runs on a higher one.
    pub minor: u32,
}

/// A text that is not a compute capability.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a compute capability: expected MAJOR.MINOR, such as `9.0`")]
pub struct CapabilityError(pub String);

impl ComputeCapability {
    /// Builds a capability from its two numbers.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// Returns the name of machine code for this capability: `sm_90`.
    pub fn sm(self) -> String {
        format!("sm_{}{}", self.major, self.minor)
    }

    /// Tells whether machine code made for `code` runs on a GPU of this capability.
    pub const fn runs(self, code: Self) -> bool {
        self.major == code.major && self.minor >= code.minor
    }
}

impl fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.{}", self.major, self.minor))
    }
}

impl FromStr for ComputeCapability {
    type Err = CapabilityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |part: &str| {
            let plain = (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
            if plain { part.parse().ok() } else { None }
        };
        text.split_once('.')
            .and_then(|(major, minor)| Some(Self::new(number(major)?, number(minor)?)))
            .filter(|capability| capability.major > 0)
            .ok_or_else(|| CapabilityError(text.to_owned()))
    }
}

impl TryFrom<String> for ComputeCapability {
    type Error = CapabilityError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<ComputeCapability> for String {
    fn from(capability: ComputeCapability) -> Self {
        capability.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_two_numbers_and_nothing_else() {
        assert_eq!("12.1".parse(), Ok(ComputeCapability::new(12, 1)));
        assert_eq!(ComputeCapability::new(12, 1).sm(), "sm_121");
        for bad in ["", "9", "9.", ".0", "sm_90", "9.0.1", "-1.0", "9.0 ", "0.0", "1000.0", "9.+1"]
        {
            assert!(bad.parse::<ComputeCapability>().is_err(), "{bad}");
        }
    }

    #[test]
    fn code_runs_on_later_steps_of_its_generation_only() {
        let gpu = ComputeCapability::new(8, 9);
        assert!(gpu.runs(ComputeCapability::new(8, 6)));
        assert!(gpu.runs(gpu));
        assert!(!gpu.runs(ComputeCapability::new(9, 0)));
        assert!(!ComputeCapability::new(8, 6).runs(gpu));
        assert!(!ComputeCapability::new(9, 0).runs(gpu));
    }

    #[test]
    fn orders_by_number() {
        assert!(ComputeCapability::new(12, 0) > ComputeCapability::new(9, 0));
    }
}
