//! What mends a toolchain's choice or environment that cannot be used: the one answer, for doctor's fix and for the advice
//! below a message.

use std::path::Path;

use shims::locate::{LocateError, Source};
use shims::lock::LockFault;
use shims::names;
use shims::prepare::PrepareError;
use shims::quote::word;
use shims::settings::SettingsError;
use shims::shown;
use shims::spec::Fault;
use shims::venv::{Refusal, RuleSource};
use shims::walk::{BrokenPin, BrokenReason};

const READS: &str = "a spec reads like `12.4+cudnn9`, `11.8+cudnn8@runtime` or `auto+cudnn9`";

/// What mends something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mend {
    /// One command.
    Command(String),
    /// Something else, in words.
    Words(String),
}

impl Mend {
    fn words(text: impl Into<String>) -> Self {
        Self::Words(text.into())
    }

    /// As a finding's fix, in which a command stands alone.
    pub fn fix(self) -> String {
        match self {
            Self::Command(text) | Self::Words(text) => text,
        }
    }

    /// As advice below a message.
    pub fn advice(self) -> String {
        match self {
            Self::Command(text) => format!("run `{text}`"),
            Self::Words(text) => text,
        }
    }
}

/// After which the selection answers.
pub fn selection(error: &LocateError) -> Mend {
    match error {
        LocateError::Pin(broken) => pin(broken),
        LocateError::Wrong { source, spec, fault: Fault::Component(wrong, Some(nearest)) } => {
            let right = spec.replacen(wrong, nearest, 1);
            match source {
                Source::Pin(..) => Mend::Command(format!("cuenv use {right}")),
                Source::Default(_) => Mend::Command(format!("cuenv use --global {right}")),
                Source::Session => Mend::Command(format!("cuenv shell {right}")),
                Source::Argument | Source::Variable | Source::Inherited => {
                    Mend::Words(format!("did you mean `{right}`?"))
                }
            }
        }
        LocateError::Wrong { fault: Fault::Component(_, None), .. } => {
            Mend::words("`cuenv list --available` shows the components")
        }
        LocateError::NotASpec { source: Source::Variable, .. } => Mend::Words(format!(
            "set it to a spec such as `12.4+cudnn9`, or unset {}",
            names::TOOLCHAIN
        )),
        LocateError::NotASpec { source: Source::Session, .. } => {
            Mend::Command("cuenv shell --unset".to_owned())
        }
        LocateError::Wrong { .. } | LocateError::NotASpec { .. } => Mend::words(READS),
        LocateError::Vanished { name, .. } => {
            Mend::Words(format!("say where it is now: `cuenv link {name} /path/to/toolkit`"))
        }
        LocateError::Default { .. } => Mend::words("set it with `cuenv use --global 12.4+cudnn9`"),
        LocateError::Lock { fault, .. } => lock(fault),
        LocateError::Activation { .. } => Mend::Command("cuenv install".to_owned()),
    }
}

/// For a lock that cannot be used.
pub fn lock(fault: &LockFault) -> Mend {
    match fault {
        LockFault::Newer(_) => newer_lock(),
        LockFault::Conflict => {
            Mend::words("run `git checkout --ours .cuenv.lock`, then `cuenv lock`")
        }
        LockFault::NotALock | LockFault::Read(_) => broken_lock(),
    }
}

/// For a lock of a newer cuenv.
pub fn newer_lock() -> Mend {
    Mend::words("update cuenv (`cuenv self update`), or ask who wrote the lock to use this one")
}

/// For a lock that is none.
pub fn broken_lock() -> Mend {
    Mend::words("restore it from version control, or remove it and run `cuenv install`")
}

/// What `use` can write anew it does; what is no text file has to go first, by its owner's hand.
pub fn pin(broken: &BrokenPin) -> Mend {
    match &broken.reason {
        BrokenReason::Pin(_) => Mend::words("write it anew: `cuenv use 12.4+cudnn9`, for example"),
        BrokenReason::Read(_) => pin_away(&broken.path),
    }
}

/// For a pin that cannot be read at all.
pub fn pin_away(path: &Path) -> Mend {
    Mend::Words(format!("{}, then pin anew: `cuenv use 12.4+cudnn9`", away(path)))
}

