//! From typed errors to what a person reads: the exit code and the advice.
//!
//! Advice is written here and in the files below, one for each area, and nowhere else, because advice names commands.
//! Errors of lower floors carry facts.

mod answer;
mod detect;
mod doctor;
mod explain;
mod input;
mod network;
mod own;
mod package;
mod project;
mod store;
mod verify;
mod which;

mod activation;

use std::error::Error;
use std::fmt;

use super::exit::Exit;

/// Why a command failed, with the code it ends with and what to do next.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    error: Box<dyn Error + Send + Sync>,
    excerpt: Option<String>,
    hints: Vec<String>,
}

impl Failure {
    /// Wraps an error.
    pub fn new(exit: Exit, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { exit, error: error.into(), excerpt: None, hints: Vec::new() }
    }

    /// Replaces the message, keeping code, excerpt and advice.
    #[must_use]
    pub fn with_message(mut self, message: String) -> Self {
        self.error = message.into();
        self
    }

    /// Adds one piece of advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Shows the offending text below the message, with a caret under the character.
    #[must_use]
    pub fn excerpt(mut self, text: &str, column: usize) -> Self {
        self.excerpt = Some(format!("{text}\n{}^", " ".repeat(column)));
        self
    }

    /// Returns the offending text with its caret.
    pub fn excerpt_text(&self) -> Option<&str> {
        self.excerpt.as_deref()
    }

    /// Makes it one of `exec` or a shim: all codes below the shell's are the program's own.
    #[must_use]
    pub fn before_a_program(mut self) -> Self {
        if self.exit.code() < Exit::ShimFailed.code() {
            self.exit = Exit::ShimFailed;
        }
        self
    }

    /// Returns the exit code.
    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// Returns the message.
    pub fn message(&self) -> String {
        self.error.to_string()
    }

    /// Returns the chain of causes below the message.
    pub fn causes(&self) -> Vec<String> {
        let mut causes = Vec::new();
        let mut cause = self.error.source();
        while let Some(error) = cause {
            causes.push(error.to_string());
            cause = error.source();
        }
        causes
    }

    /// Returns the advice.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}
