//! From wishes to one pin, or to the two that cannot agree.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Wish;
use super::choose::{cudnn, gpu_notes, minor, profile, published};
use crate::domain::compat::{Knowledge, Machine};
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
    pub(super) fn of(one: &Wish, what: String, other: &Wish, whatever: String) -> Box<Self> {
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

pub(super) type Bound<'a> = Option<(&'a Version, &'a Wish)>;

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
