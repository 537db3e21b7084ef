//! Whether a pin gives a part of the project what it wants.

use serde::Serialize;

use super::Wish;
use crate::domain::spec::ToolchainSpec;
use crate::domain::version::Version;

/// A wish that a pin does not meet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unmet {
    /// Who wants something else.
    pub who: String,
    /// Where that was read.
    pub place: String,
    /// What it wants: `CUDA 11`, `cuDNN 9`.
    pub wants: String,
    /// It cannot work: another major, or none at all. Otherwise it may.
    pub is_certain: bool,
}

/// The wishes that `pin` does not meet. Versions in the pin may be partial; what they leave open is met. A part that
/// finds NVIDIA's libraries in its own environment wants nothing of a pin.
pub fn unmet(wishes: &[Wish], pin: &ToolchainSpec) -> Vec<Unmet> {
    let depends = wishes.iter().filter(|wish| !wish.own_libraries);
    depends.filter_map(|wish| one(wish, pin)).collect()
}

fn one(wish: &Wish, pin: &ToolchainSpec) -> Option<Unmet> {
    let mut wants = Vec::new();
    let mut is_certain = false;
    if let (Some(cuda), Some(pinned)) = (&wish.cuda, &pin.cuda) {
        let minor = pinned.minor().map(|_| pinned.major_minor());
        let older = |bound: &Version| minor.as_ref().is_some_and(|minor| minor < bound);
        let newer = |bound: &Version| minor.as_ref().is_some_and(|minor| minor > bound);
        if cuda.major != pinned.major() {
            wants.push(format!("CUDA {}", cuda.major));
            is_certain = true;
        } else if let Some(least) = cuda.least.as_ref().filter(|least| older(least)) {
            wants.push(format!("CUDA {least} or later"));
        } else if let Some(most) = cuda.most.as_ref().filter(|most| newer(most)) {
            wants.push(format!("CUDA {most} or older"));
        }
    }
    if let Some(least) = wish.cudnn.as_ref().filter(|_| !wish.cudnn_optional) {
        match pin.components.get("cudnn") {
            None => {
                wants.push(format!("cuDNN {}", least.major()));
                is_certain = true;
            }
            // The newest that fits: nothing is said against it.
            Some(None) => {}
            Some(Some(pinned)) if pinned.major() != least.major() => {
                wants.push(format!("cuDNN {}", least.major()));
                is_certain = true;
            }
            Some(Some(pinned)) => {
                if pinned.minor().is_some() && !cudnn_serves(pinned, least) {
                    wants.push(format!("cuDNN {} or later", least.major_minor()));
                    is_certain = true;
                }
            }
        }
    }
    if wants.is_empty() {
        return None;
    }
    Some(Unmet {
        who: wish.who.clone(),
        place: wish.place.clone(),
        wants: wants.join(" and "),
        is_certain: is_certain && wish.verified,
    })
}

/// Whether a cuDNN serves what was compiled with another: the rule that torch, TensorFlow and JAX check at their start.
/// The major is the same and the minor is not older; patches do not count.
pub fn cudnn_serves(running: &Version, compiled: &Version) -> bool {
    running.major() == compiled.major() && running.minor() >= compiled.minor()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::spec::Spec;
    use crate::domain::wish::CudaWish;

    fn wish(cuda: &str, least: Option<&str>, cudnn: Option<&str>) -> Wish {
        let mut cuda = CudaWish::of_version(&cuda.parse().unwrap());
        cuda.least = least.map(|least| least.parse().unwrap());
        Wish {
            who: "x 1".to_owned(),
            cuda: Some(cuda),
            cudnn: cudnn.map(|cudnn| cudnn.parse().unwrap()),
            verified: true,
            ..Wish::default()
        }
    }

    fn wants(wish: Wish, pin: &str) -> String {
        let Spec::Toolchain(pin) = pin.parse().unwrap() else { panic!("{pin}") };
        let found = unmet(&[wish], &pin);
        found.first().map_or_else(String::new, |unmet| {
            format!("{}{}", unmet.wants, if unmet.is_certain { "!" } else { "" })
        })
    }

    #[test]
    fn what_a_pin_lacks_is_named() {
        let ort = || wish("11.8", None, Some("8.9"));
        assert_eq!(wants(ort(), "12.4+cudnn9"), "CUDA 11 and cuDNN 8!");
        assert_eq!(wants(ort(), "11.8"), "cuDNN 8!");
        assert_eq!(wants(ort(), "11+cudnn"), "");
        assert_eq!(wants(ort(), "11+cudnn8"), "");
        let torch = || wish("12.8", Some("12.8"), Some("9.10.2.21"));
        assert_eq!(
            wants(torch(), "12.4.1+cudnn9.1.0.70"),
            "CUDA 12.8 or later and cuDNN 9.10 or later!"
        );
        // Ten is not older than one: minors are numbers. Patches do not count.
        assert_eq!(wants(torch(), "12.8+cudnn9.10.1"), "");
        assert_eq!(wants(torch(), "12.6+cudnn9"), "CUDA 12.8 or later");
        assert_eq!(wants(torch(), "auto+cudnn9"), "");
        let own = Wish { own_libraries: true, ..torch() };
        assert_eq!(wants(own, "11.8"), "");
        let optional = Wish { cudnn_optional: true, ..ort() };
        assert_eq!(wants(optional, "11.8"), "");
        let guessed = Wish { verified: false, ..ort() };
        assert_eq!(wants(guessed, "12.4+cudnn8"), "CUDA 11");
    }
}
