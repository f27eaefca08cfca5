//! Tests of connections that wait, and of pages that are loaded again and again. With `WHOLE=1`, there are ten times as many.

use std::{
    env,
    fmt::Write as _,
    io::{BufRead, BufReader, Lines, Read, Write as _},
    net::SocketAddr,
    process::{Child, ChildStdout, Command, Stdio},
    time::Duration,
};

use tokio::{net::TcpStream, task::JoinSet, time::Instant};
use tool_server::Server;

use crate::load::{
    kit::{Served, begin, chat, connect, contains, live_bytes, raise_limit, read_whole, run, wait_until},
    model::{SharedState, agent},
};
use crate::process_locks::alone;

/// The numbers of connections and of pages, and of loads of each page.
const CONNECTIONS: usize = 1000;
const PAGES: usize = 100;
const LOADS: usize = 6;

/// The number of chats whose answers the connections read.
const CHATS: usize = 50;

/// The maximum memory of a connection: hyper's buffers, and the task.
const EACH: usize = 24 * 1024;

/// The variable with the address of the server, for [`clients`].
const ADDRESS: &str = "LOAD_ADDRESS";

fn times() -> usize {
    if env::var_os("WHOLE").is_some() { 10 } else { 1 }
}

fn request(method: &str, path: &str) -> Vec<u8> {
    format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").into_bytes()
}

/// Begins answers in chats of both protocols. Their tools work until [`end_answers`].
async fn begin_answers(served: &Served, shared: &SharedState, count: usize) {
    for number in 0..count {
        let mut stream = served.connect().await;
        let name = format!("c{number}");
        let (request, part) = if number % 2 == 0 {
            (chat(&name, "work", true), "tool-input-available")
        } else {
            (run(&name, "work", true), "TOOL_CALL_END")
        };
        begin(&mut stream, &request, part).await.unwrap();
    }
    wait_until("all tools are at work", || SharedState::count(&shared.begun) == count).await;
}

