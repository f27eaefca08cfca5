//! The fold of a log into its run. An entry that does not follow from the earlier ones is an error, so a log that contradicts
//! itself does not become a run.

use std::{collections::hash_map::Entry, sync::Arc};

use serde_json::Value;

use crate::message::{AssistantPart, FinishReason, Message, Usage};
use crate::run::{
    AbortCause, AnsweredQuestion, ArgumentRevision, Author, Call, CallId, CallResult, CallState, CorruptLog, Decision,
    DurableStep, Grant, GrantedBy, InnerUsage, Interrupt, InterruptId, InterruptKind, LogEntry, Principal, Prompt,
    PromptPosition, Run, RunApproval, Stage, StopReason, Timestamp, ToolRef, TurnPart, TurnUsage,
    call::DecisionRecord,
    messages::{answer_message, size, to_message},
    state::{Activity, STAGES, TurnEnd},
};
use crate::tool::{Fingerprint, TouchedResources, fingerprint::Digest};

pub type Applied = Result<(), String>;

const REPEATED: &str = "two prompts have the same idempotency key";

impl Run {
    /// Builds the run from its log.
    ///
    /// Fails if the log is empty, or if an entry does not follow from those before it: the log was changed, or is incomplete.
    pub fn fold(log: impl IntoIterator<Item = LogEntry>) -> Result<Self, CorruptLog> {
        let mut log = log.into_iter();
        let first =
            log.next().ok_or_else(|| CorruptLog { rev: 0, entry: "created", reason: "it is empty".to_owned() })?;
        let mut run = Self::create(first)?;
        for entry in log {
            run.apply(&entry)?;
        }
        Ok(run)
    }

    /// Adds one entry of the log.
    ///
    /// Fails if the entry does not follow from the run. The error names the entry and the reason, and the run is unchanged.
    pub fn apply(&mut self, entry: &LogEntry) -> Result<(), CorruptLog> {
        if let Some(corrupt) = &self.inconsistent {
            return Err(CorruptLog::clone(corrupt));
        }
        let (rev, name) = (self.rev, entry.name());
        self.apply_entry(entry).map_err(|reason| CorruptLog { rev, entry: name, reason })?;
        self.rev = rev.saturating_add(1);
        Ok(())
    }

