//! From a log to its run. An entry that does not follow from those before is refused, so a log that somebody changed
//! does not become a run.

use std::sync::Arc;

use super::call::{ArgsRev, Decided};
use super::state::{Activity, STAGES, TurnEnd};
use super::{
    Answered, Call, CallId, CallResult, CallState, Corrupt, Grant, GrantedBy, InterruptedBy, LogEvent, Principal,
    Prompt, Run, RunId, RunOptions, Stage, StepRecord, Time, TurnPart,
};
use crate::digest::Digest;
use crate::message::{AssistantPart, FinishReason, Message, Part, ToolCall, ToolMessage, Usage};
use crate::tool::Fingerprint;

type Applied = Result<(), String>;

impl Run {
    /// The run that `log` adds up to.
    ///
    /// Fails when an entry does not follow from those before it: then somebody changed the log, or it is not all of it.
    pub fn fold(log: impl IntoIterator<Item = LogEvent>) -> Result<Self, Corrupt> {
        let mut log = log.into_iter();
        let first = log.next().ok_or_else(|| Corrupt { rev: 0, reason: "it is empty".to_owned() })?;
        let mut run = Self::create(first)?;
        for event in log {
            run.apply(event)?;
        }
        Ok(run)
    }

    /// A new run, and the first entry of its log.
    pub fn new(id: RunId, owner: Principal, options: RunOptions, messages: Vec<Message>, at: Time) -> (Self, LogEvent) {
        let event =
            LogEvent::Created { run: id.clone(), owner: owner.clone(), options, messages: messages.clone(), at };
        (Self::begin(id, owner, options, messages), event)
    }

    fn create(event: LogEvent) -> Result<Self, Corrupt> {
        let LogEvent::Created { run, owner, options, messages, .. } = event else {
            return Err(Corrupt { rev: 0, reason: "it does not begin with the run's creation".to_owned() });
        };
        Ok(Self::begin(run, owner, options, messages))
    }

    fn begin(id: RunId, owner: Principal, options: RunOptions, messages: Vec<Message>) -> Self {
        let mut run = Self {
            id,
            owner,
            options,
            rev: 1,
            messages: Vec::new(),
            bytes: 0,
            calls: Vec::new(),
            index: std::collections::HashMap::default(),
            turn: 0,
            steps: 0,
            usage: Usage::default(),
            activity: Activity::Idle,
            first: 0,
            stages: [0; STAGES],
            retries: 0,
            until: None,
            queue: Vec::new(),
            allowances: Vec::new(),
            taint: Vec::new(),
        };
        for message in messages {
            run.reserve(&message);
            run.say(message);
        }
        run
    }

    /// Adds one entry.
    ///
    /// Fails when it does not follow from the run; then the run is as before.
    pub fn apply(&mut self, event: LogEvent) -> Result<(), Corrupt> {
        let rev = self.rev;
        self.change(event).map_err(|reason| Corrupt { rev, reason })?;
        self.rev += 1;
        Ok(())
    }

