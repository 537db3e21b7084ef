//! Progress on standard error: bars on a terminal, plain lines elsewhere.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::progress::{Progress, Task};

/// Returns bars for a terminal, lines otherwise.
pub(super) fn for_terminal(is_terminal: bool) -> Arc<dyn Progress + Send> {
    if is_terminal { Arc::new(Bars::new()) } else { Arc::new(Lines) }
}

struct Bars {
    bars: MultiProgress,
}

impl Bars {
    fn new() -> Self {
        Self { bars: MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(12)) }
    }
}

impl Progress for Bars {
    fn note(&self, line: &str) {
        let _ = self.bars.println(shims::shown::text(line));
    }

    fn start(&self, name: &str, total: Option<u64>) -> Box<dyn Task> {
        let bar = match total {
            Some(total) => ProgressBar::new(total).with_style(style(
                "  {prefix:<26!} {bar:24.cyan/238} {bytes:>10} / {total_bytes:<10} {bytes_per_sec:>12} {eta:>4} {msg}",
            )),
            None => ProgressBar::new_spinner().with_style(style("  {prefix:<26!} {spinner} {bytes} {msg}")),
        };
        let bar = self.bars.add(bar.with_prefix(name.to_owned()));
        Box::new(Bar(bar))
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .expect("the templates above are valid")
        .progress_chars("━━╌")
}

struct Bar(ProgressBar);

impl Task for Bar {
    fn advance(&self, bytes: u64) {
        self.0.inc(bytes);
    }

    fn set(&self, bytes: u64) {
        self.0.set_position(bytes);
    }

    fn status(&self, text: &str) {
        self.0.set_message(text.to_owned());
    }

    fn finish(&self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if !self.0.is_finished() {
            self.0.abandon();
        }
    }
}

/// One line when a task starts to matter and one when it ends, for logs.
struct Lines;

/// A task is worth a line of its own in a log from this size on.
const QUIET_BELOW: u64 = 16 << 20;
const LINE_EVERY: Duration = Duration::from_secs(10);

impl Progress for Lines {
    fn note(&self, line: &str) {
        let _ = writeln!(std::io::stderr().lock(), "{}", shims::shown::text(line));
    }

    fn start(&self, name: &str, total: Option<u64>) -> Box<dyn Task> {
        Box::new(Line {
            name: name.to_owned(),
            total,
            done: AtomicU64::new(0),
            last: Mutex::new(Instant::now()),
        })
    }
}

struct Line {
    name: String,
    total: Option<u64>,
    done: AtomicU64,
    last: Mutex<Instant>,
}

impl Line {
    fn maybe_print(&self) {
        let Ok(mut last) = self.last.try_lock() else { return };
        if last.elapsed() < LINE_EVERY {
            return;
        }
        *last = Instant::now();
        let done = self.done.load(Ordering::Relaxed);
        let percent = match self.total {
            Some(total) if total > 0 => format!(" ({}%)", done * 100 / total),
            _ => String::new(),
        };
        let _ =
            writeln!(std::io::stderr().lock(), "  {}: {} MB{percent}", self.name, done / 1_000_000);
    }
}

impl Task for Line {
    fn advance(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
        self.maybe_print();
    }

    fn set(&self, bytes: u64) {
        self.done.store(bytes, Ordering::Relaxed);
    }

    fn status(&self, text: &str) {
        if text.contains("waiting") {
            let _ = writeln!(std::io::stderr().lock(), "  {}: {text}", self.name);
        }
    }

    fn finish(&self) {
        if self.total.is_none_or(|total| total >= QUIET_BELOW) {
            let done = self.done.load(Ordering::Relaxed);
            let _ = writeln!(
                std::io::stderr().lock(),
                "  {}: done, {} MB",
                self.name,
                done / 1_000_000
            );
        }
    }
}
