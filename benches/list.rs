//! The bytes of a list of tools, and the cost of writing it into a request's body, against copying the same bytes.

use std::hint::black_box;

use serde::Serialize;
use serde_json::value::RawValue;
use tool_runtime::{
    Toolset,
    schema::Dialect,
    toolset::{ListFormat, ToolList},
};
use tool_test_fixtures::shapes;

use crate::{clock, many, memory::allocations, report::Report};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: [Message<'a>; 1],
    tools: &'a RawValue,
    stream: bool,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'a str,
    content: &'a str,
}

fn write_body(list: &ToolList, buffer: &mut Vec<u8>) {
    buffer.clear();
    let messages = [Message { role: "user", content: "What is the weather in Oslo?" }];
    let tools = list.json(ListFormat::OpenAi);
    serde_json::to_writer(buffer, &Body { model: "some-model", messages, tools, stream: true })
        .expect("the body contains only JSON values");
}

/// Measures the lists and the writing of requests, and reports the targets.
pub(crate) fn measure(report: &mut Report) {
    if report.wants_any(&["list/bytes"]) {
        measure_bytes(report);
    }
    for (time, memory, copies) in [
        ("list/request-100", "list/request-100-allocations", 0),
        ("list/request-1000", "list/request-1000-allocations", 5),
    ] {
        if !report.wants_any(&[time, memory]) {
            continue;
        }
        let tools = if copies == 0 { hundred_tools() } else { copies_of_tools(copies) };
        let list = tools.list();
        let (mut body, mut copy) = (Vec::new(), Vec::new());
        write_body(list, &mut body);
        let bytes = body.clone();
        let count = allocations(|| write_body(black_box(list), &mut body));
        let mut request = |rounds| (0..rounds).for_each(|_| write_body(black_box(list), &mut body));
        let mut memcpy = |rounds| {
            for _ in 0..rounds {
                copy.clear();
                copy.extend_from_slice(black_box(&bytes));
                black_box(&mut copy);
            }
        };
        let costs = clock::time_least(&mut [&mut request, &mut memcpy], 50, 400);
        let how = format!(
            "ns of CPU, least of 400 batches: request {:.0}, memcpy {:.0}, {} tools in {} bytes",
            costs[0],
            costs[1],
            tools.len(),
            bytes.len()
        );
        report.at_most(time, costs[0] / costs[1], 2.0, &how);
        report.at_most(memory, count, 0.0, "for each request, into a buffer that is reused");
    }
}

/// Compares the bytes of the default list of many kinds of tools with the list that had each schema in draft 7, unchanged otherwise.
fn measure_bytes(report: &mut Report) {
    let tools = shapes::tools();
    let bytes = tools.list().json(ListFormat::OpenAi).get().len();
    let sum = |dialect: Dialect| -> usize {
        tools.iter().map(|tool| tool.spec().input.lowered(dialect).json().get().len()).sum()
    };
    let before = bytes - sum(Dialect::Portable) + sum(Dialect::Draft07);
    let exact = bytes - sum(Dialect::Portable) + sum(Dialect::JsonSchema2020);
    #[expect(clippy::cast_precision_loss, reason = "lists are far smaller than 2^52 bytes")]
    let ratio = bytes as f64 / before as f64;
    let how = format!("{} declared tools: {bytes} bytes, in draft 7 {before}, in 2020-12 {exact}", tools.len());
    report.at_most("list/bytes", ratio, 1.0, &how);
}

fn hundred_tools() -> Toolset {
    let mut rest = 100;
    many::tools().filter(|_| {
        rest -= 1;
        rest >= 0
    })
}

/// Returns `copies` copies of the two hundred tools, under different names.
fn copies_of_tools(copies: u32) -> Toolset {
    (0..copies).fold(Toolset::new(), |all, copy| {
        let more = many::tools().prefix(&format!("copy{copy}_")).expect("the names stay short");
        all.merge(more).expect("each copy has its own prefix")
    })
}
