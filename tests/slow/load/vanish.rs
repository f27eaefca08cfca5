//! Tests of clients that disconnect.

use std::{sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tool_server::Server;

use crate::load::{
    kit::{Served, begin, chat, live_bytes, read_whole, run, wait_until},
    model::{SharedState, agent},
};
use crate::process_locks::alone;

const CLIENTS: usize = 200;

/// The bytes that may remain for each client, because tables have grown.
const LEFT: usize = 1024;

/// Starts clients, and returns them when their tools are running.
async fn start_working_clients(served: &Served, shared: &SharedState, count: usize, resumable: bool) -> Vec<TcpStream> {
    let before = SharedState::count(&shared.begun);
    let mut clients = Vec::new();
    for number in 0..count {
        let mut stream = served.connect().await;
        let name = format!("vanish-{before}-{number}");
        let (request, part) = if number % 2 == 0 {
            (chat(&name, "work", resumable), "tool-input-available")
        } else {
            (run(&name, "work", resumable), "TOOL_CALL_END")
        };
        begin(&mut stream, &request, part).await.unwrap();
        clients.push(stream);
    }
    wait_until("all tools are at work", || SharedState::count(&shared.begun) - before == count).await;
    clients
}

fn start_server() -> (Arc<SharedState>, Served) {
    let shared = SharedState::new(1);
    let served = Served::start(Server::new(agent(&shared)).keep_alive(Duration::from_mins(1)));
    (shared, served)
}

#[tokio::test]
async fn a_client_that_leaves_cancels_the_run_and_frees_everything() {
    let _alone = alone().await;
    let (shared, served) = start_server();
    // The first round allocates what is needed once. The second measures what the store keeps for each run.
    drop(start_working_clients(&served, &shared, 40, false).await);
    served.wait_until_idle().await;
    let middle = live_bytes();
    drop(start_working_clients(&served, &shared, CLIENTS, false).await);
    wait_until("the tools are dropped", || SharedState::count(&shared.dropped) == 40 + CLIENTS).await;
    served.wait_until_idle().await;
    assert_eq!(SharedState::count(&shared.ended), 0);
    let left = live_bytes().saturating_sub(middle) / CLIENTS;
    println!("{left} bytes are left of a client that vanished, with the log of its run");
    assert!(left < 8 * LEFT, "{left} bytes are left of each client");
}

#[tokio::test]
async fn a_client_that_vanishes_during_a_request_leaves_nothing() {
    let _alone = alone().await;
    let (_, served) = start_server();
    let whole = chat("half", "work", false);
    for round in 0..2 {
        let before = live_bytes();
        for number in 0..CLIENTS {
            let mut stream = served.connect().await;
            stream.write_all(&whole[..whole.len() * number / CLIENTS]).await.unwrap();
        }
        served.wait_until_idle().await;
        let left = live_bytes().saturating_sub(before) / CLIENTS;
        assert!(round == 0 || left < LEFT, "{left} bytes are left of each client");
    }
}

#[tokio::test]
async fn a_detached_run_continues_and_then_frees_everything() {
    let _alone = alone().await;
    let (shared, served) = start_server();
    let before = live_bytes();
    drop(start_working_clients(&served, &shared, CLIENTS, true).await);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(SharedState::count(&shared.dropped), 0, "no run was cancelled");
    assert!(served.tasks() >= CLIENTS, "{} tasks", served.tasks());
    shared.go.add_permits(CLIENTS);
    wait_until("all tools have ended", || SharedState::count(&shared.ended) == CLIENTS).await;
    served.wait_until_idle().await;
    assert_eq!(SharedState::count(&shared.dropped), 0);
    let left = live_bytes().saturating_sub(before) / CLIENTS;
    assert!(left < 12 * LEFT, "{left} bytes are left of each client");
}

#[tokio::test]
async fn a_client_that_returns_reads_the_whole_answer() {
    let _alone = alone().await;
    let (shared, served) = start_server();
    let asked = [
        (
            chat("back", "work", true),
            "tool-input-available",
            "/api/chat/back/stream",
            "\"type\":\"start\"",
            "data: [DONE]",
        ),
        (run("forth", "work", true), "TOOL_CALL_END", "/agent/forth/stream", "RUN_STARTED", "RUN_FINISHED"),
    ];
    for (request, part, path, first, last) in asked {
        let mut stream = served.connect().await;
        begin(&mut stream, &request, part).await.unwrap();
        drop(stream);
        let get = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").into_bytes();
        let mut again = served.connect().await;
        let mut text = begin(&mut again, &get, part).await.unwrap();
        shared.go.add_permits(1);
        again.read_to_end(&mut text).await.unwrap();
        let text = String::from_utf8(text).unwrap();
        for part in [first, "so ", "worked", last] {
            assert_eq!(text.matches(part).count(), if part == "so " { 2 } else { 1 }, "{part} in {text}");
        }
        served.wait_until_idle().await;
        let later = read_whole(served.connect().await, get).await.unwrap();
        assert!(later.starts_with("HTTP/1.1 204"), "{later}");
    }
}
