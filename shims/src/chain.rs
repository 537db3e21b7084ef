//! The shims that led to this process, `CUENV_SHIM_CHAIN`, so that no loop is endless.
//!
//! A shim that hands over to something which may look for the tool in turn (a script, another manager's shim) adds a
//! link: who it is and what it handed over to. A shim that finds itself in the same process again was called back:
//! what this process was already handed to is not taken again. That also ends a loop between two managers that each
//! pass over their own directory only. One that let `PATH` decide (it called the tool by its bare name) would have found
//! itself without the shim: a script that starts itself anew, which it may do a few times. A loop through new processes is
//! ended by the number of links, and the message prints them.
//!
//! A real program ends the chain: when it calls a shim, be it by `exec` in its own process, it gets what it got
//! before. All that stays is how many such programs came one from the other and since when, for what is a manager
//! without looking like one.
//!
//! ```text
//! <since>/<programs>;<process>/<tool>/<target>;<process>/<tool>/<target>...
//! ```

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::names;
use crate::program::Program;
use crate::undo::{decode, encode};
use crate::vars::{Vars, var};

/// More links than this in one line of descent are a loop.
pub const MAX: usize = 32;

/// How often a script in one process may call itself by its bare name before it counts as one that hands back.
const RESTARTS: usize = 4;

/// More programs than this in one line of descent, all within [`WINDOW`], are a loop: a program that restarts itself
/// or nests does not come near.
pub const MAX_PROGRAMS: u32 = 1000;

/// Seconds.
pub const WINDOW: u64 = 60;

/// Programs, not scripts, that answer under a tool's name and search `PATH` for the next one.
const MANAGERS: [&str; 10] = [
    "aqua-proxy",
    "asdf",
    "ccache",
    "distcc",
    "icecc",
    "mise",
    "proto-shim",
    "rtx",
    "sccache",
    "volta-shim",
];

/// Tells whether a program may do no more than look for the tool again.
pub fn may_hand_back(tool: &OsStr, program: &Program) -> bool {
    if program.is_binary() { is_manager(tool, &program.file) } else { !is_entry_point(program) }
}

/// Under a tool's name a manager is a link: the executed file bears the manager's own.
fn is_manager(tool: &OsStr, file: &Path) -> bool {
    let executed = std::fs::read_link(file).and_then(|_| std::fs::canonicalize(file));
    let name = executed.as_deref().ok().and_then(Path::file_name);
    name.is_some_and(|name| name != tool && MANAGERS.iter().any(|manager| name == *manager))
}

/// Tells whether it is an environment's own script (`torchrun`): the Python beside it runs it.
fn is_entry_point(program: &Program) -> bool {
    let line = program.first_line().and_then(|line| line.strip_prefix("#!"));
    let interpreter = line.map(|line| Path::new(line.trim()));
    interpreter.is_some_and(|path| {
        let is_python = path.file_name().and_then(OsStr::to_str);
        path.parent() == program.file.parent()
            && is_python.is_some_and(|name| name.starts_with("python"))
    })
}

/// Returns the seconds of the clock.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

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

/// The line of descent of this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// When the counting of programs began, in seconds.
    pub since: u64,
    /// How many programs were started by a shim since then, each by what the one before started.
    pub programs: u32,
    /// The shims since the last program, the first one first.
    pub links: Vec<Link>,
}

impl Chain {
    /// Reads the chain of an environment; what is not understood is an empty chain.
    pub fn of(vars: &Vars) -> Self {
        var(vars, names::CHAIN).and_then(OsStr::to_str).and_then(Self::parse).unwrap_or_default()
    }

    fn parse(text: &str) -> Option<Self> {
        let mut chain = Self::default();
        for (at, item) in text.split(';').enumerate() {
            let fields: Vec<&str> = item.split('/').collect();
            match *fields.as_slice() {
                [since, programs] if at == 0 => {
                    (chain.since, chain.programs) = (since.parse().ok()?, programs.parse().ok()?);
                }
                [process, tool, target] => chain.links.push(Link {
                    process: process.parse().ok()?,
                    tool: decode(tool)?,
                    target: decode(target)?.into(),
                }),
                _ => return None,
            }
        }
        Some(chain)
    }

    fn render(&self) -> OsString {
        let count = format!("{}/{}", self.since, self.programs);
        let links = self.links.iter().map(|link| {
            let target = encode(link.target.as_os_str());
            format!("{}/{}/{target}", link.process, encode(&link.tool))
        });
        let items: Vec<String> =
            (self.programs > 0).then_some(count).into_iter().chain(links).collect();
        items.join(";").into()
    }

