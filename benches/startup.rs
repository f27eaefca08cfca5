//! What a program pays before its first call.
//!
//! What is derived from a declaration stays in the process, so each measurement is made in a new one.

use std::{hint::black_box, process::Command};

use schemars::JsonSchema;
use tool_runtime::toolset::ListFormat;

use crate::{clock, many, report::Report};

/// What the tools of [`many`] take, for the floor.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is made")]
struct Crowd {
    /// What to give back.
    text: String,
    /// How often it is wanted.
    times: u32,
    /// Whether it is urgent, where that is known.
    urgent: Option<bool>,
}

/// How often the program is started: a start takes milliseconds, and one that nothing else disturbs is wanted.
const STARTS: u32 = 60;

/// Prints the targets of the start.
pub(crate) fn measure(report: &mut Report) {
    if !report.wants_any(&["startup/unused", "startup/tool"]) {
        return;
    }
    let runs: Vec<(f64, f64)> = (0..STARTS).filter_map(|_| child()).collect();
    let Some(unused) = runs.iter().map(|(unused, _)| *unused).reduce(f64::max) else {
        return report.broken("startup", "the program could not start itself");
    };
    report.at_most(
        "startup/unused",
        unused,
        0.0,
        "of 199 tools that are not in the set, those that anything was made for",
    );
    let ours = runs.iter().map(|(_, micros)| micros / 200.0).fold(f64::INFINITY, f64::min);
    let floor = clock::least(&mut [&mut floor], 200, 50)[0] / 1000.0;
    let how = format!("µs of CPU for each of 200, least of {STARTS} starts; schemars and a RawValue alone {floor:.1}");
    report.at_most("startup/tool", ours, 15.0, &how);
}

fn child() -> Option<(f64, f64)> {
    let output = Command::new(std::env::current_exe().ok()?).arg("--startup").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (unused, micros) = text.trim().split_once(' ')?;
    Some((unused.parse().ok()?, micros.parse().ok()?))
}

/// In a new process: how many unused tools anything was made for, and the microseconds that all two hundred take.
pub(crate) fn fresh() {
    black_box(many::one().list().json(ListFormat::OpenAi));
    let unused = many::worked() - 1;
    let ((), time) = clock::of(|| {
        black_box(many::tools().list().json(ListFormat::OpenAi));
    });
    println!("{unused} {}", time.as_secs_f64() * 1e6);
}

fn floor(rounds: u64) {
    for _ in 0..rounds {
        let schema = schemars::schema_for!(Crowd);
        black_box(serde_json::value::to_raw_value(&schema).expect("a schema is JSON"));
    }
}
