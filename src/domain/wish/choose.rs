//! The parts of a pin: CUDA's minor, cuDNN, the profile.

use super::solve::{Bound, Conflict};
use super::{CudaWish, Wish};
use crate::domain::capability::ComputeCapability;
use crate::domain::compat::{Grade, Knowledge, Machine};
use crate::domain::spec::Profile;
use crate::domain::version::Version;

/// Chooses the minor: what the newest build was made with, unless the driver supports only an older one that will do.
pub(super) fn minor(
    joined: &[&Wish],
    major: u64,
    least: Bound<'_>,
    most: Bound<'_>,
    knowledge: &Knowledge<'_>,
    machine: &Machine,
    reasons: &mut Vec<String>,
) -> Option<Version> {
    let made = joined
        .iter()
        .filter_map(|wish| Some((made_with(wish.cuda.as_ref()?)?, *wish)))
        .max_by(|a, b| a.0.cmp(&b.0));
    let of_driver = || {
        let whole = Version::from_parts(&[major]);
        let (release, grade) = knowledge.newest_cuda_for(machine, Some(&whole))?;
        (grade == Grade::Native).then(|| release.version.major_minor())
    };
    let wanted = match (made, least) {
        (Some((made, wish)), _) => {
            reasons.push(format!("CUDA {made}: `{}` was made with it", wish.who));
            made
        }
        (None, Some((least, wish))) => {
            // Nobody names one build: the newest that the driver supports is better than the oldest that will do.
            let chosen = of_driver().filter(|own| own > least).unwrap_or_else(|| least.clone());
            reasons.push(format!("CUDA {least} or newer: `{}`", wish.who));
            chosen
        }
        (None, None) => {
            if let Some(wish) = joined.iter().find(|wish| wish.cuda.is_some()) {
                reasons.push(format!("CUDA {major}: `{}`", wish.who));
            }
            let (most, wish) = most?;
            reasons.push(format!("CUDA {most} or older: `{}`", wish.who));
            return Some(of_driver().filter(|own| own < most).unwrap_or_else(|| most.clone()));
        }
    };
    let wanted = match least {
        Some((least, wish)) if *least > wanted => {
            reasons.push(format!("CUDA {least} or newer: `{}`", wish.who));
            least.clone()
        }
        _ => wanted,
    };
    let wanted = match most {
        Some((most, wish)) if wanted > *most => {
            reasons.push(format!("CUDA {most} or older: `{}`", wish.who));
            most.clone()
        }
        _ => wanted,
    };
    match of_driver() {
        // An older minor avoids the limits of minor-version compatibility, as long as it is enough for everybody.
        Some(own) if own < wanted && least.is_none_or(|(least, _)| *least <= own) => {
            reasons.push(format!("CUDA {own}: the newest that this driver supports by itself"));
            Some(own)
        }
        _ => Some(wanted),
    }
}

fn made_with(cuda: &CudaWish) -> Option<Version> {
    cuda.made_with.clone().or_else(|| cuda.release.as_ref().map(Version::major_minor))
}

/// Returns the first minor with wheels that is not older than `wanted`, within its major.
pub(super) fn published(wanted: &Version, knowledge: &Knowledge<'_>) -> Option<Version> {
    let releases = knowledge.releases.release.iter().map(|release| release.version.major_minor());
    releases
        .clone()
        .find(|minor| minor.major() == wanted.major() && minor >= wanted)
        .or_else(|| releases.rev().find(|minor| minor.major() == wanted.major()))
}

/// Joins the wishes for cuDNN.
pub(super) fn cudnn(
    joined: &[&Wish],
    major: u64,
    lead: &Wish,
    knowledge: &Knowledge<'_>,
    machine: &Machine,
    notes: &mut Vec<String>,
) -> Result<Option<(Version, String)>, Box<Conflict>> {
    let wanting = |own: bool| {
        joined
            .iter()
            .copied()
            .filter(move |wish| wish.own_libraries == own && !wish.cudnn_optional)
            .filter_map(|wish| Some((wish.cudnn.as_ref()?, wish)))
    };
    let depends: Vec<_> = wanting(false).collect();
    for pair in depends.windows(2) {
        let ((one, a), (other, b)) = (pair[0], pair[1]);
        if one.major() != other.major() {
            let wants = |version: &Version| format!("cuDNN {}", version.major());
            return Err(Conflict::of(a, wants(one), b, wants(other)));
        }
    }
    let first = depends.first().copied().or_else(|| wanting(true).next());
    let Some((chosen, _)) = first else { return Ok(None) };
    let same = |(version, _): &(&Version, &Wish)| version.major() == chosen.major();
    for (version, wish) in wanting(true).filter(|found| !same(found)) {
        notes.push(format!(
            "`{}` brings its own cuDNN {} and is left alone",
            wish.who,
            version.major()
        ));
    }
    let all = depends.iter().copied().chain(wanting(true));
    let Some((least, wish)) = all.filter(same).max_by(|a, b| a.0.cmp(b.0)) else { return Ok(None) };
    let whole = Version::from_parts(&[least.major()]);
    let ccs: Vec<ComputeCapability> = machine.gpus.iter().map(|gpu| gpu.cc).collect();
    if knowledge.newest_cudnn_for(&[], major, &whole, Some(least)).is_none() {
        let wants = (format!("cuDNN {least}"), format!("CUDA {major}, which has no such build"));
        return Err(Conflict::of(wish, wants.0, lead, wants.1));
    }
    if knowledge.newest_cudnn_for(&ccs, major, &whole, Some(least)).is_none() {
        let (_, last) = knowledge.cudnn_range_for(&ccs, major).unzip();
        let gpus: Vec<String> = ccs.iter().map(ToString::to_string).collect();
        notes.push(match last {
            Some(last) => format!(
                "`{}` wants cuDNN {least}; the last with code for compute capability {} is {last}",
                wish.who,
                gpus.join(", ")
            ),
            None => format!("no cuDNN for CUDA {major} has code for {}", gpus.join(", ")),
        });
    }
    Ok(Some((least.clone(), wish.who.clone())))
}

pub(super) fn profile(joined: &[&Wish], reasons: &mut Vec<String>) -> Option<Profile> {
    let compiles = joined.iter().find(|wish| wish.compiles && !wish.own_libraries);
    if let Some(wish) = compiles {
        reasons.push(format!("@devel: `{}` compiles device code while it runs", wish.who));
        return Some(Profile::Devel);
    }
    let named = joined.iter().filter_map(|wish| Some((wish.profile?, wish)));
    let (profile, wish) = named.max_by_key(|(profile, _)| *profile)?;
    (profile == Profile::Devel).then(|| {
        reasons.push(format!("@devel: `{}`", wish.who));
        Profile::Devel
    })
}

pub(super) fn gpu_notes(joined: &[&Wish], machine: &Machine) -> Vec<String> {
    let mut notes = Vec::new();
    for wish in joined {
        let Some((oldest, newest)) = wish.gpus else { continue };
        for gpu in &machine.gpus {
            let newer = gpu.cc > newest && gpu.cc.major != newest.major;
            if gpu.cc < oldest || newer {
                notes.push(format!(
                    "`{}` has code for compute capability {oldest} to {newest}, not for {}",
                    wish.who, gpu.cc
                ));
            }
        }
    }
    notes.sort();
    notes.dedup();
    notes
}