/// After which the environment can be computed.
pub fn environment(error: &PrepareError) -> Mend {
    match error {
        PrepareError::Refused { refusal, source } => {
            let other = match refusal {
                Refusal::Rpath { component, .. } => {
                    format!("remove the venv's own {component} wheel")
                }
                Refusal::ExtraPart { .. } => "pin a newer cuDNN".to_owned(),
            };
            // Where it was said, or nothing changes.
            let defer = match source {
                RuleSource::Variable => format!("set {} to `defer`", names::VENV),
                RuleSource::Pin(path) | RuleSource::Settings(path) => {
                    format!("write `venv = \"defer\"` into `{}`", shown::path(path))
                }
                RuleSource::Default => {
                    format!("write `venv = \"defer\"` into `{}`", names::PIN_FILE)
                }
            };
            Mend::Words(format!("{defer}, or {other}"))
        }
        PrepareError::Damaged { command, .. } => Mend::Command(command.clone()),
        PrepareError::Colon { of_prefix: true, .. } => {
            Mend::words("set CUENV_HOME to a directory without a colon in its path")
        }
        PrepareError::Colon { of_prefix: false, .. } => Mend::Words(format!(
            "make the Python environment anew in a directory without a colon in its path, or leave its libraries out: \
             `export {}=off`",
            names::VENV
        )),
        PrepareError::Policy(_) => Mend::Command(format!("unset {}", names::VENV)),
        PrepareError::Settings(SettingsError::Read(path, _)) => {
            Mend::Words(format!("make it a file that you can read, or {}", away(path)))
        }
        PrepareError::Settings(SettingsError::Value { path, key, .. }) => {
            let values = match *key {
                "venv" => "`\"defer\"`, `\"override\"` or `\"off\"`",
                _ => "`true` or `false`",
            };
            Mend::Words(format!("write {values} behind `{key} =` in `{}`", shown::path(path)))
        }
    }
}

fn away(path: &Path) -> String {
    let mut old = path.as_os_str().to_owned();
    old.push(".old");
    format!("move it away (`mv {} {}`)", word(path), word(old))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn override_is_taken_back_where_it_was_said() {
        let advice = |source| {
            let refusal = Refusal::ExtraPart { library: "l".to_owned(), root: "/v".into() };
            environment(&PrepareError::Refused { refusal, source }).advice()
        };
        assert!(advice(RuleSource::Variable).starts_with("set CUENV_VENV to `defer`, or "));
        for source in [RuleSource::Pin("/p/x".into()), RuleSource::Settings("/p/x".into())] {
            assert!(advice(source).starts_with("write `venv = \"defer\"` into `/p/x`, or "));
        }
    }

    #[test]
    fn unusable_settings_are_mended_themselves() {
        let advice = |error| environment(&PrepareError::Settings(error)).advice();
        let read = SettingsError::Read("/a b/config.toml".into(), shims::read::ReadError::NotText);
        assert!(advice(read).contains("`mv '/a b/config.toml' '/a b/config.toml.old'`"));
        let value = |key| SettingsError::Value { path: "/c".into(), key, text: "x".to_owned() };
        assert!(advice(value("venv")).ends_with("`\"off\"` behind `venv =` in `/c`"));
        assert!(advice(value("auto-install")).starts_with("write `true` or `false` behind"));
    }

    #[test]
    fn a_wrong_component_is_mended_where_it_stands() {
        let fix = |source| {
            let fault = Fault::Component("cudn".to_owned(), Some("cudnn"));
            selection(&LocateError::Wrong { source, spec: "12.4+cudn9".to_owned(), fault }).fix()
        };
        assert_eq!(fix(Source::Default("/d".into())), "cuenv use --global 12.4+cudnn9");
        assert_eq!(fix(Source::Session), "cuenv shell 12.4+cudnn9");
        // A pin would not outrank it.
        assert_eq!(fix(Source::Variable), "did you mean `12.4+cudnn9`?");
    }

    #[test]
    fn paths_can_be_pasted() {
        let mend = pin_away(Path::new("/it's/.cuenv"));
        assert!(mend.advice().contains(r"`mv '/it'\''s/.cuenv' '/it'\''s/.cuenv.old'`"));
    }
}
