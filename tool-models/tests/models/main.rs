//! Tests of the models over HTTP: recorded streams, chunked streams, and a server on a real socket.

mod chunks;
mod conversations;
mod fallbacks;
mod gemini;
mod live;
mod odd_servers;
mod providers_page;
mod replay;
mod responses;
mod server;
mod stream_rules;
mod structured;
mod tokens;
mod transport;

use std::convert::Infallible;

use futures_util::{FutureExt, StreamExt, stream};
use tool_models::{
    Decode, anthropic,
    gemini::{generate_content, interactions},
    http, openai,
};
use tool_runtime::{
    message::Message,
    model::{Delta, Model, ModelError, Request, Turn},
    toolset::ToolList,
};

/// The wire formats.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Format {
    Chat,
    Responses,
    Anthropic,
    Interactions,
    GenerateContent,
}

impl Format {
    const ALL: [Self; 5] = [Self::Chat, Self::Responses, Self::Anthropic, Self::Interactions, Self::GenerateContent];

    /// Returns the deltas of a stream that arrives in `chunks`, up to the first error.
    fn decode<'a>(self, chunks: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Delta>, ModelError> {
        self.decode_of("", chunks)
    }

    /// Returns the deltas of a stream of this origin.
    fn decode_of<'a>(self, origin: &str, chunks: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Delta>, ModelError> {
        let tools = ToolList::default();
        match self {
            Self::Chat => decode(openai::Decoder::new(&[], &tools).with_origin(origin), chunks),
            Self::Responses => decode(openai::ResponsesDecoder::new(&[], &tools).with_origin(origin), chunks),
            Self::Anthropic => decode(anthropic::Decoder::new(&[], &tools), chunks),
            Self::Interactions => decode(interactions::Decoder::new(&[], &tools).with_origin(origin), chunks),
            Self::GenerateContent => decode(generate_content::Decoder::new(&[], &tools).with_origin(origin), chunks),
        }
    }
}

fn decode<'a>(decoder: impl Decode, chunks: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Delta>, ModelError> {
    let chunks: Vec<Result<&[u8], Infallible>> = chunks.into_iter().map(Ok).collect();
    let deltas = http::decode_deltas(stream::iter(chunks), decoder).collect::<Vec<_>>();
    deltas.now_or_never().expect("all chunks are there").into_iter().collect()
}

fn turn(deltas: impl IntoIterator<Item = Delta>) -> Turn {
    let mut turn = Turn::default();
    deltas.into_iter().for_each(|delta| turn.push(delta));
    turn
}

/// Returns the deltas of `model`'s response to "hi", up to the first error, and the error.
async fn ask(model: &impl Model) -> (Vec<Delta>, Option<ModelError>) {
    let (messages, tools) = ([Message::user("hi")], ToolList::default());
    let mut stream = model.stream(Request::new(&messages, &tools));
    let mut deltas = Vec::new();
    while let Some(next) = stream.next().await {
        match next {
            Ok(delta) => deltas.push(delta),
            Err(error) => {
                assert!(stream.next().await.is_none(), "an error ends the stream");
                return (deltas, Some(error));
            }
        }
    }
    (deltas, None)
}
