//! A project's pin and lock.

use shims::names::PIN_FILE;
use shims::quote::word;
use shims::walk::{Ignored, Notice};

use super::Failure;
use crate::cli::exit::Exit;
use crate::domain::lock::LockError;
use crate::domain::spec::meant;
use crate::ops::{link, mend, pin, place, project_install, uninstall};
use crate::project;

impl From<project::Error> for Failure {
    fn from(error: project::Error) -> Self {
        use project::Error as E;
        match &error {
            E::Pin { .. } => Self::new(Exit::Usage, error)
                .hint("write it anew with `cuenv use 12.4+cudnn9`, for example"),
            E::Lock { source: LockError::Newer(_), .. } => {
                Self::new(Exit::Integrity, error).hint(mend::newer_lock().advice())
            }
            E::Lock { .. } => {
                Self::new(Exit::Integrity, error).hint(mend::broken_lock().advice())
            }
            E::TooLarge { path, .. } | E::Unreadable { path, .. } if path.ends_with(PIN_FILE) => {
                let hint = mend::pin_away(path).advice();
                Self::new(Exit::Usage, error).hint(hint)
            }
            E::ReadOnly { .. } => Self::new(Exit::Failed, error)
                .hint("pin a directory of your own (`cuenv -C DIR use SPEC`), or set the default: `cuenv use --global SPEC`"),
            E::PinIsDirectory(path) => {
                let hint = format!("if nobody needs it, `rmdir {}`; else pin another directory", word(path));
                Self::new(Exit::Failed, error).hint(hint)
            }
            E::TooLarge { .. } | E::Unreadable { .. } | E::Io(_) => {
                Self::new(Exit::Failed, error)
            }
        }
    }
}

impl From<pin::Error> for Failure {
    fn from(error: pin::Error) -> Self {
        use pin::Error as E;
        match error {
            E::Answer(error) => error.into(),
            E::Install(error) => error.into(),
            E::Project(error) => error.into(),
            E::NotLinked(ref name) => {
                let hint = match meant(name) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("adopt it with `cuenv link {name} /path/to/toolkit`"),
                };
                Self::new(Exit::NoMatch, error).hint(hint)
            }
            E::Ignored(Notice { ref path, reason }) => {
                let directory = path.parent().unwrap_or(path);
                let hint = match reason {
                    Ignored::WritableDirectory => format!(
                        "if it is yours, `chmod o-w {}`; else pin a directory of your own in it",
                        word(directory)
                    ),
                    Ignored::WritableFile => format!("run `chmod o-w {}`", word(path)),
                    _ => "pin a directory of your own".to_owned(),
                };
                Self::new(Exit::Failed, error).hint(hint)
            }
            E::NoDirectory | E::Io(_) => Self::new(Exit::Failed, error),
        }
    }
}

impl From<project_install::Error> for Failure {
    fn from(error: project_install::Error) -> Self {
        use project_install::Error as E;
        match error {
            E::Selection(error) => error.into(),
            E::Spec { ref via, error: ref spec } => {
                let message = format!("{via}: {spec}");
                Self::from(spec.clone()).with_message(message)
            }
            E::Project(error) => error.into(),
            E::Answer(error) => error.into(),
            E::Install(error) => error.into(),
            E::NoPin(_) => Self::new(Exit::NoMatch, error)
                .hint("pin one with `cuenv use 12.4+cudnn9`, for example"),
            E::NothingToInstall { .. } => Self::new(Exit::NoMatch, error),
            E::Drift { .. } => {
                Self::new(Exit::Drift, error).hint("run `cuenv lock` and commit `.cuenv.lock`")
            }
        }
    }
}

impl From<place::Error> for Failure {
    fn from(error: place::Error) -> Self {
        use place::Error as E;
        match error {
            E::Selection(error) => error.into(),
            E::NoPin(_) => Self::new(Exit::NoMatch, error)
                .hint("pin one with `cuenv use 12.4+cudnn9`, for example"),
            E::System(_) => Self::new(Exit::NoMatch, error),
            E::Missing(ref choice) => {
                let hint = match meant(&choice.spec) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("run `{}`", shims::hook::install_command(choice)),
                };
                Self::new(Exit::NoMatch, error).hint(hint)
            }
        }
    }
}

impl From<uninstall::Error> for Failure {
    fn from(error: uninstall::Error) -> Self {
        match &error {
            uninstall::Error::Several { names, .. } => {
                let one = names.first().cloned().unwrap_or_default();
                Self::new(Exit::Usage, error)
                    .hint(format!("name one (`cuenv uninstall {one}`), or remove all with `--yes`"))
            }
            uninstall::Error::Running { .. } => Self::new(Exit::Failed, error)
                .hint("wait until it has ended, or say `--yes` to remove it all the same"),
            uninstall::Error::NotInstalled { installed, .. } => {
                let hint = match installed.as_slice() {
                    [] => "nothing is installed".to_owned(),
                    names => format!("installed: {}", names.join(", ")),
                };
                Self::new(Exit::NoMatch, error).hint(hint)
            }
            uninstall::Error::Io(_) => Self::new(Exit::Failed, error),
            uninstall::Error::Spec(_) | uninstall::Error::Prefix(_) => match error {
                uninstall::Error::Spec(error) => error.into(),
                uninstall::Error::Prefix(error) => error.into(),
                error => Self::new(Exit::Failed, error),
            },
        }
    }
}

impl From<link::Error> for Failure {
    fn from(error: link::Error) -> Self {
        use link::Error as E;
        match &error {
            E::Name(_) => Self::new(Exit::Usage, error).hint("take a name such as `site-12.4`"),
            E::NotAToolkit(_) => Self::new(Exit::NoMatch, error)
                .hint("give the directory that holds `bin`, `lib64` and `include`"),
            E::SystemDirectory(_) => {
                Self::new(Exit::Usage, error).hint("pin `system` with `cuenv use system` instead")
            }
            E::Colon(path) => {
                let hint = match path.file_name() {
                    Some(name) => format!(
                        "link it by a name without one: `ln -s {0} ~/{1}`, then `cuenv link NAME ~/{1}`",
                        word(path),
                        word(name.to_string_lossy().replace(':', "-"))
                    ),
                    None => "take a path without one".to_owned(),
                };
                Self::new(Exit::Usage, error).hint(hint)
            }
            E::Activation(_) | E::Io(_) => Self::new(Exit::Failed, error),
        }
    }
}
