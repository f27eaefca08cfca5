//! The cost of a program's start before its first call.
//!
//! The spec of a tool is built once in a process, so each measurement uses a new process.

use std::{hint::black_box, process::Command};

use schemars::JsonSchema;
use tool_runtime::toolset::ListFormat;

use crate::{clock, many, report::Report};

/// The parameters of the tools in [`many`], for the floor.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct Crowd {
    /// The text to return.
    text: String,
    /// The number of copies.
    times: u32,
    /// Set if it is urgent, as far as known.
    urgent: Option<bool>,
}

/// The maximum cost of a tool's first use, as a multiple of the cost of a schema by schemars alone.
const LIMIT: f64 = 4.0;
/// The number of tools in [`many`].
const TOOLS: u32 = 200;

/// The number of starts. The least counts, because other load only adds time.
const STARTS: u32 = 60;

/// Measures starts, and reports the targets.
pub(crate) fn measure(report: &mut Report) {
    if !report.wants_any(&["startup/unused", "startup/tool"]) {
        return;
    }
    let runs: Vec<Start> = (0..STARTS).filter_map(|_| start_process()).collect();
    let Some(unused) = runs.iter().map(|run| run.unused).reduce(f64::max) else {
        return report.fail("startup", "the program could not start itself");
    };
    report.at_most("startup/unused", unused, 0.0, "of 199 tools that are not in the set, those whose spec was built");
    let ours = runs.iter().map(|run| run.ours).fold(f64::INFINITY, f64::min);
    let floor = runs.iter().map(|run| run.floor).fold(f64::INFINITY, f64::min);
    let how = format!(
        "least of {STARTS} starts; µs of CPU for each of 200: {ours:.1}, schemars and a RawValue alone {floor:.1}"
    );
    report.at_most("startup/tool", ours / floor, LIMIT, &how);
}

/// The measurements of one start: the number of unused tools whose spec was built, and the microseconds of CPU for a used
/// tool and for its floor.
struct Start {
    unused: f64,
    ours: f64,
    floor: f64,
}

/// Starts a process, and returns its measurements; `None` if it does not print them.
fn start_process() -> Option<Start> {
    let output = Command::new(std::env::current_exe().ok()?).arg("--startup").output().ok()?;
    let numbers: Vec<f64> = String::from_utf8(output.stdout).ok()?.split_whitespace().flat_map(str::parse).collect();
    let [unused, ours, floor] = numbers[..] else { return None };
    Some(Start { unused, ours, floor })
}

/// Measures the start of this process, and prints the numbers of a [`Start`]: `tool-benches --startup`.
pub(crate) fn print_start() {
    black_box(many::one().list().json(ListFormat::OpenAi));
    let unused = many::count_used() - 1;
    let ((), ours) = clock::time(|| {
        black_box(many::tools().list().json(ListFormat::OpenAi));
    });
    let ((), floor) = clock::time(|| make_schemas(TOOLS));
    let [ours, floor] = [ours, floor].map(|time| time.as_secs_f64() * 1e6 / f64::from(TOOLS));
    println!("{unused} {ours} {floor}");
}

/// Makes the schema of a tool in [`many`] with schemars alone, `rounds` times.
fn make_schemas(rounds: u32) {
    for _ in 0..rounds {
        let schema = schemars::schema_for!(Crowd);
        black_box(serde_json::value::to_raw_value(&schema).expect("a schema is JSON"));
    }
}