    fn change(&mut self, event: LogEvent) -> Applied {
        match event {
            LogEvent::Created { .. } => Err("it is created twice".to_owned()),
            LogEvent::Queued { prompt } => {
                self.queue.push(prompt);
                Ok(())
            }
            LogEvent::Prompted { prompt, queued } => self.prompted(prompt, queued),
            LogEvent::TurnStarted { .. } => self.turn_started(),
            LogEvent::Called { call, provider_id, name, arguments } => self.called(call, provider_id, name, arguments),
            LogEvent::TurnEnded { parts, finish, usage, .. } => self.turn_ended(parts, finish, usage),
            LogEvent::TurnFailed { error, again, .. } => self.turn_failed(error, again),
            LogEvent::Checked { call, tool, arguments } => {
                let at = self.at(&call, &[Stage::Proposed])?;
                if self.calls[at].arguments.digest != arguments {
                    return Err(format!("the arguments of {call} are not those that were checked"));
                }
                self.calls[at].tool = Some(tool);
                Ok(())
            }
            LogEvent::Opened { call, obligation } => {
                let at = self.at(&call, &[Stage::Proposed, Stage::Ready, Stage::Running, Stage::Unknown])?;
                if obligation.id != self.calls[at].next_obligation() {
                    return Err(format!("{} is not the next obligation of {call}", obligation.id));
                }
                self.calls[at].past().obligations += 1;
                self.enter(at, CallState::Open(obligation));
                Ok(())
            }
            LogEvent::Decided { obligation, decision, by, .. } => {
                let at = self.at(&obligation.call, &[Stage::Open])?;
                let open = self.calls[at].obligation().map(|open| open.id.number);
                if open != Some(obligation.number) || self.calls[at].decided(obligation.number).is_some() {
                    return Err(format!("{obligation} is not open"));
                }
                let obligation = obligation.number;
                self.calls[at].past().decided.push(Decided { obligation, decision, by });
                Ok(())
            }
            LogEvent::Edited { call, arguments, by } => {
                let at = self.at(&call, &[Stage::Open])?;
                self.was_decided(at)?;
                let next = ArgsRev::new(arguments, Some(by));
                let before = std::mem::replace(&mut self.calls[at].arguments, next);
                self.calls[at].past().revisions.push(before);
                Ok(())
            }
            LogEvent::Answered { call, question, answer } => {
                let at = self.at(&call, &[Stage::Open])?;
                self.was_decided(at)?;
                self.calls[at].past().answers.push(Answered { question, answer });
                Ok(())
            }
            LogEvent::Allowed { allowance } => {
                self.allowances.push(allowance);
                Ok(())
            }
            LogEvent::Granted { call, tool, arguments, shown, by, expires } => {
                self.granted(&call, tool, arguments, shown, by, expires)
            }
            LogEvent::Started { call, .. } => self.started(&call),
            LogEvent::Stepped { call, name, value } => {
                let at = self.at(&call, &[Stage::Running])?;
                self.calls[at].past().steps.push(StepRecord { name, value });
                Ok(())
            }
            LogEvent::Lost { call } => {
                let at = self.at(&call, &[Stage::Running])?;
                self.enter(at, CallState::Unknown);
                Ok(())
            }
            LogEvent::Migrated { call, .. } => {
                let at = self.at(&call, &[Stage::Open, Stage::Ready])?;
                if self.calls[at].attempts > 0 {
                    return Err(format!("{call} was started, and is migrated"));
                }
                self.calls[at].tool = None;
                self.enter(at, CallState::Proposed);
                Ok(())
            }
            LogEvent::Ended { call, result, at } => self.ended(&call, result, at),
            LogEvent::Finished { .. } => self.stop(Activity::Finished),
            LogEvent::Stopped { reason, .. } => self.stop(Activity::Stopped(reason)),
        }
    }

    fn prompted(&mut self, prompt: Prompt, queued: bool) -> Applied {
        if queued && self.queue.first() != Some(&prompt) {
            return Err("a prompt is taken that is not the first that waits".to_owned());
        }
        self.is_settled()?;
        if queued {
            self.queue.remove(0);
        }
        self.until = prompt.until;
        self.steps = 0;
        self.usage = Usage::default();
        self.activity = Activity::Prompted;
        self.say(Message::User { content: prompt.content });
        Ok(())
    }

    fn turn_started(&mut self) -> Applied {
        self.is_settled()?;
        self.activity = Activity::Generating;
        self.turn += 1;
        self.steps += 1;
        self.first = as_u32(self.calls.len());
        self.stages = [0; STAGES];
        Ok(())
    }

    fn called(&mut self, id: CallId, provider_id: String, name: String, arguments: Arc<str>) -> Applied {
        if self.activity != Activity::Generating {
            return Err(format!("{id} was called when the model was not asked"));
        }
        let at = as_u32(self.calls.len());
        if self.index.insert(id.clone(), at).is_some() {
            return Err(format!("two calls have the id {id}"));
        }
        self.bytes += arguments.len() as u64;
        self.calls.push(Call {
            id,
            provider_id,
            turn: self.turn,
            index: at - self.first,
            name,
            tool: None,
            attempts: 0,
            retries: 0,
            state: CallState::Proposed,
            arguments: ArgsRev::new(arguments, None),
            past: None,
        });
        self.stages[Stage::Proposed as usize] += 1;
        Ok(())
    }

