//! The loop: what the log asks for is done, and what comes of it goes into the log.
//!
//! An event leads to entries ([`step`](tool_run::run::step)), the entries go into the store, and only then anything is done.

mod alert;
mod wait;

use std::sync::Arc;

use super::{
    Agent, AgentError, Event as AgentEvent, Observer,
    calls::Calls,
    log::Log,
    observers::{Observers, within},
    questions::Questions,
    turn::ModelTurn,
};
use crate::gate::Gate;
use crate::message::ToolCall;
use crate::run::Phase;
use tool_run::run::{Action, Event};
use wait::{Happened, Waits};

/// The way in which a run is driven.
pub struct Drive {
    /// The observer, with the hooks before it.
    pub observer: Arc<dyn Observer>,
    /// A call that somebody outside makes, in place of the model's next turn.
    pub injected: Option<ToolCall>,
    /// Set if the run is left where its model would be asked.
    pub leaves_model: bool,
}

impl Drive {
    /// Drives a run after `event`, until it has finished, was stopped, or waits for somebody who is not there.
    pub async fn run(
        self,
        agent: &Agent,
        gate: &Gate,
        log: &mut Log,
        event: Option<Event>,
    ) -> Result<Phase, AgentError> {
        let mut observers = Observers::new(agent, gate, Arc::clone(&self.observer));
        let span = observers.trace.begin(agent, log.run());
        let driven = async {
            let done = self.begin(agent, gate, log, event, &mut observers).await;
            observers.trace.end(log.run(), &done);
            done
        };
        within(span, driven).await
    }

    async fn begin(
        self,
        agent: &Agent,
        gate: &Gate,
        log: &mut Log,
        event: Option<Event>,
        observers: &mut Observers,
    ) -> Result<Phase, AgentError> {
        log.begin(agent, self.leaves_model, observers).await?;
        let mut turn = ModelTurn::new(agent, gate, self.injected);
        let (mut calls, mut questions) = (Calls::new(agent, gate, self.observer), Questions::new(agent, gate));
        let done = match log.resume(event, observers).await {
            Ok(()) => drive(log, &mut turn, &mut calls, &mut questions, observers).await,
            Err(error) => Err(error),
        };
        // Whatever still runs is given up with the right to report it.
        drop((calls, questions));
        let released = log.end().await;
        let phase = done?;
        released?;
        observers.tell(AgentEvent::RunPaused(&phase));
        turn.outcome(phase)
    }
}

/// Does what the log asks for, and gives it what comes of that, until nothing is left to do here.
async fn drive(
    log: &mut Log,
    turn: &mut ModelTurn,
    calls: &mut Calls,
    questions: &mut Questions,
    observers: &mut Observers,
) -> Result<Phase, AgentError> {
    let mut waits = Waits::default();
    loop {
        follow(log, turn, calls, observers);
        while let Some(action) = log.next_action() {
            match action {
                Action::Inspect(call) => calls.check(&call, log, observers),
                Action::CallModel => turn.start(log, observers),
                Action::AbortModel => turn.abort(),
                Action::Execute { call, attempt } => calls.execute(call, attempt, log, observers),
                Action::Abort(call) => calls.abort(&call, observers),
                Action::Announce(interrupt) => questions.announce(interrupt, log),
                Action::Wake(at) => log.wake_at(at),
            }
        }
        if log.has_news() {
            log.keep(observers).await?;
            continue;
        }
        questions.ask_next(log);
        if log.is_at_rest(questions.is_busy()) {
            if !calls.take_asked(log, observers).await? && !log.take_up_late(observers).await? {
                return Ok(log.run().phase());
            }
        } else if !log.leave(observers).await? {
            receive(&mut waits, log, turn, calls, questions, observers).await?;
        }
    }
}

/// Lets the parts know of what others have added to the log, or the run was prompted with.
fn follow(log: &mut Log, turn: &mut ModelTurn, calls: &mut Calls, observers: &mut Observers) {
    if log.take_changed_by_others() {
        calls.follow(log, observers);
        turn.follow(log);
    }
    if log.take_prompted() {
        turn.prompted();
    }
}

/// Waits until something happens, and gives it to the log. Pieces of the model's turn from which nothing follows are received
/// one after the other.
async fn receive(
    waits: &mut Waits,
    log: &mut Log,
    turn: &mut ModelTurn,
    calls: &mut Calls,
    questions: &mut Questions,
    observers: &mut Observers,
) -> Result<(), AgentError> {
    waits.refresh();
    loop {
        let happened = waits.next(log, turn, calls, questions).await;
        let is_piece = happened.is_piece();
        match happened {
            Happened::Signal(signal) => log.receive(signal, observers).await?,
            Happened::Call(event) => calls.receive(event, log, observers).await?,
            Happened::Answered(answered) => questions.receive(*answered, log),
            Happened::Turn(event) => turn.receive(event, log, observers),
            Happened::Time => {
                // However often this comes, the tasks of the calls get their turn.
                tokio::task::yield_now().await;
                log.tick();
                calls.end_overdue(log, observers);
                turn.end_overdue(log);
                log.stay(observers).await?;
            }
        }
        if !(is_piece && turn.is_asking() && !log.has_news()) {
            break;
        }
    }
    // What is there already goes into the same append.
    calls.take_ended(log, observers);
    Ok(())
}
