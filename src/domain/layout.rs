//! Every path under a user's cuenv directories.
//!
//! ```text
//! data/                      $CUENV_HOME, or $XDG_DATA_HOME/cuenv
//!   store/<sha256>/          one unpacked wheel, immutable
//!   toolchains/<target>/<n>/ one prefix, immutable
//!   active/<target>/<spec>   link to the prefix that answers this spec
//!   shims/                   links named like tools
//!   bin/                     the shim's own binary
//!   links/<name>             link to a toolkit that cuenv did not install
//!   tmp/                     staging, on the store's own file system
//!   locks/                   file locks
//!   install-receipt          what the installer put where
//! cache/                     $CUENV_HOME/cache, or $XDG_CACHE_HOME/cuenv
//!   listings/                answers of the index
//! state/                     $CUENV_HOME/state, or $XDG_STATE_HOME/cuenv
//!   projects/                known projects, one file each
//! config/                    $CUENV_HOME/config, or $XDG_CONFIG_HOME/cuenv
//!   config.toml  default  manifests/
//! ```

use std::path::{Path, PathBuf};

use super::digest::Digest;
use super::target::Target;

/// The four roots, and every path below them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    data: PathBuf,
    cache: PathBuf,
    state: PathBuf,
    config: PathBuf,
}

impl Layout {
    /// Everything that may lie directly under `CUENV_HOME`.
    pub const ROOT_ENTRIES: [&str; 15] = [
        "active",
        "bin",
        "cache",
        "config",
        "env",
        "env.fish",
        "install-receipt",
        "links",
        "locks",
        "previous",
        "shims",
        "state",
        "store",
        "tmp",
        "toolchains",
    ];

    /// Puts everything under one root, as `CUENV_HOME` does.
    pub fn under(root: &Path) -> Self {
        Self {
            data: root.to_owned(),
            cache: root.join("cache"),
            state: root.join("state"),
            config: root.join("config"),
        }
    }

    /// Takes the four roots as they are.
    pub fn new(data: PathBuf, cache: PathBuf, state: PathBuf, config: PathBuf) -> Self {
        Self { data, cache, state, config }
    }

    /// Returns the data root.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Returns the cache root; what is in it can be fetched again.
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// Returns the state root.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Returns the configuration root.
    pub fn config(&self) -> &Path {
        &self.config
    }

    /// Returns the directory of unpacked wheels.
    pub fn store(&self) -> PathBuf {
        self.data.join("store")
    }

    /// Returns the store entry of one wheel.
    pub fn store_entry(&self, digest: &Digest) -> PathBuf {
        self.store().join(digest.to_string())
    }

    /// Returns the directory of prefixes for `target`.
    pub fn toolchains(&self, target: Target) -> PathBuf {
        self.data.join("toolchains").join(target.name())
    }

    /// Returns one prefix.
    pub fn prefix(&self, target: Target, name: &str) -> PathBuf {
        self.toolchains(target).join(name)
    }

    /// Returns the directory of links from specs to prefixes.
    pub fn active(&self, target: Target) -> PathBuf {
        self.data.join("active").join(target.name())
    }

    /// Returns the directory of shims.
    pub fn shims(&self) -> PathBuf {
        self.data.join("shims")
    }

    /// Returns the directory of the shim's own binary.
    pub fn bin(&self) -> PathBuf {
        self.data.join("bin")
    }

    /// Returns the directory of links to toolkits that cuenv did not install.
    pub fn links(&self) -> PathBuf {
        self.data.join("links")
    }

    /// Returns the staging directory.
    pub fn tmp(&self) -> PathBuf {
        self.data.join("tmp")
    }

    /// Returns the directory of file locks.
    pub fn locks(&self) -> PathBuf {
        self.data.join("locks")
    }

    /// Returns the installer's receipt.
    pub fn install_receipt(&self) -> PathBuf {
        self.data.join("install-receipt")
    }

    /// Returns the directory of cached listings.
    pub fn listings(&self) -> PathBuf {
        self.cache.join("listings")
    }

    /// Returns the registry of known projects.
    pub fn projects(&self) -> PathBuf {
        self.state.join("projects")
    }

    /// Returns the settings file.
    pub fn settings_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// Returns the file that holds the default spec, one line.
    pub fn default_file(&self) -> PathBuf {
        self.config.join("default")
    }

    /// Returns the directory whose manifests override the ones compiled in.
    pub fn manifests(&self) -> PathBuf {
        self.config.join("manifests")
    }
}
