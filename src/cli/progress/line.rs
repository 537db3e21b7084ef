//! One task's line on a terminal: what stands before and behind the bar, so that it fits in one line.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::domain::size::megabytes;

/// A narrower terminal shows no bar.
pub(super) const BAR_FROM: usize = 60;
/// A narrower one shows the share instead of the sizes.
const SIZES_FROM: usize = 76;
/// The name has so many columns where there is room: the longest name and version of a component.
const NAME: usize = 33;

/// What a line tells.
#[derive(Debug, Default)]
pub(super) struct Told<'a> {
    pub(super) name: &'a str,
    pub(super) done: u64,
    pub(super) total: Option<u64>,
    /// Bytes a second, once any have moved.
    pub(super) rate: Option<u64>,
    /// What it does instead of moving bytes.
    pub(super) status: &'a str,
}

/// Returns what stands before and behind the bar on a terminal of `columns`.
pub(super) fn parts(told: &Told<'_>, columns: usize) -> (String, String) {
    let tail = tail(told, columns);
    // The last column stays free: some terminals wrap when it is written.
    let room = columns.saturating_sub(tail.chars().count() + 4);
    let width = NAME.min(room);
    let name = fit(told.name, width);
    (format!("  {name:<width$}"), tail)
}

fn tail(told: &Told<'_>, columns: usize) -> String {
    let done = megabytes(told.done);
    let amount = match told.total {
        Some(total) if columns >= SIZES_FROM => format!("{done:>7} / {:<7}", megabytes(total)),
        Some(total) => {
            let share = u128::from(told.done) * 100 / u128::from(total.max(1));
            format!("{:>4}", format!("{}%", share.min(100)))
        }
        None => format!("{done:>7}"),
    };
    if columns < 40 {
        return amount;
    }
    if !told.status.is_empty() {
        return format!("{amount} {}", fit(told.status, 15));
    }
    let rate = told.rate.map(|rate| format!("{}/s", megabytes(rate))).unwrap_or_default();
    let left = match (told.rate, told.total) {
        (Some(rate), Some(total)) if rate > 0 => time(total.saturating_sub(told.done) / rate),
        _ => String::new(),
    };
    format!("{amount} {rate:>9} {left:>4}")
}

fn time(seconds: u64) -> String {
    match seconds {
        0..100 => format!("{seconds}s"),
        100..6000 => format!("{}m", seconds / 60),
        _ => format!("{}h", (seconds / 3600).min(999)),
    }
}

/// Shortens a text: first by the vendor's prefix, then at its end.
fn fit(text: &str, width: usize) -> String {
    let text = match text.strip_prefix("nvidia_") {
        Some(rest) if text.chars().count() > width => rest,
        _ => text,
    };
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(width.saturating_sub(1)).collect();
    if width > 0 {
        cut.push('…');
    }
    cut
}

/// The speed over the last seconds, counted from where this run began.
#[derive(Debug, Default)]
pub(super) struct Meter {
    seen: VecDeque<(Instant, u64)>,
}

impl Meter {
    const WINDOW: Duration = Duration::from_secs(8);
    const STEP: Duration = Duration::from_millis(250);

    /// Tells whether it has not begun.
    pub(super) fn is_idle(&self) -> bool {
        self.seen.is_empty()
    }

    /// Begins at `done` bytes, which did not move now.
    pub(super) fn begin(&mut self, now: Instant, done: u64) {
        self.seen.clear();
        self.seen.push_back((now, done));
    }

    /// Takes note that `done` bytes are there.
    pub(super) fn moved(&mut self, now: Instant, done: u64) {
        if self.seen.back().is_some_and(|(last, _)| now.duration_since(*last) < Self::STEP) {
            return;
        }
        self.seen.push_back((now, done));
        while self.seen.len() > 2 && now.duration_since(self.seen[0].0) > Self::WINDOW {
            self.seen.pop_front();
        }
    }

    /// Returns bytes a second; `None` before any moved.
    pub(super) fn rate(&self, now: Instant, done: u64) -> Option<u64> {
        let (since, from) = self.seen.front()?;
        let millis = now.duration_since(*since).as_millis();
        let bytes = done.checked_sub(*from).filter(|bytes| *bytes > 0)?;
        if millis < Self::STEP.as_millis() {
            return None;
        }
        u64::try_from(u128::from(bytes) * 1000 / millis).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(told: &Told<'_>, columns: usize) -> String {
        let (head, tail) = parts(told, columns);
        format!("{head} {tail}")
    }

    #[test]
    fn a_line_fits_every_terminal() {
        for columns in 20..200 {
            for name in ["nvidia_cuda_runtime_cu12 12.4.127", "x 1"] {
                for status in ["", "damaged, fetching it again"] {
                    let told = Told {
                        name,
                        done: 1_234_567_890,
                        total: Some(1_734_567_890),
                        rate: Some(12_345_678),
                        status,
                    };
                    let line = line(&told, columns);
                    assert!(line.chars().count() < columns, "{columns}: `{line}`");
                }
            }
        }
        let told = Told { name: "nvidia_cudnn_cu12 9.28.0.4", total: Some(2), ..Told::default() };
        for columns in [50, 60, 80, 120] {
            assert!(line(&told, columns).contains("cudnn_cu12 9.28.0.4"), "{columns}");
        }
    }

    #[test]
    fn speed_is_of_what_moved_now() {
        let start = Instant::now();
        let mut meter = Meter::default();
        meter.begin(start, 1_000_000_000);
        let later = start + Duration::from_secs(2);
        assert_eq!(meter.rate(later, 1_000_000_000), None);
        meter.moved(later, 1_020_000_000);
        assert_eq!(meter.rate(later, 1_020_000_000), Some(10_000_000));
        let told = Told { name: "x", done: 0, total: Some(10), ..Told::default() };
        assert!(!line(&told, 80).contains("/s"), "no speed before the first byte");
    }
}
