//! Tests that the deltas of a stream do not depend on its chunks.

use proptest::prelude::*;

use super::Format;

/// CRLF, a byte order mark, comments, an event in two data lines, characters of two to four bytes, and interleaved calls.
const CHAT: &str = concat!(
    "\u{feff}: keep-alive\r\n\r\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"grün 日本 🦀\"}}]}\r\n\r\n",
    "event: message\r\nid: 7\r\ndata: {\"choices\":[{\"index\":0,\r\ndata: \"delta\":{\"reasoning\":\"é\"}}]}\r\n\r\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"ö\\\":\"}}]}}]}\n\n",
    ":\n\n",
    "data:{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"\\ud83e\\udd80\\\"}\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\n",
    "data: [DONE]\n\n",
);

const ANTHROPIC: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":3}}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: ping\r\ndata: {\"type\": \"ping\"}\r\n\r\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"日本 🦀\"}}   \n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":{}}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"ö\\\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\":1}\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":5}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

/// Items in turn and one in another, ids that change, a `done` with a part that no delta had, an unknown event, and a final `[DONE]`.
const RESPONSES: &str = concat!(
    "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"status\":\"in_progress\",\"output\":[]}}\n\n",
    ": keep-alive\r\n\r\n",
    "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"id\":\"a\",\"type\":\"reasoning\",\"summary\":[]}}\r\n\r\n",
    "data: {\"type\":\"response.reasoning_summary_text.delta\",\"item_id\":\"b\",\"output_index\":0,\"summary_index\":0,\"delta\":\"grün\"}\n\n",
    "data: {\"type\":\"response.output_item.added\",\"output_index\":1,\"item\":{\"id\":\"c\",\"type\":\"message\",\"content\":[],\"phase\":\"commentary\"}}\n\n",
    "data: {\"type\":\"response.output_text.delta\",\"output_index\":1,\"content_index\":0,\"delta\":\"日本\"}\n\n",
    "data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"id\":\"d\",\"type\":\"reasoning\",\"encrypted_content\":\"x\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"grün\"}]}}\n\n",
    "data: {\"type\":\"response.output_text.done\",\"output_index\":1,\"content_index\":0,\"text\":\"日本 🦀\"}\n\n",
    "data: {\"type\":\"response.something.new\",\"delta\":{\"x\":1}}\n\n",
    "data: {\"type\":\"response.output_item.added\",\"output_index\":2,\"item\":{\"id\":\"e\",\"type\":\"function_call\",\"call_id\":\"k\",\"name\":\"f\",\"arguments\":\"\"}}\n\n",
    "data: {\"type\":\"response.function_call_arguments.delta\",\"item_id\":\"g\",\"output_index\":2,\"delta\":\"{\\\"ö\\\"\"}\n\n",
    "data: {\"type\":\"response.output_item.done\",\"output_index\":2,\"item\":{\"id\":\"h\",\"type\":\"function_call\",\"call_id\":\"k\",\"name\":\"f\",\"arguments\":\"{\\\"ö\\\":1}\"}}\n\n",
    "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"usage\":{\"input_tokens\":1,\"output_tokens\":2}}}\n\n",
    "data: [DONE]\n\n",
);

