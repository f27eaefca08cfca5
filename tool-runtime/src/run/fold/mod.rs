//! From a log to its run. An entry that does not follow from those before is refused, so a log that somebody changed
//! does not become a run.

mod answer;
mod calls;
mod turn;

use self::answer::size;
use super::call::Decided;
use super::state::{Activity, STAGES};
use super::{Call, CallId, CallState, Corrupt, LogEvent, Principal, Run, RunId, RunOptions, Stage, StepRecord, Time};
use crate::message::{AssistantPart, Message, Usage};
#[cfg(test)]
use crate::run::search::mutants::{Mutant, lax};

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
            passed: 0,
            recent: 0,
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
        let changed = self.change(event);
        self.applied(changed)
    }

    /// The same for an entry that goes somewhere else afterwards: of what every call goes through, little is copied.
    #[cfg(feature = "agent")]
    pub(crate) fn apply_ref(&mut self, event: &LogEvent) -> Result<(), Corrupt> {
        let changed = match event {
            LogEvent::Checked { call, tool, arguments } => self.checked(call, tool, *arguments),
            LogEvent::Granted { call, tool, arguments, shown, by, expires } => {
                self.granted(call, *tool, *arguments, *shown, by, *expires)
            }
            LogEvent::Started { call, .. } => self.started(call),
            LogEvent::Ended { call, result, at } => self.ended(call, result, *at),
            other => self.change(other.clone()),
        };
        self.applied(changed)
    }

    fn applied(&mut self, changed: Applied) -> Result<(), Corrupt> {
        let rev = self.rev;
        changed.map_err(|reason| Corrupt { rev, reason })?;
        self.rev = self.rev.saturating_add(1);
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
            LogEvent::Checked { call, tool, arguments } => self.checked(&call, &tool, arguments),
            LogEvent::Opened { call, obligation } => self.opened(&call, obligation),
            LogEvent::Decided { obligation, decision, by, at } => self.decided(&obligation, decision, by, at),
            LogEvent::Normalized { call, arguments } => self.normalized(&call, arguments),
            LogEvent::Edited { call, arguments, by } => self.edited(&call, arguments, by),
            LogEvent::Answered { call, question, answer } => self.answered(&call, question, answer),
            LogEvent::Allowed { allowance } => self.allowed(allowance),
            LogEvent::Granted { call, tool, arguments, shown, by, expires } => {
                self.granted(&call, tool, arguments, shown, &by, expires)
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
            LogEvent::Ended { call, result, at } => self.ended(&call, &result, at),
            LogEvent::Finished { .. } => self.stop(Activity::Finished),
            LogEvent::Stopped { reason, .. } => self.stop(Activity::Stopped(reason)),
        }
    }

    /// The place of a call of the turn at hand that is at one of `stages`.
    fn at(&mut self, id: &CallId, stages: &[Stage]) -> Result<usize, String> {
        let at = self.place(id).filter(|at| self.current_range().contains(at));
        let at = at.ok_or_else(|| format!("{id} is no call of the turn at hand"))?;
        self.recent = as_u32(at);
        let stage = self.calls[at].stage();
        if stages.contains(&stage) { Ok(at) } else { Err(format!("{id} is {stage:?}, which does not lead there")) }
    }

    /// What somebody decided about what the call waits for.
    fn was_decided(&self, at: usize) -> Result<&Decided, String> {
        let call = &self.calls[at];
        let decided = call.obligation().and_then(|open| call.decided(open.id.number));
        decided.ok_or_else(|| format!("nobody decided about what {} waits for", call.id))
    }

    /// Whether every call is answered and the model is not asked, so that something new can begin.
    fn is_settled(&self) -> Applied {
        if self.activity == Activity::Generating {
            return Err("the model is asked".to_owned());
        }
        #[cfg(test)]
        if lax(Mutant::PromptLeavesUnanswered) {
            return Ok(());
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
        let stage = call.stage();
        self.stages[stage as usize] += 1;
        if matches!(stage, Stage::Proposed | Stage::Ready) {
            self.passed = self.passed.min(as_u32(at)).max(self.first);
        } else {
            self.pass();
        }
    }

    /// Passes the calls of the turn that have ended, or run or wait and let others run beside them, up to the first that is
    /// not so: what may start is looked for behind them, so that a turn's cost is not the square of its calls.
    pub(in crate::run) fn pass(&mut self) {
        let is_passed = |call: &Call| match call.stage() {
            Stage::Done => true,
            Stage::Proposed | Stage::Ready => false,
            Stage::Open | Stage::Running | Stage::Unknown => !self.runs_alone(call),
        };
        let passed = self.calls[self.passed as usize..].iter().take_while(|call| is_passed(call)).count();
        self.passed += as_u32(passed);
    }

    fn say(&mut self, message: Message) {
        self.bytes = self.bytes.saturating_add(size(&message));
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
}

pub(super) fn as_u32(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
