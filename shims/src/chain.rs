//! The shims that led to this process, `CUENV_SHIM_CHAIN`, so that no loop is endless.
//!
//! Every shim adds who it is (the process, the tool) and what it hands over to. A shim that finds itself in the
//! same process again was called back by another shim manager: what this process was already handed to is not taken
//! again. That also ends a loop between two managers that each pass over their own directory only. A loop through
//! new processes is ended by the number of entries, and the message prints them.
//!
//! ```text
//! <process>/<tool>/<target>;<process>/<tool>/<target>...
//! ```

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::names;
use crate::undo::{decode, encode};
use crate::vars::{Vars, var};

/// More shims than this in one line of descent are a loop.
pub const MAX: usize = 32;

/// One shim that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The process it ran in.
    pub process: u32,
    /// The tool it stood for.
    pub tool: OsString,
    /// The program it handed over to.
    pub target: PathBuf,
}

/// All shims in the line of descent, the first one first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain(pub Vec<Link>);

impl Chain {
    /// Reads the chain of an environment; what is not understood is an empty chain.
    pub fn of(vars: &Vars) -> Self {
        let links = var(vars, names::CHAIN).and_then(OsStr::to_str).and_then(|text| {
            text.split(';')
                .map(|item| {
                    let mut fields = item.splitn(3, '/');
                    Some(Link {
                        process: fields.next()?.parse().ok()?,
                        tool: decode(fields.next()?)?,
                        target: decode(fields.next()?)?.into(),
                    })
                })
                .collect::<Option<Vec<_>>>()
        });
        Self(links.unwrap_or_default())
    }

    /// Returns what this process was already handed to under this tool's name.
    pub fn visited(&self, process: u32, tool: &OsStr) -> Vec<PathBuf> {
        let links = self.0.iter().rev().take_while(|link| link.process == process);
        links.filter(|link| link.tool == tool).map(|link| link.target.clone()).collect()
    }

    /// Returns the chain with one more link.
    pub fn with(&self, process: u32, tool: &OsStr, target: &Path) -> OsString {
        let link = Link { process, tool: tool.to_owned(), target: target.to_owned() };
        let items: Vec<String> = self
            .0
            .iter()
            .chain([&link])
            .map(|link| {
                let target = encode(link.target.as_os_str());
                format!("{}/{}/{target}", link.process, encode(&link.tool))
            })
            .collect();
        items.join(";").into()
    }

    /// Tells whether one more shim would be a loop.
    pub fn is_loop(&self) -> bool {
        self.0.len() >= MAX
    }
}

impl std::fmt::Display for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, link) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            let tool = link.tool.to_string_lossy();
            write!(f, "  {tool} (process {}) -> {}", link.process, link.target.display())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vars::from_pairs;

    #[test]
    fn remembers_what_this_process_was_handed_to() {
        let first = Chain::default().with(7, OsStr::new("python"), Path::new("/a;b/python"));
        let chain = Chain::of(&from_pairs(&[(names::CHAIN, first.to_str().unwrap())]));
        let second = chain.with(8, OsStr::new("nvcc"), Path::new("/c/nvcc"));
        let chain = Chain::of(&from_pairs(&[(names::CHAIN, second.to_str().unwrap())]));
        assert_eq!(chain.0.len(), 2);
        assert_eq!(chain.visited(8, OsStr::new("nvcc")), [PathBuf::from("/c/nvcc")]);
        assert!(chain.visited(8, OsStr::new("python")).is_empty());
        assert!(
            chain.visited(7, OsStr::new("python")).is_empty(),
            "an ancestor is not this process"
        );
        assert_eq!(chain.0[0].target, PathBuf::from("/a;b/python"));
        assert!(chain.to_string().contains("python (process 7) -> /a;b/python"));
    }

    #[test]
    fn a_broken_chain_is_empty() {
        for text in ["", "x", "1/a", "1/%/b", ";;"] {
            assert_eq!(Chain::of(&from_pairs(&[(names::CHAIN, text)])), Chain::default());
        }
    }
}
