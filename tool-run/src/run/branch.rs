//! Runs that take the place of another run of the same conversation.

use std::sync::Arc;

use crate::message::{AssistantPart, FinishReason, Message, ToolCall, Usage, repair};
use crate::run::{
    CallId, InputError, LogEntry, LogInput, Refusal, Run, RunId, RunOptions, Summary, Timestamp, advance, fold::Applied,
};

/// The maximum number of keys that a run keeps of prompts before it. Copies of a request come within minutes.
const MAX_REPLACED_KEYS: usize = 256;

impl Run {
    /// Creates a run that begins with this run's conversation before the prompt number `prompt`, counted from 0, or with all
    /// of it if there are fewer prompts. Returns the new run, and the first entries of its log. The new run has no run approvals. A call
    /// without a result has one there, which says so, as after [`repair`].
    pub fn branch(&self, id: RunId, options: RunOptions, prompt: usize, at: Timestamp) -> (Self, Vec<LogEntry>) {
        let kept = self.prompts.get(prompt).map_or(self.messages.len(), |prompt| prompt.at as usize);
        let mut messages = self.messages[..kept.min(self.messages.len())].to_vec();
        settle_last_turn(&mut messages);
        self.begin_after(id, options, messages, prompt, at)
    }

    /// Creates a run that begins with this run's conversation before the turn of `call`, and makes this call as `change` leaves it.
    /// The other calls of the turn are left out, so that nothing runs twice. Returns the new run, and the first entries of its log: the
    /// call is neither checked nor approved. Fails if the conversation has no such call, or cannot go on with it.
    pub fn branch_before_call(
        &self,
        id: RunId,
        options: RunOptions,
        call: &CallId,
        change: impl FnOnce(&mut ToolCall),
        at: Timestamp,
    ) -> Result<(Self, Vec<LogEntry>), Refusal> {
        let find = |message: &Message| match message {
            Message::Assistant { content } => content.iter().any(|part| is_call(part, call)).then(|| content.clone()),
            _ => None,
        };
        let turn = self.messages.iter().enumerate().find_map(|(place, message)| Some((place, find(message)?)));
        let Some((place, mut parts)) = turn else {
            return Err(Refusal::Misplaced { reason: "the conversation has no call with this id" });
        };
        parts.retain(|part| !matches!(part, AssistantPart::Call(_)) || is_call(part, call));
        if let Some(AssistantPart::Call(sent)) = parts.iter_mut().find(|part| is_call(part, call)) {
            change(sent);
            call.as_str().clone_into(&mut sent.id);
        }
        let kept = self.prompts.partition_point(|prompt| (prompt.at as usize) < place);
        let (mut run, mut entries) = self.begin_after(id, options, self.messages[..place].to_vec(), kept, at);
        if let Some(LogEntry::Branched { acting_agent, .. }) = entries.last_mut() {
            acting_agent.clone_from(&self.acting_agent_at(place, kept));
            run.acting_agent.clone_from(acting_agent);
        }
        let (by, answer) = (self.owner.clone(), None);
        let (finish, usage) = (FinishReason::ToolCalls, Usage::default());
        let inputs =
            [LogInput::Continue { by, at, answer }, LogInput::TurnEnded { parts, finish, usage, model: None, at }];
        for input in inputs {
            let (new, _) = advance(&mut run, input).map_err(|error| match error {
                InputError::Refused(refusal) => refusal,
                InputError::Inconsistent(_) => {
                    Refusal::Misplaced { reason: "the conversation cannot go on with this call" }
                }
            })?;
            entries.extend(new);
        }
        Ok((run, entries))
    }

    /// Returns the agent that acted in the turn of the message `place`, after `prompts` prompts.
    fn acting_agent_at(&self, place: usize, prompts: usize) -> Option<Arc<str>> {
        let prompt = prompts.checked_sub(1).map(|last| &self.prompts[last]);
        let (from, before) = prompt.map_or((0, None), |prompt| (prompt.at as usize, prompt.acting_agent.clone()));
        let calls = self.messages[from..place].iter().filter_map(|message| match message {
            Message::Assistant { content } => Some(content),
            _ => None,
        });
        let handover = |part: &AssistantPart| match part {
            AssistantPart::Call(call) => self.call(&CallId::from(call.id.as_str()))?.handover(),
            _ => None,
        };
        calls.flatten().filter_map(handover).next_back().map_or(before, |handover| handover.to.clone())
    }

