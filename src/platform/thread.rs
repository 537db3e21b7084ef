//! How much of the processor a thread asks for.

/// Less than the others that are ready to run: with Linux, niceness belongs to a thread. There is no way back without
/// privileges, so this is for threads that end with their work.
pub fn step_back() {
    let _ = rustix::process::nice(5);
}