    fn apply_entry(&mut self, entry: &LogEntry) -> Applied {
        match entry {
            LogEntry::Created { .. } => return Err("it is created twice".to_owned()),
            LogEntry::Branched { .. } => self.apply_branch(entry)?,
            LogEntry::Titled { by, .. } if !self.is_owner(by) => {
                return Err(format!("{by} gave the run a title, but does not own it"));
            }
            LogEntry::Titled { title, .. } => self.title = Some(title.clone()),
            LogEntry::Queued { prompt } if self.has_key(prompt) => return Err(REPEATED.to_owned()),
            LogEntry::Queued { prompt } => self.queue.push(prompt.clone()),
            LogEntry::Prompted { prompt, queued } => self.accept_prompt(prompt.clone(), *queued)?,
            LogEntry::MessageAdded { .. }
            | LogEntry::HandedOver { .. }
            | LogEntry::Summarized { .. }
            | LogEntry::SummaryFailed { .. }
            | LogEntry::AnswerWanted { .. } => self.apply_change(entry)?,
            LogEntry::TurnStarted { .. } => self.start_turn()?,
            LogEntry::Offered { tools } => {
                if self.activity != Activity::Generating || !self.current_calls().is_empty() {
                    return Err("the tools on offer change in the middle of a turn".to_owned());
                }
                self.offered = Some(tools.clone());
            }
            LogEntry::Called { call, provider_id, name, arguments } => {
                self.add_call(call.clone(), provider_id.clone(), name.clone(), arguments.clone())?;
            }
            LogEntry::TurnEnded { parts, finish, usage, model, .. } => {
                self.end_turn(parts, finish.clone(), *usage, model.clone())?;
            }
            LogEntry::TurnFailed { error, again, usage, model, .. } => {
                self.fail_turn(error.clone(), *again, *usage, model.clone())?;
            }
            LogEntry::Written { text } => self.keep_text(text)?,
            LogEntry::CallAccepted { call, tool, arguments, touches } => {
                self.accept_check(call, tool, *arguments, touches.as_ref())?;
            }
            LogEntry::Opened { call, interrupt } => self.open_interrupt(call, interrupt.clone())?,
            LogEntry::Decided { interrupt, decision, by, at } => {
                self.record_decision(interrupt, decision.clone(), by.clone(), *at)?;
            }
            LogEntry::Normalized { call, arguments, by, readings } => {
                self.change_arguments(call, arguments, *by, readings)?;
            }
            LogEntry::Repaired { call, name, arguments, by, usage, model } => {
                self.repair_call(call, name.clone(), arguments.clone(), *by)?;
                self.add_usage(*usage, model.clone());
            }
            LogEntry::StopRequested { by, .. } => self.request_stop(by)?,
            LogEntry::Edited { call, arguments, by, touches } => {
                self.edit_call(call, arguments.clone(), by.clone(), touches.clone())?;
            }
            LogEntry::Answered { call, question, answer } => {
                let at = self.find_call(call, &[Stage::Open])?;
                self.decision_about(at)?;
                self.calls[at]
                    .history_mut()
                    .answers
                    .push(AnsweredQuestion { question: *question, answer: answer.clone() });
            }
            LogEntry::RunApproved { run_approval } => self.add_run_approval(run_approval.clone())?,
            LogEntry::CallGranted { call, tool, arguments, shown, by, expires } => {
                self.grant_call(call, *tool, *arguments, *shown, by, *expires)?;
            }
            LogEntry::CallStarted { call, .. } => self.start_call(call)?,
            LogEntry::DurableStepStarted { call, name } => {
                let at = self.find_step_owner(call)?;
                self.calls[at].history_mut().started_steps.push(name.clone());
            }
            LogEntry::DurableStepEnded { call, name, value, spent } => {
                self.record_step_end(call, name.clone(), value.clone(), spent.clone())?;
            }
            LogEntry::CallLost { call } => {
                let at = self.find_call(call, &[Stage::Running])?;
                self.set_state(at, CallState::Lost);
            }
            LogEntry::CallWithdrawn { call } => {
                let at = self.find_call(call, &[Stage::Running])?;
                if !self.calls[at].may_be_withdrawn() {
                    return Err(format!("the start of {call} is withdrawn, but it may have run"));
                }
                self.calls[at].attempts = 0;
                self.calls[at].forget_check();
                self.set_state(at, CallState::Proposed);
            }
            LogEntry::Migrated { call, .. } => {
                let at = self.find_call(call, &[Stage::Open, Stage::Ready])?;
                if self.calls[at].attempts > 0 {
                    return Err(format!("{call} is migrated after its start"));
                }
                self.calls[at].forget_check();
                self.set_state(at, CallState::Proposed);
            }
            LogEntry::CallEnded { call, result, at } => self.end_call(call, result, *at)?,
            LogEntry::Finished { .. } => self.end_run(Activity::Finished)?,
            LogEntry::Stopped { reason, .. } => self.end_run(Activity::Stopped(reason.clone()))?,
        }
        Ok(())
    }

    /// Returns the position of a call of the present turn that is at one of `stages`.
    fn find_call(&mut self, id: &CallId, stages: &[Stage]) -> Result<usize, String> {
        let at = self.position_of(id).filter(|at| self.current_range().contains(at));
        let at = at.ok_or_else(|| format!("the present turn has no call {id}"))?;
        self.last_changed = as_u32(at);
        let stage = self.calls[at].stage();
        if stages.contains(&stage) {
            Ok(at)
        } else {
            Err(format!("{id} is {stage:?}, and the entry does not apply to this stage"))
        }
    }

    /// Returns the decision about the open interrupt of the call.
    fn decision_about(&self, at: usize) -> Result<&DecisionRecord, String> {
        let call = &self.calls[at];
        let decided = call.interrupt().and_then(|open| call.decided(open.id.number));
        decided.ok_or_else(|| format!("no decision about the interrupt of {} is logged", call.id))
    }

    /// Checks that every call of the turn has ended, and that the model is not being asked.
    fn check_settled(&self) -> Applied {
        if self.activity == Activity::Generating {
            return Err("the model is asked".to_owned());
        }
        if self.count(Stage::Done) < as_u32(self.current_calls().len()) {
            return Err("a call is unanswered".to_owned());
        }
        Ok(())
    }

