//! Tests of a thousand streams at once.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tool_server::Server;

use crate::load::{
    kit::{Served, chat, live_bytes, read_whole, run},
    model::{SharedState, agent},
};
use crate::process_locks::alone;

const STREAMS: usize = 1000;

#[tokio::test]
async fn a_thousand_streams_at_once_end_completely() {
    let _alone = alone().await;
    // No answer continues before all of them have begun.
    let shared = SharedState::new(STREAMS);
    let served = Served::stateless(Server::new(agent(&shared)).keep_alive(Duration::from_mins(1)));
    let (before, start) = (live_bytes(), Instant::now());
    let mut clients = JoinSet::new();
    for number in 0..STREAMS {
        let stream = served.connect().await;
        let name = format!("many-{number}");
        let request = if number % 2 == 0 { chat(&name, "gather", false) } else { run(&name, "gather", false) };
        clients.spawn(async move { (number, read_whole(stream, request).await) });
    }
    while let Some(done) = clients.join_next().await {
        let (number, text) = done.unwrap();
        let text = text.unwrap_or_else(|error| panic!("stream {number}: {error}"));
        assert!(text.starts_with("HTTP/1.1 200"), "stream {number}: {text}");
        let is_chat = number % 2 == 0;
        let last = if is_chat { "data: [DONE]\n\n" } else { "\"type\":\"RUN_FINISHED\"" };
        for part in ["so ", "word0 ", "word9 ", "about all", last] {
            assert!(text.contains(part), "stream {number} has no {part:?}: {text}");
        }
        assert!(text.ends_with("\r\n0\r\n\r\n"), "stream {number} broke off");
        assert!(!text.contains("\"error\"") && !text.contains("RUN_ERROR"), "stream {number}: {text}");
    }
    let took = start.elapsed();
    served.wait_until_idle().await;
    let left = live_bytes().saturating_sub(before);
    println!("{STREAMS} streams at once in {took:.1?}; {} KB are left", left / 1024);
    assert!(left < STREAMS * 1024, "{left} bytes are left of {STREAMS} streams");
}
