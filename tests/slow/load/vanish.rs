//! Clients that disconnect.

use std::{sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tool_server::Server;

use crate::load::{
    kit::{Served, begin, chat, live, run, until, whole},
    model::{World, agent},
};
use crate::process_locks::alone;

const CLIENTS: usize = 200;

/// The bytes that may remain for each client: places in tables that have grown.
const LEFT: usize = 1024;

/// Returns clients whose tools are running.
async fn at_work(served: &Served, world: &World, count: usize, resumable: bool) -> Vec<TcpStream> {
    let before = World::count(&world.begun);
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
    until("all tools are at work", || World::count(&world.begun) - before == count).await;
    clients
}

fn served() -> (Arc<World>, Served) {
    let world = World::new(1);
    let served = Served::start(Server::new(agent(&world)).keep_alive(Duration::from_mins(1)));
    (world, served)
}

#[tokio::test]
async fn a_client_that_leaves_cancels_the_run_and_frees_everything() {
    let _alone = alone().await;
    let (world, served) = served();
    // The first round allocates what is needed once. The second measures what the store keeps for each run.
    drop(at_work(&served, &world, 40, false).await);
    served.rests().await;
    let middle = live();
    drop(at_work(&served, &world, CLIENTS, false).await);
    until("the tools are given up", || World::count(&world.dropped) == 40 + CLIENTS).await;
    served.rests().await;
    assert_eq!(World::count(&world.ended), 0);
    let left = live().saturating_sub(middle) / CLIENTS;
    println!("{left} bytes are left of a client that vanished, with the log of its run");
    assert!(left < 8 * LEFT, "{left} bytes are left of each");
}

#[tokio::test]
async fn a_client_that_vanishes_during_a_request_leaves_nothing() {
    let _alone = alone().await;
    let (_, served) = served();
    let whole = chat("half", "work", false);
    for round in 0..2 {
        let before = live();
        for number in 0..CLIENTS {
            let mut stream = served.connect().await;
            stream.write_all(&whole[..whole.len() * number / CLIENTS]).await.unwrap();
        }
        served.rests().await;
        let left = live().saturating_sub(before) / CLIENTS;
        assert!(round == 0 || left < LEFT, "{left} bytes are left of each");
    }
}

#[tokio::test]
async fn a_detached_run_continues_and_then_frees_everything() {
    let _alone = alone().await;
    let (world, served) = served();
    let before = live();
    drop(at_work(&served, &world, CLIENTS, true).await);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(World::count(&world.dropped), 0, "nobody cancelled them");
    assert!(served.tasks() >= CLIENTS, "{} tasks", served.tasks());
    world.go.add_permits(CLIENTS);
    until("all have ended", || World::count(&world.ended) == CLIENTS).await;
    served.rests().await;
    assert_eq!(World::count(&world.dropped), 0);
    let left = live().saturating_sub(before) / CLIENTS;
    assert!(left < 12 * LEFT, "{left} bytes are left of each");
}

#[tokio::test]
async fn a_client_that_returns_reads_the_whole_answer() {
    let _alone = alone().await;
    let (world, served) = served();
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
        world.go.add_permits(1);
        again.read_to_end(&mut text).await.unwrap();
        let text = String::from_utf8(text).unwrap();
        for part in [first, "so ", "worked", last] {
            assert_eq!(text.matches(part).count(), if part == "so " { 2 } else { 1 }, "{part} in {text}");
        }
        served.rests().await;
        let over = whole(served.connect().await, get).await.unwrap();
        assert!(over.starts_with("HTTP/1.1 204"), "{over}");
    }
}
