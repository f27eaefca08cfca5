//! Runs that take the place of another run of the same conversation.

use crate::message::{AssistantPart, Message, repair};
use crate::run::{LogEntry, Run, RunId, RunOptions, Summary, Timestamp, fold::Applied};

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
