//! From manifest files to typed records.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::domain::manifest::SCHEMA;

/// Every manifest that is compiled in: name and text.
pub const FILES: [(&str, &str); 10] = [
    ("components.toml", include_str!("../../manifests/components.toml")),
    ("cuda.toml", include_str!("../../manifests/cuda.toml")),
    ("cudnn.toml", include_str!("../../manifests/cudnn.toml")),
    ("drivers.toml", include_str!("../../manifests/drivers.toml")),
    ("frameworks.toml", include_str!("../../manifests/frameworks.toml")),
    ("gpus.toml", include_str!("../../manifests/gpus.toml")),
    ("images.toml", include_str!("../../manifests/images.toml")),
    ("overrides.toml", include_str!("../../manifests/overrides.toml")),
    ("symptoms.toml", include_str!("../../manifests/symptoms.toml")),
    ("tools.toml", include_str!("../../manifests/tools.toml")),
];

/// Why a manifest could not be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// A file in the user's directory cannot be read.
    #[error("manifest cannot be read")]
    Read(#[source] std::io::Error),
    /// It is not TOML, or not of this shape.
    #[error("manifest `{}` is not valid", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// What and where.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// It was written for another cuenv.
    #[error("manifest `{}` has schema {found}, expected {SCHEMA}", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: u32,
    },
}

/// No manifest comes near.
const LIMIT: u64 = 16 << 20;

/// Reads one manifest, the user's own if there is one.
pub(super) fn file<T: DeserializeOwned>(
    directory: Option<&Path>,
    name: &str,
) -> Result<T, CatalogError> {
    if let Some(path) = directory.map(|directory| directory.join(name)) {
        match shims::read::text(&path, LIMIT) {
            Ok(Some((text, _))) => return parse(&text, &path),
            Ok(None) => {}
            Err(error) => {
                let error = format!("cannot read `{}`: {error}", path.display());
                return Err(CatalogError::Read(std::io::Error::other(error)));
            }
        }
    }
    let (_, text) = FILES.iter().find(|(known, _)| *known == name).expect("every name is in FILES");
    parse(text, &Path::new("manifests").join(name))
}

fn parse<T: DeserializeOwned>(text: &str, path: &Path) -> Result<T, CatalogError> {
    // Asked first: a later schema may not parse at all, and then its fields are not what is wrong.
    match schema(text) {
        Some(found) if found != SCHEMA => {
            Err(CatalogError::Schema { path: path.to_owned(), found })
        }
        _ => toml::from_str(text).map_err(|error| CatalogError::Parse {
            path: path.to_owned(),
            source: Box::new(error),
        }),
    }
}

fn schema(text: &str) -> Option<u32> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix("schema"))?;
    line.trim().strip_prefix('=')?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Catalog, ProjectCatalog};

    #[test]
    fn every_manifest_parses_and_is_compiled_in() {
        Catalog::builtin();
        ProjectCatalog::builtin();
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests");
        let mut found: Vec<String> = fs_err::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| Path::new(name).extension().is_some_and(|extension| extension == "toml"))
            .collect();
        found.sort();
        assert_eq!(found, FILES.map(|(name, _)| name.to_owned()));
    }

    #[test]
    fn a_file_in_the_users_directory_stands_in_for_its_namesake() {
        let directory = tempfile::tempdir().unwrap();
        let (_, text) = FILES[3];
        let corrected = text.replace("max_cuda = \"12.4\"", "max_cuda = \"12.5\"");
        assert_ne!(corrected, text);
        fs_err::write(directory.path().join("drivers.toml"), corrected).unwrap();
        let branch = |catalog: &Catalog| {
            let branches = &catalog.drivers.branch;
            branches.iter().find(|branch| branch.branch == 550).unwrap().max_cuda.to_string()
        };
        assert_eq!(branch(&Catalog::load(directory.path()).unwrap()), "12.5");
        assert_eq!(branch(&Catalog::builtin()), "12.4");
    }

    #[test]
    fn a_broken_file_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gpus.toml");
        fs_err::write(&path, "schema = 1\ntypo = 3\n").unwrap();
        let error = Catalog::load(directory.path()).unwrap_err();
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
        let (_, text) = FILES[5];
        fs_err::write(&path, text.replace("schema = 1\n", "schema = 2\n")).unwrap();
        let error = Catalog::load(directory.path()).unwrap_err();
        assert!(error.to_string().ends_with("has schema 2, expected 1"), "{error}");
        fs_err::remove_file(&path).unwrap();
        fs_err::create_dir(&path).unwrap();
        assert!(matches!(Catalog::load(directory.path()), Err(CatalogError::Read(_))));
    }
}
