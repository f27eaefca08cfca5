//! What happens in a run, for whoever watches.

use super::{AgentError, SoFar};
use crate::message::ProviderPart;
use crate::model::{FinishReason, ToolChoice, Usage};
use crate::run::{
    Call, CallId, CallResult, Decision, Obligation, ObligationId, Phase, Principal, Prompt, Refusal, Run,
};
use crate::tool::Progress;

/// Something that happened in a run. What changes the run is told after it is in the run's log.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Somebody wants something of the run: a prompt comes, or it is to go on. The first event.
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
        /// What went wrong.
        error: &'a str,
        /// Whether the model is asked again, or the next one. Otherwise the run stops.
        again: bool,
    },
    /// The model did not obey: it was to call a tool, and the turn that ends has no such call. It stands.
    ChoiceIgnored(&'a ToolChoice),
    /// Somebody said something that has to wait.
    PromptQueued(&'a Prompt),
    /// What somebody said to a run that goes on was not taken.
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
        so_far: SoFar<'a>,
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
        /// What it waits for.
        obligation: &'a Obligation,
    },
    /// Somebody decided about a call.
    CallDecided {
        /// The call.
        call: &'a Call,
        /// About what.
        obligation: &'a ObligationId,
        /// What.
        decision: &'a Decision,
        /// Who.
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
        /// What happened in there.
        event: &'a Event<'a>,
    },
    /// A call ended.
    CallFinished {
        /// The call.
        call: &'a Call,
        /// What came of it.
        result: &'a CallResult,
        /// What only the log is told about a failure.
        detail: Option<&'a str>,
    },
    /// The run finished, was stopped, or waits until somebody decides.
    RunPaused(&'a Phase),
    /// The run could not go on. Of a model that fails, the run is paused before.
    RunFailed(&'a AgentError),
    /// A hook failed; nothing else came of that. Only the front is told.
    HookFailed {
        /// Which, in the order in which they were added, from 0.
        hook: usize,
        /// How.
        error: &'a str,
    },
}
