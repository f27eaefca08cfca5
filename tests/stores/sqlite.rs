//! Tests of SQLite files only, which other processes can change and lock.

use std::{env, future::poll_fn, pin::pin, process::Command, task::Poll, time::Duration};

use tool_runtime::{
    run::Timestamp,
    store::{Store as _, StoreError},
};
use tool_stores::{Durability, SqliteOptions, SqliteStore};

use tool_test_kit::AllAndSome as _;
use tool_test_kit::stores::File;

use crate::sample_appends::{append, create, error_kind, id};

const PATH: &str = "TOOL_TEST_SQLITE";
const PROCESSES: usize = 4;
const APPENDS: usize = 50;

#[tokio::test]
async fn several_processes_add_to_one_run() {
    let file = File::new();
    let start = || {
        Command::new(env::current_exe().unwrap())
            .args(["sqlite::process", "--exact", "--ignored"])
            .env(PATH, file.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    // The file does not exist yet, and all processes create it.
    let processes: Vec<_> = (0..PROCESSES).map(|_| start()).collect();
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    let store = SqliteStore::open(file.path()).unwrap();
    let records = store.read(&id("r"), 0).await.unwrap();
    assert_eq!(records.len(), PROCESSES * APPENDS);
    assert!(records.iter().zip(0..).all_and_some(|(record, rev)| record.rev == rev));
}

#[tokio::test]
#[ignore = "started by several_processes_add_to_one_run"]
async fn process() {
    let store = SqliteStore::open(env::var_os(PATH).unwrap()).unwrap();
    let mut rev = 0;
    for _ in 0..APPENDS {
        loop {
            match store.append(&id("r"), append(rev, "x")).await {
                Ok(()) => break,
                Err(StoreError::Conflict) => rev = store.read(&id("r"), 0).await.unwrap().len() as u64,
                Err(other) => panic!("{other}"),
            }
        }
        rev += 1;
    }
}

#[tokio::test]
async fn appends_survive_a_restart() {
    for durability in [Durability::Process, Durability::Machine] {
        let file = File::new();
        let options = SqliteOptions::new().durability(durability);
        create(&options.open(file.path()).unwrap(), "r").await;
        let records = options.open(file.path()).unwrap().read(&id("r"), 0).await.unwrap();
        assert_eq!(records.len(), 1);
    }
}

#[tokio::test]
async fn a_locked_file_is_explained() {
    let file = File::new();
    // A time beyond what SQLite counts is the longest one.
    create(&SqliteOptions::new().busy_timeout(Duration::MAX).open(file.path()).unwrap(), "r").await;
    let store = SqliteOptions::new().busy_timeout(Duration::from_millis(50)).open(file.path()).unwrap();
    let other = rusqlite::Connection::open(file.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let text = store.append(&id("r"), append(1, "x")).await.unwrap_err().to_string();
    assert!(text.contains("locked"), "{text}");
    assert_eq!(store.read(&id("r"), 0).await.unwrap().len(), 1, "a locked file can be read");
    other.execute_batch("ROLLBACK").unwrap();
    store.append(&id("r"), append(1, "x")).await.unwrap();
}

/// Makes two appends. Later short ones run on the calling thread.
async fn append_two(store: &SqliteStore) {
    create(store, "r").await;
    store.append(&id("r"), append(1, "second")).await.unwrap();
}

#[tokio::test]
async fn waiting_for_another_process_delays_no_other_operation() {
    let file = File::new();
    let store = SqliteStore::open(file.path()).unwrap();
    append_two(&store).await;
    let other = rusqlite::Connection::open(file.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let run = id("r");
    // There is one thread. If the append waited on it, the other transaction could not end.
    let unlock = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        other.execute_batch("ROLLBACK").unwrap();
    };
    let (done, ()) = tokio::join!(store.append(&run, append(2, "third")), unlock);
    done.unwrap();
}

#[tokio::test]
async fn a_dropped_append_comes_before_the_next() {
    let file = File::new();
    let store = SqliteStore::open(file.path()).unwrap();
    append_two(&store).await;
    let other = rusqlite::Connection::open(file.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let run = id("r");
    {
        let mut left = pin!(store.append(&run, append(2, "left alone")));
        poll_fn(|cx| {
            assert!(left.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
    }
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(error_kind(store.append(&run, append(2, "third")).await), "conflict");
    assert_eq!(store.read(&run, 2).await.unwrap()[0].text, "left alone");
}

#[tokio::test]
async fn the_write_ahead_log_does_not_grow_forever() {
    let file = File::new();
    let store = SqliteStore::open(file.path()).unwrap();
    create(&store, "r").await;
    let text = "x".repeat(8000);
    for rev in 1..3000 {
        store.append(&id("r"), append(rev, &text)).await.unwrap();
    }
    let log = std::fs::metadata(file.path().with_extension("db-wal")).unwrap().len();
    assert!(log < 12_000_000, "the log has {log} bytes, of more than 24 million that were written");
}

#[tokio::test]
async fn a_released_lease_keeps_the_time_at_which_the_run_is_due() {
    let file = File::new();
    let store = SqliteStore::open(file.path()).unwrap();
    let mut first = append(0, "first");
    first.head.is_active = true;
    store.append(&id("r"), first).await.unwrap();
    let lease = store.lease(&id("r"), "w", Timestamp(1), Duration::from_secs(1)).await.unwrap();
    let db = rusqlite::Connection::open(file.path()).unwrap();
    let stored_due = || db.query_row("SELECT due FROM runs", [], |row| row.get::<_, Option<i64>>(0)).unwrap();
    assert_eq!(stored_due(), Some(0));
    let mut second = append(1, "second");
    second.head.wake = Some(Timestamp(7000));
    store.append(&id("r"), second).await.unwrap();
    store.release(&id("r"), &lease).await.unwrap();
    assert_eq!(stored_due(), Some(7000));
    let mut third = append(2, "third");
    third.head.wake = Some(Timestamp(6000));
    store.append(&id("r"), third).await.unwrap();
    assert_eq!(stored_due(), Some(6000), "an earlier time replaces the later one");
}
