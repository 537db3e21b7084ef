//! Verdicts in words.

use super::{CudnnVerdict, DriverVerdict, GpuVerdict, Machine, Verdict};
use crate::domain::version::Version;

impl Verdict {
    /// Says in one line what decides, with the deciding number; `None` when nothing is known.
    pub fn in_words(&self, machine: &Machine) -> Option<String> {
        words(self, machine)
    }
}

fn words(verdict: &Verdict, machine: &Machine) -> Option<String> {
    let driver = machine.driver.as_ref().map(ToString::to_string).unwrap_or_default();
    // A GPU that no toolchain of this release can serve decides before the driver does.
    if !verdict.gpus.is_empty() && !verdict.gpus.iter().any(|(_, gpu)| gpu.runs()) {
        let (cc, gpu) = &verdict.gpus[0];
        return Some(match gpu {
            GpuVerdict::TooNew { first_cuda } => {
                format!("compute capability {cc} needs CUDA {first_cuda} or newer")
            }
            GpuVerdict::TooOld { last_cuda } => {
                format!("compute capability {cc} is supported up to CUDA {last_cuda}")
            }
            _ => format!("compute capability {cc} cannot run it"),
        });
    }
    if !verdict.cudnn.is_empty() && !verdict.cudnn.iter().any(|(_, cudnn)| cudnn.runs()) {
        let (cc, cudnn) = &verdict.cudnn[0];
        return Some(match cudnn {
            CudnnVerdict::TooNew { first } => {
                format!("compute capability {cc} needs cuDNN {first} or newer")
            }
            CudnnVerdict::TooOld { last } => {
                format!("compute capability {cc} is supported up to cuDNN {last}")
            }
            _ => format!("no cuDNN fits compute capability {cc}"),
        });
    }
    let up_to = |cuda: &Option<Version>| match cuda {
        Some(cuda) => format!("driver {driver} supports CUDA up to {cuda}"),
        None => format!("driver {driver} is older than CUDA 11"),
    };
    match &verdict.driver {
        DriverVerdict::Unknown => None,
        DriverVerdict::Native { driver_cuda } => {
            Some(format!("driver {driver} supports CUDA up to {driver_cuda}"))
        }
        DriverVerdict::MinorCompat { driver_cuda, native_from } => {
            let from = native_from.as_ref().map(|from| format!(" (driver {from} or newer can)"));
            Some(format!(
                "driver {driver} supports CUDA up to {driver_cuda}: this release runs by minor-version compatibility, \
                 but the driver cannot compile its PTX{}",
                from.unwrap_or_default()
            ))
        }
        DriverVerdict::ForwardCompat { driver_cuda, needs } => Some(format!(
            "{}; this release needs driver {needs}, or NVIDIA's forward-compatibility package on this data-center GPU",
            up_to(driver_cuda)
        )),
        DriverVerdict::TooOld { driver_cuda, needs } => {
            Some(format!("{}; this release needs driver {needs} or newer", up_to(driver_cuda)))
        }
    }
}