    fn set_state(&mut self, at: usize, state: CallState) {
        let call = &mut self.calls[at];
        self.stages[call.stage() as usize] -= 1;
        call.state = state;
        let stage = call.stage();
        self.stages[stage as usize] += 1;
        if matches!(stage, Stage::Proposed | Stage::Ready) {
            self.first_unsettled = self.first_unsettled.min(as_u32(at)).max(self.first_of_turn);
        } else {
            self.skip_settled();
        }
    }

    /// Moves `first_unsettled` past calls that have ended, and past started or waiting calls of tools that need not run alone. The
    /// search for calls to start begins there, so the cost of a turn does not grow with the square of its calls.
    pub fn skip_settled(&mut self) {
        let is_passed = |call: &Call| match call.stage() {
            Stage::Done => true,
            Stage::Proposed | Stage::Ready => false,
            Stage::Open | Stage::Running | Stage::Lost => !self.runs_alone(call),
        };
        let passed = self.calls[self.first_unsettled as usize..].iter().take_while(|call| is_passed(call)).count();
        self.first_unsettled += as_u32(passed);
    }

    pub(super) fn add_message(&mut self, message: Message) {
        self.bytes = self.bytes.saturating_add(size(&message));
        self.messages.push(message);
    }

    /// Reserves the call ids of an earlier conversation, so that no call of this run gets one of them.
    pub(super) fn reserve_ids(&mut self, message: &Message) {
        let Message::Assistant { content } = message else { return };
        for part in content {
            if let AssistantPart::Call(call) = part {
                self.index.insert(call.id.as_str().into(), u32::MAX);
            }
        }
    }

    fn accept_prompt(&mut self, prompt: Prompt, queued: bool) -> Applied {
        let first = self.queue.iter().position(|waits| waits.steers == prompt.steers);
        let place = first.filter(|at| queued && self.queue[*at] == prompt);
        if queued && place.is_none() {
            return Err("the accepted prompt is not the first waiting one".to_owned());
        }
        self.check_settled()?;
        if place.is_none() && self.has_key(&prompt) {
            return Err(REPEATED.to_owned());
        }
        if let Some(at) = place {
            self.queue.remove(at);
        }
        let joins = prompt.steers && matches!(self.activity, Activity::Acting(_) | Activity::Prompted);
        if !joins {
            self.final_tools = prompt.final_tools;
            self.from_outside = prompt.from_outside;
            self.answer = prompt.answer_schema;
            self.earlier_usage += std::mem::take(&mut self.usage);
            self.reset_limits();
        }
        for tool in prompt.taint {
            if !self.taint.contains(&tool) {
                self.taint.push(tool);
            }
        }
        self.activity = Activity::Prompted;
        self.leave_turn();
        self.refused_answers = if joins { self.refused_answers.saturating_add(u32::from(prompt.corrects)) } else { 0 };
        let Prompt { id, content, steers, key, corrects, claims, .. } = prompt;
        if claims.is_some() {
            self.claims = claims;
        }
        let acting_agent = self.acting_agent.clone();
        let at = as_u32(self.messages.len());
        self.prompts.push(PromptPosition { id, at, steers, key, corrects, acting_agent });
        self.add_message(Message::User { content });
        Ok(())
    }

    /// Returns whether the run has accepted a prompt with the key of `prompt`, or such a prompt waits.
    pub(super) fn has_key(&self, prompt: &Prompt) -> bool {
        let mut known = self.prompts.iter().map(|known| &known.key).chain(self.queue.iter().map(|waits| &waits.key));
        prompt.key.is_some() && known.any(|known| *known == prompt.key)
    }

    pub(super) fn begin_branch(&mut self, prompts: Vec<PromptPosition>, taint: Vec<String>) -> Applied {
        if self.rev != 1 {
            return Err("it branches from another run after its beginning".to_owned());
        }
        let is_prompt =
            |prompt: &PromptPosition| matches!(self.messages.get(prompt.at as usize), Some(Message::User { .. }));
        if !prompts.iter().all(is_prompt) {
            return Err("a prompt of the other run is not in the conversation".to_owned());
        }
        (self.prompts, self.taint) = (prompts, taint);
        Ok(())
    }

