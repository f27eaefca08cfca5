//! The module `backends` of an engine's crate, which includes the tests in `tests/run`. The engine keeps their runs.
//!
//! One service in the test's process drives the runs of all tests, each with the agent that [`on`] was called with. The service
//! drives a run only while a session of the test follows it, as if it were down otherwise. So a test finds each run as it left
//! it, even after a decision. A later agent stands for a new build of the service.

use std::{
    collections::HashMap,
    sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard},
    time::Duration,
};

use futures_util::future::BoxFuture;
use tool_runtime::{
    Agent,
    run::{RunId, Timestamp},
    store::{Append, Keeper, Record, Store, StoreError},
};

use crate::{kit::SilentObserver, service, store_hooks::Wrapped};

/// Returns the engine, as a list of stores.
pub(crate) async fn stores() -> Vec<Arc<dyn Store>> {
    vec![store()]
}

/// Returns the engine. Its lists have the runs of this test only.
pub(crate) fn store() -> Arc<dyn Store> {
    Wrapped::new(&service::engine()).apart().shared()
}

/// Returns the agent of a process that follows its runs on `store`, while the service drives them with this agent. The observer
/// belongs to the process that follows.
pub(crate) fn on(agent: Agent, store: &Arc<dyn Store>) -> Agent {
    let driver = agent.clone().observer(SilentObserver);
    let attended = move |run: &RunId, inner| -> Box<dyn Keeper> {
        Box::new(Attended { inner, run: run.clone(), driver: driver.clone(), is_counted: false })
    };
    agent.store(Wrapped::new(store).keeping(attended))
}

/// Returns the agent, with runs on the engine.
pub(crate) fn anywhere(agent: Agent) -> Agent {
    on(agent, &store())
}

/// A run that the service may drive, and the agent to drive it with.
struct Served {
    agent: Agent,
    /// The number of sessions that follow it.
    sessions: usize,
    /// The number of drives in progress.
    drives: usize,
}

static SERVED: LazyLock<Mutex<HashMap<RunId, Served>>> = LazyLock::new(Mutex::default);
static CHANGED: Condvar = Condvar::new();

fn served() -> MutexGuard<'static, HashMap<RunId, Served>> {
    SERVED.lock().unwrap()
}

/// Lets `agent` drive `run`, whether or not a session follows it.
pub(crate) fn serve(run: &RunId, agent: Agent) {
    served().insert(run.clone(), Served { agent, sessions: 1, drives: 0 });
    CHANGED.notify_all();
}

/// Returns the agent that drives `run`, as soon as a session follows it.
pub(crate) fn driver(run: &RunId) -> Agent {
    tokio::task::block_in_place(|| {
        let is_away = |runs: &mut HashMap<RunId, Served>| runs.get(run).is_none_or(|served| served.sessions == 0);
        let mut runs = CHANGED.wait_while(served(), is_away).unwrap();
        let Served { agent, drives, .. } = runs.get_mut(run).unwrap();
        *drives += 1;
        let driving = Driving(run.clone());
        // The hook keeps the guard alive as long as the agent.
        agent.clone().hook(move |_| {
            let _ = &driving;
        })
    })
}

/// A guard that counts one drive until it is dropped.
struct Driving(RunId);

impl Drop for Driving {
    fn drop(&mut self) {
        if let Some(served) = served().get_mut(&self.0) {
            served.drives -= 1;
        }
    }
}

/// The keeper of a session that follows a run.
struct Attended {
    inner: Box<dyn Keeper>,
    run: RunId,
    driver: Agent,
    /// Set while the session counts as one that follows.
    is_counted: bool,
}

impl Attended {
    /// Allows the service to drive the run.
    fn attend(&mut self) {
        if !std::mem::replace(&mut self.is_counted, true) {
            let new = Served { agent: self.driver.clone(), sessions: 0, drives: 0 };
            let mut runs = served();
            let known = runs.entry(self.run.clone()).or_insert(new);
            known.agent = self.driver.clone();
            known.sessions += 1;
            CHANGED.notify_all();
        }
    }

    fn leave(&mut self) {
        if std::mem::take(&mut self.is_counted)
            && let Some(served) = served().get_mut(&self.run)
        {
            served.sessions -= 1;
        }
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Keeper for Attended {
    fn append(&mut self, append: Append) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.append(append)
    }

    fn read(&mut self, known: u64) -> BoxFuture<'_, Result<Vec<Record>, StoreError>> {
        self.inner.read(known)
    }

    fn wait(&mut self, known: u64, asks: bool) -> BoxFuture<'static, ()> {
        self.attend();
        self.inner.wait(known, asks)
    }

    fn drives(&self) -> bool {
        self.inner.drives()
    }

    fn renew(&mut self, now: Timestamp) -> BoxFuture<'_, Result<Option<Timestamp>, StoreError>> {
        self.inner.renew(now)
    }

    /// Waits until the service, too, has stopped driving the run, which is at rest.
    fn release(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        let followed = self.is_counted;
        self.leave();
        Box::pin(async move {
            let is_driven = || served().get(&self.run).is_some_and(|run| run.drives > 0 && run.sessions == 0);
            for _ in 0..6000 {
                if !followed || !is_driven() {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            self.inner.release().await
        })
    }
}
