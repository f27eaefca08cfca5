//! The model's turn, as it comes.

use std::{future::pending, sync::Arc};

use futures_util::{
    FutureExt, StreamExt,
    future::{BoxFuture, Fuse},
};
use tokio::sync::mpsc;

use super::{Driver, now, tell::tell};
use crate::agent::{Agent, Event as Told};
use crate::message::Message;
use crate::model::{Delta, FinishReason, ModelError, ModelErrorKind, Request, Turn};
use crate::run::{CallId, Event};
use crate::toolset::Toolset;

/// A turn of the model that is under way.
pub(super) struct Asking {
    /// Moves deltas from the model into the channel.
    pump: Fuse<BoxFuture<'static, ()>>,
    deltas: mpsc::UnboundedReceiver<Result<Delta, ModelError>>,
    turn: Turn,
    /// The ids of its calls.
    ids: Vec<CallId>,
    /// Which of its calls are complete.
    complete: Vec<bool>,
    /// How many of them the run was told of.
    told: usize,
}

impl Asking {
    fn new(agent: Agent, messages: Arc<[Message]>, tools: Toolset) -> Self {
        let (send, deltas) = mpsc::unbounded_channel();
        let pump = async move {
            let request =
                Request::new(&messages, tools.list()).with_choice(&agent.tool_choice).with_settings(&agent.settings);
            let mut stream = agent.model.stream(request);
            while let Some(delta) = stream.next().await {
                let is_last = matches!(delta, Err(_) | Ok(Delta::Finish(_)));
                if send.send(delta).is_err() || is_last {
                    return;
                }
            }
        };
        let (ids, complete) = (Vec::new(), Vec::new());
        Self { pump: pump.boxed().fuse(), deltas, turn: Turn::default(), ids, complete, told: 0 }
    }

    /// The next delta; `None` when the turn broke off.
    pub(super) async fn next(asking: &mut Option<Self>) -> Option<Result<Delta, ModelError>> {
        let Some(Self { pump, deltas, .. }) = asking else { return pending().await };
        tokio::select! {
            biased;
            delta = deltas.recv() => delta,
            () = pump => deltas.recv().await,
        }
    }
}

impl Driver<'_> {
    pub(super) fn ask_model(&mut self) {
        self.failure = None;
        let messages = self.share_conversation();
        let tools = self.inspector.tools().clone();
        self.asking = Some(Asking::new(self.agent.clone(), messages, tools));
    }

    /// The model said more, or its turn broke off.
    pub(super) fn delta(&mut self, delta: Option<Result<Delta, ModelError>>) {
        let cut = || ModelError::new(ModelErrorKind::Protocol, "the model's answer was cut off before its end");
        match delta {
            Some(Ok(delta)) => self.said(delta),
            Some(Err(error)) => self.model_failed(error),
            None => self.model_failed(cut()),
        }
    }

    fn said(&mut self, delta: Delta) {
        let Some(asking) = &mut self.asking else { return };
        if let Delta::CallStart { id, .. } = &delta {
            let new = asking.ids.get(asking.told..).unwrap_or_default();
            asking.ids.push(self.kept.run.mint(id, new));
            asking.complete.push(false);
        }
        let number = match &delta {
            Delta::CallArguments { index, .. } | Delta::CallEnd { index } => asking.turn.number_of(*index),
            _ => None,
        };
        let call = number.and_then(|number| asking.ids.get(number));
        let front = &*self.agent.front;
        match &delta {
            Delta::Text(text) => tell(front, Told::Text(text)),
            Delta::Reasoning(text) => tell(front, Told::Reasoning(text)),
            Delta::CallStart { name, .. } => {
                if let Some(id) = asking.ids.last() {
                    tell(front, Told::CallAnnounced { id, name });
                }
            }
            Delta::CallArguments { text, .. } => {
                if let Some(id) = call {
                    tell(front, Told::CallArguments { id, text });
                }
            }
            Delta::CallEnd { .. } => {
                if let Some(complete) = number.and_then(|number| asking.complete.get_mut(number)) {
                    *complete = true;
                }
            }
            Delta::Finish(reason) => tell(front, Told::StepFinished { reason, usage: asking.turn.usage }),
            _ => {}
        }
        let finish = match &delta {
            Delta::Finish(reason) => Some(reason.clone()),
            _ => None,
        };
        asking.turn.push(delta);
        match finish {
            Some(finish) => self.turn_ended(finish),
            None => self.tell_early(),
        }
    }

    /// Tells the run of calls that are complete and may be early, in order: one that may not holds back those behind it.
    fn tell_early(&mut self) {
        loop {
            let Some(asking) = &mut self.asking else { return };
            let number = asking.told;
            if !asking.complete.get(number).copied().unwrap_or_default() {
                return;
            }
            let Some(call) = asking.turn.calls().nth(number) else { return };
            if !self.inspector.tool(&call.name).is_some_and(|tool| tool.may_be_early()) {
                return;
            }
            let call = call.clone();
            let index = u32::try_from(number).unwrap_or(u32::MAX);
            let before = self.kept.run.current().len();
            self.feed_late(Event::Called { index, provider_id: call.id, name: call.name, arguments: call.arguments });
            if self.kept.run.current().len() == before {
                return;
            }
            if let Some(asking) = &mut self.asking {
                asking.told += 1;
            }
        }
    }

    fn turn_ended(&mut self, finish: FinishReason) {
        let Some(Asking { turn, .. }) = self.asking.take() else { return };
        self.feed_late(Event::TurnEnded { parts: turn.content, finish, usage: turn.usage, at: now() });
    }

    fn model_failed(&mut self, error: ModelError) {
        self.asking = None;
        self.feed_late(Event::TurnFailed { error: error.to_string(), at: now() });
        self.failure = Some(error);
    }
}
