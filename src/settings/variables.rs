//! Every `CUENV_*` variable, with one line about it. `cuenv` reads no other; a test compares the list with the code.

/// A variable and what it does.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// One line for the help and the documentation.
    pub about: &'static str,
}

const fn variable(name: &'static str, about: &'static str) -> Variable {
    Variable { name, about }
}

/// What a user may set.
pub const VARIABLES: &[Variable] = &[
    variable(
        "CUENV_HOME",
        "One directory for data, cache, state and settings; wins over the XDG variables",
    ),
    variable("CUENV_TOOLCHAIN", "The spec to use here, before any pin"),
    variable(
        "CUENV_INDEX_URL",
        "The index to ask; wins over the settings file and over pip's and uv's",
    ),
    variable(
        "CUENV_EXTRA_INDEX_URL",
        "Further indexes, separated by spaces, asked where the first has no such distribution",
    ),
    variable(
        "CUENV_FIND_LINKS",
        "Directories of wheels, separated by spaces, looked at before any index",
    ),
    variable("CUENV_NO_INDEX", "`1`: use the directories of wheels alone"),
    variable(
        "CUENV_CA_BUNDLE",
        "A file or directory of certificate authorities, added to those of the machine",
    ),
    variable(
        "CUENV_DOWNLOAD_BASE",
        "Where `install.sh` and `cuenv self update` find cuenv's own releases, a mirror for example",
    ),
    variable("CUENV_OFFLINE", "`1`: use no network"),
    variable(
        "CUENV_HTTP_TIMEOUT",
        "Seconds without a byte after which a transfer counts as dead (30)",
    ),
    variable(
        "CUENV_HTTP_RETRIES",
        "How often a request that failed for the moment is tried again (4)",
    ),
    variable(
        "CUENV_STORE_BELOW",
        "Data directories of other cuenvs, separated by colons, whose wheels are used and never changed",
    ),
    variable(
        "CUENV_JOBS",
        "How many wheels are worked on at the same time (unset: one a core, 4 to 8)",
    ),
    variable(
        "CUENV_REUSE",
        "`0`: fetch wheels also where a venv or uv's cache holds them unpacked",
    ),
    variable(
        "CUENV_AUTO_INSTALL",
        "`1`: shims install a missing toolchain; `0`: never, whatever the settings say",
    ),
    variable(
        "CUENV_VENV",
        "`defer`, `override` or `off`: which NVIDIA libraries win where a venv brings its own",
    ),
    variable(
        "CUENV_DRIVER_VERSION",
        "The driver to assume on a host without one, such as `550.54.15`",
    ),
    variable(
        "CUENV_COMPUTE_CAPABILITY",
        "The compute capabilities to assume on a host without a GPU, separated by commas, such as `9.0`",
    ),
    variable("CUENV_HOOK_QUIET", "`1`: the hook says nothing when it switches"),
    variable(
        "CUENV_PROBE_TIMEOUT",
        "Seconds that a library of the driver may take to answer before it is left alone",
    ),
    variable("CUENV_HOST_ROOT", "Another root for `/proc`, `/sys` and the driver's libraries"),
];

/// What cuenv sets for itself or its tests set; no one else should.
pub const INTERNAL: &[Variable] = &[
    variable("CUENV_BUILT_IN_INDEX", "Compile time: the index that the build script found"),
    variable("CUENV_DEFAULT_INDEX_URL", "Build time: the index to compile in"),
    variable("CUENV_ACTIVE", "The toolchain that is active in this environment, set on activation"),
    variable("CUENV_SHIM_CHAIN", "The shims that were passed through, against loops"),
    variable("CUENV_TEST_KILL_AT", "Tests: the checkpoint at which the process is killed"),
    variable("CUENV_UNDO", "What leaving a project restores, set by the hook"),
    variable("CUENV_HOOK_PAST", "What this shell's hook put on its lists of paths so far"),
    variable("CUENV_HOOK_SAID", "The mark of the message that the hook showed last"),
    variable("CUENV_SHELL_TOOLCHAIN", "The spec of this shell, set by `cuenv shell`"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    fn names_in(text: &str) -> impl Iterator<Item = &str> {
        text.match_indices("CUENV_").map(|(at, _)| {
            let rest = &text[at..];
            let end =
                rest.find(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit() && c != '_');
            &rest[..end.unwrap_or(rest.len())]
        })
    }

    fn collect(directory: &Path, into: &mut BTreeSet<String>) {
        for entry in fs_err::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, into);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                into.extend(names_in(&fs_err::read_to_string(path).unwrap()).map(str::to_owned));
            }
        }
    }

    #[test]
    fn every_variable_in_the_code_is_listed_and_every_listed_one_is_used() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut used = BTreeSet::new();
        collect(&root.join("src"), &mut used);
        collect(&root.join("shims/src"), &mut used);
        let listed: BTreeSet<_> =
            VARIABLES.iter().chain(INTERNAL).map(|known| known.name).collect();
        let unlisted: Vec<_> = used
            .iter()
            .filter(|name| !listed.contains(name.as_str()) && *name != "CUENV_")
            .collect();
        assert!(unlisted.is_empty(), "add to src/settings/variables.rs: {unlisted:?}");
        assert_eq!(listed.len(), VARIABLES.len() + INTERNAL.len(), "a name is listed twice");
    }
}
