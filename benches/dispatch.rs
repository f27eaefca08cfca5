//! The cost of a call by name and JSON text, against its least work: a typed parse, the call, and writing the output.

use std::hint::black_box;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool_runtime::{Context, Toolset, tool, toolset};

use crate::{
    case::{Case, finish},
    cost, many,
    memory::allocations,
    report::Report,
};

const SMALL: &str = r#"{"query":"red shoes","limit":10,"exact":true}"#;

pub(crate) const CASES: &[Case] = &[
    Case::new("small-ours", || call_tool("search", SMALL.to_owned()), FAST),
    Case::new("small-floor", || call_directly(SMALL.to_owned(), search_direct), FAST),
    Case::new("small-detour", || call_through_value(SMALL.to_owned(), search_direct), FAST),
    Case::new("1kb-ours", || call_tool("store", records(8)), FAST),
    Case::new("1kb-floor", || call_directly(records(8), store_direct), FAST),
    Case::new("1kb-detour", || call_through_value(records(8), store_direct), FAST),
    Case::new("100kb-ours", || call_tool("store", records(950)), SLOW),
    Case::new("100kb-floor", || call_directly(records(950), store_direct), SLOW),
    Case::new("text-ours", || call_tool("note", long_note()), SLOW),
    Case::new("text-floor", || call_directly(long_note(), note_direct), SLOW),
];

const FAST: (u64, u64) = (100, 1100);
const SLOW: (u64, u64) = (2, 12);

/// Measures calls, and reports the targets.
pub(crate) fn measure(report: &mut Report) {
    for (name, size, limit) in [
        ("dispatch/small", "small", 1.4),
        ("dispatch/1KB", "1kb", 1.1),
        ("dispatch/100KB", "100kb", 1.02),
        ("dispatch/100KB-string", "text", 1.02),
    ] {
        if report.wants(name) {
            let (ratio, how) = cost::compare(case(size, "ours"), case(size, "floor"));
            report.at_most(name, ratio, limit, &how);
        }
    }
    if report.wants("dispatch/value-detour") {
        let (ratio, how) = cost::compare(case("small", "detour"), case("small", "ours"));
        report.at_least("dispatch/value-detour", ratio, 2.0, &how);
    }
    if report.wants("dispatch/allocations") {
        let mut call = call_tool("search", SMALL.to_owned());
        let (call, parse) = (
            allocations(|| call(1)),
            allocations(|| {
                black_box(serde_json::from_str::<Search>(black_box(SMALL)).expect("the text is right"));
            }),
        );
        let how = format!("of a call {call}, of the typed parse {parse}");
        report.at_most("dispatch/allocations", call - parse, 2.0, &how);
    }
}

fn case(size: &str, kind: &str) -> &'static Case {
    let name = format!("{size}-{kind}");
    CASES.iter().find(|case| case.name == name).expect("every size has its cases")
}

/// Calls a tool in a set of a hundred tools.
fn call_tool(name: &'static str, arguments: String) -> Box<dyn FnMut(u64)> {
    let tools = hundred_tools();
    let cx = Context::new("call_1");
    Box::new(move |rounds| {
        for _ in 0..rounds {
            let output = finish(tools.call(black_box(name), black_box(&arguments), &cx)).expect("the call is right");
            black_box(output.as_json());
        }
    })
}

/// Parses the arguments into a struct, calls the function directly, and writes the output into a reused buffer.
fn call_directly<A, R, F>(arguments: String, direct: fn(A) -> F) -> Box<dyn FnMut(u64)>
where
    A: for<'de> Deserialize<'de> + 'static,
    R: Serialize,
    F: Future<Output = R> + 'static,
{
    let mut buffer = Vec::new();
    Box::new(move |rounds| {
        for _ in 0..rounds {
            let args: A = serde_json::from_str(black_box(&arguments)).expect("the text is right");
            let output = finish(direct(args));
            buffer.clear();
            serde_json::to_writer(&mut buffer, &output).expect("it has a JSON form");
            black_box(&buffer);
        }
    })
}

/// Parses the arguments through a `Value`, calls the function directly, and writes the output through a `Value`.
fn call_through_value<A, R, F>(arguments: String, direct: fn(A) -> F) -> Box<dyn FnMut(u64)>
where
    A: for<'de> Deserialize<'de> + 'static,
    R: Serialize,
    F: Future<Output = R> + 'static,
{
    Box::new(move |rounds| {
        for _ in 0..rounds {
            let value: Value = serde_json::from_str(black_box(&arguments)).expect("the text is right");
            let args: A = serde_json::from_value(value).expect("the value is right");
            let output = serde_json::to_value(finish(direct(args))).expect("it has a JSON form");
            black_box(output.to_string());
        }
    })
}

fn hundred_tools() -> Toolset {
    let mut rest = 97;
    let crowd = many::tools().filter(|_| {
        let keep = rest > 0;
        rest -= i32::from(keep);
        keep
    });
    toolset!(search, store, note).merge(crowd).expect("no name is there twice")
}

/// Returns arguments with `count` records: 8 are about 1 KB, 950 about 100 KB.
fn records(count: u32) -> String {
    let records: Vec<Record> = (0..count)
        .map(|id| Record {
            id: 1000 + id,
            name: format!("article {id}"),
            price: f64::from(id) + 0.25,
            tags: vec!["red".into(), "wide".into()],
            stocked: id % 2 == 0,
        })
        .collect();
    serde_json::to_string(&Store { records }).expect("it has a JSON form")
}

/// Returns arguments with a text of about 100 KB.
fn long_note() -> String {
    let text = "The quick brown fox jumps over the lazy dog.\n".repeat(2300);
    serde_json::to_string(&Note { text }).expect("it has a JSON form")
}

#[derive(Serialize, JsonSchema)]
struct Found {
    query: String,
    hits: u32,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Record {
    id: u32,
    name: String,
    price: f64,
    tags: Vec<String>,
    stocked: bool,
}

#[derive(Deserialize)]
struct Search {
    query: String,
    limit: u32,
    exact: bool,
}

#[derive(Serialize, Deserialize)]
struct Store {
    records: Vec<Record>,
}

#[derive(Serialize, Deserialize)]
struct Note {
    text: String,
}

async fn search_direct(Search { query, limit, exact }: Search) -> Found {
    search(query, limit, exact).await
}

async fn store_direct(Store { records }: Store) -> usize {
    store(records).await
}

async fn note_direct(Note { text }: Note) -> usize {
    note(text).await
}

/// Searches the shop.
#[tool]
async fn search(
    /// The text to find.
    query: String,
    /// The maximum number of results.
    limit: u32,
    /// Set if every word must be there.
    exact: bool,
) -> Found {
    Found { query, hits: limit + u32::from(exact) }
}

/// Stores records.
#[tool]
async fn store(
    /// The records.
    records: Vec<Record>,
) -> usize {
    records.len()
}

/// Keeps a text.
#[tool]
async fn note(
    /// The text.
    text: String,
) -> usize {
    text.len()
}
