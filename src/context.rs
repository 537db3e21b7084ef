//! What one run knows, built once. Only `ops` and `cli` may name it.

use std::path::{Path, PathBuf};

use shims::dirs::Dirs;

use crate::catalog::{Catalog, CatalogError, ProjectCatalog};
use crate::domain::layout::Layout;
use crate::domain::target::Target;
use crate::platform::process::Process;
use crate::progress::Progress;
use crate::settings::Settings;

/// Plain values, no hidden state: building one reads the settings file and nothing else.
pub struct Context<'a> {
    /// Arguments, environment, working directory.
    pub process: &'a Process,
    /// Where shims, hooks and cuenv look: the same answer for all of them.
    pub dirs: Dirs,
    /// Where everything is kept.
    pub layout: Layout,
    /// What the user set.
    pub settings: Settings,
    /// The platform that is installed for.
    pub target: Target,
    /// Who listens to long operations.
    pub progress: &'a dyn Progress,
}

impl Context<'_> {
    /// Reads what cuenv knows of CUDA: the manifests compiled in, and the user's own where there are some. Parsing
    /// them takes milliseconds, so an op that needs them asks once, and `exec` never does.
    pub fn catalog(&self) -> Result<Catalog, CatalogError> {
        Catalog::load(&self.layout.manifests())
    }

    /// Reads what cuenv knows of frameworks and images.
    pub fn project_catalog(&self) -> Result<ProjectCatalog, CatalogError> {
        ProjectCatalog::load(&self.layout.manifests())
    }

    /// Returns the working directory, or where it was expected when it is gone.
    pub fn cwd(&self) -> &Path {
        self.process.cwd().unwrap_or(Path::new("/"))
    }
}

/// Finds the directories for a process; `None` when neither a variable nor a home says where they are.
pub fn directories(process: &Process) -> Option<(Dirs, Layout)> {
    let vars = process.env();
    let dirs = Dirs::find(vars, process.exe())?;
    // One root holds everything when `CUENV_HOME` says so, or when the data directory was made that way.
    let one_root = process.var_os("CUENV_HOME").is_some() || dirs.config.starts_with(&dirs.data);
    if one_root {
        let layout = Layout::under(&dirs.data);
        return Some((dirs, layout));
    }
    let absolute =
        |name: &str| process.var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let below = |name: &str, middle: &str, fallback: &str| {
        let root = absolute(name).or_else(|| dirs.home.as_ref().map(|home| home.join(middle)));
        root.map_or_else(|| dirs.data.join(fallback), |root| root.join("cuenv"))
    };
    let cache = below("XDG_CACHE_HOME", ".cache", "cache");
    let state = below("XDG_STATE_HOME", ".local/state", "state");
    let layout = Layout::new(dirs.data.clone(), cache, state, dirs.config.clone());
    Some((dirs, layout))
}
