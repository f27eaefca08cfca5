//! The cost of storing a run: a step in SQLite against a bare insert of the same bytes, and late steps against early steps.
//! Also loading a run against decoding its messages. This measures wall time, because another thread does the work.

use std::{
    fs,
    hint::black_box,
    path::PathBuf,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::{Duration, Instant},
};

use rusqlite::Connection;
use tool_run::run::{LogEntry, LogInput, advance, record};
use tool_runtime::{
    Message,
    message::{AssistantPart, FinishReason, Part, Usage},
    run::{Principal, Prompt, Run, RunId, Timestamp},
    store::{Append, Store as _},
};
use tool_stores::SqliteStore;

use crate::report::Report;

/// Measures the store, and reports the targets.
pub(crate) fn measure(report: &mut Report) {
    let dir = Dir::new();
    if report.wants("store/checkpoint") {
        measure_checkpoint(report, &dir);
    }
    if report.wants("store/late-step") {
        measure_late_steps(report, &dir);
    }
    if report.wants("store/restore") {
        measure_restore(report, &dir);
    }
}

/// Measures a checkpoint: encoding the entries of a step and appending them, until the append returns. The floor inserts
/// the same text into a table of the same texts. The step ends a turn and finishes the run, which is the most work for the
/// store.
fn measure_checkpoint(report: &mut Report, dir: &Dir) {
    let store = SqliteStore::open(dir.file("checkpoint.db")).expect("the folder is ours");
    let bare = Connection::open(dir.file("bare.db")).expect("the folder is ours");
    let mode = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;";
    bare.execute_batch(&format!("{mode} CREATE TABLE records (at INTEGER PRIMARY KEY, text TEXT NOT NULL)"))
        .expect("the file is new");
    let mut insert = bare.prepare("INSERT INTO records (text) VALUES (?1)").expect("the table is there");
    let mut run = StoredRun::new(&store, "run");
    let (mut ours, mut floor, mut bytes) = (Vec::new(), Vec::new(), 0);
    for _ in 0..1500 {
        run.add_prompt();
        insert.execute([&run.last]).expect("there is room");
        ours.push(run.add_answer());
        bytes = run.last.len();
        floor.push(time(|| {
            insert.execute([&run.last]).expect("there is room");
        }));
    }
    let (ours, floor) = (median(&mut ours), median(&mut floor));
    let how = format!("p50 {ours:.1?} of encoding and appending {bytes} bytes, {floor:.1?} of a bare insert of them");
    report.at_most("store/checkpoint", ours.as_secs_f64() / floor.as_secs_f64(), 1.5, &how);
}

/// Measures steps 991 to 1000 of some runs, in turns with steps 6 to 15 of others.
fn measure_late_steps(report: &mut Report, dir: &Dir) {
    let store = SqliteStore::open(dir.file("late.db")).expect("the folder is ours");
    let long = |run: &mut StoredRun| (0..990).for_each(|_| run.add_turn());
    let (mut tenth, mut thousandth) = (Vec::new(), Vec::new());
    for number in 0..24 {
        let mut old = StoredRun::new(&store, &format!("old {number}"));
        long(&mut old);
        let mut young = StoredRun::new(&store, &format!("young {number}"));
        (0..5).for_each(|_| young.add_turn());
        // A third run comes after both, so that neither is at the end of SQLite's tree, where appends are faster.
        StoredRun::new(&store, &format!("last {number}")).add_turn();
        for _ in 0..10 {
            young.add_prompt();
            tenth.push(young.add_answer());
            old.add_prompt();
            thousandth.push(old.add_answer());
        }
    }
    let (late, early) = (median(&mut thousandth), median(&mut tenth));
    let how = format!("p50 {late:.1?} of steps 991 to 1000, {early:.1?} of steps 6 to 15");
    report.at_most("store/late-step", late.as_secs_f64() / early.as_secs_f64(), 1.2, &how);
}

/// Measures loading a run of 1002 messages from a snapshot and one later turn, against decoding its messages alone.
fn measure_restore(report: &mut Report, dir: &Dir) {
    let store = SqliteStore::open(dir.file("restore.db")).expect("the folder is ours");
    let mut kept = StoredRun::new(&store, "run");
    (0..500).for_each(|_| kept.add_turn());
    let id = kept.run.id().clone();
    wait(store.save_snapshot(&id, kept.run.rev(), kept.run.freeze())).expect("there is room");
    kept.add_turn();
    let messages = serde_json::to_string(kept.run.messages()).expect("messages have a JSON form");
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..60 {
        ours.push(time(|| {
            let stored = wait(store.load(&id)).expect("it works").expect("it is there");
            assert_eq!(stored.rebuild().expect("it is whole").messages().len(), 1002);
        }));
        floor.push(time(|| {
            let messages: Vec<Message> = serde_json::from_str(black_box(&messages)).expect("it is JSON");
            black_box(messages);
        }));
    }
    let (ours, floor) = (median(&mut ours), median(&mut floor));
    let size = messages.len() / 1000;
    let how = format!("p50 {ours:.1?} of 1002 messages ({size} KB), {floor:.1?} of decoding them");
    report.at_most("store/restore", ours.as_secs_f64() / floor.as_secs_f64(), 1.5, &how);
}

/// A stored run.
struct StoredRun<'a> {
    store: &'a SqliteStore,
    run: Run,
    /// The last appended text.
    last: String,
}

impl<'a> StoredRun<'a> {
    fn new(store: &'a SqliteStore, name: &str) -> Self {
        let created = LogEntry::Created {
            run: RunId::from(name),
            owner: Principal::anonymous(),
            made_by: None,
            options: Box::default(),
            messages: Vec::new(),
            at: Timestamp(1),
        };
        let run = Run::fold([created.clone()]).expect("it is the first entry");
        let first = Append::new(0, &[created], &run, None);
        wait(store.append(run.id(), first)).expect("the file is new");
        Self { store, run, last: String::new() }
    }

    fn add_turn(&mut self) {
        self.add_prompt();
        self.add_answer();
    }

    fn add_prompt(&mut self) {
        let content = vec![Part::text("And then?")];
        self.send(LogInput::Prompt(Prompt::new(content, Principal::anonymous(), Timestamp(2))));
    }

    fn add_answer(&mut self) -> Duration {
        let text = "\"It said:\n\t\\o/ – and then 'no'.\"\r\n".repeat(31);
        let parts = vec![AssistantPart::Text { text }];
        self.send(LogInput::TurnEnded {
            parts,
            finish: FinishReason::Stop,
            usage: Usage::default(),
            model: None,
            at: Timestamp(3),
        })
    }

    /// Applies an input, and stores its entries. Returns the time for encoding and storing them.
    fn send(&mut self, input: LogInput) -> Duration {
        let rev = self.run.rev();
        let (entries, _) = advance(&mut self.run, input).expect("the input fits");
        self.last = record::encode(&entries);
        time(|| {
            let append = Append::new(rev, &entries, &self.run, None);
            wait(self.store.append(self.run.id(), append)).expect("nobody else adds");
        })
    }
}

fn time<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// A waker for the waiting thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        thread::park();
    }
}

/// A folder that is removed when it is dropped.
struct Dir(PathBuf);

impl Dir {
    fn new() -> Self {
        let dir = std::env::temp_dir().join(format!("tool-benches-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("the system's folder for temporary files takes it");
        Self(dir)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        // A leftover is only in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}
