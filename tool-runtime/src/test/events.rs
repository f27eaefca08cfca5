//! The recorded events of a run, with assertions about them.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use super::{Grammar, MisplacedEvent};
use crate::agent::{Event, Observer};
use crate::feedback::one_line;
use crate::message::Part;
use crate::model::{FinishReason, Usage};
use crate::run::{Call, CallId, CallResult, Decision, Extent, Interrupt, InterruptId, Phase, Principal, Prompt};
use crate::sync::lock;
use crate::tool::Progress;

/// An [`Event`] that can be kept, because it owns its data. `Display` writes one line, as [`Events::lines`](super::Events::lines)
/// returns it.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "a test has few of them")]
#[non_exhaustive]
pub enum RecordedEvent {
    /// A step begins.
    StepStarted {
        /// The number of the step since the prompt, from 1.
        step: usize,
    },
    /// A model is asked, for the first time in a step or again.
    ModelAsked {
        /// Its name.
        model: String,
        /// The number of earlier failures of this turn.
        failures: usize,
    },
    /// The turn failed.
    TurnFailed {
        /// The error.
        error: String,
        /// Set if this model, or the next one, is asked again.
        again: bool,
    },
    /// The run accepted a prompt.
    Prompted(Prompt),
    /// The model sent more text.
    Text(String),
    /// The model sent more reasoning.
    Reasoning(String),
    /// The model begins a call.
    CallAnnounced {
        /// The call's id.
        id: CallId,
        /// The tool's name, as the model wrote it.
        name: String,
    },
    /// More of a call's arguments.
    CallArguments {
        /// The call's id.
        id: CallId,
        /// The next piece of text.
        text: String,
    },
    /// The model's turn ended.
    TurnEnded {
        /// The reason.
        reason: FinishReason,
        /// Tokens used by the turn.
        usage: Usage,
    },
    /// A call's tool accepted its arguments.
    CallAccepted(RecordedCall),
    /// A call waits for a decision.
    InterruptOpened {
        /// The call.
        call: RecordedCall,
        /// The interrupt.
        interrupt: Interrupt,
    },
    /// A decision about a call was made.
    CallDecided {
        /// The call.
        call: RecordedCall,
        /// The interrupt.
        interrupt: InterruptId,
        /// The decision.
        decision: Decision,
        /// The principal.
        by: Principal,
    },
    /// A call runs now.
    CallStarted(RecordedCall),
    /// A running call reports.
    CallProgress(Progress),
    /// A call ended.
    CallEnded {
        /// The call.
        call: RecordedCall,
        /// The result.
        result: CallResult,
        /// The cause of a failure.
        detail: Option<String>,
        /// The extent to which the call may have run.
        extent: Extent,
    },
    /// The run finished, was stopped, or waits.
    RunAtRest(Phase),
    /// Another event as `Debug` shows it, or `run begins`.
    Other(String),
}

/// A call at the time of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedCall {
    /// Its id.
    pub id: CallId,
    /// The tool's name.
    pub name: String,
    /// Its arguments' text.
    pub arguments: String,
}

impl RecordedEvent {
    /// Returns the id of the call to which the event belongs.
    pub fn call(&self) -> Option<&str> {
        Some(match self {
            Self::CallAnnounced { id, .. } | Self::CallArguments { id, .. } => id.as_str(),
            Self::CallProgress(progress) => &progress.call_id,
            Self::CallAccepted(call)
            | Self::CallStarted(call)
            | Self::InterruptOpened { call, .. }
            | Self::CallDecided { call, .. }
            | Self::CallEnded { call, .. } => call.id.as_str(),
            _ => return None,
        })
    }
}

impl From<&Call> for RecordedCall {
    fn from(call: &Call) -> Self {
        Self { id: call.id.clone(), name: call.name.clone(), arguments: call.arguments().text.to_string() }
    }
}

impl From<Event<'_>> for RecordedEvent {
    fn from(event: Event<'_>) -> Self {
        match event {
            Event::StepStarted { step } => Self::StepStarted { step },
            Event::ModelAsked { model, failures } => Self::ModelAsked { model: model.to_owned(), failures },
            Event::TurnFailed { error, again } => Self::TurnFailed { error: error.to_owned(), again },
            Event::Prompted(prompt) => Self::Prompted(prompt.clone()),
            Event::Text(text) => Self::Text(text.to_owned()),
            Event::Reasoning(text) => Self::Reasoning(text.to_owned()),
            Event::CallAnnounced { id, name } => Self::CallAnnounced { id: id.clone(), name: name.to_owned() },
            Event::CallArguments { id, text, .. } => Self::CallArguments { id: id.clone(), text: text.to_owned() },
            Event::TurnEnded { reason, usage } => Self::TurnEnded { reason: reason.clone(), usage },
            Event::CallAccepted(call) => Self::CallAccepted(call.into()),
            Event::InterruptOpened { call, interrupt } => {
                Self::InterruptOpened { call: call.into(), interrupt: interrupt.clone() }
            }
            Event::CallDecided { call, interrupt, decision, by } => Self::CallDecided {
                call: call.into(),
                interrupt: interrupt.clone(),
                decision: decision.clone(),
                by: by.clone(),
            },
            Event::CallStarted(call) => Self::CallStarted(call.into()),
            Event::CallProgress(progress) => Self::CallProgress(progress.clone()),
            Event::CallEnded { call, result, detail } => {
                let (extent, detail) = (call.extent(), detail.map(str::to_owned));
                Self::CallEnded { call: call.into(), result: result.clone(), detail, extent }
            }
            Event::RunAtRest(phase) => Self::RunAtRest(phase.clone()),
            Event::RunStarted(_) => Self::Other("run begins".to_owned()),
            #[allow(unreachable_patterns, reason = "events that come with other features are kept as text")]
            other => Self::Other(format!("{other:?}")),
        }
    }
}

