//! The beginning of a run: its state before the second entry of its log.

use std::sync::Arc;

use super::{
    CorruptLog, LogEntry, Principal, Run, RunId, RunOptions, Timestamp,
    state::{Activity, Index, STAGES},
};
use crate::message::{Message, Usage};

impl Run {
    /// Creates a run that begins with the conversation `messages`. Returns the run, and the first entry of its log.
    pub fn new(
        id: RunId,
        owner: Principal,
        options: RunOptions,
        messages: Vec<Message>,
        at: Timestamp,
    ) -> (Self, LogEntry) {
        let entry = LogEntry::Created {
            run: id.clone(),
            owner: owner.clone(),
            made_by: None,
            options: Box::new(options),
            messages: messages.clone(),
            at,
        };
        (Self::begin(id, owner, options, messages), entry)
    }

    /// Sets the name of the application's agent that makes this run, in the run and in `created`, the first entry of its log.
    pub fn set_made_by(&mut self, created: &mut LogEntry, name: Option<Arc<str>>) {
        if let LogEntry::Created { made_by, .. } = created {
            made_by.clone_from(&name);
        }
        self.made_by = name;
    }

    /// Sets the options of a new run, whose first entry is `created`.
    pub fn set_options(&mut self, created: &mut LogEntry, new: RunOptions) {
        if let LogEntry::Created { options, .. } = created {
            **options = new;
        }
        self.options = new;
    }

    pub(super) fn create(entry: LogEntry) -> Result<Self, CorruptLog> {
        let name = entry.name();
        let LogEntry::Created { run, owner, made_by, options, messages, .. } = entry else {
            return Err(CorruptLog {
                rev: 0,
                entry: name,
                reason: "it does not begin with the run's creation".to_owned(),
            });
        };
        Ok(Self { made_by, ..Self::begin(run, owner, *options, messages) })
    }

    fn begin(id: RunId, owner: Principal, options: RunOptions, messages: Vec<Message>) -> Self {
        let mut run = Self {
            id,
            owner,
            made_by: None,
            options,
            rev: 1,
            messages: Vec::new(),
            prompts: Vec::new(),
            bytes: 0,
            calls: Vec::new(),
            index: Index::default(),
            turn: 0,
            steps: 0,
            usage: Usage::default(),
            earlier_usage: Usage::default(),
            turns: Vec::new(),
            offered: None,
            activity: Activity::Idle,
            cut_text: None,
            first_of_turn: 0,
            first_unsettled: 0,
            last_changed: 0,
            stages: [0; STAGES],
            retries: 0,
            inner_calls: 0,
            final_tools: Vec::new(),
            from_outside: false,
            summary: None,
            refused_answers: 0,
            stopping: false,
            answer: None,
            queue: Vec::new(),
            approvals: Vec::new(),
            taint: Vec::new(),
            acting_agent: None,
            claims: None,
            title: None,
            inconsistent: None,
            replaced_keys: Vec::new(),
        };
        for message in messages {
            run.reserve_ids(&message);
            run.add_message(message);
        }
        run
    }
}
