//! What a choice stands for on this machine: the prefix that the lock beside the pin names, or the link of its spec.

use std::path::{Component, Path, PathBuf};

use crate::activation::{self, Activation};
use crate::dirs::Dirs;
use crate::locate::{Choice, LocateError, Source};
use crate::lock::{self, Answer, Stale};
use crate::names;
use crate::shown;
use crate::spec::{self, Fault};
use crate::walk::PinKind;

/// What a choice stands for on this machine.
#[derive(Debug)]
pub enum Toolchain {
    /// cuenv steps aside.
    System,
    /// A prefix that is there.
    Installed(Installed),
    /// Nothing installed answers the spec.
    Missing(Missing),
}

/// A prefix that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The prefix.
    pub prefix: PathBuf,
    /// What it asks of the environment.
    pub activation: Activation,
    /// Whether the lock beside the pin named it.
    pub locked: bool,
    /// The lock beside the pin, when it does not answer: what runs is what the spec means.
    pub stale: Option<(PathBuf, Stale)>,
}

impl Installed {
    /// Says that the lock beside the pin does not answer it, with what mends that.
    pub fn stale(&self) -> Option<String> {
        let (path, why) = self.stale.as_ref()?;
        let (path, prefix) = (shown::path(path), &self.activation.toolchain);
        Some(format!("`{path}` does not hold: {why}; using {prefix} (fix: {RELOCK})"))
    }
}

/// What makes a stale lock answer.
pub const RELOCK: &str = "cuenv lock";

/// Whether a spec is a name: of a linked toolkit, `default` or `system`.
pub fn is_name(spec: &str) -> bool {
    spec.starts_with(|first: char| first.is_ascii_alphabetic())
        && spec.split(['+', '@']).next() != Some("auto")
}

/// A spec that nothing installed answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The prefix that the lock names; `None` when no lock answers the spec.
    pub locked: Option<String>,
    /// The path whose appearance would answer the spec.
    pub awaited: PathBuf,
}

/// Finds the prefix for a choice. Paths that would change the answer are added to `watched`.
pub fn find(
    dirs: &Dirs,
    choice: &Choice,
    watched: &mut Vec<PathBuf>,
) -> Result<Toolchain, LocateError> {
    if choice.spec == spec::SYSTEM {
        return Ok(Toolchain::System);
    }
    let (mut locked, mut stale) = (None, None);
    if let (Source::Pin(_, PinKind::Cuenv), Some(directory)) =
        (&choice.source, choice.pin_directory())
        // Neither a toolkit nor `default` is ever locked.
        && !is_name(&choice.spec)
    {
        let path = directory.join(names::LOCK_FILE);
        watched.push(path.clone());
        match lock::ask(&path, &choice.spec) {
            Ok(Answer::None) => {}
            Ok(Answer::Prefix(name)) => locked = Some(name),
            Ok(Answer::Stale(why)) => stale = Some((path, why)),
            Err(fault) => return Err(LocateError::Lock { path, fault }),
        }
    }
    let prefix = match &locked {
        Some(name) => dirs.toolchains().join(name),
        None => linked(&dirs.active(), &choice.spec),
    };
    let path = prefix.join(activation::FILE);
    // Through the link, so that moving the link is seen.
    watched.push(match &locked {
        Some(_) => path.clone(),
        None => dirs.active().join(&choice.spec).join(activation::FILE),
    });
    match Activation::of_prefix(&prefix) {
        Ok(Some(activation)) => {
            // Only a linked toolkit's activation has a path outside of its prefix.
            let outside = activation.changes.iter().find(|change| change.path.is_absolute());
            if let Some(gone) = outside.filter(|change| !change.path.exists()) {
                let (source, name) = (choice.source.clone(), choice.spec.clone());
                return Err(LocateError::Vanished { source, name, path: gone.path.clone() });
            }
            let locked = locked.is_some();
            Ok(Toolchain::Installed(Installed { prefix, activation, locked, stale }))
        }
        Ok(None) => match fault_of(dirs, &choice.spec) {
            None => Ok(Toolchain::Missing(Missing { locked, awaited: path })),
            Some(fault) => {
                let (source, spec) = (choice.source.clone(), choice.spec.clone());
                Err(LocateError::Wrong { source, spec, fault })
            }
        },
        Err(error) => Err(LocateError::Activation { path, error }),
    }
}

/// Why a spec is wrong. A user's own manifests may name more components.
fn fault_of(dirs: &Dirs, text: &str) -> Option<Fault> {
    let own = dirs.config.join(names::MANIFESTS).exists();
    spec::fault(text, if own { &[] } else { spec::COMPONENTS })
}

/// Returns what the link of a spec points at, as a plain absolute path where that can be told without the disk.
fn linked(active: &Path, spec: &str) -> PathBuf {
    let link = active.join(spec);
    match std::fs::read_link(&link) {
        Ok(target) => normal(&active.join(target)),
        Err(_) => link,
    }
}

