//! What only files of SQLite have: other processes.

use std::{env, process::Command};

use tool_runtime::store::{Durability, SqliteOptions, SqliteStore, Store as _, StoreError};

use crate::{
    made::{append, create, id},
    place::File,
};

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
    // Nobody made the file yet: they all do.
    let processes: Vec<_> = (0..PROCESSES).map(|_| start()).collect();
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    let store = SqliteStore::open(file.path()).unwrap();
    let records = store.read(&id("r"), 0).await.unwrap();
    assert_eq!(records.len(), PROCESSES * APPENDS);
    assert!(records.iter().zip(0..).all(|(record, rev)| record.rev == rev));
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
async fn what_was_added_is_there_after_a_restart() {
    for durability in [Durability::Process, Durability::Machine] {
        let file = File::new();
        let options = SqliteOptions::new().durability(durability);
        create(&options.open(file.path()).unwrap(), "r").await;
        let records = options.open(file.path()).unwrap().read(&id("r"), 0).await.unwrap();
        assert_eq!(records.len(), 1);
    }
}

#[tokio::test]
async fn a_locked_file_is_told_in_words() {
    let file = File::new();
    let options = SqliteOptions::new().patience(std::time::Duration::from_millis(50));
    let store = options.open(file.path()).unwrap();
    create(&store, "r").await;
    let other = rusqlite::Connection::open(file.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let text = store.append(&id("r"), append(1, "x")).await.unwrap_err().to_string();
    assert!(text.contains("locked"), "{text}");
    assert_eq!(store.read(&id("r"), 0).await.unwrap().len(), 1, "reading goes on");
    other.execute_batch("ROLLBACK").unwrap();
    store.append(&id("r"), append(1, "x")).await.unwrap();
}
