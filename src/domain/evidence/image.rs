//! From a container image's reference to what is inside.

use crate::domain::manifest::image::{Confidence, Images};
use crate::domain::spec::Profile;
use crate::domain::version::Version;

/// What an image holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside {
    /// Its CUDA.
    pub cuda: Option<Version>,
    /// Its cuDNN, perhaps only the major.
    pub cudnn: Option<Version>,
    /// How much of CUDA it holds, where its tag says so.
    pub profile: Option<Profile>,
    /// Whether all of this was read, and not inferred from a neighbour.
    pub verified: bool,
}

/// Reads an image reference; `None` for an image that is not known to hold CUDA.
pub fn read(reference: &str, images: &Images) -> Option<Inside> {
    let reference = reference.split('@').next()?;
    let slash = reference.rfind('/').map_or(0, |at| at + 1);
    let (repository, tag) = match reference[slash..].find(':') {
        Some(at) => (&reference[..slash + at], &reference[slash + at + 1..]),
        None => return None,
    };
    let bare = ["docker.io/", "index.docker.io/", "registry-1.docker.io/"]
        .iter()
        .find_map(|host| repository.strip_prefix(host))
        .unwrap_or(repository);
    if let Some(image) =
        images.ngc.iter().find(|image| image.repository == bare && image.tag == tag)
    {
        return Some(Inside {
            cuda: image.cuda.clone(),
            cudnn: image.cudnn.clone(),
            profile: None,
            verified: image.confidence == Confidence::Own && image.unverified.is_empty(),
        });
    }
    // The registry does not matter: `nvcr.io/nvidia/cuda` and mirrors have the tags of `nvidia/cuda`.
    let shapes = images.tag.iter().filter(|shape| {
        bare == shape.repository
            || bare.strip_suffix(shape.repository.as_str()).is_some_and(|host| host.ends_with('/'))
    });
    for shape in shapes {
        if let Some(mut inside) = fit(&shape.pattern, tag) {
            if let Some(major) = shape.cudnn_major.filter(|_| inside.cudnn.is_none()) {
                inside.cudnn = Some(Version::from_parts(&[major]));
            }
            inside.verified = shape.verified;
            return Some(inside);
        }
    }
    None
}

/// Fits a tag to a shape, part by part; `{os}` takes everything that is left.
fn fit(pattern: &str, tag: &str) -> Option<Inside> {
    let mut inside = Inside { cuda: None, cudnn: None, profile: None, verified: false };
    let mut rest = Some(tag);
    for part in pattern.split('-') {
        let text = rest?;
        if part == "{os}" {
            return Some(inside);
        }
        let (word, after) = match text.split_once('-') {
            Some((word, after)) => (word, Some(after)),
            None => (text, None),
        };
        rest = after;
        let Some((head, name)) = part.split_once('{') else {
            if part == word {
                continue;
            }
            return None;
        };
        let value = word.strip_prefix(head)?;
        match name {
            "cuda}" => inside.cuda = Some(value.parse().ok()?),
            "cudnn}" => inside.cudnn = Some(value.parse().ok()?),
            "flavor}" => {
                inside.profile =
                    Some(*Profile::ALL.iter().find(|profile| profile.name() == value)?);
            }
            _ => {}
        }
    }
    rest.is_none().then_some(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_part_by_part() {
        let said = |pattern, tag| {
            let inside = fit(pattern, tag)?;
            let text = |version: Option<Version>| version.map_or("-".to_owned(), |v| v.to_string());
            let profile = inside.profile.map_or("-", Profile::name);
            Some(format!("{} {} {profile}", text(inside.cuda), text(inside.cudnn)))
        };
        let old = "{cuda}-cudnn{cudnn}-{flavor}-{os}";
        assert_eq!(said(old, "11.8.0-cudnn8-devel-ubuntu22.04").unwrap(), "11.8.0 8 devel");
        assert_eq!(said(old, "12.4.1-cudnn-devel-ubuntu22.04"), None);
        let new = "{cuda}-cudnn-{flavor}-{os}";
        assert_eq!(said(new, "12.4.1-cudnn-runtime-rockylinux9").unwrap(), "12.4.1 - runtime");
        let torch = "{version}-cuda{cuda}-cudnn{cudnn}-{flavor}";
        assert_eq!(said(torch, "2.9.1-cuda12.8-cudnn9-devel").unwrap(), "12.8 9 devel");
        assert_eq!(said(torch, "2.9.1-cuda12.8-cudnn9-devel-x"), None);
        assert_eq!(said(torch, "latest"), None);
    }
}
