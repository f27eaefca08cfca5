//! Tests of clients that read slowly, or not at all.

use std::time::Duration;

use tokio::{io::AsyncReadExt, io::AsyncWriteExt};
use tool_server::Server;

use crate::load::{
    kit::{Served, begin, chat, contains, live_bytes, wait_until},
    model::{OUTPUT, SharedState, agent},
};
use crate::process_locks::alone;

const READERS: usize = 10;
const TIMES: usize = 2000;

/// The number of bytes of an answer that are kept.
const KEPT: usize = 128 * 1024;

#[tokio::test]
async fn slow_readers_hold_no_memory_and_are_cut_off() {
    let _alone = alone().await;
    let shared = SharedState::new(1);
    let served = Served::stateless(Server::new(agent(&shared)).max_replay_bytes(KEPT));
    let before = live_bytes();
    let mut readers = Vec::new();
    for number in 0..READERS {
        let mut stream = served.connect_small().await;
        let request = chat(&format!("slow-{number}"), &format!("flood {{\"times\":{TIMES}}}"), true);
        stream.write_all(&request).await.unwrap();
        readers.push(stream);
    }
    let mut most = 0;
    let end = tokio::time::Instant::now() + Duration::from_mins(5);
    while SharedState::count(&shared.ended) < READERS {
        assert!(tokio::time::Instant::now() < end, "only {} answers have ended", SharedState::count(&shared.ended));
        most = most.max(live_bytes().saturating_sub(before));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // The kept bytes, and up to 417 KB that hyper had accepted before.
    let bound = READERS * (KEPT + 640 * 1024);
    let all = READERS * TIMES * OUTPUT;
    println!("at most {} KB for {} KB of {READERS} readers", most / 1024, all / 1024);
    assert!(most < bound, "{most} bytes, at most {bound} were expected of {all}");
    // A client that continues to read learns that something is missing.
    for mut stream in readers {
        let mut text = Vec::new();
        let read = stream.read_to_end(&mut text).await;
        assert!(read.is_err() || !text.ends_with(b"\r\n0\r\n\r\n"), "an answer with a gap looks complete");
        assert!(!contains(&text, "[DONE]"));
    }
    served.wait_until_idle().await;
    let left = live_bytes().saturating_sub(before);
    assert!(left < READERS * 16 * 1024, "{left} bytes are left");
}

#[tokio::test]
async fn a_tool_that_waits_for_its_readers_loses_nothing() {
    let _alone = alone().await;
    let shared = SharedState::new(1);
    let served = Served::stateless(Server::new(agent(&shared)).max_replay_bytes(KEPT));
    let mut stream = served.connect_small().await;
    let mut text =
        begin(&mut stream, &chat("pour", "pour {\"times\":2000}", false), "\"preliminary\":true").await.unwrap();
    // The stream does not run eight megabytes ahead of a reader that pauses.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let ahead = SharedState::count(&shared.ended);
    assert!(ahead < 1500, "the tool made {ahead} of 2000 outputs, and no client has read them");
    stream.read_to_end(&mut text).await.unwrap();
    let text = String::from_utf8(text).unwrap();
    assert_eq!(text.matches("\"preliminary\":true").count(), 2000);
    assert!(text.contains("data: [DONE]\n\n"), "{}", &text[text.len() - 300..]);
    wait_until("the run has ended", || served.tasks() == 0).await;
}
