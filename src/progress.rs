//! What a long operation tells about itself, without knowing who listens.

/// Listens to a long operation. Implementations are called from several threads.
pub trait Progress: Sync {
    /// Says one line that matters to a waiting person (what is fetched, who is waited for).
    fn note(&self, line: &str);

    /// Starts a task that moves `total` bytes (unknown when `None`), shown under `name`.
    fn start(&self, name: &str, total: Option<u64>) -> Box<dyn Task>;
}

/// One running task; dropping it ends it, finished or not.
pub trait Task: Send + Sync {
    /// Adds `bytes` that have arrived.
    fn advance(&self, bytes: u64);

    /// Sets the number of bytes that have arrived, after a restart or a resumed download.
    fn set(&self, bytes: u64);

    /// Says what the task does now (`unpacking`, `waiting for pid 4711`).
    fn status(&self, text: &str);

    /// Marks it done.
    fn finish(&self);
}

/// Listens to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn note(&self, _line: &str) {}

    fn start(&self, _name: &str, _total: Option<u64>) -> Box<dyn Task> {
        Box::new(Self)
    }
}

impl Task for Silent {
    fn advance(&self, _bytes: u64) {}
    fn set(&self, _bytes: u64) {}
    fn status(&self, _text: &str) {}
    fn finish(&self) {}
}
