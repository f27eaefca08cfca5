//! Runs recorded cases against this implementation, and reports differences: `cargo run -p tool-tests --bin vectors -- FILE...`.
//!
//! A file is a JSON array of cases, each with `name`, `kind` and the members of its kind. Each case prints a line: `ok`,
//! `skipped` or `FAILED`, the name, and the reason. The last line is `N passed, N failed`. The exit status is 0 if no case
//! failed, 1 if some did, and 2 if a file could not be read.

mod airline;
mod builder;
mod case;
mod compat;
mod example;
mod graph;
mod idempotency;
mod middleware;
mod two_modes;
mod wire;

use std::{
    any::Any,
    fs,
    io::{self, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
};

use serde_json::Value;

/// The way to run the cases of a kind.
enum Kind {
    /// They are run. An error describes the difference from the recording.
    Run(fn(&Value) -> Result<(), String>),
    /// They are run in two modes. The compatible one must return the recording. Ours may differ as `compat` lists, and the names
    /// of these differences are returned.
    TwoModes(fn(&Value) -> Result<Vec<&'static str>, String>),
    /// They do not apply to this implementation.
    Skip(&'static str),
}

/// The kinds. A new kind is a file beside this one, and a line here.
const KINDS: &[(&str, Kind)] = &[
    ("airline", Kind::TwoModes(airline::run)),
    ("buildContext", Kind::Run(graph::context)),
    ("graph", Kind::TwoModes(graph::run)),
    ("toolBuilder", Kind::TwoModes(builder::run)),
    ("wire", Kind::Run(wire::run)),
    ("middleware", Kind::Run(middleware::run)),
    ("idempotency", Kind::TwoModes(idempotency::run)),
    ("example", Kind::Run(example::run)),
    ("tool2agent", Kind::Skip("texts of exceptions of a JavaScript engine")),
    ("ai-sdk", Kind::Skip("what another library sends to a model")),
];

#[derive(Default)]
struct Count {
    passed: usize,
    failed: usize,
    skipped: usize,
}

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        eprintln!("usage: vectors FILE...");
        return ExitCode::from(2);
    }
    let mut cases = Vec::new();
    for file in &files {
        match read(file) {
            Ok(all) => cases.extend(all),
            Err(error) => {
                eprintln!("{file}: {error}");
                return ExitCode::from(2);
            }
        }
    }
    // The line of a panicking case has the panic's text.
    std::panic::set_hook(Box::new(|_| {}));
    match report(&cases, &mut io::stdout().lock()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn read(file: &str) -> Result<Vec<Value>, String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| format!("not a list of cases: {error}"))
}

/// Runs `cases`, and returns the number of failures.
fn report(cases: &[Value], out: &mut impl Write) -> io::Result<usize> {
    let mut count = Count::default();
    for case in cases {
        let name = case["name"].as_str().unwrap_or("(no name)");
        let kind = case["kind"].as_str().unwrap_or("(no kind)");
        let outcome = match KINDS.iter().find(|(known, _)| *known == kind) {
            Some((_, Kind::Skip(why))) => {
                count.skipped += 1;
                writeln!(out, "skipped {name} ({kind}: {why})")?;
                continue;
            }
            Some((_, Kind::Run(run))) => contain(|| run(case).map(|()| Vec::new())),
            Some((_, Kind::TwoModes(run))) => contain(|| run(case)),
            None => Err(format!("kind not run yet: {kind}")),
        };
        match outcome {
            Ok(differences) => {
                count.passed += 1;
                let by_default = if differences.is_empty() { "" } else { " (by default: " };
                let end = if differences.is_empty() { "" } else { ")" };
                writeln!(out, "ok {name}{by_default}{}{end}", differences.join(", "))?;
            }
            Err(difference) => {
                count.failed += 1;
                writeln!(out, "FAILED {name}: {}", difference.replace('\n', " "))?;
            }
        }
    }
    writeln!(out, "{} skipped", count.skipped)?;
    writeln!(out, "{} passed, {} failed", count.passed, count.failed)?;
    Ok(count.failed)
}

fn contain<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panic_text(&*panic)))
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("panicked: {}", text.unwrap_or("without a text"))
}
