//! The CPU cost of the adapters for engines, against a bare service of the same engine that journals the same entries.
//!
//! The clients of both do the same: they append a prompt, and read the log at the same intervals until it is complete.

mod restate;
mod temporal;

use std::{
    io::{self, BufRead, BufReader, Write},
    process::{Child, Command, ExitCode, Stdio},
    sync::{
        LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::{
    StreamExt, TryStreamExt,
    future::{BoxFuture, LocalBoxFuture},
    stream,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tool_runtime::{
    Agent, Message,
    agent::Suspend,
    model::{FunctionModel, Turn},
    run::{Phase, RunId},
    store::{Record, Store},
    tool, toolset,
};

use crate::{clock, report::Report};

/// The number of runs in a measurement.
const RUNS: usize = 100;
/// The number of runs at the same time.
const AT_ONCE: usize = 8;
/// The number of pairs of measurements.
const PAIRS: usize = 5;

/// The length in bytes of a run's head, which the adapter sends with the entries of every append.
const HEAD: usize = 160;

/// A running server of an engine.
trait Engine {
    /// Returns the adapter's store.
    fn store(&self) -> BoxFuture<'_, io::Result<Box<dyn Store>>>;

    /// Plays a run of the bare service: a client appends its entries of `log`, and reads the run's log until it is complete.
    fn play<'a>(&'a self, run: &'a RunId, log: &'a BareLog) -> BoxFuture<'a, io::Result<()>>;

    /// Drives runs of the adapter until the process is killed. Calls `ready` when the first run can begin.
    fn serve(&self, agent: Agent, ready: fn()) -> LocalBoxFuture<'_, io::Result<()>>;

    /// Serves the bare service until the process is killed. Its runs have the entries of `log`. Calls `ready` as `serve` does.
    fn serve_bare(&self, log: BareLog, ready: fn()) -> LocalBoxFuture<'_, io::Result<()>>;
}

/// The entries of one append to the log of a bare service.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entries {
    record: Record,
    /// A filler as long as the head that the adapter sends.
    head: String,
    /// Set if the driver starts after this append.
    starts_driver: bool,
}

/// The appends of a run of the bare service: those of its client, and those of its driver.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct BareLog {
    client: Vec<Entries>,
    driver: Vec<Entries>,
}

impl BareLog {
    /// Divides the records of a run between those of its client and those of its driver.
    fn new(records: Vec<Record>) -> Self {
        // The client's last append is its prompt.
        let is_prompt = |record: &Record| record.text.contains("\"prompted\"");
        let own = records.iter().position(is_prompt).map_or(0, |at| at + 1);
        let entries = |(at, record)| Entries { record, head: "x".repeat(HEAD), starts_driver: at + 1 == own };
        let mut client: Vec<Entries> = records.into_iter().enumerate().map(entries).collect();
        let driver = client.split_off(own);
        Self { client, driver }
    }

    fn len(&self) -> u64 {
        self.client.iter().chain(&self.driver).map(|entries| entries.record.count).sum()
    }
}

/// Looks something up.
#[tool(effect = read_only)]
fn look(
    /// The subject.
    subject: String,
) -> usize {
    subject.len()
}

/// The time of a call that waits, in milliseconds.
const WAIT: u64 = 200;

/// Waits. Returns the times of its start and its end, in milliseconds.
#[tool(effect = read_only)]
async fn wait() -> [u64; 2] {
    static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let now = || u64::try_from(BEGUN.elapsed().as_millis()).unwrap_or(u64::MAX);
    let begun = now();
    tokio::time::sleep(Duration::from_millis(WAIT)).await;
    [begun, now()]
}

/// The prompt for eight calls that wait at once.
const WAIT_PROMPT: &str = "Wait.";

/// Returns an agent for both measurements. After [`WAIT_PROMPT`], its model makes eight calls that wait, and ends with a text.
/// After another prompt, it makes four calls in each of two turns, and ends with a text.
fn agent() -> Agent {
    let model = FunctionModel::new(|request| {
        if request.messages[0] == Message::user(WAIT_PROMPT) {
            return match request.messages.len() {
                1 => (0..8).fold(Turn::default(), |turn, _| turn.then_call("wait", json!({}))),
                _ => Turn::say("I have waited."),
            };
        }
        let subject = json!({ "subject": "the price of the second one" });
        let calls = |text| (0..4).fold(Turn::say(text), |turn, _| turn.then_call("look", subject.clone()));
        match request.messages.iter().filter(|message| matches!(message, Message::Assistant { .. })).count() {
            0 => calls("I look at some of them first."),
            1 => calls("And now at the others."),
            _ => Turn::say("It is the second one."),
        }
    });
    Agent::new(model).tools(toolset!(look, wait)).operator(Suspend)
}

/// Measures the adapters, and reports the targets. Each adapter needs the server of its engine.
pub(crate) fn measure(report: &mut Report) {
    for (name, variable) in [("restate", "ENGINE_INGRESS"), ("temporal", "TEMPORAL_ADDRESS")] {
        let target = format!("engines/{name}");
        if !report.wants(&target) {
            continue;
        }
        if std::env::var_os(variable).is_none() {
            report.fail(&target, &format!("no {variable}; `scripts/engine {name} cargo run …` sets it"));
            continue;
        }
        match new_runtime().and_then(|runtime| time_pairs(&runtime, name)) {
            Ok(pairs) => {
                let [ratio, ours, bare] = clock::medians(&pairs);
                let how = format!(
                    "x the CPU of a bare service: {:.2} ms for a run of three turns and eight calls, {:.2} ms bare; {RUNS} runs, \
                     {AT_ONCE} at once, medians of {PAIRS}",
                    ours * 1e3,
                    bare * 1e3
                );
                report.at_most(&target, ratio, 1.3, &how);
            }
            Err(error) => report.fail(&target, &error.to_string()),
        }
        let target = format!("engines/{name}-overlap");
        match new_runtime().and_then(|runtime| time_overlap(&runtime, name)) {
            Ok(ratio) => {
                report.at_most(&target, ratio, 2.0, &format!("x one call of {WAIT} ms: eight calls of a turn"));
            }
            Err(error) => report.fail(&target, &error.to_string()),
        }
    }
}