/// Takes `.` and `..` out of an absolute path whose directories are not links.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::locate::{Question, select};
    use crate::vars::Vars;
    use crate::walk::tests::Temp;

    /// Makes a prefix with an activation and, if asked, the link of a spec to it.
    pub(crate) fn install(temp: &Temp, name: &str, spec: Option<&str>) -> PathBuf {
        let below = format!("data/toolchains/{}/{name}", names::TARGET);
        let text = Activation::standard(name, name, true).render().unwrap();
        temp.write(&format!("{below}/.cuenv/activation"), &text);
        std::fs::create_dir_all(temp.path(&format!("{below}/lib"))).unwrap();
        if let Some(spec) = spec {
            let active = temp.path(&format!("data/active/{}", names::TARGET));
            std::fs::create_dir_all(&active).unwrap();
            let target = format!("../../toolchains/{}/{name}", names::TARGET);
            std::os::unix::fs::symlink(target, active.join(spec)).unwrap();
        }
        temp.path(&below)
    }

    fn chosen(temp: &Temp, below: &str) -> Choice {
        let (dirs, vars) = (temp.dirs(), Vars::new());
        let cwd = temp.path(below);
        let cwd = Some(cwd.as_path());
        let question =
            Question { dirs: &dirs, vars: &vars, cwd, argument: None, inherit: true, all: false };
        select(&question).first().unwrap().unwrap()
    }

    fn look(temp: &Temp, below: &str) -> Toolchain {
        let choice = chosen(temp, below);
        find(&temp.dirs(), &choice, &mut Vec::new()).unwrap()
    }

    #[test]
    fn the_lock_answers_when_it_is_of_this_pin() {
        let temp = Temp::new("lock");
        install(&temp, "one", Some("12.4"));
        let two = install(&temp, "two", None);
        temp.write("home/p/.cuenv", "12.4");
        let lock = |spec: &str, name: &str| {
            let text = format!(
                "version = 1\nspec = \"{spec}\"\ntoolchain = \"x\"\nprefix.{} = \"{name}\"\n",
                names::TARGET
            );
            temp.write("home/p/.cuenv.lock", &text);
        };
        lock("12.4", "two");
        match look(&temp, "home/p") {
            Toolchain::Installed(found) => assert_eq!((found.prefix, found.locked), (two, true)),
            other => panic!("{other:?}"),
        }
        // The lock is of another spec, so the link answers, and that is told.
        lock("12.3", "two");
        match look(&temp, "home/p") {
            Toolchain::Installed(found) => {
                assert!(!found.locked);
                let told = found.stale().unwrap();
                assert!(told.contains("it answers `12.3`, and the pin says `12.4`"), "{told}");
                assert_eq!(found.activation.prefix, "one");
                assert!(!found.prefix.to_str().unwrap().contains(".."));
            }
            other => panic!("{other:?}"),
        }
        // The lock names what is not there: another prefix is not taken in its place.
        lock("12.4", "three");
        match look(&temp, "home/p") {
            Toolchain::Missing(missing) => assert_eq!(missing.locked.as_deref(), Some("three")),
            other => panic!("{other:?}"),
        }
        // A name that is a path is no name, and what is asked for is not known.
        lock("12.4", "../../../two");
        let error = find(&temp.dirs(), &chosen(&temp, "home/p"), &mut Vec::new()).unwrap_err();
        assert!(matches!(error, LocateError::Lock { .. }), "{error}");
    }

    #[test]
    fn a_spec_that_nothing_can_answer_is_wrong_and_not_missing() {
        let temp = Temp::new("wrong");
        temp.write("home/p/.cuenv", "12.4+cudn9");
        let choice = chosen(&temp, "home/p");
        let found = |temp: &Temp| find(&temp.dirs(), &choice, &mut Vec::new());
        let told = found(&temp).unwrap_err().to_string();
        assert!(told.ends_with("there is no component `cudn`; the nearest is `cudnn`"), "{told}");
        temp.write("data/config/manifests/components.toml", "");
        assert!(matches!(found(&temp), Ok(Toolchain::Missing(_))));
    }

    #[test]
    fn a_linked_toolkit_that_is_gone_is_told() {
        let temp = Temp::new("gone-toolkit");
        let toolkit = temp.path("opt/cuda");
        std::fs::create_dir_all(&toolkit).unwrap();
        let mut activation = Activation::standard("site", "site", false);
        for change in &mut activation.changes {
            change.path = toolkit.clone();
        }
        let below = format!("data/active/{}/site/{}", names::TARGET, activation::FILE);
        temp.write(&below, &activation.render().unwrap());
        temp.write("home/p/.cuenv", "site");
        assert!(matches!(look(&temp, "home/p"), Toolchain::Installed(_)));
        std::fs::remove_dir(&toolkit).unwrap();
        let choice = chosen(&temp, "home/p");
        let error = find(&temp.dirs(), &choice, &mut Vec::new()).unwrap_err();
        assert!(matches!(error, LocateError::Vanished { .. }), "{error}");
    }

    #[test]
    fn nothing_installed_is_missing_and_system_is_system() {
        let temp = Temp::new("missing");
        temp.write("home/p/.cuenv", "12.4");
        temp.write("home/s/.cuenv", "system");
        assert!(matches!(look(&temp, "home/p"), Toolchain::Missing(_)));
        assert!(matches!(look(&temp, "home/s"), Toolchain::System));
    }
}
