//! Runs recorded cases against this implementation and says which differ: `cargo run -p tool-tests --bin vectors -- FILE...`.
//!
//! A file is a JSON array of cases, each with `name`, `kind` and what the kind needs. A line is printed for each:
//! `ok`, `skipped` or `FAILED`, the name, and why. The last line is `N passed, N failed`; the exit status is 0 if none
//! failed, 1 if some did, and 2 if a file could not be read.

mod airline;
mod both;
mod builder;
mod case;
mod compat;
mod example;
mod graph;
mod idempotency;
mod middleware;
mod wire;

use std::{
    any::Any,
    fs,
    io::{self, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
};

use serde_json::Value;

/// What is done with the cases of a kind.
enum Kind {
    /// They are run; an error says how what came differs from what is recorded.
    Run(fn(&Value) -> Result<(), String>),
    /// The same in two modes. The compatible one must give what is recorded; ours may differ as `compat` lists, and
    /// the names of these differences come back.
    Both(fn(&Value) -> Result<Vec<&'static str>, String>),
    /// They are not meant for us.
    Skip(&'static str),
}

/// A new kind is a file beside this one and a line here.
const KINDS: &[(&str, Kind)] = &[
    ("airline", Kind::Both(airline::run)),
    ("buildContext", Kind::Run(graph::context)),
    ("graph", Kind::Both(graph::run)),
    ("toolBuilder", Kind::Both(builder::run)),
    ("wire", Kind::Run(wire::run)),
    ("middleware", Kind::Run(middleware::run)),
    ("idempotency", Kind::Both(idempotency::run)),
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
    // What a case that panics says is in its line.
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

/// Runs `cases`, and says how many failed.
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
            Some((_, Kind::Both(run))) => contain(|| run(case)),
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
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(said(&*panic)))
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("panicked: {}", text.unwrap_or("without a text"))
}