    fn turn_ended(&mut self, parts: Vec<TurnPart>, finish: FinishReason, usage: Usage) -> Applied {
        if self.activity != Activity::Generating {
            return Err("a turn ended that was not started".to_owned());
        }
        let expected = self.current().iter().map(|call| &call.id);
        let named = parts.iter().filter_map(|part| match part {
            TurnPart::Call { call } => Some(call),
            TurnPart::Said(_) => None,
        });
        if !expected.eq(named) {
            return Err("a turn ended with other calls than it made".to_owned());
        }
        let content = parts.into_iter().map(|part| match part {
            TurnPart::Said(part) => part,
            TurnPart::Call { call } => self.as_message(&call),
        });
        let content: Vec<AssistantPart> = content.collect();
        self.usage += usage;
        if !content.is_empty() {
            self.say(Message::Assistant { content });
        }
        self.activity = Activity::Acting(if finish.is_safe() { TurnEnd::Safe } else { TurnEnd::Cut(finish) });
        self.answer_if_done();
        Ok(())
    }

    fn turn_failed(&mut self, error: String, again: bool) -> Applied {
        if !matches!(self.activity, Activity::Generating | Activity::Prompted) {
            return Err("a turn failed that was not started".to_owned());
        }
        let content: Vec<_> = self.current().iter().map(|call| self.as_message(&call.id)).collect();
        if !content.is_empty() {
            self.say(Message::Assistant { content });
        }
        self.activity = Activity::Acting(if again { TurnEnd::Again } else { TurnEnd::Failed(error) });
        self.answer_if_done();
        Ok(())
    }

    fn granted(
        &mut self,
        id: &CallId,
        tool: Fingerprint,
        arguments: Digest,
        shown: Option<Digest>,
        by: GrantedBy,
        expires: Option<Time>,
    ) -> Applied {
        let stage = match by {
            GrantedBy::Retry => Stage::Running,
            GrantedBy::Rerun => Stage::Unknown,
            GrantedBy::Person(_) => Stage::Open,
            GrantedBy::Policy | GrantedBy::Allowance(_) => Stage::Proposed,
        };
        let at = self.at(id, &[stage])?;
        if stage == Stage::Open {
            self.was_decided(at)?;
        }
        let call = &mut self.calls[at];
        if call.tool.as_ref().map(|tool| tool.fingerprint) != Some(tool) || call.arguments.digest != arguments {
            return Err(format!("{id} is granted for another tool or other arguments"));
        }
        if by == GrantedBy::Retry {
            call.retries += 1;
            self.retries += 1;
        }
        let run = self.id.clone();
        let grant = Grant { run, call: id.clone(), tool, arguments, shown, by, expires };
        self.enter(at, CallState::Ready(Box::new(grant)));
        Ok(())
    }

    fn started(&mut self, id: &CallId) -> Applied {
        let at = self.at(id, &[Stage::Ready])?;
        let Some(grant) = self.grant_of(at) else { return Err(format!("{id} starts without a grant")) };
        let call = &self.calls[at];
        let tool = call.tool.as_ref().map(|tool| tool.fingerprint);
        if grant.run != self.id
            || grant.call != call.id
            || tool != Some(grant.tool)
            || call.arguments.digest != grant.arguments
        {
            return Err(format!("{id} starts with a grant for something else"));
        }
        self.calls[at].attempts += 1;
        self.enter(at, CallState::Running);
        Ok(())
    }

    fn ended(&mut self, id: &CallId, result: Box<CallResult>, time: Time) -> Applied {
        use Stage::{Open, Proposed, Ready, Running, Unknown};
        let at = self.at(id, &[Proposed, Open, Ready, Running, Unknown])?;
        let call = &self.calls[at];
        if call.attempts > 0 && says_did_not_run(&result) {
            return Err(format!("{id} was started, and ends as if it was not"));
        }
        let is_late = matches!(*result, CallResult::Expired | CallResult::Interrupted { by: InterruptedBy::NoAnswer });
        if is_late && call.expires().is_none_or(|expires| expires > time) {
            return Err(format!("{id} ends because its time was over, and it was not"));
        }
        if let (Some(tool), true) = (&call.tool, result.is_success())
            && tool.untrusted
            && !self.taint.contains(&tool.name)
        {
            self.taint.push(tool.name.clone());
        }
        self.enter(at, CallState::Done(result));
        self.answer_if_done();
        Ok(())
    }

