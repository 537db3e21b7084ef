//! The names that cuenv and its shims share: variables, files and the target.

/// Selects the toolchain for every command below; outranks the session and every pin.
pub const TOOLCHAIN: &str = "CUENV_TOOLCHAIN";
/// The toolchain of one shell session, set by `cuenv shell`.
pub const SESSION: &str = "CUENV_SHELL_TOOLCHAIN";
/// One root for data, cache, state and configuration.
pub const HOME: &str = "CUENV_HOME";
/// The venv policy, outranking the pin's: `defer`, `override` or `off`.
pub const VENV: &str = "CUENV_VENV";
/// `1`: a shim installs a pinned toolchain that is missing.
pub const AUTO_INSTALL: &str = "CUENV_AUTO_INSTALL";
/// The record of what an activation changed; leaving restores it. Written and read by this crate alone.
pub const UNDO: &str = "CUENV_UNDO";
/// The name of the active toolchain, for prompts and for people.
pub const ACTIVE: &str = "CUENV_ACTIVE";
/// The shims that led to this process, so that a loop is seen; see [`crate::chain`].
pub const CHAIN: &str = "CUENV_SHIM_CHAIN";

/// A project's pin.
pub const PIN_FILE: &str = ".cuenv";
/// The lock beside a pin.
pub const LOCK_FILE: &str = ".cuenv.lock";
/// Another tool's pin of a CUDA version, read when no `.cuenv` holds.
pub const CUDA_VERSION_FILE: &str = ".cuda-version";
/// asdf's and mise's pins, read last; the line `cuda <version>` counts.
pub const TOOL_VERSIONS_FILE: &str = ".tool-versions";
/// The configuration directory of a user's own manifests.
pub const MANIFESTS: &str = "manifests";
/// The file name of the shim's own binary.
pub const SHIM_BINARY: &str = "cuenv-shim";

/// The target this program was built for.
#[cfg(target_arch = "x86_64")]
pub const TARGET: &str = "linux-x86_64";
/// The target this program was built for.
#[cfg(target_arch = "aarch64")]
pub const TARGET: &str = "linux-aarch64";

/// What is searched for programs when `PATH` is unset, as after `srun --export=NONE`.
pub const BUILT_IN_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
