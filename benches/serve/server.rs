//! Our server in a separate process: `tool-benches --serve`.

use std::{process::ExitCode, time::Duration};

use axum::{
    Router,
    body::{Body, Bytes},
    response::Response,
    routing::{get, post},
};
use futures_util::{Stream, StreamExt, stream};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tool_runtime::{
    Agent, Message, Part,
    message::FinishReason,
    model::{Delta, FunctionModel, ModelError, OwnedRequest},
    tool, toolset,
};
use tool_server::protocol::ai_sdk::{self, Chunk, Json, SdkVersion, StreamSettings};
use tool_server::{ChunkWriter, DEFAULT_GRACE, Server, respond_with_chunks, serve};

use super::{PIECE, load::Pace, peer};
use crate::{clock, memory};

/// Serves until the process is killed.
pub(crate) fn run() -> ExitCode {
    // Like node, the server has one thread.
    let served =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().and_then(|runtime| {
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await?;
                println!("listening on {}", listener.local_addr()?);
                serve(listener, router(), std::future::pending(), DEFAULT_GRACE).await
            })
        });
    if let Err(error) = served {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn router() -> Router {
    // Like the AI SDK, the server sends a chunk for each piece, and does not combine pieces.
    let each = |mut settings: StreamSettings| {
        settings.coalesce = false;
        settings
    };
    let agent = Agent::new(FunctionModel::streaming(play)).tools(toolset!(note));
    let own = Server::new(agent).ai_sdk(each).max_responses(usize::MAX).router().route("/bare", post(bare));
    own.merge(peer::routes()).route("/idle", post(idle)).route("/cpu", get(cpu))
}

async fn cpu() -> axum::Json<Value> {
    let counted = json!({
        "seconds": clock::process_time().as_secs_f64(), "allocations": memory::count(), "live": memory::live(),
    });
    axum::Json(counted)
}

/// Returns the number and the pace of pieces that the text of a message asks for.
fn parse_request(text: &str) -> (usize, Pace) {
    let (count, pace) = text.split_once(' ').unwrap_or((text, ""));
    (count.parse().unwrap_or_default(), Pace::parse(pace))
}

/// Returns the number and the pace of pieces that the body of a request asks for.
pub(super) fn parse_body(body: &[u8]) -> (usize, Pace) {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    parse_request(body["messages"][0]["parts"][0]["text"].as_str().unwrap_or_default())
}

/// Keep a note.
#[tool(effect = read_only)]
fn note(
    /// The text.
    text: String,
) -> usize {
    text.len()
}

const START: &str = "{\"text\":\"";
const END: &str = "\"}";

/// Returns a piece of the arguments.
pub(super) fn argument(number: usize, count: usize) -> String {
    let (start, end) = (if number == 0 { START } else { "" }, if number + 1 == count { END } else { "" });
    [start, PIECE, end].concat()
}

/// Waits until the next piece may be made.
pub(super) async fn pause(pace: Pace) {
    match pace {
        Pace::AtOnce => {}
        // The tasks that the previous piece has woken run first.
        Pace::Alone => tokio::task::yield_now().await,
        Pace::Timed(millis) => tokio::time::sleep(Duration::from_millis(millis)).await,
    }
}

/// Streams the turns of the run's model. The first has the requested number of pieces: half of them text, half arguments of
/// a call. If that number is 0, the turn has one text, and never ends. The turn after the call is empty.
#[allow(clippy::needless_pass_by_value, reason = "a model receives its request by value")]
fn play(asked: OwnedRequest) -> impl Stream<Item = Result<Delta, ModelError>> + Send + 'static {
    let prompt = match asked.messages.last() {
        Some(Message::User { content }) => content.first().and_then(Part::as_text),
        _ => None,
    };
    let (count, pace) = prompt.map_or((1, Pace::AtOnce), parse_request);
    let half = if prompt.is_some() { count / 2 } else { 0 };
    let first = (count == 0).then(|| Ok(Delta::Text(PIECE.to_owned())));
    // The numbers stand for the texts, the call, its arguments, and the end.
    let deltas = stream::iter(0..=2 * half + 1).then(move |number| async move {
        if number != half && number <= 2 * half {
            pause(pace).await;
        }
        if count == 0 {
            std::future::pending::<()>().await;
        }
        Ok(match number {
            _ if half == 0 => Delta::Finish(FinishReason::Stop),
            text if text < half => Delta::Text(PIECE.to_owned()),
            call if call == half => Delta::CallStart { index: 0, id: "c1".to_owned(), name: "note".to_owned() },
            end if end > 2 * half => Delta::Finish(FinishReason::ToolCalls),
            number => Delta::CallArguments { index: 0, text: argument(number - half - 1, half) },
        })
    });
    stream::iter(first).chain(deltas)
}

/// Sends the same chunks as `/api/chat`, without a run.
async fn bare(body: Bytes) -> Response {
    let (count, pace) = parse_body(&body);
    respond_with_chunks(SdkVersion::V7, async move |chunks| {
        chunks.write(&Chunk::Start { message_id: Some("msg-1"), message_metadata: None });
        if count == 0 {
            return std::future::pending().await;
        }
        chunks.write(&Chunk::StartStep {});
        chunks.write(&Chunk::TextStart { id: "0", provider_metadata: None });
        for _ in 0..count / 2 {
            pause(pace).await;
            chunks.write(&Chunk::TextDelta { id: "0", delta: PIECE, provider_metadata: None });
        }
        chunks.write(&Chunk::TextEnd { id: "0", citations: None, provider_metadata: None });
        write_call(&chunks, count / 2, pace).await;
        chunks.write(&Chunk::FinishStep {});
        chunks.write(&Chunk::StartStep {});
        chunks.write(&Chunk::FinishStep {});
        chunks.write(&Chunk::Finish { finish_reason: Some(ai_sdk::FinishReason::Stop), message_metadata: None });
    })
}

/// Writes the chunks of a call.
async fn write_call(chunks: &ChunkWriter, half: usize, pace: Pace) {
    let (tool_call_id, tool_name) = ("c1", "note");
    let (provider_executed, provider_metadata, tool_metadata, dynamic, title) = (None, None, None, None, None);
    chunks.write(&Chunk::ToolInputStart {
        tool_call_id,
        tool_name,
        input_encoding: None,
        provider_executed,
        provider_metadata,
        tool_metadata,
        dynamic,
        title,
    });
    for number in 0..half {
        pause(pace).await;
        chunks.write(&Chunk::ToolInputDelta { tool_call_id, input_text_delta: &argument(number, half) });
    }
    let input = json!({ "text": PIECE.repeat(half) });
    chunks.write(&Chunk::ToolInputAvailable {
        tool_call_id,
        tool_name,
        input: Json::Value(&input),
        provider_executed,
        provider_metadata,
        tool_metadata,
        dynamic,
        title,
    });
    let output = Json::Text("1");
    let preliminary = None;
    chunks.write(&Chunk::ToolOutputAvailable {
        tool_call_id,
        output,
        provider_executed,
        provider_metadata,
        tool_metadata,
        dynamic,
        preliminary,
    });
}

/// Opens a stream at minimum cost, which sends one frame and never ends.
async fn idle() -> Response {
    let first = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"data: {}\n\n"))]);
    Response::new(Body::from_stream(first.chain(stream::pending())))
}