/// Ends the answers, and waits until their tasks have ended. The server keeps answers that pages have loaded for half a minute.
async fn end_answers(served: &Served, shared: &SharedState, count: usize) {
    shared.go.add_permits(count);
    wait_until("all tools have ended", || SharedState::count(&shared.ended) == count).await;
    let end = Instant::now() + Duration::from_mins(2);
    while served.tasks() > 0 {
        assert!(Instant::now() < end, "{} tasks are left", served.tasks());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn connections_that_wait_cost_little_and_leave_nothing() {
    let _alone = alone().await;
    let connections = CONNECTIONS * times();
    let shared = SharedState::new(1);
    let served = Served::stateless(Server::new(agent(&shared)).keep_alive(Duration::from_mins(10)));
    let start = live_bytes();
    begin_answers(&served, &shared, CHATS).await;
    let (before, began) = (live_bytes(), Instant::now());
    let mut clients = Clients::start(served.address);
    let each = live_bytes().saturating_sub(before) / connections;
    println!("{connections} connections wait, opened in {:.1?}, with {each} bytes each", began.elapsed());
    assert!(each < EACH, "each connection costs {each} bytes");
    assert!(served.tasks() >= connections, "{} tasks", served.tasks());
    // Half of them leave; the others read to the end.
    clients.next();
    wait_until("half of them are gone", || served.tasks() < connections / 2 + 4 * CHATS).await;
    end_answers(&served, &shared, CHATS).await;
    clients.next();
    clients.end();
    served.wait_until_idle().await;
    let left = live_bytes().saturating_sub(start) / connections;
    println!("{connections} connections waited; {left} bytes of each are left, and no task");
    assert!(left < 1024, "{left} bytes are left of each connection");
}

/// The process of the clients. A process has too few open files for both ends of so many connections.
struct Clients(Child, Lines<BufReader<ChildStdout>>);

impl Clients {
    fn start(address: SocketAddr) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command
            .args(["--exact", "load::connections::clients", "--ignored", "--nocapture"])
            .env(ADDRESS, address.to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut clients = Self(child, lines);
        clients.wait();
        clients
    }

    /// Lets the clients perform their next step, and waits for it.
    fn next(&mut self) {
        self.0.stdin.as_mut().unwrap().write_all(b"next\n").unwrap();
        self.wait();
    }

    fn wait(&mut self) {
        assert!(self.1.any(|line| line.unwrap() == "ready"), "the clients have failed");
    }

    fn end(mut self) {
        drop(self.0.stdin.take());
        self.1.for_each(drop);
        assert!(self.0.wait().unwrap().success());
    }
}

#[test]
#[ignore = "the clients of another test, which starts them in a process of their own"]
fn clients() {
    raise_limit();
    let address: SocketAddr = env::var(ADDRESS).expect("another test starts this").parse().unwrap();
    let connections = CONNECTIONS * times();
    let mut waiting = Vec::new();
    for number in 0..connections {
        let (kind, part) = if number % 2 == 0 { ("api/chat", "input-available") } else { ("agent", "TOOL_CALL_END") };
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.write_all(&request("GET", &format!("/{kind}/c{}/stream", number % CHATS))).unwrap();
        let (mut got, mut buffer) = (Vec::new(), [0; 4096]);
        while !contains(&got, part) {
            let read = stream.read(&mut buffer).unwrap();
            assert!(read > 0, "{}", String::from_utf8_lossy(&got));
            got.extend_from_slice(&buffer[..read]);
        }
        waiting.push(stream);
    }
    let mut commands = std::io::stdin().lines();
    let mut next = || {
        println!("\nready");
        commands.next().transpose().unwrap()
    };
    next();
    waiting.truncate(connections / 2);
    next();
    for mut stream in waiting {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        assert!(contains(&rest, "[DONE]") || contains(&rest, "RUN_FINISHED"), "{}", String::from_utf8_lossy(&rest));
    }
    next();
}

#[tokio::test]
async fn pages_that_are_loaded_again_and_again_leave_nothing() {
    let _alone = alone().await;
    let pages = PAGES * times();
    let shared = SharedState::new(1);
    let served = Served::start(Server::new(agent(&shared)).keep_alive(Duration::from_mins(10)));
    let start = live_bytes();
    begin_answers(&served, &shared, pages).await;
    let began = Instant::now();
    let mut sizes = String::new();
    let (mut loads, mut first) = (0, 0);
    for round in 0..LOADS {
        let mut all = JoinSet::new();
        for number in 0..pages {
            let connections = [served.connect().await, served.connect().await];
            all.spawn(load(connections, number));
        }
        while let Some(done) = all.join_next().await {
            done.unwrap();
            loads += 1;
        }
        let size = || live_bytes().saturating_sub(start);
        if round == 0 {
            wait_until("the pages have left", || served.tasks() <= 4 * pages).await;
            first = size();
        }
        // The server keeps the memory of a first load for half a minute. A later load adds nothing, once its connections have
        // closed.
        write!(sizes, " {}", size() / 1024).unwrap();
        wait_until(&format!("a load leaves nothing; KiB after each load:{sizes}"), || size() < first + pages * 4096)
            .await;
    }
    println!("{pages} pages, loaded {loads} times in {:.1?}; KiB after each load:{sizes}", began.elapsed());
    end_answers(&served, &shared, pages).await;
    for number in 0..pages {
        let deleted =
            read_whole(served.connect().await, request("DELETE", &format!("/api/chat/c{number}"))).await.unwrap();
        assert!(deleted.starts_with("HTTP/1.1 204"), "{deleted}");
    }
    served.wait_until_idle().await;
    let left = live_bytes().saturating_sub(start) / pages;
    println!("{pages} pages were loaded {loads} times; {left} bytes of each are left, and no task");
    assert!(left < 4096, "{left} bytes are left of each page");
}

/// Loads a page: its messages, and the answer in progress. The page is closed before the answer ends.
async fn load([messages, mut answer]: [TcpStream; 2], number: usize) {
    if number.is_multiple_of(2) {
        let path = format!("/api/chat/c{number}");
        let text = read_whole(messages, request("GET", &path)).await.unwrap();
        assert!(text.starts_with("HTTP/1.1 200") && text.contains("\"m1\""), "{text}");
        begin(&mut answer, &request("GET", &format!("{path}/stream")), "tool-input-available").await.unwrap();
    } else {
        let got = begin(&mut answer, &connect(&format!("c{number}")), "TOOL_CALL_END").await.unwrap();
        assert!(contains(&got, "MESSAGES_SNAPSHOT"));
    }
}
