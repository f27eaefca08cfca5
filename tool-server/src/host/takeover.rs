//! Runs that nobody drives: their server is gone, or somebody has decided about a call whose client does not wait any more. A
//! server continues them, although no client asks for them.

use std::{collections::HashSet, sync::Arc, time::Duration};

use tokio::{task::JoinSet, time::sleep};
use tokio_util::sync::CancellationToken;
use tool_runtime::{
    Agent,
    agent::Suspend,
    run::RunId,
    store::{Store, StoreError},
};

use super::chat::{chat_of, has_name};
use crate::failures::report_error;

/// The default of [`Server::max_takeovers`](crate::Server::max_takeovers).
pub const DEFAULT_MAX_TAKEOVERS: usize = 64;

/// The maximum number of runs that one look at the store finds.
const MAX_FOUND_RUNS: usize = 1000;

/// The number of looks at the store in the time of a lease.
const LOOKS: u32 = 6;

/// A worker that continues a server's runs. Approvals are left to people.
pub(crate) struct Worker {
    /// Returns the agent that continues runs, with the tools that the server has now.
    agent: Box<dyn Fn() -> Agent + Send + Sync>,
    /// Returns whether a run is one of the server's.
    is_own: fn(&Agent, &RunId) -> bool,
    /// The maximum number of runs that the worker continues at once.
    most: usize,
}

impl Worker {
    /// Creates the worker of a server's chats.
    pub(crate) fn of_chats(agent: &Agent, most: usize) -> Self {
        let agent = agent.clone();
        let is_own = |agent: &Agent, run: &RunId| chat_of(run).is_some_and(|chat| has_name(agent, chat.made_by));
        Self::new(move || agent.clone(), is_own, most)
    }

    /// Creates the worker of the runs for which `is_own` returns `true`.
    pub(crate) fn new(
        agent: impl Fn() -> Agent + Send + Sync + 'static,
        is_own: fn(&Agent, &RunId) -> bool,
        most: usize,
    ) -> Self {
        Self { agent: Box::new(move || agent().operator(Suspend)), is_own, most }
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

    /// Finds the server's runs that a worker should resume. Runs of other applications do not delay these.
    async fn find_due(&self, agent: &Agent, store: &Arc<dyn Store>) -> Result<Vec<RunId>, StoreError> {
        let mut most = MAX_FOUND_RUNS;
        loop {
            let due = store.due(agent.now(), most).await?;
            let is_whole = due.len() < most;
            let own = due.into_iter().filter(|run| (self.is_own)(agent, run));
            let own: Vec<RunId> = own.take(MAX_FOUND_RUNS).collect();
            if is_whole || own.len() == MAX_FOUND_RUNS {
                return Ok(own);
            }
            most = most.saturating_mul(2);
        }
    }

    /// Takes up each run that has no driver in two consecutive looks. In one look, a run may have no driver because a request has
    /// only just begun.
    async fn resume_idle_runs(&self, store: &Arc<dyn Store>, tasks: &mut JoinSet<()>) -> std::convert::Infallible {
        let (mut before, mut fails) = (HashSet::new(), false);
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
            for run in due.iter().filter(|run| before.contains(*run)) {
                while tasks.len() >= self.most {
                    tasks.join_next().await;
                }
                tasks.spawn(resume_run(agent.clone(), run.clone()));
            }
            while tasks.try_join_next().is_some() {}
            before = due.into_iter().collect();
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
    use super::*;

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

    #[test]
    fn looks_are_spread() {
        let (least, most) = (Duration::from_secs(1), Duration::from_secs(3));
        let all: HashSet<_> = (0..100).map(|_| randomize(Duration::from_secs(2))).collect();
        assert!(all.len() > 90 && all.iter().all(|time| (least..=most).contains(time)), "{all:?}");
    }
}