    fn start_turn(&mut self) -> Applied {
        self.check_settled()?;
        let is_unasked = self.activity == Activity::Idle && self.messages.is_empty();
        if is_unasked || self.activity == Activity::Finished {
            return Err("a turn starts without a prompt".to_owned());
        }
        if self.stopping && matches!(self.activity, Activity::Acting(_)) {
            return Err("a turn starts although the run must stop".to_owned());
        }
        if matches!(self.activity, Activity::Stopped(_)) {
            // A person continues the run, so it has all its steps again, as after a prompt.
            self.reset_limits();
        }
        self.offered = None;
        self.cut_text = None;
        self.activity = Activity::Generating;
        self.turn = self.turn.saturating_add(1);
        self.steps = self.steps.saturating_add(1);
        self.leave_turn();
        Ok(())
    }

    /// Ends the last turn: its calls are not current any more.
    fn leave_turn(&mut self) {
        let is_refused = |call: &Call| call.result().is_some_and(|result| self.is_refused_answer(&call.name, result));
        let was_refused = self.current_calls().iter().any(is_refused);
        self.refused_answers = self.refused_answers.saturating_add(u32::from(was_refused));
        self.first_of_turn = as_u32(self.calls.len());
        self.first_unsettled = self.first_of_turn;
        self.stages = [0; STAGES];
    }

    fn reset_limits(&mut self) {
        self.steps = 0;
        self.stopping = false;
        self.turns.clear();
    }

    fn add_call(&mut self, id: CallId, provider_id: String, name: String, arguments: Arc<str>) -> Applied {
        if self.activity != Activity::Generating {
            return Err(format!("{id} was called outside of a model's turn"));
        }
        let at = as_u32(self.calls.len());
        match self.index.entry(id.clone()) {
            Entry::Occupied(_) => return Err(format!("two calls have the id {id}")),
            Entry::Vacant(place) => place.insert(at),
        };
        self.bytes = self.bytes.saturating_add(arguments.len() as u64);
        self.calls.push(Call {
            id,
            provider_id,
            turn: self.turn,
            index: at - self.first_of_turn,
            name,
            tool: None,
            attempts: 0,
            retries: 0,
            state: CallState::Proposed,
            arguments: ArgumentRevision::new(arguments, Author::Model),
            touches: None,
            was_accepted: false,
            past: None,
        });
        self.stages[Stage::Proposed as usize] += 1;
        Ok(())
    }

    fn end_turn(&mut self, parts: &[TurnPart], finish: FinishReason, usage: Usage, model: Option<Arc<str>>) -> Applied {
        if self.activity != Activity::Generating {
            return Err("a turn ended without a start".to_owned());
        }
        let expected = self.current_calls().iter().map(|call| &call.id);
        let named = parts.iter().filter_map(|part| match part {
            TurnPart::Call { call } => Some(call),
            TurnPart::Content(_) => None,
        });
        if !expected.eq(named) {
            return Err("the calls at the end of a turn differ from those before".to_owned());
        }
        let mut calls = self.current_calls().iter();
        let content = parts.iter().filter_map(|part| match part {
            TurnPart::Content(part) => Some(part.clone()),
            TurnPart::Call { .. } => calls.next().map(to_message),
        });
        let content: Vec<AssistantPart> = content.collect();
        self.cut_text = None;
        self.add_usage(usage, model);
        if !content.is_empty() {
            self.add_message(Message::Assistant { content });
        }
        self.activity = Activity::Acting(TurnEnd::of(finish));
        self.answer_if_done();
        Ok(())
    }

    pub(super) fn add_usage(&mut self, usage: Usage, model: Option<Arc<str>>) {
        self.usage += usage;
        if model.is_some() || usage != Usage::default() {
            self.turns.push(TurnUsage { turn: self.turn, model, usage });
        }
    }

    fn request_stop(&mut self, by: &Principal) -> Applied {
        if !self.is_owner(by) {
            return Err(format!("{by} requested a stop, but is not the owner"));
        }
        if !matches!(self.activity, Activity::Generating | Activity::Acting(_)) {
            return Err("a stop was requested, but the run is not active".to_owned());
        }
        self.stopping = true;
        Ok(())
    }

    fn end_run(&mut self, activity: Activity) -> Applied {
        self.check_settled()?;
        if !matches!(self.activity, Activity::Acting(_)) {
            return Err("the run ends, but it is not active".to_owned());
        }
        if matches!(&activity, Activity::Stopped(reason) if reason.drops_prompts()) {
            self.queue.clear();
        }
        if activity == Activity::Finished {
            self.refused_answers = 0;
        }
        self.activity = activity;
        Ok(())
    }

