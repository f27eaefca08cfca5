//! A test that runs that wait for an approval cost the service no memory: many wait at once, all are decided, and all end. Each
//! engine includes this file beside a module `engine`.
//!
//! `WAITING` is the number of runs.

use std::{
    env,
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{StreamExt as _, stream};
use serde_json::json;
use tool_runtime::{
    Agent, Context, Toolset,
    agent::{Decision, Suspend},
    model::{FunctionModel, Turn},
    run::{InterruptId, Phase, RunId},
    tool, toolset,
};

use super::engine;
use crate::ALONE;

/// The variables with the file of effects, and with the address of the service.
const EFFECTS: &str = "TOOL_WAITING_EFFECTS";
const ADDRESS: &str = "TOOL_WAITING_ADDRESS";

/// The number of runs that are asked for, or decided, at once.
const AT_ONCE: usize = 32;

/// The allowed growth in bytes for each waiting run, and for all together. Temporal's worker caches up to 1,000 workflows, of about
/// 100 KB each.
const GROWTH: (u64, u64) = (1 << 9, 128 << 20);

/// The file with the effects of the tool.
struct Effects(PathBuf);

/// Pays. A call must not be repeated.
#[tool(approval = always, effect = destructive)]
async fn pay(
    /// The amount.
    amount: u32,
    #[state] effects: &Effects,
    #[context] cx: &Context,
) -> String {
    let mut file = OpenOptions::new().create(true).append(true).open(&effects.0).unwrap();
    file.write_all(format!("{}\n", cx.call_id()).as_bytes()).unwrap();
    format!("paid {amount}")
}

fn tools(effects: &Path) -> Toolset {
    toolset!(Arc::new(Effects(effects.to_owned())); pay)
}

/// The service, in a process of its own.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "started by the test beside it"]
async fn service() {
    let model = FunctionModel::new(|request| match request.messages.len() {
        1 => Turn::call("pay", json!({ "amount": 5 })),
        _ => Turn::say("done"),
    });
    let effects = PathBuf::from(env::var_os(EFFECTS).unwrap());
    let agent = Agent::new(model).tools(tools(&effects)).operator(Suspend);
    engine::serve(&env::var(ADDRESS).unwrap(), move |_| agent.clone()).await;
}

/// The process of the service.
struct Process(Child);

impl Process {
    async fn start(effects: &Path, address: &str) -> Self {
        let (_, module) = module_path!().split_once("::").unwrap();
        let process = Self(
            Command::new(env::current_exe().unwrap())
                .args(["--exact", &format!("{module}::service"), "--ignored"])
                .env(EFFECTS, effects)
                .env(ADDRESS, address)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn()
                .unwrap(),
        );
        engine::announce(address).await;
        process
    }

    /// Returns the resident memory in bytes.
    fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts runs that wait for an approval.
async fn start_waiting(front: &Agent, count: usize) -> Vec<(RunId, InterruptId)> {
    let one = |_| async {
        let mut session = front.session();
        assert_eq!(session.send("go").await.unwrap().phase, Phase::Suspended);
        (session.id().clone(), session.interrupts().next().unwrap().id.clone())
    };
    stream::iter(0..count).map(one).buffer_unordered(AT_ONCE).collect().await
}

/// Approves the waiting calls, and follows each run to its end.
async fn decide(front: &Agent, waiting: Vec<(RunId, InterruptId)>) {
    let one = |(id, open): (RunId, InterruptId)| async move {
        front.decide(&id, &open, Decision::Approve, "").await.unwrap();
        let reply = front.open(&id).await.unwrap().resume().await.unwrap();
        assert_eq!((reply.phase, reply.text.as_str()), (Phase::Finished, "done"));
    };
    stream::iter(waiting).for_each_concurrent(AT_ONCE, one).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_wait_cost_the_service_no_memory() {
    let _alone = ALONE.lock().await;
    let count: usize = env::var("WAITING").map_or(100, |text| text.parse().unwrap());
    let effects = env::temp_dir().join(format!("tool-waiting-{}-{}", engine::NAME, std::process::id()));
    let address = engine::new_address().await;
    let service = Process::start(&effects, &address).await;
    let front = Agent::new(FunctionModel::new(|_| Turn::say("never"))).tools(tools(&effects)).operator(Suspend);
    let front = front.store(engine::connect_to(&address).await);
    // The service makes its lasting allocations before the measurement.
    let warm = count / 5;
    let waiting = start_waiting(&front, warm).await;
    decide(&front, waiting).await;
    let before = service.memory();
    let begun = Instant::now();
    let waiting = start_waiting(&front, count).await;
    let asked = begun.elapsed();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let with_all = service.memory();
    assert_eq!(fs::read_to_string(&effects).unwrap().lines().count(), warm);
    let begun = Instant::now();
    decide(&front, waiting).await;
    let decided = begun.elapsed();
    let after = service.memory();
    assert_eq!(fs::read_to_string(&effects).unwrap().lines().count(), warm + count);
    fs::remove_file(&effects).unwrap();
    #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
    let megabytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let growth = with_all.saturating_sub(before);
    println!(
        "{}: {count} runs waited at once ({:.0} s) and ended, each with one effect ({:.0} s); resident memory of the service: \
         {:.1} MB before, {:.1} MB with all waiting, {:.1} MB after; {} bytes for each waiting run",
        engine::NAME,
        asked.as_secs_f64(),
        decided.as_secs_f64(),
        megabytes(before),
        megabytes(with_all),
        megabytes(after),
        growth / count as u64
    );
    assert!(growth <= GROWTH.0 * count as u64 + GROWTH.1, "{growth} bytes");
}
