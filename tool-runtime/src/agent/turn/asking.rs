//! A turn of the model that is under way.

use std::{
    future::{pending, poll_fn},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};

use futures_util::future::BoxFuture;
use tokio::{task::coop, time::Instant};

use super::ask::{Ask, Planned, TurnEvent};
use crate::agent::{observers::Inputs, so_far::View};
use crate::model::Turn;
use crate::run::CallId;
use tool_run::run::IssuedIds;

/// A mailbox between the model's stream and its reader, which are in one task. It holds one event, so that a model that never
/// pauses cannot fill the memory.
#[derive(Clone, Default)]
pub struct Mailbox(Arc<Mutex<Option<TurnEvent>>>);

impl Mailbox {
    /// Sends an event, and waits until it was received.
    pub async fn send(&self, event: TurnEvent) {
        *self.slot() = Some(event);
        // The reader polls again when it has received it, so nobody has to be woken.
        poll_fn(|_| if self.slot().is_none() { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    fn receive(&self) -> Option<TurnEvent> {
        self.slot().take()
    }

    fn slot(&self) -> MutexGuard<'_, Option<TurnEvent>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A turn of the model that is under way.
pub struct Asking {
    /// Sends the model's answer; `None` when it has ended.
    pump: Option<BoxFuture<'static, ()>>,
    mailbox: Mailbox,
    pub turn: Turn,
    /// How many bytes it has.
    pub bytes: u64,
    pub calls: Vec<Begun>,
    /// The ids of the calls that are not in the run yet.
    pub unrecorded: IssuedIds,
    /// How many calls are in the run.
    pub recorded: usize,
    pub planned: Option<Planned>,
    /// The times at which the whole turn, and its next piece, come too late.
    pub end: Option<Instant>,
    pub piece: Option<Instant>,
    /// The hooks that follow the calls' arguments.
    pub inputs: Inputs,
}

/// A call of the turn, as far as it is announced.
pub struct Begun {
    pub id: CallId,
    pub is_complete: bool,
    pub view: View,
}

impl Asking {
    pub fn new(ask: Box<Ask>) -> Self {
        let mailbox = Mailbox::default();
        Self {
            pump: Some(Box::pin(ask.pump(mailbox.clone()))),
            mailbox,
            turn: Turn::default(),
            bytes: 0,
            calls: Vec::new(),
            unrecorded: IssuedIds::default(),
            recorded: 0,
            planned: None,
            end: None,
            piece: None,
            inputs: Inputs::default(),
        }
    }

    /// Waits for the next event; `None` when the turn broke off.
    pub async fn next(asking: &mut Option<Self>) -> Option<TurnEvent> {
        let Some(asking) = asking else { return pending().await };
        // The model is not read on while a hook is at what it said before.
        asking.inputs.idle().await;
        poll_fn(|cx| asking.poll(cx)).await
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<TurnEvent>> {
        // One that never pauses lets others have their turn.
        let turn = ready!(coop::poll_proceed(cx));
        if let Some(pump) = &mut self.pump
            && Pin::as_mut(pump).poll(cx).is_ready()
        {
            self.pump = None;
        }
        let event = self.mailbox.receive();
        if event.is_none() && self.pump.is_some() {
            return Poll::Pending;
        }
        turn.made_progress();
        Poll::Ready(event)
    }

    /// When the model has taken too long.
    pub fn deadline(&self) -> Option<Instant> {
        self.end.into_iter().chain(self.piece).min()
    }
}