    /// Adds the answers to the turn's calls to the conversation, in the model's order, as soon as all calls have ended.
    pub(super) fn answer_if_done(&mut self) {
        let calls = self.current_range();
        if !matches!(self.activity, Activity::Acting(_))
            || calls.is_empty()
            || self.count(Stage::Done) < as_u32(calls.len())
        {
            return;
        }
        for at in calls {
            if let Some(answer) = answer_message(&self.calls[at]) {
                self.add_message(answer);
            }
        }
    }

    fn open_interrupt(&mut self, id: &CallId, interrupt: Box<Interrupt>) -> Applied {
        let stages: &[Stage] = match &interrupt.kind {
            // A ready call that policies alone granted may need an approval after all.
            InterruptKind::Approval { .. } => &[Stage::Proposed, Stage::Ready],
            InterruptKind::External => &[Stage::Ready],
            InterruptKind::Question { .. } | InterruptKind::Inner { .. } => &[Stage::Running],
            InterruptKind::Reconcile => &[Stage::Lost],
        };
        let at = self.find_call(id, stages)?;
        if interrupt.id != self.calls[at].next_interrupt_id() {
            return Err(format!("{} is not the next interrupt of {id}", interrupt.id));
        }
        if interrupt.kind == InterruptKind::External && self.is_held(at) {
            return Err(format!("{id} is announced, but must wait for another call"));
        }
        let needs = interrupt.need().is_some();
        let call = &mut self.calls[at];
        let past = call.past.get_or_insert_default();
        past.interrupts = past.interrupts.saturating_add(1);
        past.announced |= interrupt.kind == InterruptKind::External;
        if needs {
            // Its tool has not begun, so the start does not count.
            past.needs.push(interrupt.id.number);
            call.attempts = call.attempts.saturating_sub(1);
        }
        self.set_state(at, CallState::Open(interrupt));
        Ok(())
    }

    fn record_decision(&mut self, id: &InterruptId, decision: Decision, by: Principal, time: Timestamp) -> Applied {
        let at = self.find_call(&id.call, &[Stage::Open])?;
        let open = self.calls[at].interrupt().filter(|open| open.id == *id);
        let Some(open) = open.filter(|_| self.calls[at].decided(id.number).is_none()) else {
            return Err(format!("{id} is not open"));
        };
        if !self.may_decide(open, &by) {
            return Err(format!("{by} may not decide {id}"));
        }
        if open.expires_at.is_some_and(|expires| expires <= time) {
            return Err(format!("{id} expired before the decision"));
        }
        self.calls[at].history_mut().decisions.push(DecisionRecord { interrupt: id.number, decision, by });
        Ok(())
    }

    fn edit_call(
        &mut self,
        id: &CallId,
        arguments: Arc<str>,
        by: Principal,
        touches: Option<Arc<TouchedResources>>,
    ) -> Applied {
        let at = self.find_call(id, &[Stage::Open])?;
        let decided = self.decision_about(at)?;
        let number = decided.interrupt;
        if !matches!(decided.decision, Decision::Edit { .. }) || decided.by != by {
            return Err(format!("{by} edited {id} without a decision"));
        }
        let call = &mut self.calls[at];
        call.revise(ArgumentRevision::of_person(arguments, by));
        call.touches = touches;
        call.history_mut().last_edit = number;
        Ok(())
    }

    fn change_arguments(&mut self, id: &CallId, arguments: &Arc<str>, by: Author, readings: &[String]) -> Applied {
        let at = self.find_call(id, &[Stage::Proposed])?;
        let (call, is_reading) = (&mut self.calls[at], by == Author::Reading);
        if is_reading == readings.is_empty() || is_reading && !call.may_be_read() {
            return Err(format!("the arguments of {id} must not be read in another form"));
        }
        call.revise(ArgumentRevision::new(Arc::clone(arguments), by));
        call.history_mut().readings.extend_from_slice(readings);
        Ok(())
    }

    fn add_run_approval(&mut self, run_approval: RunApproval) -> Applied {
        let decided =
            |decided: &DecisionRecord| decided.decision == Decision::ApproveForRun && decided.by == run_approval.by;
        if !self.current_range().any(|at| self.decision_about(at).is_ok_and(decided)) {
            return Err(format!("{} did not allow calls for the rest of the run", run_approval.by));
        }
        self.approvals.push(run_approval);
        Ok(())
    }

