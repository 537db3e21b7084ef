//! Components with versions of their own: cuDNN, NCCL, cuSPARSELt, NVSHMEM, TensorRT.

use super::components::Wanted;
use super::wheels::{Chosen, choice};
use super::{Request, ResolveError, Source};
use crate::catalog::Catalog;
use crate::domain::compat::CudnnVerdict;
use crate::domain::listing::{Fit, Refusal, WheelFile};
use crate::domain::version::{PackageVersion, Version};

/// How well a version goes with the CUDA release, the GPUs and the project; better first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fitness {
    /// Everything that is known agrees.
    Listed(String),
    /// Nothing is known against it.
    Unlisted(String),
    /// This host's GPU refuses it.
    Refused(String),
}

/// Chooses the newest version that fits best.
pub(super) fn choose(
    catalog: &Catalog,
    source: &dyn Source,
    request: &Request,
    release: &Version,
    want: &Wanted,
    fit: Fit,
) -> Result<Chosen, ResolveError> {
    let listing = source.listing(&want.distribution)?;
    let asked = want.version.as_ref();
    let least = request.least.get(&want.component);
    let exact = asked.is_some_and(|asked| asked.parts().len() >= 4);
    let candidates = listing.candidates(fit, |version| {
        asked.is_none_or(|asked| asked.matches_package(version))
            && catalog.refusal(&want.distribution, version).is_none()
    });
    if candidates.is_empty() {
        // The listing knows the nearest cause: other versions, another platform, an old glibc.
        let missing = listing
            .choose(fit, |version| asked.is_none_or(|asked| asked.matches_package(version)))
            .expect_err("there is no candidate");
        if want.optional.is_some() {
            return Ok(Chosen::Missing(format!("`{}` is left out: {missing}", want.component)));
        }
        if let (Some(asked), Refusal::OtherVersions { newest }) = (asked, &missing.reason) {
            return Err(ResolveError::NoneFits {
                component: want.component.clone(),
                asked: asked.to_string(),
                release: release.clone(),
                because: format!("the newest of `{}` is {newest}", want.distribution),
                instead: Some(newest.clone()),
                host: false,
            });
        }
        return Err(ResolveError::NoWheel { component: want.component.clone(), source: missing });
    }

    let mut judged: Vec<(Fitness, &WheelFile)> = candidates
        .into_iter()
        .map(|wheel| (judge(catalog, request, release, want, &wheel.name.version), wheel))
        .collect();
    if let Some(least) = least {
        let enough: Vec<_> = judged
            .iter()
            .filter(|(_, wheel)| {
                wheel.name.version.release().first() == Some(&least.version.major())
                    && *wheel.name.version.release() >= *least.version.parts()
            })
            .cloned()
            .collect();
        if enough.is_empty() {
            let newest = &judged[0].1.name.version;
            return Err(ResolveError::NoneFits {
                component: want.component.clone(),
                asked: asked.map(ToString::to_string).unwrap_or_default(),
                release: release.clone(),
                because: format!(
                    "{} needs {} or newer, the newest here is {newest}",
                    least.because, least.version
                ),
                instead: None,
                host: false,
            });
        }
        judged = enough;
    }
    // A stable sort: within one degree of fitness the newest stays first.
    judged.sort_by_key(|(fitness, _)| match fitness {
        Fitness::Listed(_) => 0,
        Fitness::Unlisted(_) => 1,
        Fitness::Refused(_) => 2,
    });
    let (fitness, wheel) = &judged[0];
    let mut reasons = vec![want.reason.clone()];
    let mut notes = Vec::new();
    match fitness {
        Fitness::Listed(why) => reasons.push(why.clone()),
        Fitness::Unlisted(why) => {
            reasons.push(why.clone());
            notes.push(format!("{} {}: {why}", want.component, wheel.name.version));
        }
        Fitness::Refused(why) => {
            return Err(ResolveError::NoneFits {
                component: want.component.clone(),
                asked: asked.map(ToString::to_string).unwrap_or_default(),
                release: release.clone(),
                because: why.clone(),
                instead: None,
                host: true,
            });
        }
    }
    if let Some(asked) = asked.filter(|_| !exact) {
        reasons.push(format!("newest that matches `{asked}`"));
    }
    if let Some(least) = least {
        reasons.push(format!("{} needs {} or newer", least.because, least.version));
    }
    Ok(Chosen::Wheel(choice(want, wheel, reasons), notes))
}

fn judge(
    catalog: &Catalog,
    request: &Request,
    release: &Version,
    want: &Wanted,
    version: &PackageVersion,
) -> Fitness {
    if want.component != "cudnn" {
        return Fitness::Listed(format!("built for CUDA {}", release.major()));
    }
    let short = Version::from_parts(version.release());
    let knowledge = catalog.knowledge();
    let major = release.major();
    let verdicts: Vec<_> = request
        .machine
        .gpus
        .iter()
        .map(|gpu| (gpu.cc, knowledge.judge_cudnn(gpu.cc, &short, major)))
        .collect();
    // As with CUDA itself: one GPU that can run it is enough.
    if !verdicts.is_empty() && !verdicts.iter().any(|(_, verdict)| verdict.runs()) {
        let (cc, verdict) = &verdicts[0];
        let because = match verdict {
            CudnnVerdict::TooOld { last } => format!(
                "cuDNN {short} has no code for compute capability {cc}; the last with it is {last}"
            ),
            CudnnVerdict::TooNew { first } => format!(
                "cuDNN {short} is older than compute capability {cc}; the first with it is {first}"
            ),
            _ => format!("cuDNN {short} has no build for CUDA {major}"),
        };
        return Fitness::Refused(because);
    }
    let doubtful = verdicts.iter().find_map(|(cc, verdict)| match verdict {
        CudnnVerdict::Doubtful { bound } => {
            Some(format!("no word from NVIDIA for compute capability {cc} ({bound})"))
        }
        _ => None,
    });
    if let Some(doubt) = doubtful {
        return Fitness::Unlisted(doubt);
    }
    match catalog.cudnn_release(&short, major) {
        None => Fitness::Unlisted("newer than this cuenv's tables".to_owned()),
        Some((_, build)) => {
            let minor = release.major_minor();
            let range = format!("CUDA {} to {}", build.cuda_min, build.cuda_max);
            let source = if build.cuda_verified {
                "NVIDIA's support matrix"
            } else {
                "neighbouring support matrices"
            };
            if minor >= build.cuda_min && minor <= build.cuda_max {
                Fitness::Listed(format!("{source}: {range}"))
            } else {
                Fitness::Unlisted(format!(
                    "outside {range} of {source}; works through minor-version compatibility"
                ))
            }
        }
    }
}
