//! Looking for a file.

use super::Failure;
use crate::cli::exit::Exit;
use crate::ops::launch::Broken;
use crate::ops::which::Error;

impl From<Broken> for Failure {
    fn from(error: Broken) -> Self {
        match error {
            Broken::Place(error) => error.into(),
            Broken::Prepare(error) => error.into(),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let error = match error {
            Error::Broken(error) => return error.into(),
            error => error,
        };
        let hint = match &error {
            Error::NotFound { name, toolchain: Some(toolchain), .. }
                if name == "nvcc" && !toolchain.starts_with("13") =>
            {
                Some(
                    "NVIDIA publishes nvcc as a wheel from CUDA 13 on: pin one (`cuenv use 13.0@devel`), or adopt an \
                     installed toolkit (`cuenv link NAME /usr/local/cuda-12.4`)"
                        .to_owned(),
                )
            }
            Error::NotFound { pin: Some(pin), .. } => Some(format!("`{pin}` brings it")),
            Error::OfDriver { .. } => Some(
                "run on a machine with the driver; in a container, start it with `--gpus all`; under WSL2 it lies in \
                 `/usr/lib/wsl/lib`"
                    .to_owned(),
            ),
            Error::NotFound { .. } | Error::Refused(_) | Error::Broken(_) => None,
        };
        let failure = Self::new(Exit::NoMatch, error);
        if let Some(hint) = hint { failure.hint(hint) } else { failure }
    }
}
