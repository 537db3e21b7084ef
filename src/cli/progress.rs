//! Progress on standard error: bars on a terminal, plain lines elsewhere.

mod line;

use std::fmt;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::progress::{Progress, Task};
use line::{Meter, Told};

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
        let columns = terminal_columns();
        let state = Arc::new(State {
            name: name.to_owned(),
            total,
            meter: Mutex::default(),
            status: Mutex::default(),
        });
        let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
        let template = if total.is_some() && columns >= line::BAR_FROM {
            "{head} {wide_bar:.cyan/238} {tail}"
        } else {
            "{head} {tail}"
        };
        let (front, back) = (Arc::clone(&state), Arc::clone(&state));
        let style = ProgressStyle::with_template(template)
            .expect("the templates above are valid")
            .progress_chars("━━╌")
            .with_key("head", move |seen: &ProgressState, out: &mut dyn fmt::Write| {
                let _ = out.write_str(&front.parts(seen.pos()).0);
            })
            .with_key("tail", move |seen: &ProgressState, out: &mut dyn fmt::Write| {
                let _ = out.write_str(&back.parts(seen.pos()).1);
            });
        let bar = self.bars.add(bar.with_style(style));
        Box::new(Bar { bar, state })
    }
}

/// How wide standard error is now: the window may change while bytes arrive.
fn terminal_columns() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stderr());
    size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(80)
}

/// What a bar's line is made from.
struct State {
    name: String,
    total: Option<u64>,
    meter: Mutex<Meter>,
    status: Mutex<String>,
}

impl State {
    fn parts(&self, done: u64) -> (String, String) {
        let rate = self.meter.lock().ok().and_then(|meter| meter.rate(Instant::now(), done));
        let status = self.status.lock().map(|status| status.clone()).unwrap_or_default();
        let told = Told { name: &self.name, done, total: self.total, rate, status: &status };
        line::parts(&told, terminal_columns())
    }

    fn say(&self, text: &str) {
        if let Ok(mut status) = self.status.lock() {
            text.clone_into(&mut status);
        }
    }
}

struct Bar {
    bar: ProgressBar,
    state: Arc<State>,
}

impl Task for Bar {
    fn advance(&self, bytes: u64) {
        if let Ok(mut meter) = self.state.meter.lock() {
            let (now, before) = (Instant::now(), self.bar.position());
            if meter.is_idle() {
                meter.begin(now, before);
            }
            meter.moved(now, before + bytes);
        }
        self.state.say("");
        self.bar.inc(bytes);
    }

    fn set(&self, bytes: u64) {
        if let Ok(mut meter) = self.state.meter.lock() {
            meter.begin(Instant::now(), bytes);
        }
        self.bar.set_position(bytes);
    }

    fn status(&self, text: &str) {
        self.state.say(text);
        self.bar.tick();
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if !self.bar.is_finished() {
            self.bar.abandon();
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
