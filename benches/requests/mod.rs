//! The cost of the most expensive requests within the default limit of a body, in CPU of the whole server process. The floor
//! is `serde_json::from_slice::<Value>` of the same bytes.
//!
//! ```text
//! cargo run --release -p tool-benches -- requests
//! ```

use std::hint::black_box;

use serde::de::IgnoredAny;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::{clock, report::Report};
use tool_test_fixtures::worst_requests::{ALL, TestServer, WorstRequest};

/// The length of a body in bytes, just below the default limit.
const BYTES: usize = 4_000_000;

/// The maximum CPU of a request, as a multiple of reading its bytes as a value.
const LIMIT: f64 = 20.0;

/// The requests with a limit of their own, as the next step.
const LOWER_LIMITS: [(&str, f64); 2] = [("mcp/texts", 4.0), ("mcp/wrong", 4.0)];

/// The maximum CPU of a request, as a multiple of a request with half as many bytes: 2 is linear growth, 4 is quadratic.
const GROWTH: f64 = 2.8;

/// The number of measurements. The least counts, because disturbances only add time.
const ROUNDS: usize = 3;

/// Measures requests, and reports the targets.
pub(crate) fn measure(report: &mut Report) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return report.fail("requests", &error.to_string()),
    };
    for worst in ALL {
        let (cost, growth) = (format!("requests/{}", worst.name), format!("requests/{}-growth", worst.name));
        if report.wants_any(&[&cost, &growth]) {
            let half = CpuTimes::measure(&runtime, worst, BYTES / 2).all;
            let CpuTimes { all, inline, floor } = CpuTimes::measure(&runtime, worst, BYTES);
            let how = format!(
                "ms of CPU: {all:.1}, of it {inline:.1} on the runtime's thread; to read it as a value {floor:.1}"
            );
            let limit = LOWER_LIMITS.iter().find(|(name, _)| *name == worst.name).map_or(LIMIT, |(_, limit)| *limit);
            report.at_most(&cost, all / floor, limit, &how);
            report.at_most(&growth, all / half, GROWTH, &format!("ms of CPU: {all:.1}, for half of it {half:.1}"));
        }
    }
}

/// The milliseconds of CPU for a request.
struct CpuTimes {
    /// The time of the whole process.
    all: f64,
    /// The part of it on the thread that serves all requests.
    inline: f64,
    /// The time for reading the same bytes as a value.
    floor: f64,
}

impl CpuTimes {
    /// Measures a request of about `bytes` bytes. Returns the least times of some rounds.
    fn measure(runtime: &Runtime, worst: &WorstRequest, bytes: usize) -> Self {
        let (body, count) = worst.body(bytes);
        let mut least = Self { all: f64::INFINITY, inline: f64::INFINITY, floor: f64::INFINITY };
        for _ in 0..ROUNDS {
            let ((), floor) = clock::time(|| read(&body));
            let server = runtime.block_on(TestServer::new(worst.route, count.min(MAX_PROMPTS)));
            let start = clock::process_time();
            let ((status, text), inline) = clock::time(|| runtime.block_on(server.send(&body)));
            let all = clock::process_time().saturating_sub(start);
            assert!(status < 500, "{}: {status} {text:.200}", worst.name);
            for (least, spent) in [(&mut least.all, all), (&mut least.inline, inline), (&mut least.floor, floor)] {
                *least = least.min(spent.as_secs_f64() * 1e3);
            }
        }
        least
    }
}

/// Reads a body as a value. If the body is nested too deeply, this fails early, so the function then reads it without a value.
fn read(body: &str) {
    if black_box(serde_json::from_slice::<Value>(body.as_bytes())).is_err() {
        black_box(serde_json::from_slice::<IgnoredAny>(body.as_bytes()).ok());
    }
}

/// The maximum number of prompts in a known chat.
const MAX_PROMPTS: usize = 2_000;
