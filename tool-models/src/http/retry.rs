//! How often and when a failed request is tried again.

use std::time::{Duration, SystemTime};

use backon::ExponentialBuilder;
use reqwest::header::{HeaderMap, RETRY_AFTER};

/// How often and when a failed request is tried again: only while nothing of its answer was handed out, and only after
/// failures that may pass ([`ModelError::is_transient`](tool_runtime::model::ModelError::is_transient)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How many tries follow the first one. 2.
    pub max: usize,
    /// The wait before the second try; it doubles from there, and up to as much again is added at random. 500 ms.
    pub first: Duration,
    /// The longest wait. A provider that asks for a longer one is not asked again: the error says how long it wants
    /// ([`ModelError::wait`](tool_runtime::model::ModelError::wait)). 60 seconds.
    pub cap: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { max: 2, first: Duration::from_millis(500), cap: Duration::from_mins(1) }
    }
}

impl Retry {
    /// One try only.
    pub fn never() -> Self {
        Self { max: 0, ..Self::default() }
    }

    pub(super) fn backoff(&self) -> ExponentialBuilder {
        ExponentialBuilder::default()
            .with_min_delay(self.first)
            .with_max_delay(self.cap)
            .with_max_times(self.max)
            .with_jitter()
    }
}

/// The wait before the next try: what the provider asked for, and no less than `planned`; `None` ends the trying.
pub(super) fn wait(asked: Option<Duration>, planned: Option<Duration>, cap: Duration) -> Option<Duration> {
    let planned = planned?.min(cap);
    match asked {
        Some(asked) if asked > cap => None,
        Some(asked) => Some(asked.max(planned)),
        None => Some(planned),
    }
}

/// How long the provider asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date.
pub(super) fn asked(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str, unit: f64| Duration::try_from_secs_f64(text.parse::<f64>().ok()? / unit).ok();
    if let Some(wait) = text("retry-after-ms").and_then(|text| number(text, 1000.0)) {
        return Some(wait);
    }
    let text = text(RETRY_AFTER.as_str())?;
    number(text, 1.0).or_else(|| {
        let date = httpdate::parse_http_date(text).ok()?;
        Some(date.duration_since(now).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn reads_every_form_of_retry_after() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let cases = [
            (&[("retry-after", "7")][..], Some(7_000)),
            (&[("retry-after", "0.25")], Some(250)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:50:00 GMT")], Some(23_000)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")], Some(0)),
            (&[("retry-after", "30"), ("retry-after-ms", "1500")], Some(1_500)),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "-3")], None),
            (&[], None),
        ];
        for (pairs, expected) in cases {
            assert_eq!(asked(&headers(pairs), now), expected.map(Duration::from_millis), "{pairs:?}");
        }
    }

    #[test]
    fn waits_as_asked_up_to_the_cap() {
        let seconds = Duration::from_secs;
        let cap = seconds(60);
        assert_eq!(wait(None, Some(seconds(1)), cap), Some(seconds(1)));
        assert_eq!(wait(None, Some(seconds(100)), cap), Some(cap));
        assert_eq!(wait(Some(seconds(5)), Some(seconds(1)), cap), Some(seconds(5)));
        assert_eq!(wait(Some(seconds(1)), Some(seconds(5)), cap), Some(seconds(5)));
        assert_eq!(wait(Some(seconds(61)), Some(seconds(5)), cap), None);
        assert_eq!(wait(Some(seconds(1)), None, cap), None, "the tries are used up");
    }
}
