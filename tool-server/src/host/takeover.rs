//! Runs that nobody drives: their server is gone, or somebody has decided about a call whose client does not wait any more. A
//! server continues them, although no client asks for them.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use tokio::{task::JoinSet, time::sleep};
use tokio_util::sync::CancellationToken;
use tool_runtime::{
    Agent,
    agent::Suspend,
    run::{Principal, RunId},
    store::{Store, StoreError},
};

use super::{
    chat::{chat_of, has_name},
    shares::Shares,
};
use crate::failures::report_error;

/// The default of [`Server::max_takeovers`](crate::Server::max_takeovers).
pub const DEFAULT_MAX_TAKEOVERS: usize = 64;

/// The maximum number of runs that one look at the store finds.
const MAX_FOUND_RUNS: usize = 1000;

/// The number of looks at the store in the time of a lease.
const LOOKS: u32 = 6;

/// A function that returns the owner of a run, or `None` if the run is not one of the server's.
pub(crate) type OwnerOf = fn(&Agent, &RunId) -> Option<Principal>;

/// The part of a worker's runs that one owner may have: one of so many.
const OWNERS: usize = 4;

/// A worker that continues a server's runs. Approvals are left to people.
pub(crate) struct Worker {
    /// Returns the agent that continues runs, with the tools that the server has now.
    agent: Box<dyn Fn() -> Agent + Send + Sync>,
    owner_of: OwnerOf,
    /// The maximum number of runs that the worker continues at once.
    most: usize,
}

impl Worker {
    /// Creates the worker of a server's chats.
    pub(crate) fn of_chats(agent: &Agent, most: usize) -> Self {
        let agent = agent.clone();
        let owner_of = |agent: &Agent, run: &RunId| {
            chat_of(run).filter(|chat| has_name(agent, chat.made_by)).map(|chat| chat.principal.into())
        };
        Self::new(move || agent.clone(), owner_of, most)
    }

    /// Creates the worker of the runs for which `owner_of` returns an owner.
    pub(crate) fn new(agent: impl Fn() -> Agent + Send + Sync + 'static, owner_of: OwnerOf, most: usize) -> Self {
        Self { agent: Box::new(move || agent().operator(Suspend)), owner_of, most }
    }

    /// Continues runs until `closed` is cancelled. Then waits for these runs, until `abandoned` is cancelled.
    pub(crate) async fn work(self, closed: &CancellationToken, abandoned: &CancellationToken) {
        let agent = (self.agent)();
        let Some(store) = agent.run_store().filter(|_| self.most > 0) else { return };
        let mut tasks = JoinSet::new();
        tokio::select! {
            never = self.resume_idle_runs(store, &mut tasks) => match never {},
            () = closed.cancelled() => {}
        }
        let all_end = async { while tasks.join_next().await.is_some() {} };
        tokio::select! {
            () = all_end => {}
            () = abandoned.cancelled() => {}
        }
    }

    /// Finds the server's runs that a worker should resume, with their owners. Neither runs of other applications nor those of an
    /// owner with many runs delay the others.
    async fn find_due(&self, agent: &Agent, store: &Arc<dyn Store>) -> Result<Vec<(RunId, Principal)>, StoreError> {
        let mut most = MAX_FOUND_RUNS;
        loop {
            let due = store.due(agent.now(), most).await?;
            let is_whole = due.len() < most;
            let mut found: HashMap<Principal, usize> = HashMap::new();
            let own = due.into_iter().filter_map(|run| {
                let owner = (self.owner_of)(agent, &run)?;
                let count = found.entry(owner.clone()).or_default();
                *count += 1;
                (*count <= MAX_FOUND_RUNS / OWNERS).then_some((run, owner))
            });
            let own: Vec<_> = own.take(MAX_FOUND_RUNS).collect();
            if is_whole || own.len() == MAX_FOUND_RUNS {
                return Ok(own);
            }
            most = most.saturating_mul(2);
        }
    }

    /// Takes up each run that has no driver in two consecutive looks. In one look, a run may have no driver because a request has
    /// only just begun.
    async fn resume_idle_runs(&self, store: &Arc<dyn Store>, tasks: &mut JoinSet<()>) -> std::convert::Infallible {
        let (mut before, mut fails, shares) = (HashSet::new(), false, Shares::default());
        loop {
            let agent = (self.agent)();
            sleep(randomize(agent.lease_duration() / LOOKS)).await;
            let due = match self.find_due(&agent, store).await {
                Ok(due) => due,
                Err(error) => {
                    // The store may be available again at the next look. Until then, one line is enough.
                    if !std::mem::replace(&mut fails, true) {
                        report_error("the store cannot be searched for chats without a server", &error);
                    }
                    continue;
                }
            };
            fails = false;
            for (run, owner) in due.iter().filter(|(run, _)| before.contains(run)) {
                while tasks.len() >= self.most {
                    tasks.join_next().await;
                }
                // The other runs of an owner with too many come later.
                if let Some(permit) = shares.acquire(owner.clone(), self.most.div_ceil(OWNERS)) {
                    let (agent, run) = (agent.clone(), run.clone());
                    tasks.spawn(async move {
                        resume_run(agent, run).await;
                        drop(permit);
                    });
                }
            }
            while tasks.try_join_next().is_some() {}
            before = due.into_iter().map(|(run, _)| run).collect();
        }
    }
}

