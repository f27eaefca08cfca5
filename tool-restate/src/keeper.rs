//! The place from which a session drives a run on Restate, or follows it.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::timeout,
};
use tool_runtime::run::RunId;
use tool_runtime::store::{Append, Keeper, Record, Store, StoreError};

use crate::engine::Restate;
use crate::wire::now;
use crate::wire::{Appended, Entries};

/// The polling interval while somebody waits for the run. A change in this process is noticed at once.
const POLL: Duration = Duration::from_millis(200);

/// The polling interval otherwise.
const WATCH: Duration = Duration::from_secs(1);

/// The request of a loop to store entries.
pub struct Ask {
    pub entries: Entries,
    pub answer: Answer,
}

pub type Answer = oneshot::Sender<Appended>;
pub type Asks = mpsc::UnboundedSender<Ask>;
pub type Asked = mpsc::UnboundedReceiver<Ask>;

/// The place of one session.
pub struct RestateKeeper {
    pub engine: Restate,
    pub run: RunId,
    /// Changes when this process appends.
    pub added: Arc<watch::Sender<()>>,
    /// The last change that was seen.
    pub seen: watch::Receiver<()>,
}

impl Keeper for RestateKeeper {
    fn append(&mut self, append: Append) -> BoxFuture<'_, Result<(), StoreError>> {
        let Some(asks) = &self.engine.asks else { return self.engine.append(&self.run, append) };
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let gone = || StoreError::unavailable("Restate has ended the invocation that drives the run");
            asks.send(Ask { entries: Entries::new(append, now()), answer }).map_err(|_| gone())?;
            answered.await.map_err(|_| gone())?.into_result()
        })
    }

    fn read(&mut self, known: u64) -> BoxFuture<'_, Result<Vec<Record>, StoreError>> {
        self.seen.mark_unchanged();
        self.engine.read(&self.run, known)
    }

    fn wait(&mut self, asks: bool) -> BoxFuture<'static, ()> {
        let longest = if asks || !self.drives() { POLL } else { WATCH };
        let (sender, mut seen) = (Arc::clone(&self.added), self.seen.clone());
        Box::pin(async move {
            let _ = timeout(longest, seen.changed()).await;
            drop(sender);
        })
    }

    fn drives(&self) -> bool {
        self.engine.asks.is_some()
    }
}
