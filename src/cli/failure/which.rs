//! Looking for a file.

use super::Failure;
use crate::cli::exit::Exit;
use crate::ops::which::Error;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let hint = match &error {
            Error::NotFound { missing: Some(spec), .. } => Some(format!("run `cuenv install {spec}`")),
            Error::NotFound { name, toolchain: Some(toolchain), .. }
                if name == "nvcc" && !toolchain.starts_with("13") =>
            {
                Some(
                    "NVIDIA publishes nvcc as a wheel from CUDA 13 on: pin one (`cuenv use 13.0@devel`), or adopt an \
                     installed toolkit (`cuenv link NAME /usr/local/cuda-12.4`)"
                        .to_owned(),
                )
            }
            Error::NotFound { name, .. } if name.contains(".so") => {
                Some(format!("run `cuenv explain {name}` to see which toolchain brings it"))
            }
            Error::NotFound { .. } | Error::Refused(_) => None,
        };
        let failure = Self::new(Exit::NoMatch, error);
        if let Some(hint) = hint { failure.hint(hint) } else { failure }
    }
}