/// Continues a run on behalf of its owner. A failure leaves the run as it is, for a later look. The agent reports it.
async fn resume_run(agent: Agent, run: RunId) {
    let _ = agent.resume_run(&run).await;
}

/// Returns a time between half and one and a half of `time`, so that servers do not look at the same moments.
fn randomize(time: Duration) -> Duration {
    let (number, _) = uuid::Uuid::new_v4().as_u64_pair();
    let part = f64::from(u32::try_from(number >> 32).unwrap_or(0)) / f64::from(u32::MAX);
    time / 2 + time.mul_f64(part)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures_util::FutureExt as _;
    use tool_runtime::{model::FunctionModel, store::MemoryStore};

    use super::*;
    use crate::host::lock;

    #[test]
    fn only_runs_of_chats_are_taken_up() {
        let of =
            |run: &str| chat_of(&run.into()).map(|chat| [chat.made_by, chat.principal, chat.id].map(str::to_owned));
        let chat = |made_by: &str, principal: &str, id: &str| Some([made_by, principal, id].map(str::to_owned));
        assert_eq!(of("1:4:anna:c"), chat("", "anna", "c"));
        assert_eq!(of("12:3:a:b:c:d"), chat("", "a:b", "c:d"));
        assert_eq!(of("1:@6:travel:4:anna:c"), chat("travel", "anna", "c"));
        assert_eq!(of("1:@3:@:ü:4:anna:c"), None);
        assert_eq!(of("1:@4:@:ü:4:anna:c"), chat("@:ü", "anna", "c"));
        let foreign = [
            "",
            "job",
            "1:4:anna:",
            "x:4:anna:c",
            "1:5:anna:c",
            "1:4:annac",
            "1:04:anna:c",
            "1:1:ü:c",
            "1:99:anna:c",
            "1:@0::4:anna:c",
            "1:@5:travel:4:anna:c",
            "1:@6:travel",
            "1:@99:travel:4:anna:c",
            "01:4:anna:c",
        ];
        for run in [&foreign[..], &["5bd3aa0c-3f5a-4d4c-9f0e-0d3c1b2a4f5e", "1:4:anna:\u{0}"]].concat() {
            assert_eq!(of(run), None, "{run}");
        }
    }

    /// Returns a model that records its prompts, and never answers.
    fn endless(asked: &Arc<Mutex<Vec<String>>>) -> FunctionModel {
        let asked = Arc::clone(asked);
        FunctionModel::streaming(move |request| {
            lock(&asked).push(format!("{:?}", request.messages.last()));
            futures_util::stream::pending()
        })
    }

    #[tokio::test]
    async fn an_owner_with_many_runs_does_not_keep_those_of_others_from_being_continued() {
        let asked = Arc::default();
        let agent = Agent::new(endless(&asked)).store(MemoryStore::new()).lease_time(Duration::from_millis(200));
        let runs = (0..9).map(|number| format!("1:6:greedy:{number}")).chain(["1:5:other:1".to_owned()]);
        for run in runs {
            let owner = chat_of(&run.as_str().into()).unwrap().principal.to_owned();
            let agent = agent.clone().edit_context(|cx| cx.with_principal(owner.clone()));
            let mut session = agent.session_with_id(run, Vec::new());
            // The process that asked the model goes.
            let _ = session.send(format!("from {owner}")).now_or_never();
        }
        lock(&asked).clear();
        let (closed, abandoned) = (CancellationToken::new(), CancellationToken::new());
        let worker = Worker::of_chats(&agent, 8);
        let until_asked = async {
            while !lock(&asked).iter().any(|prompt| prompt.contains("from other")) {
                sleep(Duration::from_millis(10)).await;
            }
            sleep(Duration::from_secs(1)).await;
            abandoned.cancel();
            closed.cancel();
        };
        tokio::join!(worker.work(&closed, &abandoned), until_asked);
        let of_greedy: HashSet<_> = lock(&asked).iter().filter(|prompt| prompt.contains("greedy")).cloned().collect();
        assert_eq!(lock(&asked).len(), 3, "two of the greedy owner: {of_greedy:?}");
    }

    #[test]
    fn looks_are_spread() {
        let (least, most) = (Duration::from_secs(1), Duration::from_secs(3));
        let all: HashSet<_> = (0..100).map(|_| randomize(Duration::from_secs(2))).collect();
        assert!(all.len() > 90 && all.iter().all(|time| (least..=most).contains(time)), "{all:?}");
    }
}
