//! Tests that the cost of a request is proportional to its bytes, whatever it contains.
//!
//! `cargo run --release -p tool-benches -- requests` measures the cost.

use std::time::Duration;

use crate::process_locks::alone_blocking;
use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::Builder;
use tool_test_fixtures::worst_requests::{ALL, TestServer, WorstRequest};

/// A size at which tests are quick, but a quadratic cost exceeds all others.
const BYTES: usize = 128 * 1024;

/// The maximum cost ratio for four times the bytes: 4 is linear, 16 is quadratic. With the rest of the work, a quadratic part of
/// this size gives at least 7.
const LIMIT: f64 = 6.5;

fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
}

/// Returns the CPU time of a request with this many bytes, the least of two.
fn cost(worst: &WorstRequest, bytes: usize) -> f64 {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let (body, count) = worst.body(bytes);
    let once = |_| {
        // The chat grows with the request.
        let server = runtime.block_on(TestServer::new(worst.route, count / 10));
        let start = cpu();
        let (status, text) = runtime.block_on(server.send(&body));
        let cost = cpu().saturating_sub(start).as_secs_f64();
        assert!(status < 500, "{}: {status} {text}", worst.name);
        cost
    };
    (0..2).map(once).fold(f64::INFINITY, f64::min)
}

#[test]
fn requests_cost_in_proportion_to_their_bytes() {
    let _turn = alone_blocking();
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut wrong = Vec::new();
    for worst in ALL.iter().filter(|worst| worst.name.starts_with(&only)) {
        let mut ratio = f64::INFINITY;
        let mut line = String::new();
        // Other processes can make a measurement too high. A quadratic cost is too high each time.
        for _ in 0..4 {
            let (small, large) = (cost(worst, BYTES), cost(worst, 4 * BYTES));
            ratio = ratio.min(large / small);
            line = format!("{}: {ratio:.1} times ({:.0} ms)", worst.name, large * 1e3);
            println!("{line}");
            if ratio <= LIMIT {
                break;
            }
        }
        if ratio > LIMIT {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "four times the bytes cost {wrong:#?}");
}