impl fmt::Display for RecordedEvent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = match self {
            Self::StepStarted { step } => format!("step {step}"),
            Self::ModelAsked { model, failures: 0 } => format!("asked {model}"),
            Self::ModelAsked { model, failures } => format!("asked {model} after {failures} failures"),
            Self::TurnFailed { error, again } => format!("turn failed{}: {error}", if *again { ", again" } else { "" }),
            Self::Prompted(prompt) => {
                let text = prompt.content.iter().filter_map(Part::as_text).collect::<Vec<_>>().join(" ");
                format!("prompted {text:?}")
            }
            Self::Text(text) => format!("text {text:?}"),
            Self::Reasoning(text) => format!("reasoning {text:?}"),
            Self::CallAnnounced { id, name } => format!("announced {id} {name}"),
            Self::CallArguments { id, text } => format!("arguments {id} {text}"),
            Self::TurnEnded { reason, .. } => format!("turn finished: {reason:?}"),
            Self::CallAccepted(call) => format!("accepted {call}"),
            Self::InterruptOpened { call, interrupt } => format!("opened {call}: {}", interrupt.kind.name()),
            Self::CallDecided { call, decision, by, .. } => {
                let by = if by.as_str().is_empty() { String::new() } else { format!(" by {by}") };
                format!("decided {call}: {}{by}", decision.verb())
            }
            Self::CallStarted(call) => format!("started {call}"),
            Self::CallProgress(progress) => {
                let total = progress.total.map(|total| format!(" of {total}")).unwrap_or_default();
                let message = progress.message.as_deref().unwrap_or_default();
                let preliminary = progress.preliminary.as_ref().map(|value| format!(" {value}")).unwrap_or_default();
                format!("progress {} {}{total} {message}{preliminary}", progress.call_id, progress.done)
            }
            Self::CallEnded { call, result, detail, extent } => {
                let output = result.output().and_then(|output| output.as_json().map(|json| format!(": {json}")));
                let outcome = output.unwrap_or_else(|| format!(": {}", result.for_people(&call.name, *extent)));
                let detail = detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
                format!("finished {} {} {}{outcome}{detail}", call.id, call.name, result.name())
            }
            Self::RunAtRest(phase) => format!("paused: {phase:?}"),
            Self::Other(text) => text.clone(),
        };
        out.write_str(&one_line(&line))
    }
}

impl fmt::Display for RecordedCall {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {} {}", self.id, self.name, self.arguments)
    }
}

