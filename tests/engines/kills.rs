//! Tests that kill a service that drives runs, and the server of its engine, at random moments. No effect happens twice, and none
//! is lost. Each engine includes this file beside a module `engine`, which has the differences.
//!
//! `KILLS` is the number of kills of each, and `KILLS_SEED` the seed of the moments.

use std::{
    collections::HashMap,
    env,
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    pin::pin,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tokio::time::sleep;
use tool_runtime::{
    Agent, AgentError, Message, Toolset,
    agent::{Decision, Session, Suspend},
    model::{FunctionModel, Turn},
    run::{InterruptKind, Phase, RunId},
    tool, toolset,
};

use super::engine;
use crate::ALONE;

const DIR: &str = "TOOL_KILLS_DIR";
const ADDRESS: &str = "TOOL_KILLS_ADDRESS";

/// The effects of the tools of one run, in a file that outlives their process.
struct Effects(PathBuf);

impl Effects {
    /// Has an effect, with time before and after it in which the process can die.
    async fn do_slowly(&self, what: String) -> String {
        sleep(Duration::from_millis(10)).await;
        let mut file = OpenOptions::new().create(true).append(true).open(&self.0).unwrap();
        file.write_all(format!("{what}\n").as_bytes()).unwrap();
        file.sync_data().unwrap();
        sleep(Duration::from_millis(10)).await;
        what
    }

    fn all(&self) -> Vec<String> {
        fs::read_to_string(&self.0).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    fn count(&self, what: &str) -> usize {
        self.all().iter().filter(|known| *known == what).count()
    }
}

/// Pays. A call must not be repeated.
#[tool(approval = always, effect = destructive)]
async fn pay(
    /// The id of the payment.
    id: String,
    #[state] effects: &Effects,
) -> String {
    effects.do_slowly(id).await
}

/// Writes, without an approval. A call must not be repeated.
#[tool]
async fn write(
    /// The id of the text.
    id: String,
    #[state] effects: &Effects,
) -> String {
    effects.do_slowly(id).await
}

/// Sets something, which may happen twice.
#[tool(idempotent)]
async fn set(
    /// The item.
    id: String,
    #[state] effects: &Effects,
) -> String {
    effects.do_slowly(id).await
}

/// Returns the tools of a run, whose effects go into a file of `dir` with its name.
fn tools(dir: &Path, run: &RunId) -> Toolset {
    toolset!(Arc::new(Effects(dir.join(run.as_str()))); pay, write, set)
}

/// The calls of each turn: a tool and its argument.
const CALLS: [&[(&str, &str)]; 2] = [
    &[("write", "c0"), ("write", "d0"), ("pay", "a0"), ("pay", "b0"), ("set", "e0")],
    &[("write", "c1"), ("pay", "a1"), ("set", "e1")],
];

/// Returns the agent of a run in the service. Its model needs no memory of its own.
fn driver(dir: &Path, run: &RunId) -> Agent {
    let model = FunctionModel::new(|request| {
        let turns = request.messages.iter().filter(|message| matches!(message, Message::Assistant { .. })).count();
        let Some(calls) = CALLS.get(turns) else { return Turn::say("done") };
        calls.iter().fold(Turn::default(), |turn, (tool, id)| turn.then_call(*tool, json!({ "id": id })))
    });
    Agent::new(model).tools(tools(dir, run)).operator(Suspend)
}

/// The service, in a process of its own, until it is killed.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "started by the tests beside it"]
async fn service() {
    let dir = PathBuf::from(env::var_os(DIR).unwrap());
    engine::serve(&env::var(ADDRESS).unwrap(), move |run| driver(&dir, run)).await;
}

/// The service of one test, and a folder for its effects.
struct TestService {
    dir: PathBuf,
    address: String,
    process: Option<Child>,
}

impl TestService {
    async fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("tool-kills-{}-{}-{}", engine::NAME, std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let dir = env::temp_dir().join(name);
        fs::create_dir_all(&dir).unwrap();
        let mut service = Self { dir, address: engine::new_address().await, process: None };
        service.start();
        engine::announce(&service.address).await;
        service
    }

    fn start(&mut self) {
        let (_, module) = module_path!().split_once("::").unwrap();
        let process = Command::new(env::current_exe().unwrap())
            .args([&format!("{module}::service"), "--exact", "--ignored"])
            .env(DIR, &self.dir)
            .env(ADDRESS, &self.address)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.process = Some(process.unwrap());
    }

    /// Kills the service, as a power failure does.
    fn kill(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        process.kill().unwrap();
        process.wait().unwrap();
    }
}

impl Drop for TestService {
    fn drop(&mut self) {
        self.kill();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn number_from_env(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// Sends the prompt, and decides as a person who looks at the effects, until the run has ended. Tries again after errors of a
/// connection. Returns the number of questions about each call that was lost.
async fn play(session: &mut Session, effects: &Effects) -> HashMap<String, usize> {
    let mut asked = HashMap::new();
    loop {
        let is_new = session.run().phase() == Phase::Idle;
        let outcome = if is_new { session.send("go").await } else { session.resume().await };
        let id = session.id().clone();
        match outcome {
            Ok(reply) if reply.phase == Phase::Finished => return asked,
            Ok(_) => {}
            Err(AgentError::Store(_)) => {
                sleep(Duration::from_millis(100)).await;
                // The engine may have stored more than the session knows.
                if let Ok(opened) = session.agent().open(&id).await {
                    *session = opened;
                }
                continue;
            }
            Err(error) => panic!("{error}"),
        }
        let open: Vec<_> = session.interrupts().cloned().collect();
        for open in open {
            let name = open.shown.arguments["id"].as_str().unwrap();
            let decision = match open.kind {
                InterruptKind::Reconcile => {
                    *asked.entry(name.to_owned()).or_default() += 1;
                    match effects.count(name) {
                        0 => Decision::Approve,
                        _ => Decision::Respond { output: json!(name) },
                    }
                }
                _ => Decision::Approve,
            };
            match session.agent().decide(&id, &open.id, decision, "").await {
                // The decision was stored and the answer was lost, or the server is away.
                Ok(_) | Err(AgentError::Refused(_) | AgentError::Store(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Plays runs until `kill` was called `KILLS` times, and checks each run at its end.
async fn play_under(victim: &str, kill: impl Fn(&mut TestService)) {
    let mut service = TestService::new().await;
    let store = engine::connect_to(&service.address).await;
    let (count, seed) = (number_from_env("KILLS", 4), number_from_env("KILLS_SEED", 7));
    let mut random = seed;
    let mut moment = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        Duration::from_millis((random >> 33) % engine::MAX_KILL_DELAY)
    };
    let (mut kills, mut runs, mut reconciled) = (0, 0, 0);
    while kills < count {
        let id = RunId::from(format!("{}-{runs}", service.dir.file_name().unwrap().to_str().unwrap()));
        let front = Agent::new(FunctionModel::new(|_| Turn::say("never"))).tools(tools(&service.dir, &id));
        let mut session = front.operator(Suspend).store(store.clone()).session_with_id(id.clone(), Vec::new());
        let effects = Effects(service.dir.join(id.as_str()));
        // A few kills of each run leave it time to get on.
        let mut left = (count - kills).min(3);
        let asked = {
            let mut played = pin!(tokio::time::timeout(Duration::from_mins(3), play(&mut session, &effects)));
            loop {
                tokio::select! {
                    asked = &mut played => break asked.expect("a run hangs"),
                    () = sleep(moment()), if left > 0 => {
                        kill(&mut service);
                        kills += 1;
                        left -= 1;
                    }
                }
            }
        };
        runs += 1;
        reconciled += asked.len();
        for (tool, name) in CALLS.concat() {
            let times = effects.count(name);
            assert!(times == 1 || times > 1 && tool == "set", "{name}, after {kills} kills: {:?}", effects.all());
        }
        assert!(session.run().calls().iter().all(|call| call.result().is_some()));
        assert_eq!(session.run().calls().len(), CALLS.concat().len());
    }
    println!(
        "{runs} runs ended with each effect once, after {kills} kills of the {victim}; people were asked about {reconciled} calls \
         (seed {seed})"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_survives_the_death_of_its_service_at_any_moment() {
    let _alone = ALONE.lock().await;
    play_under("service", |service| {
        service.kill();
        service.start();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_survives_the_death_of_the_server_at_any_moment() {
    let _alone = ALONE.lock().await;
    play_under("server", |_| {
        engine::kill_server();
        engine::start_server();
    })
    .await;
}