const INTERACTIONS: &str = concat!(
    "event: interaction.created\ndata: {\"interaction\":{\"id\":\"\",\"status\":\"in_progress\"},\"event_type\":\"interaction.created\"}\n\n",
    "event: step.start\r\ndata: {\"index\":0,\"step\":{\"type\":\"thought\"},\"event_type\":\"step.start\"}\r\n\r\n",
    "event: step.delta\ndata: {\"index\":0,\"delta\":{\"signature\":\"ö\",\"type\":\"thought_signature\"},\"event_type\":\"step.delta\"}\n\n",
    "event: step.stop\ndata: {\"index\":0,\"event_type\":\"step.stop\"}\n\n",
    "event: step.start\ndata: {\"index\":1,\"step\":{\"type\":\"model_output\"},\"event_type\":\"step.start\"}\n\n",
    "event: step.delta\ndata: {\"index\":1,\"delta\":{\"text\":\"日本 🦀\",\"type\":\"text\"},\"event_type\":\"step.delta\"}\n\n",
    "event: step.start\ndata: {\"index\":2,\"step\":{\"id\":\"a\",\"type\":\"function_call\",\"name\":\"f\",\"arguments\":{}},\"event_type\":\"step.start\"}\n\n",
    "event: step.delta\ndata: {\"index\":2,\"delta\":{\"arguments\":\"{\\\"ö\\\"\",\"type\":\"arguments_delta\"},\"event_type\":\"step.delta\"}\n\n",
    "event: step.delta\ndata: {\"index\":2,\"delta\":{\"arguments\":\":1}\",\"type\":\"arguments_delta\"},\"event_type\":\"step.delta\"}\n\n",
    "event: step.stop\ndata: {\"index\":2,\"event_type\":\"step.stop\"}\n\n",
    "event: interaction.completed\ndata: {\"interaction\":{\"status\":\"requires_action\",\"usage\":{\"total_input_tokens\":3}},\"event_type\":\"interaction.completed\"}\n\n",
    "event: done\ndata: [DONE]\n\n",
);

const GENERATE_CONTENT: &str = concat!(
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"é\",\"thought\":true}]}}],\"usageMetadata\":{\"promptTokenCount\":3}}\r\n\r\n",
    "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"日本 🦀\"}]}}]}\n\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"f\",\"args\":{\"ö\":1}},\"thoughtSignature\":\"s\"}]}}]}\n\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"f\"}}]}}]}\n\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}]},\"finishReason\":\"STOP\"}]}\n\n",
);

const STREAMS: [(Format, &str, usize); 5] = [
    (Format::Chat, CHAT, 11),
    (Format::Responses, RESPONSES, 14),
    (Format::Anthropic, ANTHROPIC, 8),
    (Format::Interactions, INTERACTIONS, 9),
    (Format::GenerateContent, GENERATE_CONTENT, 12),
];

#[test]
fn cut_at_every_byte() {
    for (format, text, count) in STREAMS {
        let whole = format.decode([text.as_bytes()]).unwrap();
        assert_eq!(whole.len(), count, "{whole:#?}");
        assert_eq!(format.decode(text.as_bytes().chunks(1)).unwrap(), whole);
        for cut in 0..=text.len() {
            let (left, right) = text.as_bytes().split_at(cut);
            assert_eq!(format.decode([left, right]).unwrap(), whole, "cut at {cut}");
        }
    }
}

#[test]
fn a_stream_that_ends_early_is_an_error_or_has_ended() {
    for (format, text, _) in STREAMS {
        let whole = format.decode([text.as_bytes()]).unwrap();
        for cut in 0..text.len() {
            match format.decode([&text.as_bytes()[..cut]]) {
                // Chat completions may end without `[DONE]`, and without a count of tokens.
                Ok(deltas) => assert_eq!(deltas.last(), whole.last(), "cut at {cut}"),
                Err(error) => assert!(error.is_transient(), "cut at {cut}: {error}"),
            }
        }
    }
}

proptest! {
    #[test]
    fn cut_anywhere(cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..40)) {
        for (format, text, _) in STREAMS {
            let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
            places.extend([0, text.len()]);
            places.sort_unstable();
            let chunks = places.windows(2).map(|pair| &text.as_bytes()[pair[0]..pair[1]]);
            prop_assert_eq!(format.decode(chunks).unwrap(), format.decode([text.as_bytes()]).unwrap());
        }
    }

    #[test]
    fn bytes_of_any_kind_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for format in Format::ALL {
            let _ = format.decode([&b"data: "[..], &bytes, b"\n\n"]);
        }
    }

    #[test]
    fn damaged_streams_do_not_panic(place in any::<proptest::sample::Index>(), byte in any::<u8>()) {
        for (format, text, _) in STREAMS {
            let mut bytes = text.as_bytes().to_vec();
            let place = place.index(bytes.len());
            bytes[place] = byte;
            let _ = format.decode([bytes.as_slice()]);
        }
    }
}
