//! The cost of arguments that arrive in pieces, with a view of them after each piece, against one parse of the whole text.
//! [`ai`] measures the AI SDK, which parses the text so far again after each piece.

pub(crate) mod ai;
mod texts;

use std::{hint::black_box, time::Instant};

use serde_json::Value;
use tool_runtime::json::IncrementalJson;

use crate::{case::Case, cost, report::Report};
use texts::{code, records};

/// The length of a piece, in bytes.
const PIECE: usize = 20;
const SMALL: usize = 100_000;
const LARGE: usize = 1_000_000;

pub(crate) const CASES: &[Case] = &[
    Case::new("code-100KB-floor", || parse_whole(code(SMALL)), FAST),
    Case::new("code-100KB-view", || read_with_views(code(SMALL)), FAST),
    Case::new("code-100KB-changes", || read_with_changes(code(SMALL)), FAST),
    Case::new("code-1MB-floor", || parse_whole(code(LARGE)), SLOW),
    Case::new("code-1MB-view", || read_with_views(code(LARGE)), SLOW),
    Case::new("code-1MB-changes", || read_with_changes(code(LARGE)), SLOW),
    Case::new("records-100KB-floor", || parse_whole(records(SMALL)), FAST),
    Case::new("records-100KB-view", || read_with_views(records(SMALL)), FAST),
    Case::new("records-100KB-changes", || read_with_changes(records(SMALL)), FAST),
    Case::new("records-1MB-floor", || parse_whole(records(LARGE)), SLOW),
    Case::new("records-1MB-view", || read_with_views(records(LARGE)), SLOW),
    Case::new("records-1MB-changes", || read_with_changes(records(LARGE)), SLOW),
];

const FAST: (u64, u64) = (1, 4);
const SLOW: (u64, u64) = (1, 2);

/// Measures arguments in pieces, and reports the targets.
pub(crate) fn measure(report: &mut Report) {
    for shape in ["code", "records"] {
        let names =
            ["100KB", "1MB"].map(|size| ["view", "changes"].map(|kind| format!("partial/{shape}-{size}-{kind}")));
        let linear = format!("partial/{shape}-linear");
        if names.iter().flatten().chain([&linear]).any(|name| report.wants(name)) {
            let views = ["100KB", "1MB"].map(|size| compare_with_one_parse(report, shape, size));
            let how = format!("{}: 1 MB {:.0}, 100 KB {:.0}", cost::unit(), views[1], views[0]);
            report.at_most(&linear, views[1] / views[0], 10.5, &how);
        }
    }
    for (shape, text) in [("code", code as fn(usize) -> String), ("records", records)] {
        let name = format!("partial/{shape}-piece");
        if report.wants(&name) {
            let [small, large] = [SMALL, LARGE].map(|size| time_pieces(&text(size)));
            let how = format!(
                "µs of the slowest hundredth of the pieces of 1 MB, half take {:.2}; of 100 KB {:.2}, half {:.2}",
                large.0, small.1, small.0
            );
            report.at_most(&name, large.1.max(small.1), 2.0, &how);
        }
    }
    for (shape, text) in [("code", code(SMALL)), ("records", records(SMALL))] {
        ai::measure(report, shape, &text);
    }
}

/// Measures one text, and reports the targets. Returns the cost with a view after each piece.
fn compare_with_one_parse(report: &mut Report, shape: &str, size: &str) -> f64 {
    let cost = |kind: &str| {
        let name = format!("{shape}-{size}-{kind}");
        cost::measure(CASES.iter().find(|case| case.name == name).expect("every text has its cases"))
    };
    let (floor, view) = (cost("floor"), cost("view"));
    for (kind, ours, limit) in [("view", view, 2.0), ("changes", cost("changes"), 2.5)] {
        let how = format!("{}: {ours:.0}, one parse {floor:.0}", cost::unit());
        report.at_most(&format!("partial/{shape}-{size}-{kind}"), ours / floor, limit, &how);
    }
    view
}

/// Returns the pieces of the text.
fn pieces(text: &str) -> Vec<&str> {
    let mut rest = text;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(PIECE));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Parses the whole text once.
fn parse_whole(text: String) -> Box<dyn FnMut(u64)> {
    Box::new(move |rounds| {
        for _ in 0..rounds {
            black_box(serde_json::from_str::<Value>(black_box(&text)).expect("the text is right"));
        }
    })
}

/// Reads the pieces with a view after each.
fn read_with_views(text: String) -> Box<dyn FnMut(u64)> {
    feed_pieces(text, |json, piece| {
        json.feed_str(piece).expect("the text is right");
        black_box(json.value());
    })
}

/// Reads the pieces with a view and the changes after each.
fn read_with_changes(text: String) -> Box<dyn FnMut(u64)> {
    feed_pieces(text, |json, piece| {
        json.feed_str_with(piece, &mut |path, change| {
            black_box((path, change));
        })
        .expect("the text is right");
        black_box(json.value());
    })
}

/// Returns a function that feeds each piece of the text to a new parser, once a round.
fn feed_pieces(text: String, feed: impl Fn(&mut IncrementalJson, &str) + 'static) -> Box<dyn FnMut(u64)> {
    Box::new(move |rounds| {
        let pieces = pieces(&text);
        for _ in 0..rounds {
            let mut json = IncrementalJson::new();
            for piece in &pieces {
                feed(&mut json, black_box(piece));
            }
            black_box(json.finish().expect("the text is right"));
        }
    })
}

/// Returns the microseconds of the median piece and of the 99th percentile, each the least of several rounds.
fn time_pieces(text: &str) -> (f64, f64) {
    let pieces = pieces(text);
    let mut best = (f64::INFINITY, f64::INFINITY);
    for _ in 0..20 {
        let mut json = IncrementalJson::new();
        let mut times: Vec<f64> = Vec::with_capacity(pieces.len());
        for piece in &pieces {
            let start = Instant::now();
            json.feed_str(piece).expect("the text is right");
            black_box(json.value());
            times.push(start.elapsed().as_secs_f64() * 1e6);
        }
        times.sort_unstable_by(f64::total_cmp);
        best = (best.0.min(times[times.len() / 2]), best.1.min(times[times.len() * 99 / 100]));
    }
    best
}
