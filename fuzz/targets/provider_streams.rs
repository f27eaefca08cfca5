//! Streams of models. The first line names the format, the rest is the body of the response.
//!
//! The deltas do not depend on how the body is cut, they are in a legal order, and their size is in proportion to the body. No
//! call has a name that the body does not have.

#![no_main]

use std::{collections::HashSet, convert::Infallible};

use futures_util::{FutureExt, StreamExt, stream};
use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target};
use serde_json::json;
use tool_models::{
    Decode, anthropic,
    gemini::{generate_content, interactions},
    http, openai,
};
use tool_runtime::{
    Toolset,
    model::Delta,
    toolset::{RuntimeTool, ToolList},
};
use tool_test_kit::mutate::Random;

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    tool_fuzz::mutate_lines(data, size, max_size, seed)
});

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some(end) = data.iter().position(|byte| *byte == b'\n') else { return Corpus::Reject };
    let (format, body) = (&data[..end], &data[end + 1..]);
    let whole = decode(format, [body]);
    let Some(whole) = whole else { return Corpus::Reject };
    let bytewise = decode(format, body.chunks(1)).expect("a known format");
    assert_eq!(bytewise, whole, "byte by byte");
    let mut random =
        Random::new(body.iter().fold(7, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add((*byte).into())));
    let mut pieces = Vec::new();
    let mut rest = body;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at((1 + random.below(60)).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    assert_eq!(decode(format, pieces).expect("a known format"), whole, "in pieces");
    check(body, &whole);
    Corpus::Keep
});

type Decoded = Vec<Result<Delta, String>>;

/// Returns the deltas up to the first error, or `None` for an unknown format.
fn decode<'a>(format: &[u8], chunks: impl IntoIterator<Item = &'a [u8]>) -> Option<Decoded> {
    let tools = tools();
    let chunks: Vec<_> = chunks.into_iter().collect();
    Some(match format {
        b"chat" => read(openai::Decoder::new(&[], &tools), &chunks),
        b"chat deepseek" => read(openai::Decoder::new(&[], &tools).with_origin("deepseek"), &chunks),
        b"responses" => read(openai::ResponsesDecoder::new(&[], &tools), &chunks),
        b"anthropic" => read(anthropic::Decoder::new(&[], &tools), &chunks),
        b"interactions" => read(interactions::Decoder::new(&[], &tools), &chunks),
        b"generate_content" => read(generate_content::Decoder::new(&[], &tools), &chunks),
        _ => return None,
    })
}

fn read(decoder: impl Decode, chunks: &[&[u8]]) -> Decoded {
    let chunks: Vec<Result<Vec<u8>, Infallible>> = chunks.iter().map(|chunk| Ok(chunk.to_vec())).collect();
    let deltas = http::decode_deltas(stream::iter(chunks), decoder).collect::<Vec<_>>();
    let deltas = deltas.now_or_never().expect("all chunks are there");
    deltas.into_iter().map(|delta| delta.map_err(|error| error.to_string())).collect()
}

/// Returns tools whose names begin alike, and one whose optional parameter is a union with null in a strict list.
fn tools() -> ToolList {
    thread_local!(static TOOLS: Toolset = {
        let tool = |name: &str, input| {
            let tool = RuntimeTool::new(name, "").input(input).options(|options| options.strict = name == "look_up");
            tool.handler(|arguments, _| async move { Ok(arguments) }).expect("a tool")
        };
        let optional = json!({ "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "integer" } }, "required": ["a"] });
        let tools = Toolset::new().with(tool("look", json!({ "type": "object" })));
        tools.and_then(|tools| tools.with(tool("look_up", optional))).expect("each name once")
    });
    TOOLS.with(|tools| tools.list().clone())
}

fn check(body: &[u8], deltas: &Decoded) {
    let (mut begun, mut ended, mut ids) = (HashSet::new(), HashSet::new(), HashSet::new());
    let mut bytes = 0;
    for (at, delta) in deltas.iter().enumerate() {
        let is_last = at + 1 == deltas.len();
        match delta {
            Err(_) => assert!(is_last, "an error is the last item"),
            Ok(Delta::Finish(_)) => assert!(is_last, "the end is the last delta"),
            Ok(Delta::CallStart { index, id, name }) => {
                assert!(begun.insert(*index), "a call begins once");
                assert!(ids.insert(id.clone()) && !id.is_empty(), "each call has an id of its own");
                assert!(!name.is_empty() && is_in(name, body), "the body has no name {name:?}");
                bytes += name.len();
            }
            Ok(Delta::CallArguments { index, text }) => {
                assert!(begun.contains(index) && !ended.contains(index), "arguments of an open call");
                bytes += text.len();
            }
            Ok(Delta::CallEnd { index }) => assert!(begun.contains(index) && ended.insert(*index), "a call ends once"),
            Ok(Delta::Text(text) | Delta::Reasoning(text)) => bytes += text.len(),
            _ => {}
        }
    }
    assert!(
        matches!(deltas.last(), Some(Err(_) | Ok(Delta::Finish(_)))),
        "a stream ends with its end, or with an error: {deltas:?}"
    );
    assert!(bytes <= 64 * body.len() + 1024, "{bytes} bytes from {}", body.len());
}

/// Returns whether a name is in a string of the body, or joined from several.
fn is_in(name: &str, body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body);
    let strings: Vec<String> = strings(&text);
    if strings.iter().any(|string| string.contains(name)) {
        return true;
    }
    let mut rest = name;
    for string in &strings {
        rest = rest.strip_prefix(string.as_str()).filter(|_| !string.is_empty()).unwrap_or(rest);
    }
    rest.is_empty()
}

/// Returns the JSON strings of a text.
fn strings(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for line in text.split(['\n', '\r']) {
        let mut rest = line;
        while let Some(at) = rest.find('"') {
            let mut strings = serde_json::Deserializer::from_str(&rest[at..]).into_iter::<String>();
            match strings.next() {
                Some(Ok(string)) => {
                    rest = &rest[at + strings.byte_offset()..];
                    all.push(string);
                }
                _ => rest = &rest[at + 1..],
            }
        }
    }
    all
}
