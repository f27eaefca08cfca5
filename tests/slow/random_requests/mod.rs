//! Tests that send randomly changed requests of frontends to the real routes. The server does not panic, fail internally, hang or
//! run a call without permission, and it stays usable.
//!
//! `FUZZ_SECONDS=60 cargo test -p tool-tests --test slow random_requests` runs for a minute;`FUZZ_SEED` repeats a run.
//! `corpus/` has good requests, and those that once broke the server.

mod server;

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::process_locks::alone_blocking;
use server::{Kind, TestServer};
use tool_test_kit::mutate::{self, Random};

/// The number of requests after which a new server takes over, so that chats do not accumulate.
const TURNS: usize = 400;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("slow/random_requests/corpus")
}

fn corpus() -> Vec<(String, String)> {
    let entries = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = entries
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(&path).unwrap()))
        .collect();
    all.sort();
    all
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn no_request_runs_a_call_without_permission() {
    let _turn = alone_blocking();
    let corpus = corpus();
    assert!(corpus.len() >= 12, "the corpus is incomplete");
    let seconds = variable("FUZZ_SECONDS").unwrap_or(3);
    let clock = || std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(1, |time| u64::from(time.subsec_nanos()) | 1);
    let seed = variable("FUZZ_SEED").unwrap_or_else(clock);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    server::count_panics();
    runtime.block_on(async {
        let mut server = TestServer::new(false);
        for (name, text) in &corpus {
            let response = server.send(Kind::of(name), text, false).await;
            assert!(response.is_ok(), "{name}: {response:?}");
        }
        let mut random = Random::new(seed);
        let (end, mut count, mut accepted) = (Instant::now() + Duration::from_secs(seconds), 0, 0);
        while Instant::now() < end {
            let (name, text) = &corpus[random.below(corpus.len())];
            let changed = mutate::change(text, &corpus, &mut random);
            match server.send(Kind::of(name), &changed, random.below(2) == 0).await {
                Ok(status) => accepted += usize::from(status == 200),
                Err(wrong) => {
                    let kind = name.split('-').next().unwrap_or_default();
                    let path = folder().join(format!("{kind}-broken-{seed}.json"));
                    fs::write(&path, &changed).unwrap();
                    panic!("{wrong}: broken by {}", path.display());
                }
            }
            count += 1;
            if count % TURNS == 0 {
                server.assert_works().await;
                server = TestServer::new(count / TURNS % 2 == 1);
            }
        }
        server.assert_works().await;
        println!("{count} requests in {seconds} s, {accepted} of them accepted, seed {seed}");
        assert!(count > 50 && accepted > count / 20, "{accepted} of {count} requests were accepted");
    });
}
