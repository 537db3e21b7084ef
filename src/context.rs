//! What one run knows, built once. Only `ops` and `cli` may name it.

use crate::domain::layout::Layout;
use crate::platform::process::Process;
use crate::progress::Progress;

/// Plain values, no hidden state: building one reads the settings file and nothing else.
pub struct Context<'a> {
    /// Arguments, environment, working directory.
    pub process: &'a Process,
    /// Where everything is kept.
    pub layout: Layout,
    /// Who listens to long operations.
    pub progress: &'a dyn Progress,
}
