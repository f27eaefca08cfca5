//! The place from which a session drives a run on Restate, or follows it.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};
use tool_runtime::run::RunId;
use tool_runtime::store::{Append, Keeper, LogLength, Record, Store, StoreError};

use crate::engine::Restate;
use crate::wire::now;
use crate::wire::{Appended, Entries};

/// The polling interval while somebody waits for the run. A change in this process is noticed at once.
const WAITING_POLL: Duration = Duration::from_millis(200);

/// The polling interval otherwise.
const IDLE_POLL: Duration = Duration::from_secs(1);

/// The request of a loop to store entries.
pub struct AppendRequest {
    pub entries: Entries,
    pub answer: AppendReply,
}

pub type AppendReply = oneshot::Sender<Appended>;
pub type AppendSender = mpsc::UnboundedSender<AppendRequest>;
pub type AppendReceiver = mpsc::UnboundedReceiver<AppendRequest>;

/// The place of one session.
pub struct RestateKeeper {
    pub engine: Restate,
    pub run: RunId,
    pub length: Arc<LogLength>,
}

impl Keeper for RestateKeeper {
    fn append(&mut self, append: Append) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            if let Some(appends) = &self.engine.appends {
                let (answer, answered) = oneshot::channel();
                let gone = || StoreError::unavailable("Restate has ended the invocation that drives the run");
                appends.send(AppendRequest { entries: Entries::new(append, now()), answer }).map_err(|_| gone())?;
                answered.await.map_err(|_| gone())?.into_result()
            } else {
                self.engine.append(&self.run, append).await
            }
        })
    }

    fn read(&mut self, known: u64) -> BoxFuture<'_, Result<Vec<Record>, StoreError>> {
        self.engine.read(&self.run, known)
    }

    fn wait(&mut self, known: u64, asks: bool) -> BoxFuture<'static, ()> {
        let poll = if asks || !self.drives() { WAITING_POLL } else { IDLE_POLL };
        let added = timeout(poll, Arc::clone(&self.length).wait_for_more_than(known));
        Box::pin(async move { drop(added.await) })
    }

    fn drives(&self) -> bool {
        self.engine.appends.is_some()
    }
}
