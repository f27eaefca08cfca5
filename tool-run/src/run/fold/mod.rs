//! From a log to its run. An entry that does not follow from those before is refused, so a log that somebody changed
//! does not become a run.

mod answer;
mod calls;
mod turn;

use self::answer::size;
use super::past::Decided;
use super::state::{Activity, STAGES};
use super::{Call, CallId, CallState, Corrupt, LogEvent, Principal, Run, RunId, RunOptions, Said, Stage, Time};
use crate::message::{AssistantPart, Message, Usage};

type Applied = Result<(), String>;

impl Run {
    /// The run that `log` adds up to.
    ///
    /// Fails when an entry does not follow from those before it: then somebody changed the log, or it is not all of it.
    pub fn fold(log: impl IntoIterator<Item = LogEvent>) -> Result<Self, Corrupt> {
        let mut log = log.into_iter();
        let first = log.next().ok_or_else(|| Corrupt { rev: 0, entry: "created", reason: "it is empty".to_owned() })?;
        let mut run = Self::create(first)?;
        for event in log {
            run.apply(&event)?;
        }
        Ok(run)
    }

    /// A new run, and the first entry of its log.
    pub fn new(id: RunId, owner: Principal, options: RunOptions, messages: Vec<Message>, at: Time) -> (Self, LogEvent) {
        let event =
            LogEvent::Created { run: id.clone(), owner: owner.clone(), options, messages: messages.clone(), at };
        (Self::begin(id, owner, options, messages), event)
    }

    /// A run of the conversation before the prompt number `prompt`, from 0, and the entries that its log begins with. What
    /// came after it is not in it, nor what somebody allowed.
    pub fn branch(&self, id: RunId, options: RunOptions, prompt: usize, at: Time) -> (Self, Vec<LogEvent>) {
        let kept = self.prompts.get(prompt).map_or(self.messages.len(), |said| said.at as usize);
        let messages = self.messages[..kept.min(self.messages.len())].to_vec();
        let (mut run, created) = Self::new(id, self.owner.clone(), options, messages, at);
        let prompts: Vec<Said> = self.prompts.iter().take(prompt).cloned().collect();
        (run.prompts, run.taint) = (prompts.clone(), self.taint.clone());
        run.rev += 1;
        (run, vec![created, LogEvent::Branched { of: self.id.clone(), prompts, taint: self.taint.clone() }])
    }

    fn create(event: LogEvent) -> Result<Self, Corrupt> {
        let entry = event.name();
        let LogEvent::Created { run, owner, options, messages, .. } = event else {
            return Err(Corrupt { rev: 0, entry, reason: "it does not begin with the run's creation".to_owned() });
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
            prompts: Vec::new(),
            bytes: 0,
            calls: Vec::new(),
            index: std::collections::HashMap::default(),
            turn: 0,
            steps: 0,
            usage: Usage::default(),
            turns: Vec::new(),
            offered: None,
            activity: Activity::Idle,
            first: 0,
            passed: 0,
            recent: 0,
            stages: [0; STAGES],
            retries: 0,
            inner_calls: 0,
            until: None,
            stopping: false,
            answer: None,
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
    /// Fails when it does not follow from the run, and names the entry and the reason; then the run is as before. That is
    /// also so for an entry that [`step`](super::step) gave: where the two walls disagree, a driver must store nothing of
    /// what `step` gave and do none of the effects.
    pub fn apply(&mut self, event: &LogEvent) -> Result<(), Corrupt> {
        let (rev, entry) = (self.rev, event.name());
        self.change(event).map_err(|reason| Corrupt { rev, entry, reason })?;
        self.rev = rev.saturating_add(1);
        Ok(())
    }

    fn change(&mut self, event: &LogEvent) -> Applied {
        match event {
            LogEvent::Created { .. } => Err("it is created twice".to_owned()),
            LogEvent::Branched { prompts, taint, .. } => self.branched(prompts.clone(), taint.clone()),
            LogEvent::Queued { prompt } => {
                self.queue.push(prompt.clone());
                Ok(())
            }
            LogEvent::Prompted { prompt, queued } => self.prompted(prompt.clone(), *queued),
            LogEvent::TurnStarted { .. } => self.turn_started(),
            LogEvent::Offered { tools } => self.narrowed(tools.clone()),
            LogEvent::Called { call, provider_id, name, arguments } => {
                self.called(call.clone(), provider_id.clone(), name.clone(), arguments.clone())
            }
            LogEvent::TurnEnded { parts, finish, usage, model, .. } => {
                self.turn_ended(parts, finish.clone(), *usage, model.clone())
            }
            LogEvent::TurnFailed { error, again, usage, model, .. } => {
                self.turn_failed(error.clone(), *again, *usage, model.clone())
            }
            LogEvent::Checked { call, tool, arguments, touches } => {
                self.checked(call, tool, *arguments, touches.as_ref())
            }
            LogEvent::Opened { call, interrupt } => self.opened(call, interrupt.clone()),
            LogEvent::Decided { interrupt, decision, by, at } => {
                self.decided(interrupt, decision.clone(), by.clone(), *at)
            }
            LogEvent::Normalized { call, arguments, by } => self.normalized(call, arguments.clone(), *by),
            LogEvent::Repaired { call, name, arguments, by, usage } => {
                self.repaired(call, name.clone(), arguments.clone(), *by)?;
                self.used(*usage, None);
                Ok(())
            }
            LogEvent::StopRequested { by, .. } => self.stop_requested(by),
            LogEvent::Edited { call, arguments, by, touches } => {
                self.edited(call, arguments.clone(), by.clone(), touches.clone())
            }
            LogEvent::Answered { call, question, answer } => self.answered(call, *question, answer.clone()),
            LogEvent::Allowed { allowance } => self.allowed(allowance.clone()),
            LogEvent::Granted { call, tool, arguments, shown, by, expires } => {
                self.granted(call, *tool, *arguments, *shown, by, *expires)
            }
            LogEvent::Started { call, .. } => self.started(call),
            LogEvent::Stepping { call, name } => self.stepping(call, name.clone()),
            LogEvent::Stepped { call, name, value, spent } => self.stepped(call, name.clone(), value.clone(), *spent),
            LogEvent::Lost { call } => {
                let at = self.at(call, &[Stage::Running])?;
                self.enter(at, CallState::Unknown);
                Ok(())
            }
            LogEvent::Migrated { call, .. } => {
                let at = self.at(call, &[Stage::Open, Stage::Ready])?;
                if self.calls[at].attempts > 0 {
                    return Err(format!("{call} was started, and is migrated"));
                }
                (self.calls[at].tool, self.calls[at].touches) = (None, None);
                self.enter(at, CallState::Proposed);
                Ok(())
            }
            LogEvent::Ended { call, result, at } => self.ended(call, result, *at),
            LogEvent::Finished { .. } => self.stop(Activity::Finished),
            LogEvent::Stopped { reason, .. } => self.stop(Activity::Stopped(reason.clone())),
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

    /// Returns what somebody decided about what the call waits for.
    fn was_decided(&self, at: usize) -> Result<&Decided, String> {
        let call = &self.calls[at];
        let decided = call.interrupt().and_then(|open| call.decided(open.id.number));
        decided.ok_or_else(|| format!("nobody decided about what {} waits for", call.id))
    }

    /// Returns whether every call is answered and the model is not asked, so that something new can begin.
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

pub fn as_u32(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
