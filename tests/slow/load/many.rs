//! A thousand streams at once.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tool_server::Server;

use crate::load::{
    kit::{Served, chat, live, run, whole},
    model::{World, agent},
};
use crate::process_locks::alone;

const STREAMS: usize = 1000;

#[tokio::test]
async fn a_thousand_streams_at_once_end_as_they_should() {
    let _alone = alone().await;
    // No answer continues before all of them have begun.
    let world = World::new(STREAMS);
    let served = Served::stateless(Server::new(agent(&world)).keep_alive(Duration::from_mins(1)));
    let (before, start) = (live(), Instant::now());
    let mut clients = JoinSet::new();
    for number in 0..STREAMS {
        let stream = served.connect().await;
        let name = format!("many-{number}");
        let request = if number % 2 == 0 { chat(&name, "gather", false) } else { run(&name, "gather", false) };
        clients.spawn(async move { (number, whole(stream, request).await) });
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
    served.rests().await;
    let left = live().saturating_sub(before);
    println!("{STREAMS} streams at once in {took:.1?}; {} KB are left", left / 1024);
    assert!(left < STREAMS * 1024, "{left} bytes are left of {STREAMS} streams");
}
