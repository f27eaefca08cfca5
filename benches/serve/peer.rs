//! Routes of axum alone that send the same answers. One sends axum's own events, as most programs would. The other has the
//! minimum cost of a piece.

use std::convert::Infallible;

use axum::{
    Router,
    body::{Body, Bytes},
    response::{
        Response, Sse,
        sse::{Event, KeepAlive},
    },
    routing::post,
};
use futures_util::{Stream, StreamExt, stream};
use serde::Serialize;
use tokio::sync::mpsc;

use super::{
    PIECE,
    load::Pace,
    server::{argument, parse_body, pause},
};

pub(super) fn routes() -> Router {
    Router::new().route("/sse", post(sse)).route("/frames", post(frames))
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
enum Chunk<'a> {
    TextDelta { id: &'a str, delta: &'a str },
    ToolInputDelta { tool_call_id: &'a str, input_text_delta: &'a str },
}

fn chunk(number: usize, half: usize) -> String {
    let written = if number < half {
        serde_json::to_string(&Chunk::TextDelta { id: "0", delta: PIECE })
    } else {
        let text = argument(number - half, half);
        serde_json::to_string(&Chunk::ToolInputDelta { tool_call_id: "c1", input_text_delta: &text })
    };
    written.unwrap_or_default()
}

fn chunks(count: usize, pace: Pace) -> impl Stream<Item = String> + Send {
    let deltas = stream::iter(0..count).then(move |number| async move {
        pause(pace).await;
        chunk(number, count / 2)
    });
    deltas.chain(stream::iter(["[DONE]".to_owned()]))
}

/// Sends the chunks as axum's own events.
async fn sse(body: Bytes) -> Sse<impl Stream<Item = Result<Event, Infallible>> + Send> {
    let (count, pace) = parse_body(&body);
    let events = chunks(count, pace).map(|chunk| Ok(Event::default().data(chunk)));
    Sse::new(events).keep_alive(KeepAlive::default())
}

/// Sends prepared frames, one for each chunk, from a separate task: the minimum cost.
async fn frames(body: Bytes) -> Response {
    let (count, pace) = parse_body(&body);
    let half = count / 2;
    let [first, text, argument, last] =
        [half, 0, half + 1, count.saturating_sub(1)].map(|number| Bytes::from(frame(&chunk(number, half))));
    let (out, frames) = mpsc::channel::<Bytes>(64);
    tokio::spawn(async move {
        for number in 0..count {
            pause(pace).await;
            let frame = match number {
                number if number < half => &text,
                number if number == half => &first,
                number if number + 1 == count => &last,
                _ => &argument,
            };
            if out.send(frame.clone()).await.is_err() {
                return;
            }
        }
        let _ = out.send(Bytes::from(frame("[DONE]"))).await;
    });
    let frames = stream::unfold(frames, |mut frames| async { frames.recv().await.map(|frame| (frame, frames)) });
    Response::new(Body::from_stream(frames.map(Ok::<_, Infallible>)))
}

fn frame(chunk: &str) -> String {
    ["data: ", chunk, "\n\n"].concat()
}
