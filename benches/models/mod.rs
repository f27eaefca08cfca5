//! The cost of decoding the stream of a model, against one typed parse of each event ([`floor`]), and the growth of the cost of a
//! piece with the length of the stream. The streams look like recorded ones: reasoning, a text and a call, each in many pieces.

mod floor;

use std::hint::black_box;

use tool_models::{
    Decode, anthropic,
    gemini::{generate_content, interactions},
    openai,
};
use tool_runtime::toolset::ToolList;
use tool_test_kit::streams::{StreamPart, WireFormat};

use crate::{case::Case, cost, report::Report};

/// The largest cost of a stream, in typed parses of its events.
const LIMIT: f64 = 6.0;
/// The largest cost of a piece of the long stream, in pieces of the short one.
const GROWTH_LIMIT: f64 = 1.1;

const SHORT: usize = 1_000;
const LONG: usize = 16_000;
const ROUNDS: (u64, u64) = (1, 4);

/// Defines the cases of each format from its name, its format, its decoder and the plain type of its events.
macro_rules! formats {
    ($($name:literal: $format:expr, $decoder:expr, $event:ident;)*) => {
        const NAMES: &[&str] = &[$($name),*];

        pub(crate) const CASES: &[Case] = &[$(
            Case::new(concat!($name, "-floor"), || parse_events(events($format, SHORT), |event| {
                black_box(serde_json::from_str::<floor::$event<'_>>(event).expect("an event has the type"));
            }), ROUNDS),
            Case::new(concat!($name, "-short"), || decode_events(events($format, SHORT), $decoder), ROUNDS),
            Case::new(concat!($name, "-long"), || decode_events(events($format, LONG), $decoder), ROUNDS),
        )*];
    };
}

formats! {
    "chat": WireFormat::Chat, || openai::Decoder::new(&[], &ToolList::default()), Chat;
    "responses": WireFormat::Responses, || openai::ResponsesDecoder::new(&[], &ToolList::default()), Responses;
    "anthropic": WireFormat::Anthropic, || anthropic::Decoder::new(&[], &ToolList::default()), Anthropic;
    "interactions": WireFormat::Interactions, || interactions::Decoder::new(&[], &ToolList::default()), Interactions;
    "generate_content": WireFormat::GenerateContent, || generate_content::Decoder::new(&[], &ToolList::default()),
        GenerateContent;
}

/// Measures the decoders, and reports the targets.
pub(crate) fn measure(report: &mut Report) {
    for name in NAMES {
        let [ratio, growth] = [format!("models/{name}"), format!("models/{name}-growth")];
        if !report.wants_any(&[&ratio, &growth]) {
            continue;
        }
        let cost = |kind: &str| {
            let name = format!("{name}-{kind}");
            cost::measure(CASES.iter().find(|case| case.name == name).expect("every format has its cases"))
        };
        let (floor, short) = (cost("floor"), cost("short"));
        let how = format!("{}: {short:.0}, one typed parse of each event {floor:.0}", cost::unit());
        report.at_most(&ratio, short / floor, LIMIT, &how);
        #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
        let [short, long] = [short / SHORT as f64, cost("long") / LONG as f64];
        let how = format!("{} for a piece: {long:.0} of {LONG}, {short:.0} of {SHORT}", cost::unit());
        report.at_most(&growth, long / short, GROWTH_LIMIT, &how);
    }
}

/// Returns the events of a turn with about `pieces` pieces: a tenth is reasoning, and the rest is a text and the arguments of a call.
fn events(format: WireFormat, pieces: usize) -> Vec<String> {
    const PIECE: &str = "a piece of ";
    let text = |pieces: usize| PIECE.repeat(pieces);
    let parts = match format {
        // The arguments of a call are one piece.
        WireFormat::GenerateContent => vec![
            StreamPart::reasoning(&text(pieces / 10), "seal"),
            StreamPart::Text(text(pieces * 9 / 10)),
            StreamPart::call("call_1", "write", r#"{"text":"short"}"#),
        ],
        _ => vec![
            StreamPart::reasoning(&text(pieces / 10), "seal"),
            StreamPart::Text(text(pieces * 4 / 10)),
            StreamPart::call("call_1", "write", &format!(r#"{{"text":"{}"}}"#, text(pieces / 2))),
        ],
    };
    format.events(&parts, PIECE.len()).iter().map(ToString::to_string).collect()
}

/// Parses each event, once a round.
fn parse_events(events: Vec<String>, parse: fn(&str)) -> Box<dyn FnMut(u64)> {
    Box::new(move |rounds| {
        for _ in 0..rounds {
            for event in &events {
                parse(black_box(event));
            }
        }
    })
}

/// Decodes the stream with a new decoder, once a round.
fn decode_events<D: Decode + 'static>(events: Vec<String>, decoder: fn() -> D) -> Box<dyn FnMut(u64)> {
    Box::new(move |rounds| {
        for _ in 0..rounds {
            let mut decoder = decoder();
            for event in &events {
                black_box(decoder.decode_event(black_box(event)).expect("the stream is right"));
            }
            black_box(decoder.finish().expect("the stream is complete"));
        }
    })
}
