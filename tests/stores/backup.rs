//! The commands of docs/backup.md: a backup of a store in use, and its restoration.

use std::{fs, path::Path, process::Command};

use tool_runtime::{
    Agent,
    model::{ScriptedModel, Turn},
    store::Store,
};
use tool_stores::SqliteStore;
use tool_test_kit::stores::{File, Schema};

const PAGE: &str = include_str!("../../docs/backup.md");

/// Returns the command of the page that begins with `beginning`.
fn command(beginning: &str) -> &'static str {
    PAGE.split('`').find(|text| text.starts_with(beginning)).unwrap_or_else(|| panic!("no command `{beginning}`"))
}

/// Runs a command of the page in the folder `dir`, with the names of a test.
fn run(command: &str, dir: &Path, schema: Option<&Schema>) {
    let command = schema.map_or(command.to_owned(), |schema| command.replace("tool_runtime", &schema.name));
    let url = schema.map_or(String::new(), |schema| schema.url.clone());
    let ran = Command::new("bash").args(["-c", &command]).current_dir(dir).env("DATABASE_URL", url).output().unwrap();
    assert!(ran.status.success(), "{command}: {}", String::from_utf8_lossy(&ran.stderr));
}

fn agent(store: impl Store + 'static) -> Agent {
    Agent::new(ScriptedModel::new([Turn::say("Noted."), Turn::say("Noted.")])).store(store)
}

/// Sends a message in the run of these tests.
async fn send(agent: &Agent, text: &str) {
    let id = "r".into();
    let mut session = match agent.open(&id).await {
        Ok(session) => session,
        Err(_) => agent.session_with_id("r", Vec::new()),
    };
    session.send(text).await.unwrap();
}

/// Checks that the run has the message from before the backup, and goes on.
async fn check(agent: &Agent) {
    let session = agent.open(&"r".into()).await.unwrap();
    let text = format!("{:?}", session.messages());
    assert!(text.contains("before the backup") && !text.contains("after the backup"), "{text}");
    drop(session);
    send(agent, "restored").await;
    assert_eq!(agent.open(&"r".into()).await.unwrap().messages().len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_of_an_sqlite_file_is_restored() {
    if Command::new("sqlite3").arg("--version").output().is_err() {
        println!("left out: the program sqlite3 is not installed");
        return;
    }
    let file = File::new();
    let (runs, dir) = (file.path(), file.path().parent().unwrap().to_owned());
    {
        let agent = agent(SqliteStore::open(&runs).unwrap());
        send(&agent, "before the backup").await;
        run(command("sqlite3 runs.db"), &dir, None);
        send(&agent, "after the backup").await;
    }
    for name in ["runs.db", "runs.db-wal", "runs.db-shm"] {
        let _ = fs::remove_file(dir.join(name));
    }
    fs::rename(dir.join("copy.db"), &runs).unwrap();
    check(&agent(SqliteStore::open(&runs).unwrap())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dump_of_postgresql_is_restored() {
    let (schema, file) = (Schema::new(), File::new());
    let dir = file.path().parent().unwrap().to_owned();
    {
        let agent = agent(schema.open().await);
        send(&agent, "before the backup").await;
        run(command("pg_dump"), &dir, Some(&schema));
        send(&agent, "after the backup").await;
    }
    run(command("psql"), &dir, Some(&schema));
    run(command("pg_restore"), &dir, Some(&schema));
    check(&agent(schema.open().await)).await;
    schema.remove().await;
}
