//! The keeper of a run on Restate, with which a session drives the run or follows it.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};
use tool_runtime::run::RunId;
use tool_runtime::store::{Append, Keeper, LogLength, Record, Store, StoreError};

use crate::engine::RestateStore;
use crate::wire::{Appended, Entries, now};

/// The polling interval of a session that does not drive the run, or whose run has an open interrupt. The session notices an
/// append of its own process at once.
const WAITING_POLL: Duration = Duration::from_millis(200);

/// The polling interval otherwise.
const IDLE_POLL: Duration = Duration::from_secs(1);

/// The request of a loop to store entries.
pub struct AppendRequest {
    pub entries: Entries,
    pub reply: AppendReply,
}

pub type AppendReply = oneshot::Sender<Appended>;
pub type AppendSender = mpsc::UnboundedSender<AppendRequest>;
pub type AppendReceiver = mpsc::UnboundedReceiver<AppendRequest>;

/// The keeper of one session's run.
pub struct RestateKeeper {
    pub store: RestateStore,
    pub run: RunId,
    pub length: Arc<LogLength>,
}

impl Keeper for RestateKeeper {
    fn append(&mut self, append: Append) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            if let Some(appends) = &self.store.appends {
                let (reply, replied) = oneshot::channel();
                let ended = || StoreError::unavailable("Restate has ended the invocation that drives the run");
                appends.send(AppendRequest { entries: Entries::new(append, now()), reply }).map_err(|_| ended())?;
                replied.await.map_err(|_| ended())?.into_result()
            } else {
                self.store.append(&self.run, append).await
            }
        })
    }

    fn read(&mut self, known: u64) -> BoxFuture<'_, Result<Vec<Record>, StoreError>> {
        self.store.read(&self.run, known)
    }

    fn wait(&mut self, known: u64, asks: bool) -> BoxFuture<'static, ()> {
        let poll = if asks || !self.drives() { WAITING_POLL } else { IDLE_POLL };
        let added = timeout(poll, Arc::clone(&self.length).wait_for_more_than(known));
        Box::pin(async move { drop(added.await) })
    }

    fn drives(&self) -> bool {
        self.store.appends.is_some()
    }
}