    /// Returns what this process was already handed to under this tool's name and is not to be handed to again;
    /// `by_name` where `PATH` decided that the shim is asked.
    pub fn visited(&self, process: u32, tool: &OsStr, by_name: bool) -> Vec<PathBuf> {
        let links = self.links.iter().rev().take_while(|link| link.process == process);
        let seen: Vec<&PathBuf> =
            links.filter(|link| link.tool == tool).map(|link| &link.target).collect();
        let most = |file: &Path| if by_name && !is_manager(tool, file) { RESTARTS } else { 1 };
        let often = |one: &&&PathBuf| {
            seen.iter().filter(|other| *other == *one).count() >= most(one.as_path())
        };
        seen.iter().filter(often).map(|target| (*target).clone()).collect()
    }

    /// Returns the text of the chain with one more link.
    pub fn with(mut self, process: u32, tool: &OsStr, target: &Path) -> OsString {
        self.links.push(Link { process, tool: tool.to_owned(), target: target.to_owned() });
        self.render()
    }

    /// Returns the text of the chain that a real program begins.
    pub fn anew(&self, now: u64) -> OsString {
        let (since, programs) =
            if self.is_recent(now) { (self.since, self.programs + 1) } else { (now, 1) };
        Self { since, programs, links: Vec::new() }.render()
    }

    /// Tells whether one more shim would be a loop.
    pub fn is_loop(&self) -> bool {
        self.links.len() >= MAX
    }

    /// Tells whether one more program would be a loop.
    pub fn is_runaway(&self, now: u64) -> bool {
        self.programs >= MAX_PROGRAMS && self.is_recent(now)
    }

    /// A clock that was put back counts as a long time.
    fn is_recent(&self, now: u64) -> bool {
        now.checked_sub(self.since).is_some_and(|seconds| seconds < WINDOW)
    }
}

impl std::fmt::Display for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, link) in self.links.iter().enumerate() {
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

    fn read(text: &OsStr) -> Chain {
        Chain::of(&from_pairs(&[(names::CHAIN, text.to_str().unwrap())]))
    }

    #[test]
    fn remembers_what_this_process_was_handed_to() {
        let first = Chain::default().with(7, OsStr::new("python"), Path::new("/a;b/python"));
        let second = read(&first).with(8, OsStr::new("nvcc"), Path::new("/c/nvcc"));
        let chain = read(&second);
        assert_eq!(chain.links.len(), 2);
        assert_eq!(chain.visited(8, OsStr::new("nvcc"), false), [PathBuf::from("/c/nvcc")]);
        assert!(chain.visited(8, OsStr::new("nvcc"), true).is_empty(), "it may start itself anew");
        assert!(chain.visited(8, OsStr::new("python"), false).is_empty());
        assert!(
            chain.visited(7, OsStr::new("python"), false).is_empty(),
            "an ancestor is not this process"
        );
        assert_eq!(chain.links[0].target, PathBuf::from("/a;b/python"));
        assert!(chain.to_string().contains("python (process 7) -> /a;b/python"));
    }

    #[test]
    fn a_program_begins_anew_and_is_counted() {
        let chain = read(&Chain::default().with(7, OsStr::new("x"), Path::new("/a/x")));
        let mut chain = read(&chain.anew(100));
        assert_eq!(chain, Chain { since: 100, programs: 1, links: Vec::new() });
        chain = read(&chain.with(7, OsStr::new("x"), Path::new("/a/x")));
        assert_eq!((chain.since, chain.programs, chain.links.len()), (100, 1, 1));
        for _ in 1..MAX_PROGRAMS {
            assert!(!chain.is_runaway(100));
            chain = read(&chain.anew(100));
        }
        assert!(chain.is_runaway(100 + WINDOW - 1));
        for later in [100 + WINDOW, 99] {
            assert!(!chain.is_runaway(later));
            assert_eq!(read(&chain.anew(later)).programs, 1);
        }
    }

    #[test]
    fn a_broken_chain_is_empty() {
        for text in ["", "x", "1/a", "1/%/b", ";;", "1/a/b;1/1", "1/1;1/a/b/c"] {
            assert_eq!(Chain::of(&from_pairs(&[(names::CHAIN, text)])), Chain::default());
        }
    }
}
