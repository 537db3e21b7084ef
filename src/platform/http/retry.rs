//! When to try again, and after which pause.
//!
//! Pauses double from [`Retry::first`] up to [`Retry::longest`], each shortened by a random part, so that
//! sixty-four ranks that failed together do not come back together. A server's `Retry-After` is honoured
//! up to [`Retry::patience`]; what asks for more is reported instead of waited for.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::error::Error;

/// A shorter pause is over before anybody has read of it.
const SHORTEST_TOLD: Duration = Duration::from_millis(100);

/// Numbers of the retry policy.
#[derive(Debug, Clone, Copy)]
pub struct Retry {
    /// Tries after the first one.
    pub times: u32,
    /// The first pause.
    pub first: Duration,
    /// The longest pause of cuenv's own making.
    pub longest: Duration,
    /// The longest pause a server may ask for.
    pub patience: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            times: 4,
            first: Duration::from_millis(400),
            longest: Duration::from_secs(10),
            patience: Duration::from_mins(1),
        }
    }
}

/// Is told why and how long is waited, so that nobody takes a pause for a hang.
pub type OnPause = Arc<dyn Fn(&str) + Send + Sync>;

/// One series of tries.
pub struct Backoff {
    policy: Retry,
    done: u32,
    on_pause: Option<OnPause>,
}

impl Backoff {
    /// A series of which nothing is used up.
    pub fn new(policy: Retry, on_pause: Option<OnPause>) -> Self {
        Self { policy, done: 0, on_pause }
    }

    /// Forgets the tries made: call it when there was progress.
    pub fn reset(&mut self) {
        self.done = 0;
    }

    /// Sleeps if `error` is worth another try, or hands it back.
    pub fn again(&mut self, error: Error) -> Result<(), Error> {
        let Some(pause) = self.pause(&error, random_fraction()) else { return Err(error) };
        let pause = pause?;
        if let Some(tell) = self.on_pause.as_ref().filter(|_| pause >= SHORTEST_TOLD) {
            let (next, all) = (self.done + 1, self.policy.times + 1);
            tell(&format!("{error}; attempt {next} of {all} in {:.1} s", pause.as_secs_f64()));
        }
        thread::sleep(pause);
        Ok(())
    }

    /// The pause before the next try; none when there is no next try.
    fn pause(&mut self, error: &Error, fraction: f64) -> Option<Result<Duration, Error>> {
        if !error.is_transient() || self.done >= self.policy.times {
            return None;
        }
        let own = self.policy.first.saturating_mul(1 << self.done.min(16)).min(self.policy.longest);
        self.done += 1;
        let own = own.mul_f64(1.0 - fraction / 2.0);
        let Error::Status { url, status, retry_after: Some(asked) } = error else {
            return Some(Ok(own));
        };
        if *asked > self.policy.patience {
            return Some(Err(Error::WaitTooLong {
                url: url.clone(),
                status: *status,
                wait: *asked,
            }));
        }
        Some(Ok(own.max(*asked)))
    }
}

/// A number from 0 to 1, different in each call and process: the standard library seeds its hash maps so.
fn random_fraction() -> f64 {
    let [a, b, c, d, ..] = RandomState::new().hash_one(0_u8).to_le_bytes();
    f64::from(u32::from_le_bytes([a, b, c, d])) / f64::from(u32::MAX)
}

/// Reads `Retry-After`: seconds or an HTTP date.
pub(super) fn parse_retry_after(text: &str) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    Some(Duration::from_secs(parse_http_date(text)?).saturating_sub(now))
}

/// Seconds since 1970 of a date such as `Sun, 06 Nov 1994 08:49:37 GMT` (the one form servers may send today).
fn parse_http_date(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once(", ")?;
    let mut parts = rest.split_ascii_whitespace();
    let day: i64 = parts.next()?.parse().ok()?;
    let name = parts.next()?;
    let year: i64 = parts.next()?.parse().ok()?;
    let mut clock = parts.next()?.splitn(3, ':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let months =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = i64::try_from(months.iter().position(|known| *known == name)?).ok()? + 1;
    if !(1..=31).contains(&day) || !(1970..=9999).contains(&year) || parts.next() != Some("GMT") {
        return None;
    }
    // Days since the epoch in the Gregorian calendar, with March as the first month of a year.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719_468;
    u64::try_from(days * 86_400 + hour * 3_600 + minute * 60 + second).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::{Backoff, Error, Retry, parse_http_date, parse_retry_after, random_fraction};

    fn busy(retry_after: Option<u64>) -> Error {
        let retry_after = retry_after.map(Duration::from_secs);
        Error::Status { url: "u".to_owned(), status: 503, retry_after }
    }

    #[test]
    fn pauses_double_up_to_the_limit_and_end() {
        let mut backoff = Backoff::new(Retry { times: 6, ..Retry::default() }, None);
        let mut pauses = Vec::new();
        while let Some(pause) = backoff.pause(&busy(None), 0.0) {
            pauses.push(pause.expect("no server pause").as_millis());
        }
        assert_eq!(pauses, [400, 800, 1600, 3200, 6400, 10_000]);
        backoff.reset();
        let halved = backoff.pause(&busy(None), 1.0).expect("a try is left").expect("own pause");
        assert_eq!(halved.as_millis(), 200);
    }

    #[test]
    fn a_pause_is_told() {
        let said = Arc::new(std::sync::Mutex::new(Vec::new()));
        let into = Arc::clone(&said);
        let listener: super::OnPause =
            Arc::new(move |line: &str| into.lock().expect("no panic").push(line.to_owned()));
        let first = Duration::from_millis(250);
        let mut backoff =
            Backoff::new(Retry { times: 1, first, ..Retry::default() }, Some(listener));
        backoff.again(busy(None)).expect("a try is left");
        assert!(backoff.again(busy(None)).is_err());
        let said = said.lock().expect("no panic");
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("answered 503") && said[0].contains("; attempt 2 of 2 in 0."));
    }

    #[test]
    fn a_lasting_error_is_not_tried_again() {
        let missing = Error::Status { url: "u".to_owned(), status: 404, retry_after: None };
        assert!(Backoff::new(Retry::default(), None).pause(&missing, 0.0).is_none());
    }

    #[test]
    fn the_servers_pause_wins_within_patience() {
        let mut backoff = Backoff::new(Retry::default(), None);
        let asked = backoff.pause(&busy(Some(7)), 0.0).expect("transient").expect("short");
        assert_eq!(asked.as_secs(), 7);
        let refused = backoff.pause(&busy(Some(3600)), 0.0).expect("transient");
        assert!(matches!(refused, Err(Error::WaitTooLong { wait, .. }) if wait.as_secs() == 3600));
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        assert_eq!(parse_retry_after(" 120 "), Some(Duration::from_mins(2)));
        assert_eq!(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(parse_http_date("Thu, 29 Feb 2024 00:00:00 GMT"), Some(1_709_164_800));
        // A date that has passed asks for no pause.
        assert_eq!(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::ZERO));
        for bad in ["", "soon", "Sun, 99 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT"] {
            assert_eq!(parse_retry_after(bad), None, "{bad}");
        }
    }

    #[test]
    fn fractions_differ_and_stay_in_range() {
        let drawn: Vec<f64> = (0..32).map(|_| random_fraction()).collect();
        assert!(drawn.iter().all(|value| (0.0..=1.0).contains(value)));
        assert!(drawn.iter().any(|value| (value - drawn[0]).abs() > 0.01));
    }
}