    fn accept_check(
        &mut self,
        id: &CallId,
        tool: &Arc<ToolRef>,
        arguments: Digest,
        touches: Option<&Arc<TouchedResources>>,
    ) -> Applied {
        let at = self.find_call(id, &[Stage::Proposed])?;
        if self.calls[at].name != tool.name {
            return Err(format!("{id} was checked with the tool `{}`, but calls another one", tool.name));
        }
        if self.calls[at].arguments.digest != arguments {
            return Err(format!("the arguments of {id} are not those that were checked"));
        }
        if !self.offers(&tool.name) {
            return Err(format!("{id} was accepted, but its tool was not on offer"));
        }
        self.calls[at].touches = touches.cloned();
        self.calls[at].tool = Some(Arc::clone(tool));
        self.calls[at].was_accepted = false;
        Ok(())
    }

    fn grant_call(
        &mut self,
        id: &CallId,
        tool: Fingerprint,
        arguments: Digest,
        shown: Option<Digest>,
        by: &GrantedBy,
        expires: Option<Timestamp>,
    ) -> Applied {
        let stage = match by {
            GrantedBy::Retry => Stage::Running,
            GrantedBy::Rerun => Stage::Lost,
            GrantedBy::Person(_) => Stage::Open,
            GrantedBy::Policy | GrantedBy::RunApproval(_) => Stage::Proposed,
        };
        let at = self.find_call(id, &[stage])?;
        if let GrantedBy::Person(by) = by {
            self.check_permission(at, by)?;
        }
        let call = &mut self.calls[at];
        if call.tool.as_ref().map(|tool| tool.fingerprint) != Some(tool) || call.arguments.digest != arguments {
            return Err(format!("{id} is granted for another tool or other arguments"));
        }
        if *by == GrantedBy::Rerun && !call.may_start_again() {
            return Err(format!("{id} is not repeatable, but is started again without a decision"));
        }
        if call.interrupt().is_some_and(|open| open.kind == InterruptKind::Reconcile) {
            // A person has decided to start the lost call again, so its open steps may be repeated.
            call.history_mut().started_steps.clear();
        }
        if *by == GrantedBy::Retry {
            call.retries = call.retries.saturating_add(1);
            self.retries = self.retries.saturating_add(1);
        }
        let (run, by) = (self.id.clone(), by.clone());
        let grant = Grant { run, call: id.clone(), tool, arguments, shown, by, expires };
        self.set_state(at, CallState::Ready(Box::new(grant)));
        Ok(())
    }

    fn record_step_end(&mut self, id: &CallId, name: String, value: Value, spent: InnerUsage) -> Applied {
        let at = self.find_step_owner(id)?;
        if spent.turns.is_empty() {
            self.add_usage(spent.usage, None);
        }
        for turn in spent.turns {
            self.add_usage(turn.usage, turn.model);
        }
        self.inner_calls = self.inner_calls.saturating_add(spent.calls);
        self.retries = self.retries.saturating_add(spent.retries);
        let past = self.calls[at].history_mut();
        if let Some(begun) = past.started_steps.iter().position(|begun| *begun == name) {
            past.started_steps.remove(begun);
        }
        past.steps.push(DurableStep { name, value });
        Ok(())
    }

    /// Returns the position of a call that may take a step now.
    fn find_step_owner(&mut self, id: &CallId) -> Result<usize, String> {
        let at = self.find_call(id, &[Stage::Running, Stage::Open])?;
        if self.calls[at].stage() == Stage::Open && !self.calls[at].is_asking() {
            return Err(format!("{id} takes a step while it waits"));
        }
        Ok(at)
    }

    fn start_call(&mut self, id: &CallId) -> Applied {
        let at = self.find_call(id, &[Stage::Ready])?;
        let Some(grant) = self.grant_of(at) else { return Err(format!("{id} starts without a grant")) };
        let call = &self.calls[at];
        let tool = call.tool.as_ref().map(|tool| tool.fingerprint);
        if grant.run != self.id
            || grant.call != call.id
            || tool != Some(grant.tool)
            || call.arguments.digest != grant.arguments
        {
            return Err(format!("{id} starts with a grant for another call, tool or arguments"));
        }
        if self.is_held(at) {
            return Err(format!("{id} starts, but must wait for another call"));
        }
        self.calls[at].attempts = self.calls[at].attempts.saturating_add(1);
        self.set_state(at, CallState::Running);
        Ok(())
    }

