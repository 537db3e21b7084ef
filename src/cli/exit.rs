//! The exit codes, as documented in the README.

use std::process::ExitCode;

/// How a command ended. A program started by a shim or by `exec` replaces this process, so its own code passes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Ok = 0,
    /// It could not be done; the message says why.
    Failed = 1,
    /// The command line, a pin, a variable or a setting is wrong.
    Usage = 2,
    /// Nothing matches the spec, or it is not installed.
    NoMatch = 3,
    /// The index or a download failed, or `--offline` forbade it.
    Network = 4,
    /// A digest does not match, an archive is unsafe, or a store entry is damaged.
    Integrity = 5,
    /// This host cannot run it: driver, GPU, glibc, platform.
    Host = 6,
    /// `doctor` or `verify` found problems.
    Findings = 7,
    /// The lock does not answer the pin.
    Drift = 8,
    /// A bug in cuenv.
    Bug = 70,
    /// Updates exist.
    Updates = 100,
    /// `exec`: cuenv failed before the program was started.
    ShimFailed = 125,
    /// `exec`: the program was found but cannot be executed.
    CannotExecute = 126,
    /// `exec`: no such program.
    NoCommand = 127,
}

impl Exit {
    /// Every code with the sentence that documents it.
    pub const ALL: [(Self, &'static str); 14] = [
        (Self::Ok, "done"),
        (Self::Failed, "could not be done; the message says why"),
        (Self::Usage, "the command line, a pin, a variable or a setting is wrong"),
        (Self::NoMatch, "nothing matches the spec, or it is not installed"),
        (Self::Network, "the index or a download failed, or `--offline` forbade it"),
        (Self::Integrity, "a digest does not match, an archive is unsafe, or the store is damaged"),
        (Self::Host, "this host cannot run it: driver, GPU, glibc, platform"),
        (Self::Findings, "`doctor` or `verify` found problems"),
        (Self::Drift, "the lock does not answer the pin"),
        (Self::Bug, "a bug in cuenv"),
        (Self::Updates, "updates exist"),
        (Self::ShimFailed, "shim or `exec`: cuenv failed before the program was started"),
        (Self::CannotExecute, "shim or `exec`: the program was found but cannot be executed"),
        (Self::NoCommand, "shim or `exec`: no such program"),
    ];

    /// Returns the number.
    pub const fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