    /// Creates a run that takes the place of this run, with another conversation. Returns the new run, and the first entries of its
    /// log. The new run has no run approvals.
    pub fn replace(
        &self,
        id: RunId,
        options: RunOptions,
        messages: Vec<Message>,
        at: Timestamp,
    ) -> (Self, Vec<LogEntry>) {
        self.begin_after(id, options, messages, 0, at)
    }

    /// Creates a run with `messages` and the first `kept` prompts of this run.
    fn begin_after(
        &self,
        id: RunId,
        options: RunOptions,
        messages: Vec<Message>,
        kept: usize,
        at: Timestamp,
    ) -> (Self, Vec<LogEntry>) {
        let (mut run, created) = Self::new(id, self.owner.clone(), options, messages, at);
        let kept = kept.min(self.prompts.len());
        let prompts = self.prompts[..kept].to_vec();
        let keys = self.prompts[kept..].iter().filter_map(|prompt| prompt.key.as_ref());
        let mut replaced: Vec<String> = self.replaced_keys.iter().chain(keys).cloned().collect();
        replaced.drain(..replaced.len().saturating_sub(MAX_REPLACED_KEYS));
        // A conversation with other messages has no summary.
        let begins_alike = |summary: &&Summary| {
            let count = summary.messages as usize;
            run.messages.get(..count).is_some_and(|messages| *messages == self.messages[..count])
        };
        let summary = self.summary.as_ref().filter(begins_alike).cloned();
        let (of, taint, title, claims) = (self.id.clone(), self.taint.clone(), self.title.clone(), self.claims.clone());
        (run.prompts, run.taint, run.title) = (prompts.clone(), taint.clone(), title.clone());
        run.claims.clone_from(&claims);
        // The agent that answered the first prompt that is left out.
        let acting_agent = self.prompts.get(kept).map_or(&self.acting_agent, |prompt| &prompt.acting_agent).clone();
        run.acting_agent.clone_from(&acting_agent);
        run.replaced_keys.clone_from(&replaced);
        run.summary.clone_from(&summary);
        run.rev += 1;
        (run, vec![created, LogEntry::Branched { of, prompts, taint, title, replaced, summary, acting_agent, claims }])
    }

    /// Applies the entry of a run that begins with the conversation of another one.
    pub(super) fn apply_branch(&mut self, entry: &LogEntry) -> Applied {
        let LogEntry::Branched { prompts, taint, title, replaced, summary, acting_agent, claims, .. } = entry else {
            return Ok(());
        };
        self.begin_branch(prompts.clone(), taint.clone())?;
        if let Some(summary) = summary {
            self.check_summary(summary)?;
        }
        self.summary.clone_from(summary);
        self.title.clone_from(title);
        self.claims.clone_from(claims);
        self.acting_agent.clone_from(acting_agent);
        self.replaced_keys.clone_from(replaced);
        Ok(())
    }

    /// Returns the idempotency keys of prompts that an edit or another answer took out of the conversation, oldest first, at most 256.
    /// A request with such a key was sent before.
    pub fn replaced_keys(&self) -> &[String] {
        &self.replaced_keys
    }
}

fn is_call(part: &AssistantPart, id: &CallId) -> bool {
    matches!(part, AssistantPart::Call(call) if call.id == id.as_str())
}

/// Adds a result to each call of the last turn that has none. No message before that turn changes, because prompts are known by their
/// position.
fn settle_last_turn(messages: &mut Vec<Message>) {
    let turn = messages.iter().rposition(|message| !matches!(message, Message::Tool(_)));
    let Some((at, Message::Assistant { content })) = turn.map(|at| (at, &messages[at])) else { return };
    let calls = content.iter().filter(|part| matches!(part, AssistantPart::Call(_))).count();
    if messages.len() - at - 1 < calls {
        let turn = messages.split_off(at);
        messages.extend(repair(turn).0);
    }
}
