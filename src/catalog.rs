//! The catalog: every manifest, as known to this cuenv.
//!
//! The manifests are compiled in. A file of the same name in the user's `manifests` configuration directory stands in
//! for the whole compiled-in one, so that a site can correct a fact before the next release does. The catalog answers
//! questions about what is written there; it contacts nothing and decides nothing.

#[cfg(test)]
mod consistency;
mod load;
mod lookup;
#[cfg(test)]
mod verdicts;

use std::path::Path;

pub use load::{CatalogError, FILES};

use crate::domain::manifest::component::Components;
use crate::domain::manifest::cudnn::Cudnn;
use crate::domain::manifest::driver::Drivers;
use crate::domain::manifest::framework::Frameworks;
use crate::domain::manifest::gpu::Gpus;
use crate::domain::manifest::image::Images;
use crate::domain::manifest::overrides::Overrides;
use crate::domain::manifest::release::Releases;
use crate::domain::manifest::symptom::Symptoms;
use crate::domain::manifest::tool::Tools;

/// What toolchains are made of and what they fit: everything that resolving needs.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// `components.toml`.
    pub components: Components,
    /// `cuda.toml`.
    pub releases: Releases,
    /// `cudnn.toml`.
    pub cudnn: Cudnn,
    /// `drivers.toml`.
    pub drivers: Drivers,
    /// `gpus.toml`.
    pub gpus: Gpus,
    /// `overrides.toml`.
    pub overrides: Overrides,
    /// `tools.toml`.
    pub tools: Tools,
}

/// What frameworks and images want: read only where a project is looked at.
#[derive(Clone, Debug)]
pub struct ProjectCatalog {
    /// Framework builds.
    pub frameworks: Frameworks,
    /// Container images.
    pub images: Images,
}

/// What lines of logs mean: read only where one is to be explained.
#[derive(Clone, Debug)]
pub struct SymptomCatalog {
    /// `symptoms.toml`.
    pub symptoms: Symptoms,
}

impl SymptomCatalog {
    /// Reads the compiled-in manifest, and the user's own where there is one.
    pub fn load(directory: &Path) -> Result<Self, CatalogError> {
        Ok(Self { symptoms: load::file(Some(directory), "symptoms.toml")? })
    }
}

impl Catalog {
    /// Reads the compiled-in manifests.
    pub fn builtin() -> Self {
        builtin(Self::read(None))
    }

    /// Reads the compiled-in manifests, each replaced by its namesake in `directory` where there is one.
    pub fn load(directory: &Path) -> Result<Self, CatalogError> {
        Self::read(Some(directory))
    }

    fn read(directory: Option<&Path>) -> Result<Self, CatalogError> {
        Ok(Self {
            components: load::file(directory, "components.toml")?,
            releases: load::file(directory, "cuda.toml")?,
            cudnn: load::file(directory, "cudnn.toml")?,
            drivers: load::file(directory, "drivers.toml")?,
            gpus: load::file(directory, "gpus.toml")?,
            overrides: load::file(directory, "overrides.toml")?,
            tools: load::file(directory, "tools.toml")?,
        })
    }
}

impl ProjectCatalog {
    /// Reads the compiled-in manifests.
    pub fn builtin() -> Self {
        builtin(Self::read(None))
    }

    /// Reads the compiled-in manifests, each replaced by its namesake in `directory` where there is one.
    pub fn load(directory: &Path) -> Result<Self, CatalogError> {
        Self::read(Some(directory))
    }

    fn read(directory: Option<&Path>) -> Result<Self, CatalogError> {
        Ok(Self {
            frameworks: load::file(directory, "frameworks.toml")?,
            images: load::file(directory, "images.toml")?,
        })
    }
}

/// The compiled-in manifests are parsed by the tests, so they are sound in every build that passed them.
fn builtin<T>(read: Result<T, CatalogError>) -> T {
    use std::error::Error as _;
    read.unwrap_or_else(|error| match error.source() {
        Some(source) => unreachable!("{error}: {source}"),
        None => unreachable!("{error}"),
    })
}