    fn stop(&mut self, activity: Activity) -> Applied {
        self.is_settled()?;
        self.activity = activity;
        Ok(())
    }

    /// The place of a call of the turn at hand that is at one of `stages`.
    fn at(&self, id: &CallId, stages: &[Stage]) -> Result<usize, String> {
        let at = self.index.get(id).map(|at| *at as usize).filter(|at| self.current_range().contains(at));
        let at = at.ok_or_else(|| format!("{id} is no call of the turn at hand"))?;
        let stage = self.calls[at].stage();
        if stages.contains(&stage) { Ok(at) } else { Err(format!("{id} is {stage:?}, which does not lead there")) }
    }

    /// Whether somebody decided about what the call waits for.
    fn was_decided(&self, at: usize) -> Applied {
        let call = &self.calls[at];
        let number = call.obligation().map(|open| open.id.number);
        if number.is_some_and(|number| call.decided(number).is_some()) {
            return Ok(());
        }
        Err(format!("nobody decided about what {} waits for", call.id))
    }

    /// Whether every call is answered and the model is not asked, so that something new can begin.
    fn is_settled(&self) -> Applied {
        if self.activity == Activity::Generating {
            return Err("the model is asked".to_owned());
        }
        if self.count(Stage::Done) < as_u32(self.current().len()) {
            return Err("a call is unanswered".to_owned());
        }
        Ok(())
    }

    fn enter(&mut self, at: usize, state: CallState) {
        let call = &mut self.calls[at];
        self.stages[call.stage() as usize] -= 1;
        call.state = state;
        self.stages[call.stage() as usize] += 1;
    }

    /// Answers the turn's calls in the conversation, in the model's order, as soon as all have ended.
    fn answer_if_done(&mut self) {
        let calls = self.current_range();
        if !matches!(self.activity, Activity::Acting(_))
            || calls.is_empty()
            || self.count(Stage::Done) < as_u32(calls.len())
        {
            return;
        }
        let answers: Vec<Message> = self.calls[calls].iter().filter_map(answer).collect();
        answers.into_iter().for_each(|message| self.say(message));
    }

    fn say(&mut self, message: Message) {
        self.bytes += size(&message);
        self.messages.push(message);
    }

    /// Takes the ids of calls of an earlier conversation, so that none of this run gets one of them.
    fn reserve(&mut self, message: &Message) {
        let Message::Assistant { content } = message else { return };
        for part in content {
            if let AssistantPart::Call(call) = part {
                self.index.insert(call.id.as_str().into(), u32::MAX);
            }
        }
    }

    fn as_message(&self, id: &CallId) -> AssistantPart {
        let call = self.call(id);
        AssistantPart::Call(ToolCall {
            id: id.to_string(),
            name: call.map(|call| call.name.clone()).unwrap_or_default(),
            arguments: call.map(|call| call.arguments.text.to_string()).unwrap_or_default(),
        })
    }
}

/// Whether `result` means that the tool did not run.
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
            | CallResult::OverBudget { .. }
    )
}

fn answer(call: &Call) -> Option<Message> {
    let result = call.result()?;
    let mut content = result.for_model(&call.name, call.attempts > 0);
    if call.arguments.by.is_some() && call.attempts > 0 {
        let text = format!("A person changed the arguments to {} before the call ran.", call.arguments.text);
        content.insert(0, Part::text(text));
    }
    Some(Message::Tool(ToolMessage {
        call_id: call.id.to_string(),
        tool: call.name.clone(),
        content,
        is_error: !result.is_success(),
    }))
}

fn size(message: &Message) -> u64 {
    let part = |part: &Part| match part {
        Part::Text { text } => text.len(),
        Part::Json { json } => json.len(),
        Part::Image { data, .. } => data.len(),
    };
    let said = |part: &AssistantPart| match part {
        AssistantPart::Text { text } => text.len(),
        AssistantPart::Reasoning { text, .. } => text.len(),
        // Counted when it was called.
        AssistantPart::Call(_) => 0,
    };
    let bytes: usize = match message {
        Message::System { text } => text.len(),
        Message::User { content } => content.iter().map(part).sum(),
        Message::Assistant { content } => content.iter().map(said).sum(),
        Message::Tool(answer) => answer.content.iter().map(part).sum(),
    };
    bytes as u64
}

pub(super) fn as_u32(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
