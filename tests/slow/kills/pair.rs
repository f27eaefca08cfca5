//! Tests of guarantee S13 with real processes: several resume a run at the same moment, with each store that processes can share.

use std::{
    fs,
    path::Path,
    process::Child,
    sync::Arc,
    time::{Duration, Instant},
};

use tool_runtime::{run::Phase, store::Store};
use tool_stores::SqliteStore;

use tool_test_kit::stores::{File, Schema};

use crate::kills::{
    check, child,
    effects::{Effects, Person, SCRIPTS, agent},
    parent::{Case, process},
};
use crate::process_locks::beside_others;

const ROUNDS: usize = 8;
const WORKERS: usize = 3;
const SCRIPT: usize = 1;

#[tokio::test]
async fn s13_processes_that_resume_one_run_give_one_effect_over_sqlite() {
    let _turn = beside_others().await;
    for _ in 0..ROUNDS {
        let file = File::new();
        let store = Arc::new(SqliteStore::open(file.path()).unwrap());
        race(store, file.path().parent().unwrap(), None).await;
    }
}

#[tokio::test]
async fn s13_processes_that_resume_one_run_give_one_effect_over_postgresql() {
    let _turn = beside_others().await;
    let schema = Schema::new();
    for _ in 0..ROUNDS {
        let file = File::new();
        race(Arc::new(schema.open().await), file.path().parent().unwrap(), Some(&schema.name)).await;
    }
    schema.remove().await;
}

/// Approves a run, and lets all processes continue it.
async fn race(store: Arc<dyn Store>, dir: &Path, schema: Option<&str>) {
    let (effects, agent) = (Effects::of(dir), agent(Arc::clone(&store), dir, SCRIPTS[SCRIPT]));
    let mut session = agent.session();
    fs::write(dir.join("run"), session.id().as_str()).unwrap();
    session.send("go").await.unwrap();
    let id = session.id().clone();
    loop {
        let session = agent.open(&id).await.unwrap();
        if session.run().phase() == Phase::Finished {
            break;
        }
        for open in session.interrupts() {
            agent.decide(&id, &open.id, Person::Careful.decide(open, &effects), "").await.unwrap();
        }
        let mut workers: Vec<Child> = (0..WORKERS).map(|_| start_worker(dir, schema)).collect();
        wait_until_ready(dir);
        fs::write(dir.join("go"), "").unwrap();
        for worker in &mut workers {
            let status = worker.wait().unwrap();
            assert!(status.success(), "{status}: {}", fs::read_to_string(dir.join("errors")).unwrap());
        }
        fs::remove_file(dir.join("go")).unwrap();
    }
    // No process died, so everything that must run at most once ran once.
    let case = Case { script: SCRIPT, person: 0, kills: Vec::new() };
    let run = store.load(&id).await.unwrap().unwrap().rebuild().unwrap();
    check::check(&case, &run, &store.read(&id, 0).await.unwrap(), dir);
    let effects = effects.all();
    for (name, times) in [("pay", 3), ("add", 1), ("ask", 1)] {
        assert_eq!(effects.iter().filter(|effect| effect.starts_with(name)).count(), times, "{effects:?}");
    }
}

fn start_worker(dir: &Path, schema: Option<&str>) -> Child {
    let mut command = process("compete", dir, SCRIPT);
    if let Some(schema) = schema {
        command.env(child::SCHEMA, schema);
    }
    command.spawn().unwrap()
}

/// Waits until all processes are ready.
fn wait_until_ready(dir: &Path) {
    let begun = Instant::now();
    let is_ready = |name: &str| name.starts_with("ready-");
    loop {
        let files = || fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
        let all: Vec<_> = files().filter(|file| is_ready(&file.file_name().to_string_lossy())).collect();
        if all.len() == WORKERS {
            for file in all {
                fs::remove_file(file.path()).unwrap();
            }
            return;
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "only {} of {WORKERS} processes are ready", all.len());
        std::thread::sleep(Duration::from_millis(1));
    }
}
