//! The events of a run, and the observer that receives them.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{AgentError, PartialArguments};
use crate::message::ProviderPart;
use crate::model::{FinishReason, ToolChoice, Usage};
use crate::run::{Call, CallId, CallResult, Decision, Interrupt, InterruptId, Phase, Principal, Prompt, Refusal, Run};
use crate::tool::Progress;

/// Something that happened in a run. What changes the run is told after it is in the run's log.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The run is driven: a prompt came, or it is to go on. The first event.
    RunStarted(&'a Run),
    /// The model is asked.
    StepStarted {
        /// Which turn of the model since the prompt, from 1.
        step: usize,
    },
    /// A model is asked, for the first time in a step or again.
    ModelAsked {
        /// Its name.
        model: &'a str,
        /// How often this turn failed before, with this model and others.
        failures: usize,
    },
    /// The turn came to nothing: the model failed, or what prepares its turns, or somebody ended it. It comes in place of
    /// [`Event::StepFinished`]. What was said is void, except for calls that were complete and told early: those end as any
    /// other. Of others that were announced nothing more is told. The next step has the same number, unless there were such
    /// calls.
    StepFailed {
        /// The error.
        error: &'a str,
        /// Set if the model is asked again, or the next one. Otherwise the run stops.
        again: bool,
    },
    /// The model did not obey: it was to call a tool, and the turn that ends has no such call. It stands.
    ChoiceIgnored(&'a ToolChoice),
    /// A prompt came that has to wait.
    PromptQueued(&'a Prompt),
    /// A prompt to a run that goes on was refused.
    PromptRefused(&'a Refusal),
    /// The run took up what somebody said: at its beginning, or between two steps.
    Prompted(&'a Prompt),
    /// The model said more.
    Text(&'a str),
    /// The model thought more.
    Reasoning(&'a str),
    /// The model begins a call; its arguments follow.
    CallAnnounced {
        /// The call's id.
        id: &'a CallId,
        /// The tool's name, as the model wrote it.
        name: &'a str,
    },
    /// More of a call's arguments.
    CallArguments {
        /// The call's id.
        id: &'a CallId,
        /// The next piece of text.
        text: &'a str,
        /// All of them so far.
        so_far: PartialArguments<'a>,
    },
    /// A tool that the provider executes was called, or came to something. It is no call of the run.
    Provided(&'a ProviderPart),
    /// The model's turn ended.
    StepFinished {
        /// Why.
        reason: &'a FinishReason,
        /// Tokens used by the turn.
        usage: Usage,
    },
    /// The model's turn and all calls of it have ended.
    StepEnded {
        /// Which turn of the model since the prompt, from 1.
        step: usize,
    },
    /// A call's tool accepted its arguments, or those that a person wrote in their place. Nothing is decided yet.
    CallAccepted(&'a Call),
    /// A call waits for somebody: for an approval, an answer, or whoever executes it.
    CallOpened {
        /// The call.
        call: &'a Call,
        /// The interrupt.
        interrupt: &'a Interrupt,
    },
    /// A decision about a call was made.
    CallDecided {
        /// The call.
        call: &'a Call,
        /// About what.
        interrupt: &'a InterruptId,
        /// The decision.
        decision: &'a Decision,
        /// The principal.
        by: &'a Principal,
    },
    /// A call's arguments were accepted, it was approved if it had to be, and it runs now.
    CallStarted(&'a Call),
    /// A running call reports.
    CallProgress(&'a Progress),
    /// Something happened in the run inside of a call, where the tool is an agent. Of an agent deeper inside, the event is
    /// one such itself.
    Inner {
        /// The call.
        call: &'a CallId,
        /// The event inside.
        event: &'a Event<'a>,
    },
    /// A call ended.
    CallFinished {
        /// The call.
        call: &'a Call,
        /// The result.
        result: &'a CallResult,
        /// The detail of a failure that only the log gets.
        detail: Option<&'a str>,
    },
    /// The run finished, was stopped, or waits until somebody decides.
    RunPaused(&'a Phase),
    /// The run could not go on. Of a model that fails, the run is paused before.
    RunFailed(&'a AgentError),
    /// A hook failed; nothing else came of that. Only the observer gets it.
    HookFailed {
        /// Which, in the order in which they were added, from 0.
        hook: usize,
        /// How.
        error: &'a str,
    },
}

/// Watches a run. [`Agent::observer`](super::Agent::observer) sets it.
///
/// [`Hooks`](super::Hooks) watch, too: there may be many, and they may work beside the run. An observer can also hold up tools
/// that produce more than it can hand on.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot watch the runs of an agent",
    label = "`Observer` is not implemented",
    note = "`Terminal` is an observer; a function of `&Event<'_>` can be one of `Agent::hooks`"
)]
pub trait Observer: Send + Sync {
    /// Receives an event. Called in order, from the run's task or a tool's; must not block.
    fn event(&self, event: Event<'_>);

    /// Waits until there is room for more preliminary outputs of a call; `None` where there is.
    ///
    /// A tool whose output is a stream is asked for the next item when this has come, and one that waits for
    /// [`Context::room`](crate::Context::room) goes on. So an observer that hands on to somebody slower holds up the tool,
    /// and nobody has to keep what comes in between. The call's time goes on.
    fn room<'a>(&'a self, call: &'a CallId) -> Option<BoxFuture<'a, ()>> {
        let _ = call;
        None
    }
}

impl<O: Observer + ?Sized> Observer for Arc<O> {
    fn event(&self, event: Event<'_>) {
        (**self).event(event);
    }

    fn room<'a>(&'a self, call: &'a CallId) -> Option<BoxFuture<'a, ()>> {
        (**self).room(call)
    }
}

/// The observer of a run that nobody watches.
pub struct Unwatched;

impl Observer for Unwatched {
    fn event(&self, _: Event<'_>) {}
}
