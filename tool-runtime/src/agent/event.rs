//! The events of a run, and the observer that receives them.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError, TryLockError},
};

use futures_util::future::BoxFuture;

use crate::agent::AgentError;
use crate::json::IncrementalJson;
use crate::message::{Part, ProviderPart};
use crate::model::{FinishReason, ToolChoice, Usage};
use crate::run::{Call, CallId, CallResult, Decision, Interrupt, InterruptId, Phase, Principal, Prompt, Refusal, Run};
use crate::tool::Progress;
use tool_schema::json::{Path, ValueChange};

/// An event of a run. An event that changes the run is reported after the change is in the run's log.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The runtime drives the run, because a prompt came or the run is continued. This is the first event.
    RunStarted(&'a Run),
    /// A step begins.
    StepStarted {
        /// The number of the step since the run was last prompted or continued, from 1.
        step: usize,
    },
    /// The runtime asks a model, for the first time in a step or again.
    ModelAsked {
        /// The model's name.
        model: &'a str,
        /// The number of failures of this turn so far, with this model and others.
        failures: usize,
    },
    /// The turn failed: the model or the preparation of its turn failed, or the turn was ended from outside. This event takes
    /// the place of [`Event::TurnEnded`]. The text of the turn is void. Complete calls that were reported early end like any
    /// other; no more events follow about other announced calls. The next step has the same number, unless there were early
    /// calls.
    TurnFailed {
        /// The error.
        error: &'a str,
        /// Set if the same or the next model is asked again. Otherwise the run stops.
        again: bool,
    },
    /// The model sees other messages than the run has ([`NextStep::set_messages`](super::NextStep::set_messages)).
    HistoryChanged {
        /// The reasons, in the order of the changes.
        reasons: &'a [String],
    },
    /// The model cannot take a part of the conversation, so the request describes it in words
    /// ([`Agent::unreadable_parts`](crate::Agent::unreadable_parts)). It is reported once for each part and model of a session.
    PartDescribed {
        /// The part.
        part: &'a Part,
        /// The id of the call whose result has the part; `None` if it is one of a prompt.
        call: Option<&'a str>,
        /// The model's name.
        model: &'a str,
    },
    /// The model ignored the choice of tools: it had to call a tool, and its turn has no such call. The turn stands.
    ChoiceIgnored(&'a ToolChoice),
    /// A prompt came, and waits until the run can accept it.
    PromptQueued(&'a Prompt),
    /// The run refused a message that should steer it.
    PromptRefused(&'a Refusal),
    /// The run accepted a prompt, at its beginning or between two steps.
    Prompted(&'a Prompt),
    /// A piece of the model's text.
    Text(&'a str),
    /// A piece of the model's reasoning.
    Reasoning(&'a str),
    /// The model begins a call. The arguments follow.
    CallAnnounced {
        /// The call's id.
        id: &'a CallId,
        /// The tool's name, as the model wrote it.
        name: &'a str,
    },
    /// A piece of a call's arguments.
    CallArguments {
        /// The call's id.
        id: &'a CallId,
        /// The new piece of text.
        text: &'a str,
        /// The arguments up to and including this piece.
        so_far: PartialArguments<'a>,
    },
    /// The provider called a tool that it executes itself, or such a call ended. It is not a call of the run.
    ProviderPart(&'a ProviderPart),
    /// The model's turn ended.
    TurnEnded {
        /// The reason.
        reason: &'a FinishReason,
        /// Tokens used by the turn.
        usage: Usage,
    },
    /// The model's turn and all of its calls have ended.
    StepEnded {
        /// The number of the step since the run was last prompted or continued, from 1.
        step: usize,
    },
    /// A call's tool accepted the arguments of the model, or those that a person wrote instead. The call may still be denied.
    CallAccepted(&'a Call),
    /// Another agent of the team goes on ([`Agent::hands_over_to`](crate::Agent::hands_over_to)).
    HandedOver {
        /// The name of the agent; `None` for the run's own.
        to: Option<&'a str>,
    },
    /// A call waits for an approval, an answer, its execution outside this program, or a decision after its process died.
    InterruptOpened {
        /// The call.
        call: &'a Call,
        /// The interrupt.
        interrupt: &'a Interrupt,
    },
    /// A decision about a call was made.
    CallDecided {
        /// The call.
        call: &'a Call,
        /// The id of the interrupt.
        interrupt: &'a InterruptId,
        /// The decision.
        decision: &'a Decision,
        /// The principal that decided.
        by: &'a Principal,
    },
    /// A call runs now: its arguments were accepted, and it was approved if that was necessary.
    CallStarted(&'a Call),
    /// A running call reports progress.
    CallProgress(&'a Progress),
    /// An event of the run inside of a call whose tool is an agent. If that run has such a call itself, the inner event is an
    /// [`Event::Inner`] again.
    Inner {
        /// The id of the call.
        call: &'a CallId,
        /// The name of the inner agent ([`Agent::name`](crate::Agent::name)); without one, that of its tool.
        agent: &'a str,
        /// The event of the inner run.
        event: &'a Event<'a>,
    },
    /// A call ended.
    CallEnded {
        /// The call.
        call: &'a Call,
        /// The result.
        result: &'a CallResult,
        /// The cause of a failure, which neither the model nor the run's log receives.
        detail: Option<&'a str>,
    },
    /// The run finished, was stopped, or waits for a decision.
    RunAtRest(&'a Phase),
    /// The run could not go on. If a model failed or the run was cancelled, [`Event::RunAtRest`] came before.
    RunFailed(&'a AgentError),
    /// A hook failed. This has no other effect, and only the observer receives the event.
    HookFailed {
        /// The number of the hook, in the order in which hooks were added, from 0.
        hook: usize,
        /// The text of the error.
        error: &'a str,
    },
}

/// A receiver of the events of a run, set by [`Agent::observer`](crate::Agent::observer).
///
/// [Hooks](super::Hook) also receive events. An agent can have many hooks, and they can work beside the run. Only the
/// observer can slow down tools that produce output faster than it can pass on.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot watch the runs of an agent",
    label = "`Observer` is not implemented",
    note = "`Terminal` is an observer; a function of `&Event<'_>` can be one of `Agent::hook`"
)]
pub trait Observer: Send + Sync {
    /// Receives an event. The runtime calls this in order, from the run's task or a tool's task. This method must not block.
    fn on_event(&self, event: Event<'_>);

    /// Waits until there is room for more preliminary outputs of a call. Returns `None` if there is room now.
    ///
    /// The runtime asks a streaming tool for its next item only after the future is ready. A tool that waits for
    /// [`Context::wait_for_room`](crate::Context::wait_for_room) goes on then, too. So an observer with a slow receiver slows down the tool,
    /// and no buffer has to keep the items. The call's time limit keeps running.
    fn wait_for_room<'a>(&'a self, call: &'a CallId) -> Option<BoxFuture<'a, ()>> {
        let _ = call;
        None
    }
}

impl<O: Observer + ?Sized> Observer for Arc<O> {
    fn on_event(&self, event: Event<'_>) {
        (**self).on_event(event);
    }

    fn wait_for_room<'a>(&'a self, call: &'a CallId) -> Option<BoxFuture<'a, ()>> {
        (**self).wait_for_room(call)
    }
}

/// An observer that ignores all events.
pub struct NoObserver;

impl Observer for NoObserver {
    fn on_event(&self, _: Event<'_>) {}
}

/// The arguments of a call so far, as text and as a value. The text is parsed when an observer first looks at the value, and
/// each later piece is parsed once. An observer that never looks costs nothing.
///
/// ```
/// use tool_runtime::agent::{Event, Observer};
///
/// struct Typing;
///
/// impl Observer for Typing {
///     fn on_event(&self, event: Event<'_>) {
///         if let Event::CallArguments { so_far, .. } = event {
///             so_far.look(|json| match json.value() {
///                 Some(value) => println!("writes to {}", value["to"]),
///                 None => println!("begins"),
///             });
///         }
///     }
/// }
/// ```
#[derive(Clone, Copy)]
pub struct PartialArguments<'a> {
    text: &'a str,
    view: &'a View,
}

/// The parsed part of a call's arguments.
#[derive(Debug, Default)]
pub struct View(Mutex<Option<Box<IncrementalJson>>>);

static UNWATCHED: View = View(Mutex::new(None));

impl PartialArguments<'static> {
    /// The arguments of a call before their first piece, for tests of observers.
    pub const EMPTY: Self = Self { text: "", view: &UNWATCHED };
}

impl<'a> PartialArguments<'a> {
    pub(super) fn new(text: &'a str, view: &'a View) -> Self {
        Self { text, view }
    }

    /// Returns the text.
    pub fn text(self) -> &'a str {
        self.text
    }

    /// Calls `look` with the value, without a copy. Text that is not JSON is in [`IncrementalJson::error`]; the value then holds
    /// the part before the error.
    ///
    /// # Panics
    ///
    /// Panics if it is called from inside `look`, or from inside `report` of [`PartialArguments::for_each_change`].
    pub fn look<R>(self, look: impl FnOnce(&IncrementalJson) -> R) -> R {
        self.read(look, |json, rest| json.feed_str(rest).ok())
    }

    /// Calls `report` with each change since the last call of this method or of [`PartialArguments::look`] for this call of a
    /// tool. An observer that calls it with each piece gets the changes of each piece.
    ///
    /// # Panics
    ///
    /// Panics in the same cases as [`PartialArguments::look`].
    pub fn for_each_change(self, report: &mut dyn FnMut(Path<'_>, ValueChange<'_>)) {
        self.read(|_| (), |json, rest| json.feed_str_with(rest, report).ok());
    }

    fn read<R>(
        self,
        look: impl FnOnce(&IncrementalJson) -> R,
        feed: impl FnOnce(&mut IncrementalJson, &str) -> Option<()>,
    ) -> R {
        let mut view = match self.view.0.try_lock() {
            Ok(view) => view,
            Err(TryLockError::Poisoned(view)) => PoisonError::into_inner(view),
            Err(TryLockError::WouldBlock) => panic!("`look` or `for_each_change` was called inside itself"),
        };
        let json = view.get_or_insert_default();
        // Each look parses the text to its end or its first error. So without an error, the offset is the length of the text at
        // the last look.
        if json.error().is_none() {
            let read = json.offset();
            feed(json, &self.text[read..]);
        }
        look(json)
    }
}

impl fmt::Debug for PartialArguments<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("PartialArguments").field(&self.text).finish()
    }
}
