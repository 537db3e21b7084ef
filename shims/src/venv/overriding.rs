//! `override`: whether the toolchain's libraries can win at all.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use super::entries;
use super::find::PythonEnv;
use super::inventory::Supplied;
use crate::activation::Component;
use crate::elf::Library;
use crate::toolchain::normal;

/// Why `override` cannot hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A framework library carries `DT_RPATH` to the environment's libraries.
    Rpath {
        /// The framework's library.
        library: PathBuf,
        /// A component that both bring.
        component: String,
    },
    /// The environment's cuDNN has a part that the toolchain's lacks.
    ExtraPart {
        /// The part.
        library: String,
        /// The environment.
        root: PathBuf,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rpath { library, component } => write!(
                f,
                "the venv policy `override` cannot hold: `{}` carries DT_RPATH, which the loader asks before \
                 LD_LIBRARY_PATH, so the venv's {component} would still be loaded",
                library.display()
            ),
            Self::ExtraPart { library, root } => write!(
                f,
                "the venv policy `override` cannot hold: `{}` brings `{library}`, which the toolchain's cuDNN lacks, \
                 so parts of two cuDNNs could be loaded",
                root.display()
            ),
        }
    }
}

impl std::error::Error for Refusal {}

/// Says why the toolchain's libraries would not win.
pub(super) fn refuse(
    env: &PythonEnv,
    supplied: &Supplied,
    both: &[&Component],
) -> Result<(), Refusal> {
    // Where each component that both bring lies in the environment.
    let holders: Vec<(&Path, &str)> = both
        .iter()
        .flat_map(|component| component.libraries.iter().map(|library| (library, &component.name)))
        .flat_map(|(library, component)| {
            let places = supplied.libraries.get(library).into_iter().flatten();
            places.map(|place| (place.as_path(), component.as_str()))
        })
        .collect();
    for library in env.sites.iter().flat_map(|site| framework_libraries(site)) {
        let Some(rpath) = Library::open(&library).and_then(|mut library| library.rpath()) else {
            continue;
        };
        let origin = library.parent().unwrap_or(Path::new("/"));
        for element in rpath.split(':') {
            let element = element.replace("${ORIGIN}", "$ORIGIN");
            let Some(below) = element.strip_prefix("$ORIGIN") else { continue };
            let place = normal(&origin.join(below.trim_start_matches('/')));
            if let Some((_, component)) = holders.iter().find(|(holder, _)| *holder == place) {
                return Err(Refusal::Rpath { library, component: (*component).to_owned() });
            }
        }
    }
    if let Some(cudnn) = both.iter().find(|component| component.name == "cudnn") {
        let extra = supplied
            .libraries
            .keys()
            .find(|name| name.starts_with("libcudnn") && !cudnn.libraries.contains(name));
        if let Some(library) = extra {
            return Err(Refusal::ExtraPart { library: library.clone(), root: env.root.clone() });
        }
    }
    Ok(())
}

/// Returns the libraries of the frameworks that are known to open NVIDIA's.
fn framework_libraries(site: &Path) -> Vec<PathBuf> {
    let mut directories = vec![
        site.join("torch/lib"),
        site.join("jaxlib"),
        site.join("tensorflow"),
        site.join("onnxruntime/capi"),
        site.join("vllm"),
    ];
    directories.extend(entries(&site.join("jax_plugins")));
    let is_library = |path: &PathBuf| {
        path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.contains(".so"))
    };
    directories
        .iter()
        .flat_map(|directory| {
            let mut found = entries(directory);
            found.sort_unstable();
            found
        })
        .filter(is_library)
        .collect()
}
