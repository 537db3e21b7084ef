//! One command a file: its arguments (the doc comments are the help text) and a `run` that calls one op.

pub mod bundle;
pub mod completions;
pub mod current;
pub mod doctor;
pub mod env;
pub mod exec;
pub mod explain;
pub mod export;
pub mod help;
pub mod hook;
pub mod install;
pub mod licenses;
pub mod link;
pub mod list;
pub mod lock;
pub mod man;
pub mod own;
pub mod probe;
pub mod resolve;
pub mod shell;
pub mod shim;
pub mod uninstall;
pub mod r#use;
pub mod verify;
pub mod r#where;
pub mod which;