/// An observer that records the events of a run and checks their order. Clones share the events.
///
/// [`Agent::observer`](crate::Agent::observer) sets it. An observer of your own can pass its events to
/// [`Events::on_event`](Observer::on_event).
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use tool_runtime::{Agent, model::{ScriptedModel, Turn}, test::Events, tool, toolset};
///
/// /// Adds two numbers.
/// #[tool(effect = read_only)]
/// fn add(/** The first. */ a: i64, /** The second. */ b: i64) -> i64 {
///     a + b
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let model = ScriptedModel::new([Turn::call("add", r#"{"a":1,"b":2}"#), Turn::say("It is 3.")]);
/// let events = Events::new();
/// Agent::new(model).tools(toolset!(add)).observer(events.clone()).run("What is 1 + 2?").await.unwrap();
/// events.assert_order(&["step 1", "started call_1_0 add", "succeeded: 3", "step 2", "It is 3."]);
/// assert_eq!(events.of_tool("add").lines().len(), 5);
/// # });
/// # }
/// ```
///
/// A [`Grammar`] checks the order of the events. If the order is wrong, the last clone panics when it is dropped. The check is
/// for one run at a time; see [`Events::unchecked`].
#[derive(Clone)]
pub struct Events {
    log: Arc<Mutex<Log>>,
}

struct Log {
    seen: Vec<RecordedEvent>,
    /// The grammar, and the first event that did not fit; `None` if the order is not checked.
    order: Option<(Grammar, Option<MisplacedEvent>)>,
}

impl Drop for Log {
    fn drop(&mut self) {
        if let Some((_, Some(misplaced))) = &self.order
            && !std::thread::panicking()
        {
            let lines: Vec<String> = self.seen.iter().map(ToString::to_string).collect();
            panic!("{misplaced}; what happened:\n{}", marked(&lines, &[]));
        }
    }
}

impl Events {
    /// Creates a recording without events.
    pub fn new() -> Self {
        Self::of(Vec::new(), Some((Grammar::new(), None)))
    }

    /// Creates a recording that accepts any order: for several runs at once, for a run with several drivers, or for a run that
    /// breaks off in the middle, like a killed process.
    pub fn unchecked() -> Self {
        Self::of(Vec::new(), None)
    }

    fn of(seen: Vec<RecordedEvent>, order: Option<(Grammar, Option<MisplacedEvent>)>) -> Self {
        Self { log: Arc::new(Mutex::new(Log { seen, order })) }
    }

    /// Records that the drive ended without an event: see [`Grammar::broke_off`].
    pub fn broke_off(&self) {
        if let Some((grammar, _)) = &mut lock(&self.log).order {
            grammar.broke_off();
        }
    }

    /// Takes the first event that did not fit at its place, if there was one. The test no longer fails because of it.
    pub fn take_misplaced(&self) -> Option<MisplacedEvent> {
        lock(&self.log).order.as_mut()?.1.take()
    }

    /// Returns the events so far.
    pub fn all(&self) -> Vec<RecordedEvent> {
        lock(&self.log).seen.clone()
    }

    /// Returns a line for each event so far.
    pub fn lines(&self) -> Vec<String> {
        lock(&self.log).seen.iter().map(ToString::to_string).collect()
    }

    /// Returns the events of the call `id`.
    pub fn of_call(&self, id: &str) -> Self {
        self.filtered(|seen| seen.call() == Some(id))
    }

    /// Returns the events of all calls of the tool `name`.
    pub fn of_tool(&self, name: &str) -> Self {
        let announced = |seen: &RecordedEvent| match seen {
            RecordedEvent::CallAnnounced { id, name: called } if called == name => Some(id.to_string()),
            RecordedEvent::CallAccepted(call)
            | RecordedEvent::CallStarted(call)
            | RecordedEvent::CallEnded { call, .. }
                if call.name == name =>
            {
                Some(call.id.to_string())
            }
            _ => None,
        };
        let ids: Vec<String> = lock(&self.log).seen.iter().filter_map(announced).collect();
        self.filtered(|seen| seen.call().is_some_and(|id| ids.iter().any(|known| known == id)))
    }

    /// Returns all text of the model.
    pub fn text(&self) -> String {
        let text = |seen: &RecordedEvent| match seen {
            RecordedEvent::Text(text) => Some(text.clone()),
            _ => None,
        };
        lock(&self.log).seen.iter().filter_map(text).collect()
    }

    /// Removes the events so far.
    pub fn clear(&self) {
        lock(&self.log).seen.clear();
    }

    /// Asserts that there are events whose lines contain `parts`, in this order; others may be in between.
    ///
    /// # Panics
    ///
    /// If a part is missing after the one before. The message has all lines, and that part.
    #[track_caller]
    pub fn assert_order(&self, parts: &[&str]) {
        let lines = self.lines();
        let mut found = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            let start = found.last().map_or(0, |at| at + 1);
            match lines[start..].iter().position(|line| line.contains(part)) {
                Some(at) => found.push(start + at),
                None => panic!("{}", explain_order(&lines, &found, parts, number)),
            }
        }
    }

    /// Asserts that no event's line contains `part`.
    ///
    /// # Panics
    ///
    /// If there is such an event. The message has all lines.
    #[track_caller]
    pub fn assert_none(&self, part: &str) {
        let lines = self.lines();
        let found = lines.iter().position(|line| line.contains(part));
        assert!(found.is_none(), "{part:?} is in an event:\n{}", marked(&lines, found.as_slice()));
    }

    fn filtered(&self, keep: impl Fn(&RecordedEvent) -> bool) -> Self {
        let kept = lock(&self.log).seen.iter().filter(|seen| keep(seen)).cloned().collect();
        Self::of(kept, None)
    }
}

impl Default for Events {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for Events {
    fn on_event(&self, event: Event<'_>) {
        let mut log = lock(&self.log);
        if let Some((grammar, misplaced)) = &mut log.order
            && let Err(wrong) = grammar.check(&event)
        {
            misplaced.get_or_insert(wrong);
        }
        log.seen.push(event.into());
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(&lock(&self.log).seen).finish()
    }
}

fn explain_order(lines: &[String], found: &[usize], parts: &[&str], number: usize) -> String {
    let part = parts[number];
    let after = match number.checked_sub(1).map(|before| parts[before]) {
        Some(before) => format!(" after {before:?}"),
        None => String::new(),
    };
    let earlier = lines.iter().position(|line| line.contains(part));
    let hint = earlier.map_or(String::new(), |at| format!(" (it is in line {})", at + 1));
    format!("no event with {part:?}{after}{hint}; what happened:\n{}", marked(lines, found))
}

fn marked(lines: &[String], found: &[usize]) -> String {
    if lines.is_empty() {
        return "  nothing".to_owned();
    }
    let line = |(at, line): (usize, &String)| {
        let mark = if found.contains(&at) { '>' } else { ' ' };
        format!("{mark} {:3} {line}", at + 1)
    };
    lines.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}