/// Measures the longest time from the start of the first of eight calls to the end of the last, as a multiple of one call.
fn time_overlap(runtime: &Runtime, name: &str) -> io::Result<f64> {
    let engine = engine(name)?;
    let store: std::sync::Arc<dyn Store> = runtime.block_on(engine.store())?.into();
    let front = Agent::new(FunctionModel::new(|_| Turn::say("never"))).operator(Suspend).store(store);
    let _adapter = Process::start(name, None)?;
    let mut longest = 0;
    for _ in 0..PAIRS {
        let mut session = front.session();
        runtime.block_on(session.send(WAIT_PROMPT)).map_err(io::Error::other)?;
        let outputs = session.run().calls().iter().filter_map(|call| call.result()?.output()?.decode().ok());
        let times: Vec<[u64; 2]> = outputs.collect();
        if times.len() != 8 {
            return Err(io::Error::other(format!("{} of eight calls have ended", times.len())));
        }
        let begun = times.iter().map(|[begun, _]| *begun).min().unwrap_or_default();
        let ended = times.iter().map(|[_, ended]| *ended).max().unwrap_or_default();
        longest = longest.max(ended - begun);
    }
    #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
    Ok(longest as f64 / WAIT as f64)
}

fn new_runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(1).enable_all().build()
}

fn engine(name: &str) -> io::Result<Box<dyn Engine>> {
    let variable = |name: &str| std::env::var(name).map_err(|error| io::Error::other(format!("{name}: {error}")));
    match name {
        "restate" => Ok(Box::new(restate::Server::new(&variable("ENGINE_INGRESS")?, &variable("ENGINE_ADMIN")?)?)),
        "temporal" => Ok(Box::new(temporal::Server::new(variable("TEMPORAL_ADDRESS")?))),
        name => Err(io::Error::other(format!("there is no engine `{name}`"))),
    }
}

/// Measures the seconds of CPU for a run of the adapter and of the bare service, in turns.
fn time_pairs(runtime: &Runtime, name: &str) -> io::Result<Vec<[f64; 2]>> {
    let engine = engine(name)?;
    let store: std::sync::Arc<dyn Store> = runtime.block_on(engine.store())?.into();
    let front = Agent::new(FunctionModel::new(|_| Turn::say("never"))).operator(Suspend).store(store.clone());
    let adapter = Process::start(name, None)?;
    let first = runtime.block_on(play(&front))?;
    let log = BareLog::new(runtime.block_on(store.read(&first, 0)).map_err(io::Error::other)?);
    let bare = Process::start(name, Some(&log))?;
    let mut pairs = Vec::new();
    for number in 0..=PAIRS {
        let mut pair = [0.0; 2];
        for side in [number % 2, 1 - number % 2] {
            let process = [&adapter, &bare][side];
            let before = clock::time_of_process(process.0.id())?;
            let runs = stream::iter(0..RUNS).map(|_| async {
                match side {
                    0 => play(&front).await.map(drop),
                    _ => engine.play(&next_run_id(), &log).await,
                }
            });
            runtime.block_on(runs.buffer_unordered(AT_ONCE).try_collect::<()>())?;
            #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
            let runs = RUNS as f64;
            pair[side] = (clock::time_of_process(process.0.id())? - before) / runs;
        }
        pairs.push(pair);
    }
    // The first pair is left out, because it opens connections and fills caches.
    Ok(pairs.split_off(1))
}

/// Returns the id of a new run of a bare service.
fn next_run_id() -> RunId {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    RunId::from(format!("bare-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)))
}

/// Plays a run of the adapter.
async fn play(front: &Agent) -> io::Result<RunId> {
    let mut session = front.session();
    let reply = session.send("Which is the best?").await.map_err(io::Error::other)?;
    if reply.phase == Phase::Finished && reply.text == "It is the second one." {
        Ok(session.id().clone())
    } else {
        Err(io::Error::other(format!("a run ended with {reply:?}")))
    }
}

/// A service in a separate process, which ends when this value is dropped.
struct Process(Child);

impl Process {
    /// Starts the adapter's service, or the bare service with the entries of `log`.
    fn start(engine: &str, log: Option<&BareLog>) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--engines", engine]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        if let Some(mut input) = child.stdin.take() {
            writeln!(input, "{}", serde_json::to_string(&log)?)?;
        }
        let mut line = String::new();
        child.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
        if line.trim() == "ready" { Ok(Self(child)) } else { Err(io::Error::other("a service did not start")) }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Serves on an engine until the process is killed: `tool-benches --engines NAME`. The standard input has the log of the
/// bare service, or `null` for the adapter.
pub(crate) fn serve(name: &str) -> ExitCode {
    let ready = || println!("ready");
    let serving = |runtime: Runtime| {
        let mut line = String::new();
        io::stdin().read_line(&mut line)?;
        let engine = engine(name)?;
        runtime.block_on(match serde_json::from_str::<Option<BareLog>>(&line)? {
            Some(log) => engine.serve_bare(log, ready),
            None => engine.serve(agent(), ready),
        })
    };
    match new_runtime().and_then(serving) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
