//! How much of the processor there is, and how much of it a thread asks for.

/// Returns how many threads run at the same time: the cores that this process may use, in its control group too.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Less than the others that are ready to run: with Linux, niceness belongs to a thread. There is no way back without
/// privileges, so this is for threads that end with their work.
pub fn step_back() {
    let _ = rustix::process::nice(5);
}
