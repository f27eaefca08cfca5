//! A turn of the model that is under way.

use std::{
    future::{pending, poll_fn},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
};

use futures_util::future::BoxFuture;
use tokio::{task::coop, time::Instant};

use super::{
    ask::{Ask, Heard, Planned},
    inputs::Inputs,
};
use crate::agent::so_far::View;
use crate::model::Turn;
use crate::run::{CallId, Minted};

/// Where the next thing lies that is heard of the model: one, so that a model that never pauses cannot fill the memory. Both
/// sides are in one task.
#[derive(Clone, Default)]
pub(super) struct Ear(Arc<Mutex<Option<Heard>>>);

impl Ear {
    /// Says something, and waits until it was heard.
    pub(super) async fn say(&self, said: Heard) {
        self.slot(|slot| *slot = Some(said));
        // Who has heard it polls again, so nobody has to be woken.
        poll_fn(|_| if self.slot(|slot| slot.is_none()) { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    fn take(&self) -> Option<Heard> {
        self.slot(Option::take)
    }

    fn slot<T>(&self, look: impl FnOnce(&mut Option<Heard>) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A turn of the model that is under way.
pub(super) struct Asking {
    /// Says what the model says; `None` when it has ended.
    pump: Option<BoxFuture<'static, ()>>,
    ear: Ear,
    pub(super) turn: Turn,
    /// How many bytes it has.
    pub(super) bytes: u64,
    pub(super) calls: Vec<Begun>,
    /// The ids of the calls that the run was not told of.
    pub(super) untold: Minted,
    /// How many calls it was told of.
    pub(super) told: usize,
    pub(super) planned: Option<Planned>,
    /// When the whole turn, and its next piece, come too late.
    pub(super) end: Option<Instant>,
    pub(super) piece: Option<Instant>,
    /// Who hears of the calls' arguments.
    pub(super) inputs: Inputs,
}

/// A call of the turn, as far as it is announced.
pub(super) struct Begun {
    pub(super) id: CallId,
    pub(super) is_complete: bool,
    pub(super) view: View,
}

impl Asking {
    pub(super) fn new(ask: Box<Ask>) -> Self {
        let ear = Ear::default();
        Self {
            pump: Some(Box::pin(ask.pump(ear.clone()))),
            ear,
            turn: Turn::default(),
            bytes: 0,
            calls: Vec::new(),
            untold: Minted::default(),
            told: 0,
            planned: None,
            end: None,
            piece: None,
            inputs: Inputs::default(),
        }
    }

    /// What comes next; `None` when the turn broke off.
    pub(super) async fn next(asking: &mut Option<Self>) -> Option<Heard> {
        let Some(asking) = asking else { return pending().await };
        // The model is not read on while a hook is at what it said before.
        asking.inputs.idle().await;
        poll_fn(|cx| asking.poll(cx)).await
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Heard>> {
        // One that never pauses lets others have their turn.
        let turn = ready!(coop::poll_proceed(cx));
        if let Some(pump) = &mut self.pump
            && Pin::as_mut(pump).poll(cx).is_ready()
        {
            self.pump = None;
        }
        let heard = self.ear.take();
        if heard.is_none() && self.pump.is_some() {
            return Poll::Pending;
        }
        turn.made_progress();
        Poll::Ready(heard)
    }

    /// When the model has taken too long.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.end.into_iter().chain(self.piece).min()
    }
}
