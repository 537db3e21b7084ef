//! cuenv's own files.

use super::Failure;
use crate::cli::exit::Exit;
use crate::ops::{self_uninstall, self_update};

impl From<self_uninstall::Error> for Failure {
    fn from(error: self_uninstall::Error) -> Self {
        let hint = match &error {
            self_uninstall::Error::NotOurs { exe, .. } => Some(owner(exe)),
            self_uninstall::Error::OtherCopy { bin, .. } => {
                Some(format!("run `{}/cuenv` instead", bin.display()))
            }
            self_uninstall::Error::Receipt { .. } | self_uninstall::Error::Io(_) => None,
        };
        let failure = Self::new(Exit::Failed, error);
        if let Some(hint) = hint { failure.hint(hint) } else { failure }
    }
}

impl From<self_update::Error> for Failure {
    fn from(error: self_update::Error) -> Self {
        use self_update::Error as E;
        match error {
            E::Installation(error) => error.into(),
            E::Http(error) => error.into(),
            E::Checkout(ref directory) => {
                let hint = format!(
                    "update it there: `git pull` and `./install.sh` in `{}`",
                    directory.display()
                );
                Self::new(Exit::Failed, error).hint(hint)
            }
            E::NoBase => Self::new(Exit::Failed, error).hint(
                "set CUENV_DOWNLOAD_BASE, or name an archive: `cuenv self update --from ARCHIVE`",
            ),
            E::List { .. } | E::Digest { .. } | E::Archive(_) => {
                Self::new(Exit::Integrity, error).hint("nothing was replaced")
            }
            E::Plain(_) => Self::new(Exit::Usage, error)
                .hint("set CUENV_DOWNLOAD_BASE to an address that begins with `https://`"),
            E::Unusable(_) => Self::new(Exit::Host, error).hint("nothing was replaced"),
            E::Io(_) => Self::new(Exit::Failed, error),
        }
    }
}

/// Who else may have put the program where it is, and the command that updates or removes it there.
fn owner(exe: &std::path::Path) -> String {
    let path = exe.to_string_lossy();
    let command = if path.starts_with("/usr/bin/") || path.starts_with("/bin/") {
        "a package of the system: use its package manager (`apt-get install`, `apt-get remove`)"
    } else if path.contains("/uv/tools/") {
        "`uv tool`: `uv tool upgrade cuenv`, `uv tool uninstall cuenv`"
    } else if path.contains("/uv/archive-v") || path.contains("/uv/environments-v") {
        "`uvx`, which keeps nothing: `uvx cuenv@latest` runs the newest"
    } else if path.contains("/pipx/") {
        "`pipx`: `pipx upgrade cuenv`, `pipx uninstall cuenv`"
    } else if path.contains("/.cargo/bin/") {
        "cargo: `cargo uninstall cuenv-cli`"
    } else if exe.ancestors().nth(2).is_some_and(|root| root.join("pyvenv.cfg").is_file()) {
        "pip in that environment: `pip install --upgrade cuenv`, `pip uninstall cuenv`"
    } else {
        return "replace or remove the two files `cuenv` and `cuenv-shim` where you put them"
            .to_owned();
    };
    format!("it looks like the work of {command}")
}