    fn end_call(&mut self, id: &CallId, result: &Arc<CallResult>, time: Timestamp) -> Applied {
        use Stage::{Lost, Open, Proposed, Ready, Running};
        let at = self.find_call(id, &[Proposed, Open, Ready, Running, Lost])?;
        let call = &self.calls[at];
        let from: &[Stage] = match &**result {
            CallResult::Succeeded { .. } => &[Running, Open],
            CallResult::Denied { .. } | CallResult::Responded { .. } => &[Open],
            _ => &[Proposed, Open, Ready, Running, Lost],
        };
        if !from.contains(&call.stage()) {
            return Err(format!("{id} is {:?}, and cannot end with this result", call.stage()));
        }
        if call.attempts > 0 && says_did_not_run(result) {
            return Err(format!("{id} was started, but its result says that it was not"));
        }
        let is_late = matches!(**result, CallResult::Expired | CallResult::Aborted { by: AbortCause::NoAnswer });
        if is_late && call.expires().is_none_or(|expires| expires > time) {
            return Err(format!("{id} expired before its time"));
        }
        if let (Some(tool), true) = (&call.tool, result.is_success())
            && tool.untrusted
            && !self.taint.contains(&tool.name)
        {
            self.taint.push(tool.name.clone());
        }
        self.calls[at].was_accepted = false;
        self.set_state(at, CallState::Done(Arc::clone(result)));
        self.answer_if_done();
        Ok(())
    }

    /// Checks that a decision by the person `by` lets the call start or continue.
    fn check_permission(&self, at: usize, by: &Principal) -> Applied {
        let call = &self.calls[at];
        let decided = self.decision_about(at)?;
        let is_permission = match (call.interrupt().map(|open| &open.kind), &decided.decision) {
            (Some(InterruptKind::Approval { .. }), Decision::Edit { .. }) => {
                call.past.as_ref().is_some_and(|past| past.last_edit == decided.interrupt)
            }
            (Some(InterruptKind::Approval { .. }), decision) => {
                matches!(decision, Decision::Approve | Decision::ApproveForRun)
            }
            (Some(InterruptKind::Reconcile), decision) => *decision == Decision::Approve,
            (Some(InterruptKind::Question { question }), decision) if question.need.is_some() => {
                *decision == Decision::Approve
            }
            // A denial is also an answer to the question.
            (Some(InterruptKind::Question { .. } | InterruptKind::Inner { .. }), _) => true,
            (Some(InterruptKind::External) | None, _) => false,
        };
        if is_permission && decided.by == *by {
            return Ok(());
        }
        Err(format!("{by} did not permit {}", call.id))
    }

    /// Replaces the call in the conversation by the repaired one.
    fn repair_call(&mut self, id: &CallId, name: String, arguments: Arc<str>, by: Author) -> Applied {
        let at = self.find_call(id, &[Stage::Proposed])?;
        if !matches!(self.activity, Activity::Acting(_)) {
            return Err(format!("{id} is repaired before the end of its turn"));
        }
        if self.calls[at].attempts > 0 || !self.calls[at].revisions().is_empty() {
            return Err(format!("{id} is repaired after another change"));
        }
        if let Some(Message::Assistant { content }) = self.messages.last_mut() {
            let of_call =
                |part: &&mut AssistantPart| matches!(part, AssistantPart::Call(call) if call.id == id.as_str());
            if let Some(AssistantPart::Call(call)) = content.iter_mut().find(of_call) {
                call.name.clone_from(&name);
                call.arguments = arguments.to_string();
            }
        }
        self.bytes = self.bytes.saturating_add(arguments.len() as u64);
        let call = &mut self.calls[at];
        call.name = name;
        call.revise(ArgumentRevision::new(arguments, by));
        Ok(())
    }
}

/// Returns whether `result` means that the tool did not run.
fn says_did_not_run(result: &CallResult) -> bool {
    matches!(
        result,
        CallResult::Rejected { .. }
            | CallResult::PolicyDenied { .. }
            | CallResult::Denied { .. }
            | CallResult::Responded { .. }
            | CallResult::Expired
            | CallResult::Superseded { .. }
            | CallResult::NotAvailable { .. }
            | CallResult::LimitReached { .. }
    )
}

pub fn as_u32(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

impl StopReason {
    /// Returns whether a run that stops for this reason drops the prompts that wait.
    pub(super) fn drops_prompts(&self) -> bool {
        matches!(self, Self::Cancelled | Self::Requested)
    }
}
