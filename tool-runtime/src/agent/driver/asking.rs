//! A turn of the model that is under way.

use std::future::pending;

use futures_util::{
    FutureExt,
    future::{BoxFuture, Fuse},
};
use tokio::{sync::mpsc, time::Instant};

use super::{
    ask::{Ask, Heard, Planned},
    inputs::Inputs,
};
use crate::agent::so_far::View;
use crate::model::Turn;
use crate::run::{CallId, Minted};

/// How many deltas are taken from a model before those before them were dealt with: one that never pauses cannot fill the
/// memory.
const AHEAD: usize = 32;

/// A turn of the model that is under way.
pub(super) struct Asking {
    /// Moves deltas from the model into the channel.
    pump: Fuse<BoxFuture<'static, ()>>,
    heard: mpsc::Receiver<Heard>,
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
    pub(super) fn new(ask: Ask) -> Self {
        let (send, heard) = mpsc::channel(AHEAD);
        Self {
            pump: ask.pump(send).boxed().fuse(),
            heard,
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
        let Some(Self { pump, heard, inputs, .. }) = asking else { return pending().await };
        // The model is not read on while a hook is at what it said before.
        inputs.idle().await;
        tokio::select! {
            biased;
            heard = heard.recv() => heard,
            () = pump => heard.recv().await,
        }
    }

    /// When the model has taken too long.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.end.into_iter().chain(self.piece).min()
    }
}
