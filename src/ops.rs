//! Use cases: one a file; each takes the context and a request, returns a report, prints nothing.

pub mod activate;
pub mod answer;
pub mod complete;
pub mod detect;
pub mod doctor;
pub mod explain;
pub mod host;
pub mod install;
pub mod launch;
pub mod link;
pub mod list;
pub mod lock;
pub mod machine;
pub mod network;
pub mod pin;
pub mod place;
pub mod project_install;
pub mod resolve;
pub mod selection;
pub mod self_uninstall;
pub mod shim;
pub mod uninstall;
pub mod verify;
pub mod which;
