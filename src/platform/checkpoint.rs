//! Named points at which a test may end the process as `kill -9` would. Nothing of it is in a release build.

/// Ends the process by SIGKILL when `CUENV_TEST_KILL_AT` is `name`, or `name:N` and this is the N-th pass.
#[cfg(debug_assertions)]
pub fn checkpoint(name: &str) {
    use std::collections::HashMap;
    use std::sync::{Mutex, OnceLock, PoisonError};

    static WANTED: OnceLock<Option<(String, u32)>> = OnceLock::new();
    static PASSES: OnceLock<Mutex<HashMap<String, u32>>> = OnceLock::new();
    #[expect(clippy::disallowed_methods, reason = "a test's knob that must reach every layer")]
    let wanted = WANTED.get_or_init(|| {
        let text = std::env::var("CUENV_TEST_KILL_AT").ok()?;
        let (name, count) = text.split_once(':').unwrap_or((&text, "1"));
        Some((name.to_owned(), count.parse().ok()?))
    });
    let Some((at, count)) = wanted else { return };
    if at != name {
        return;
    }
    let mut passes =
        PASSES.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    let pass = passes.entry(name.to_owned()).or_default();
    *pass += 1;
    if *pass == *count {
        let me = rustix::process::getpid();
        let _ = rustix::process::kill_process(me, rustix::process::Signal::KILL);
    }
}

/// Does nothing in a release build.
#[cfg(not(debug_assertions))]
pub fn checkpoint(_name: &str) {}
