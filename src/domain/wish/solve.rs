//! From wishes to one pin, or to the two that cannot agree.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{CudaWish, Wish};
use crate::domain::capability::ComputeCapability;
use crate::domain::compat::{Grade, Knowledge, Machine};
use crate::domain::spec::{Profile, ToolchainSpec};
use crate::domain::version::Version;

/// The pin that satisfies every wish.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proposal {
    /// The pin.
    #[serde(serialize_with = "as_text")]
    pub spec: ToolchainSpec,
    /// The CUDA minor that the wishes lead to, before looking at what is published; absent: any of the major.
    pub cuda: Option<Version>,
    /// The oldest cuDNN that every wish takes, and whose wish that is.
    pub cudnn: Option<(Version, String)>,
    /// Why, one line each.
    pub reasons: Vec<String>,
    /// What does not stand in the way and should be known.
    pub notes: Vec<String>,
}

fn as_text<S: serde::Serializer>(spec: &ToolchainSpec, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(spec)
}

/// Two wishes that no single pin satisfies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("`{}` wants {} and `{}` wants {}", one.0, one.1, other.0, other.1)]
pub struct Conflict {
    /// Who wants what.
    pub one: (String, String),
    /// Who wants something else.
    pub other: (String, String),
    /// Where each was read.
    pub places: (String, String),
}

impl Conflict {
    fn of(one: &Wish, what: String, other: &Wish, whatever: String) -> Box<Self> {
        Box::new(Self {
            one: (one.who.clone(), what),
            other: (other.who.clone(), whatever),
            places: (one.place.clone(), other.place.clone()),
        })
    }
}

/// Joins wishes. `None`: nothing in the project wants CUDA.
///
/// A part that finds NVIDIA's libraries in its own environment yields to one that does not: where both are of one
/// CUDA major its bounds still count, so that the toolchain shadows nothing with something older.
pub fn propose(
    wishes: &[Wish],
    knowledge: &Knowledge<'_>,
    machine: &Machine,
) -> Result<Option<Proposal>, Box<Conflict>> {
    let mut notes = Vec::new();
    let Some(lead) = leader(wishes)? else { return Ok(of_any_cuda(wishes)) };
    let Some(major) = lead.cuda.as_ref().map(|cuda| cuda.major) else { return Ok(None) };
    let mut joined = Vec::new();
    for wish in wishes {
        match &wish.cuda {
            Some(cuda) if cuda.major != major => notes.push(format!(
                "`{}` brings its own CUDA {} libraries and is left alone",
                wish.who, cuda.major
            )),
            _ => joined.push(wish),
        }
    }
    let (least, most) = bounds(&joined)?;
    let mut reasons = Vec::new();
    let cuda = minor(&joined, major, least, most, knowledge, machine, &mut reasons);
    let cudnn = cudnn(&joined, major, lead, knowledge, machine, &mut notes)?;
    let mut components = BTreeMap::new();
    if let Some((version, who)) = &cudnn {
        components.insert("cudnn".to_owned(), Some(Version::from_parts(&[version.major()])));
        reasons.push(format!("cuDNN {version} or a later {}: `{who}`", version.major()));
    }
    for wish in joined.iter().filter(|wish| !wish.own_libraries) {
        for (axis, least) in &wish.axes {
            let major = Version::from_parts(&[least.major()]);
            if components.insert(axis.clone(), Some(major)).is_none() {
                reasons.push(format!(
                    "{axis} {least} or a later {}: `{}`",
                    least.major(),
                    wish.who
                ));
            }
        }
    }
    let profile = profile(&joined, &mut reasons);
    notes.extend(gpu_notes(&joined, machine));
    let published = cuda.as_ref().and_then(|wanted| published(wanted, knowledge));
    if let (Some(wanted), Some(found)) = (&cuda, &published)
        && wanted != found
    {
        reasons.push(format!("CUDA {found} is the first on PyPI that is not older than {wanted}"));
    }
    let pin = published.unwrap_or_else(|| Version::from_parts(&[major]));
    let spec = ToolchainSpec { cuda: Some(pin), components, profile };
    Ok(Some(Proposal { spec, cuda, cudnn, reasons, notes }))
}

/// Where nobody minds which CUDA it is, a part that compiles still wants one.
fn of_any_cuda(wishes: &[Wish]) -> Option<Proposal> {
    let wish = wishes.iter().find(|wish| wish.compiles && !wish.own_libraries)?;
    let spec =
        ToolchainSpec { cuda: None, components: BTreeMap::new(), profile: Some(Profile::Devel) };
    let reasons = vec![format!("@devel: `{}` compiles device code while it runs", wish.who)];
    Some(Proposal { spec, cuda: None, cudnn: None, reasons, notes: Vec::new() })
}

/// Returns the wish that decides the CUDA major: one that depends on the toolchain, if there is any.
fn leader(wishes: &[Wish]) -> Result<Option<&Wish>, Box<Conflict>> {
    let mut depends = wishes.iter().filter(|wish| wish.cuda.is_some() && !wish.own_libraries);
    let Some(lead) = depends.next() else {
        return Ok(wishes.iter().find(|wish| wish.cuda.is_some()));
    };
    let major = |wish: &Wish| wish.cuda.as_ref().map(|cuda| cuda.major);
    if let Some(other) = depends.find(|other| major(other) != major(lead)) {
        let wants = |wish: &Wish| format!("CUDA {}", major(wish).unwrap_or(0));
        return Err(Conflict::of(lead, wants(lead), other, wants(other)));
    }
    Ok(Some(lead))
}

type Bound<'a> = Option<(&'a Version, &'a Wish)>;

fn bounds<'a>(joined: &[&'a Wish]) -> Result<(Bound<'a>, Bound<'a>), Box<Conflict>> {
    let cudas = || joined.iter().filter_map(|wish| Some((wish.cuda.as_ref()?, *wish)));
    let least = cudas().filter_map(|(cuda, wish)| Some((cuda.least.as_ref()?, wish)));
    let least = least.max_by(|a, b| a.0.cmp(b.0));
    let most = cudas().filter_map(|(cuda, wish)| Some((cuda.most.as_ref()?, wish)));
    let most = most.min_by(|a, b| a.0.cmp(b.0));
    if let (Some((least, one)), Some((most, other))) = (least, most)
        && least > most
    {
        let wants = (format!("CUDA {least} or newer"), format!("CUDA {most} or older"));
        return Err(Conflict::of(one, wants.0, other, wants.1));
    }
    Ok((least, most))
}

/// Chooses the minor: what the newest build was made with, unless the driver supports only an older one that will do.
fn minor(
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
fn published(wanted: &Version, knowledge: &Knowledge<'_>) -> Option<Version> {
    let releases = knowledge.releases.release.iter().map(|release| release.version.major_minor());
    releases
        .clone()
        .find(|minor| minor.major() == wanted.major() && minor >= wanted)
        .or_else(|| releases.rev().find(|minor| minor.major() == wanted.major()))
}

/// Joins the wishes for cuDNN.
fn cudnn(
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

fn profile(joined: &[&Wish], reasons: &mut Vec<String>) -> Option<Profile> {
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

fn gpu_notes(joined: &[&Wish], machine: &Machine) -> Vec<String> {
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
