//! Starts processes until a run has ended, and kills some of them.

use std::{
    collections::VecDeque,
    env, fs,
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{Command, Stdio},
    sync::Mutex,
    thread,
};

use tool_runtime::{
    run::{Phase, Run, RunId},
    store::{Record, Store as _},
};
use tool_stores::SqliteStore;

use tool_test_kit::stores::File;

use crate::kills::{check, child, effects::SCRIPTS};

/// The maximum number of processes for one run.
const MAX_PROCESSES: usize = 60;
/// The number of cases in parallel. A process mostly waits: for the disk, or for the end of a lease.
const SIDE_BY_SIDE: usize = 3;

/// A run whose processes are killed.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) script: usize,
    pub(crate) person: usize,
    pub(crate) kills: Vec<Kill>,
}

/// The moment of a process's death.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kill {
    /// At the point with this number since the last death.
    Point(u64),
    /// This number of microseconds after the start.
    Micros(u64),
}

/// The counts of a case.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    /// The number of processes that died.
    pub(crate) kills: usize,
    /// The number of points since the last death.
    pub(crate) points: u64,
}

/// Plays the cases in parallel. Returns the number of processes that died.
pub(crate) fn play_all(cases: impl IntoIterator<Item = Case>) -> usize {
    let cases: Mutex<VecDeque<Case>> = Mutex::new(cases.into_iter().collect());
    let next = || cases.lock().unwrap().pop_front();
    let work = || std::iter::from_fn(&next).map(|case| play(&case).kills).sum::<usize>();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..SIDE_BY_SIDE).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().expect("a case failed; see above")).sum()
    })
}

/// Plays a case to its end, and checks the result.
pub(crate) fn play(case: &Case) -> Count {
    let file = File::new();
    let path = file.path();
    let dir = path.parent().unwrap();
    let mut kills: VecDeque<Kill> = case.kills.iter().copied().collect();
    let (mut count, mut log) = (Count::default(), Vec::new());
    for _ in 0..MAX_PROCESSES {
        let mut command = process("drive_part", dir, case.script);
        command.env(child::PERSON, case.person.to_string());
        match kills.front() {
            Some(Kill::Point(point)) => drop(command.env(child::POINT, (point - count.points).to_string())),
            Some(Kill::Micros(micros)) => drop(command.env(child::MICROS, micros.to_string())),
            None => {}
        }
        let status = command.status().unwrap();
        if status.signal() == Some(9) {
            assert!(kills.pop_front().is_some(), "{case:?}: a process died without a planned kill");
            count = Count { kills: count.kills + 1, points: 0 };
        } else {
            let errors = fs::read_to_string(dir.join("errors")).unwrap_or_default();
            assert!(status.success(), "{case:?}: {status}\n{errors}");
            count.points += fs::read_to_string(dir.join("passed")).unwrap().parse::<u64>().unwrap();
            kills.pop_front_if(|kill| matches!(kill, Kill::Micros(_)));
        }
        let (after, run) = load(dir);
        assert!(after.starts_with(&log), "{case:?}: entries were lost: {log:#?}\n{after:#?}");
        log = after;
        if let Some(run) = run.filter(|run| run.phase() == Phase::Finished) {
            check::check(case, &run, &log, dir);
            return count;
        }
    }
    panic!("{case:?}: the run does not end: {log:#?}");
}

/// Starts this program again, as one of the processes of a run.
pub(crate) fn process(test: &str, dir: &Path, script: usize) -> Command {
    assert!(script < SCRIPTS.len());
    let errors = fs::File::create(dir.join("errors")).unwrap();
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args([&format!("kills::child::{test}"), "--exact", "--ignored", "--nocapture"])
        .env(child::DIR, dir)
        .env(child::SCRIPT, script.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors);
    command
}

/// Returns the log in the file, and the run, if there is one.
fn load(dir: &Path) -> (Vec<Record>, Option<Run>) {
    let Ok(id) = fs::read_to_string(dir.join("run")) else { return (Vec::new(), None) };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let store = SqliteStore::open(dir.join("runs.db")).unwrap();
    let id = RunId::from(id);
    runtime.block_on(async {
        match store.load(&id).await.unwrap() {
            None => (Vec::new(), None),
            Some(stored) => (store.read(&id, 0).await.unwrap(), Some(stored.rebuild().unwrap())),
        }
    })
}
