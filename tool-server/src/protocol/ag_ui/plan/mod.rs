//! What of a client's request a server takes.

mod answers;
mod history;
mod prompt;
mod resume;

use std::collections::HashSet;

use super::input::RunInput;
use tool_runtime::message::{Message, Part};
use tool_runtime::run::{Decision, Obligation, ObligationId, ObligationKind, Run};
use tool_runtime::toolset::Toolset;

/// What of a client's request a server takes: the server's log is the truth, and the request a claim.
///
/// Of the conversation that a client sends, only what is new in it is taken: what the person said since, results of calls
/// that the client executes and the run waits for, and answers to interrupts. Only where the server knows nothing of a
/// conversation is all of it given to the model, as something that nobody has verified; no call of it is taken up, and it
/// is put in order: each call has exactly one result.
///
/// ```
/// use tool_runtime::Toolset;
/// use tool_server::protocol::ag_ui::{Base, Plan, RunInput};
///
/// let body = br#"{"threadId":"t","runId":"r","messages":[{"id":"m1","role":"user","content":"Hi"}]}"#;
/// let plan = Plan::new(None, &RunInput::read(body).unwrap(), &Toolset::new());
/// assert!(matches!(plan.base, Base::New(before) if before.is_empty()));
/// assert_eq!(plan.prompt.unwrap().id.as_deref(), Some("m1"));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// The conversation that the run goes on from.
    pub base: Base,
    /// What is decided about calls that wait, before anything else happens.
    pub decisions: Vec<(ObligationId, Decision)>,
    /// What is said then. If nothing is, the run goes on where it stands.
    pub prompt: Option<Said>,
    /// What of the request was left out, for whoever develops the client.
    pub warnings: Vec<String>,
}

/// The conversation that a run goes on from.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Base {
    /// The one that the server knows.
    Known,
    /// The one that the server knows, up to one of its prompts ([`Run::prompts`]): the client has taken back what came after
    /// it, or wants another answer to it.
    Branch(usize),
    /// The client's own.
    New(Vec<Message>),
}

/// Something that a person said.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Said {
    /// The client's id of the message.
    pub id: Option<String>,
    /// Text and images.
    pub content: Vec<Part>,
}

/// How many warnings a plan has at most about entries of the client.
const MOST_WARNINGS: usize = 64;

/// The result of an open call that the client did not give.
const NO_RESULT: &str = "the application gave no result of the call";

impl Plan {
    /// What is taken of `input`: for the conversation `run`, or for a new one. `tools` are those of the application and of
    /// the client.
    pub fn new(run: Option<&Run>, input: &RunInput, tools: &Toolset) -> Self {
        let Some(run) = run else { return Self::begin(input) };
        let mut plan = Self { base: Base::Known, decisions: Vec::new(), prompt: None, warnings: Vec::new() };
        plan.resume(run, input);
        let strays = plan.answers(run, input, tools);
        let has_resumed = !input.resume.is_empty();
        plan.prompt(run, input, strays, has_resumed);
        plan.keep_waiting(run);
        plan.go_on_without(run);
        plan
    }

    fn begin(input: &RunInput) -> Self {
        let mut messages = history::repaired(&input.messages);
        let prompt = match messages.pop_if(|message| matches!(message, Message::User { .. })) {
            Some(Message::User { content }) => Some(Said { id: prompt::last_id(input), content }),
            _ => None,
        };
        if !messages.is_empty() {
            messages.insert(0, Message::system(history::UNVERIFIED));
        }
        let mut plan = Self { base: Base::New(messages), decisions: Vec::new(), prompt, warnings: Vec::new() };
        for entry in &input.resume {
            plan.warn(|| resume::unknown(&entry.interrupt_id));
        }
        plan
    }

    /// Adds a warning, if there are not too many.
    fn warn(&mut self, warning: impl FnOnce() -> String) {
        if self.warnings.len() < MOST_WARNINGS {
            self.warnings.push(warning());
        }
    }

    /// Removes a decision that the run has refused. Its call still waits, so the prompt is left out.
    ///
    /// A result that `run` has refused stays: the call is the client's, and a prompt supersedes it.
    pub fn refused(&mut self, run: &Run, id: &ObligationId) {
        let is_missing = |decision: &Decision| matches!(decision, Decision::Fail { error } if error == NO_RESULT);
        let missing: HashSet<_> = self
            .decisions
            .extract_if(.., |(_, decision)| is_missing(decision))
            .map(|(open, _)| missing(&open))
            .collect();
        self.warnings.retain(|warning| !missing.contains(warning));
        self.decisions.retain(|(decided, _)| decided != id);
        self.keep_waiting(run);
        self.go_on_without(run);
    }

    /// Leaves the prompt out while a call waits for a decision: the client sends it again with the answer.
    fn keep_waiting(&mut self, run: &Run) {
        if self.base != Base::Known || self.prompt.is_none() {
            return;
        }
        let decided = self.decided();
        if run.obligations().any(|open| !is_result(open) && !decided.contains(&open.id)) {
            self.prompt = None;
            let text =
                "the new message was left out, because an interrupt is still open; send it again with the answer";
            self.warnings.push(text.to_owned());
        }
    }

    /// Fails the client's calls whose results are missing, where the conversation goes on without them.
    fn go_on_without(&mut self, run: &Run) {
        let decided = self.decided();
        let (given, left): (Vec<_>, Vec<_>) =
            run.obligations().filter(|open| is_result(open)).partition(|open| decided.contains(&open.id));
        if self.base != Base::Known || self.prompt.is_none() && given.is_empty() {
            return;
        }
        for open in left {
            self.decisions.push((open.id.clone(), Decision::Fail { error: NO_RESULT.to_owned() }));
            self.warnings.push(missing(&open.id));
        }
    }

    fn decided(&self) -> HashSet<&ObligationId> {
        self.decisions.iter().map(|(decided, _)| decided).collect()
    }
}

/// The warning about a call of the client without a result.
fn missing(open: &ObligationId) -> String {
    format!("the call `{}` was not answered", open.call())
}

/// Whether `open` waits for the result of a call that the client executes, and not for a decision.
pub(super) fn is_result(open: &Obligation) -> bool {
    matches!(open.kind, ObligationKind::External)
}
