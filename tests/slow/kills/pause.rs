//! Tests of processes that are stopped (SIGSTOP) beyond their lease, and go on after others have ended the run.

use std::{
    fs,
    path::Path,
    process::Child,
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use tool_runtime::{
    run::{Phase, RunId},
    store::{Record, Store},
};
use tool_test_kit::stores::{File, Schema};

use crate::kills::{child, parent::process};
use crate::process_locks::beside_others;

/// The maximum number of processes that end a run.
const MAX_PROCESSES: usize = 60;

/// A database server keeps no lock for a stopped process, as a file does.
#[tokio::test]
async fn a_process_that_was_stopped_beyond_its_lease_stores_nothing() {
    let _turn = beside_others().await;
    let schema = Schema::new();
    let store: Arc<dyn Store> = Arc::new(schema.open().await);
    let mut stops = 0;
    for script in [0, 3] {
        for point in (1..).step_by(7) {
            let file = File::new();
            let dir = file.path().parent().unwrap().to_owned();
            let mut first = start(&dir, script, &schema, Some(point));
            if !stops_before_its_end(&mut first) {
                break;
            }
            stops += 1;
            let (id, log) = end_run(&dir, script, &schema, &store).await;
            fs::write(dir.join(child::CONTINUE), "").unwrap();
            kill_process(Pid::from_child(&first), Signal::CONT).unwrap();
            // It may fail, because the run is another's.
            first.wait().unwrap();
            assert_eq!(store.read(&id, 0).await.unwrap(), log, "script {script}, point {point}");
        }
    }
    assert!(stops > 5, "{stops}");
    schema.remove().await;
}

/// Starts a process that drives the run, and stops at the point with this number.
fn start(dir: &Path, script: usize, schema: &Schema, point: Option<u64>) -> Child {
    let mut command = process("drive_part", dir, script);
    command.env(child::SCHEMA, &schema.name).env(child::PERSON, "0");
    if let Some(point) = point {
        command.env(child::POINT, point.to_string()).env(child::PAUSE, "1");
    }
    command.spawn().unwrap()
}

/// Waits until the process is stopped or has ended. Returns whether it is stopped.
fn stops_before_its_end(process: &mut Child) -> bool {
    let begun = Instant::now();
    loop {
        let stat = fs::read_to_string(format!("/proc/{}/stat", process.id())).unwrap_or_default();
        if stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')) {
            return true;
        }
        if process.try_wait().unwrap().is_some() {
            return false;
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "the process neither stops nor ends");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Starts processes until the run has ended. Returns its id and its log.
async fn end_run(dir: &Path, script: usize, schema: &Schema, store: &Arc<dyn Store>) -> (RunId, Vec<Record>) {
    for _ in 0..MAX_PROCESSES {
        let status = start(dir, script, schema, None).wait().unwrap();
        assert!(status.success(), "{status}: {}", fs::read_to_string(dir.join("errors")).unwrap());
        let id = RunId::from(fs::read_to_string(dir.join("run")).unwrap());
        let run = store.load(&id).await.unwrap().unwrap().rebuild().unwrap();
        if run.phase() == Phase::Finished {
            let log = store.read(&id, 0).await.unwrap();
            return (id, log);
        }
    }
    panic!("the run does not end");
}
