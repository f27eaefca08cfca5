//! Our server, in a process of its own: `tool-benches --serve`.

use std::{process::ExitCode, time::Duration};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    response::Response,
    routing::{get, post},
};
use futures_util::{Stream, StreamExt, stream};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tool_runtime::{
    Agent, Message, Part, Toolset,
    message::FinishReason,
    model::{Asked, Delta, FunctionModel, ModelError},
    protocol::ui_stream::{Chunk, Finish, Level, Settings},
};
use tool_server::{Server, answer_with, serve};

use super::PIECE;
use crate::{clock, memory};

/// Serves until it is killed.
pub(crate) fn run() -> ExitCode {
    let served =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().and_then(|runtime| {
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await?;
                println!("listening on {}", listener.local_addr()?);
                serve(listener, router(), std::future::pending()).await
            })
        });
    if let Err(error) = served {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn router() -> Router {
    // The same chunks as there: one for each piece.
    let each = |mut settings: Settings| {
        settings.coalesce = false;
        settings
    };
    let agent = Agent::new(FunctionModel::streaming(play)).tools(Toolset::new());
    Server::new(agent).ui(each).router().route("/bare", post(bare)).route("/idle", post(idle)).route("/cpu", get(cpu))
}

async fn cpu() -> Json<Value> {
    let counted = json!({
        "seconds": clock::process().as_secs_f64(), "allocations": memory::count(), "live": memory::live(),
    });
    Json(counted)
}

/// How many pieces a message wants, and the milliseconds between them.
fn wanted(text: &str) -> (usize, Duration) {
    let (count, millis) = text.split_once(' ').unwrap_or((text, "0"));
    (count.parse().unwrap_or_default(), Duration::from_millis(millis.parse().unwrap_or_default()))
}

/// The model of the run: as many pieces as it is told. Of none, it never comes to an end.
#[allow(clippy::needless_pass_by_value, reason = "a model is asked like this")]
fn play(asked: Asked) -> impl Stream<Item = Result<Delta, ModelError>> + Send + 'static {
    let said = match asked.messages.last() {
        Some(Message::User { content }) => content.first().and_then(Part::as_text),
        _ => None,
    };
    let (count, gap) = wanted(said.unwrap_or_default());
    let end = stream::once(async move {
        if count == 0 {
            std::future::pending::<()>().await;
        }
        Ok(Delta::Finish(FinishReason::Stop))
    });
    let first = (count == 0).then(|| Ok(Delta::Text(PIECE.to_owned())));
    let pieces = stream::iter(0..count).then(move |_| async move {
        if !gap.is_zero() {
            tokio::time::sleep(gap).await;
        }
        Ok(Delta::Text(PIECE.to_owned()))
    });
    stream::iter(first).chain(pieces).chain(end)
}

/// The same chunks without a run.
async fn bare(body: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (count, gap) = wanted(body["messages"][0]["parts"][0]["text"].as_str().unwrap_or_default());
    answer_with(Level::V7, async move |chunks| {
        chunks.write(&Chunk::Start { message_id: Some("msg-1"), message_metadata: None });
        chunks.write(&Chunk::StartStep {});
        chunks.write(&Chunk::TextStart { id: "0", provider_metadata: None });
        for _ in 0..count {
            if !gap.is_zero() {
                tokio::time::sleep(gap).await;
            }
            chunks.write(&Chunk::TextDelta { id: "0", delta: PIECE, provider_metadata: None });
        }
        chunks.write(&Chunk::TextEnd { id: "0", citations: None, provider_metadata: None });
        chunks.write(&Chunk::FinishStep {});
        chunks.write(&Chunk::Finish { finish_reason: Some(Finish::Stop), message_metadata: None });
    })
}

/// The least that a stream can cost that is open: a connection, one frame, and nothing after it.
async fn idle() -> Response {
    let first = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"data: {}\n\n"))]);
    Response::new(Body::from_stream(first.chain(stream::pending())))
}
