//! One process of a run: it decides open interrupts and drives the run, until it dies or ends.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tool_runtime::{
    Agent, AgentError,
    agent::Session,
    run::Phase,
    store::{Store, StoreError},
};
use tool_stores::{PostgresOptions, SqliteStore};

use crate::kills::{
    effects::{Effects, Person, SCRIPTS, agent},
    point,
};

pub(crate) const DIR: &str = "TOOL_TEST_KILLS_DIR";
pub(crate) const SCRIPT: &str = "TOOL_TEST_KILLS_SCRIPT";
pub(crate) const PERSON: &str = "TOOL_TEST_KILLS_PERSON";
pub(crate) const POINT: &str = "TOOL_TEST_KILLS_POINT";
/// Set if the process stops at its point (SIGSTOP), and does not die.
pub(crate) const PAUSE: &str = "TOOL_TEST_KILLS_PAUSE";
/// The file that lets a stopped process go beyond its point.
pub(crate) const CONTINUE: &str = "continue";
pub(crate) const MICROS: &str = "TOOL_TEST_KILLS_MICROS";
/// The variable for a schema in PostgreSQL, in place of a file.
pub(crate) const SCHEMA: &str = "TOOL_TEST_KILLS_SCHEMA";

pub(crate) fn people() -> [Person; 3] {
    [Person::Careful, Person::Picky, Person::Lazy]
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().unwrap())
}

fn index(name: &str) -> usize {
    usize::try_from(number(name).unwrap()).unwrap()
}

async fn open_store(dir: &Path) -> Arc<dyn Store> {
    match env::var(SCHEMA) {
        Ok(schema) => {
            let options = PostgresOptions::new().schema(schema).max_connections(2);
            Arc::new(options.connect(&env::var("DATABASE_URL").unwrap()).await.unwrap())
        }
        Err(_) => Arc::new(SqliteStore::open(dir.join("runs.db")).unwrap()),
    }
}

/// The maximum duration of a process.
const MAX_TIME: Duration = Duration::from_mins(1);

/// Decides open interrupts, and drives the run until it ends or is suspended.
#[tokio::test]
#[ignore = "started by the tests beside it"]
async fn drive_part() {
    let dir = start_watchdog();
    let point = number(POINT).unwrap_or_default();
    if env::var_os(PAUSE).is_some() {
        point::stop_at(point, dir.join(CONTINUE));
    } else {
        point::die_at(point);
    }
    if let Some(micros) = number(MICROS) {
        point::die_after(Duration::from_micros(micros));
    }
    let agent = agent(open_store(&dir).await, &dir, SCRIPTS[index(SCRIPT)]);
    let session = open_or_create(&agent, &dir).await;
    if session.run().phase() == Phase::Suspended {
        decide(&agent, &session, &dir).await;
    }
    if session.run().phase() != Phase::Finished {
        drive(session).await;
    }
    fs::write(dir.join("passed"), point::passed().to_string()).unwrap();
}

/// Resumes the run as soon as possible, until it has ended. Several such processes compete.
#[tokio::test]
#[ignore = "started by the tests beside it"]
async fn compete() {
    let dir = start_watchdog();
    // No process dies here, so a slow process on a busy machine must keep its lease.
    let agent = agent(open_store(&dir).await, &dir, SCRIPTS[index(SCRIPT)]).lease_time(MAX_TIME / 3);
    fs::write(dir.join(format!("ready-{}", std::process::id())), "").unwrap();
    while !dir.join("go").exists() {
        std::thread::yield_now();
    }
    drive(open_or_create(&agent, &dir).await).await;
}

/// Ends this process if it hangs. Returns the folder of the run.
fn start_watchdog() -> PathBuf {
    std::thread::spawn(|| {
        std::thread::sleep(MAX_TIME);
        eprintln!("a process hangs");
        std::process::exit(3);
    });
    PathBuf::from(env::var_os(DIR).unwrap())
}

/// Returns the run of this folder, or a new one if the store does not have it.
async fn open_or_create(agent: &Agent, dir: &Path) -> Session {
    let path = dir.join("run");
    if let Ok(id) = fs::read_to_string(&path) {
        match agent.open(&id.into()).await {
            Ok(session) => return session,
            Err(AgentError::Store(StoreError::NotFound)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    let session = agent.session();
    let new = dir.join("run.new");
    fs::write(&new, session.id().as_str()).unwrap();
    fs::rename(new, path).unwrap();
    session
}

async fn drive(mut session: Session) {
    loop {
        let is_new = session.run().phase() == Phase::Idle;
        let driven = if is_new { session.send("go").await } else { session.resume().await };
        match driven {
            Ok(_) => return,
            // The holder of the lease is dead, or another process works on the run.
            Err(AgentError::Store(StoreError::Leased { .. })) => tokio::time::sleep(Duration::from_millis(5)).await,
            Err(error) => panic!("{error}"),
        }
    }
}

async fn decide(agent: &Agent, session: &Session, dir: &Path) {
    let (person, effects) = (people()[index(PERSON)], Effects::of(dir));
    for open in session.interrupts() {
        agent.decide(session.id(), &open.id, person.decide(open, &effects), "").await.unwrap();
    }
}
