//! Signals from outside of a run while it is driven: wishes, cancellation, and prompts that steer it.

use futures_util::{FutureExt as _, future::BoxFuture};

use crate::agent::{
    Agent,
    handle::{Handle, Wish},
    steering::Steered,
};
use crate::message::Part;

/// A signal from outside.
pub enum Signal {
    /// The agent's context was cancelled.
    Cancelled,
    /// A wish of somebody who has a handle of the session.
    Wished(Wish),
    /// A prompt to the run while it goes on.
    Steered(Vec<Part>),
    /// A test has set the clock.
    ClockMoved,
}

/// The senders of such signals.
#[derive(Debug, Default)]
pub struct Outside {
    pub handle: Handle,
    pub steered: Option<Steered>,
}

/// The futures that wait for signals, kept from one time to the next: to begin costs more than a piece of text.
#[derive(Default)]
pub struct Listeners {
    cancelled: Option<BoxFuture<'static, ()>>,
    wished: Option<BoxFuture<'static, Wish>>,
    moved: Option<BoxFuture<'static, ()>>,
}

impl Outside {
    /// Waits for the next signal to a run of `agent`. Dropped, it loses nothing.
    pub async fn next(&mut self, agent: &Agent, listeners: &mut Listeners) -> Signal {
        let cancelled = listeners.cancelled.get_or_insert_with(|| {
            let cancellation = agent.setup.context.cancellation().clone();
            Box::pin(async move { cancellation.cancelled().await })
        });
        let wished = listeners.wished.get_or_insert_with(|| {
            let handle = self.handle.clone();
            Box::pin(async move { handle.wished().await })
        });
        let moved = listeners.moved.get_or_insert_with(|| agent.setup.clock.moved().boxed());
        tokio::select! {
            biased;
            () = cancelled.as_mut() => {
                listeners.cancelled = None;
                Signal::Cancelled
            }
            wish = wished.as_mut() => {
                listeners.wished = None;
                Signal::Wished(wish)
            }
            Some(content) = Steered::next(&mut self.steered) => Signal::Steered(content),
            () = moved.as_mut() => {
                listeners.moved = None;
                Signal::ClockMoved
            }
        }
    }
}
