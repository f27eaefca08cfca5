//! The world around two calls: the tools, the driver's pending actions, and the events outside of the run.

use std::mem::Discriminant;
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use super::touching::Touching;
use tool_run::judge::{AcceptedArguments, KnownTool, ReadArguments, Rules, judge_call, judge_decision};
use tool_run::run::{
    ArgumentPattern, Author, Call, CallResult, CheckedCall, CheckedDecision, Decision, Digest, Interrupt, InterruptId,
    Principal, Refusal, Run, Timestamp, ToolRef,
};
use tool_run::tool::{
    CallError, Effect, KnownFingerprints, Output, Permission, ToolOptions, ToolSpec, TouchedResources,
};
use tool_schema::feedback::{Problem, ProblemKind, Rejection};
use tool_schema::schema::Schema;

/// The obstacle between a call and its execution here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Obstacle {
    Nothing,
    /// A policy asks a person.
    Ask,
    /// An outside executor runs the call.
    External,
    /// A policy denies the call.
    Deny,
}

pub(super) const OBSTACLES: [Obstacle; 4] = [Obstacle::Nothing, Obstacle::Ask, Obstacle::External, Obstacle::Deny];

/// The kind of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    pub(super) obstacle: Obstacle,
    pub(super) idempotent: bool,
}

/// The answer of a policy at a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum PolicyAnswer {
    Allow,
    Ask,
    Deny,
}

/// The decision of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Choice {
    Approve,
    Edit,
    Deny,
    Respond,
    Fail,
}

pub(super) const CHOICES: [Choice; 5] = [Choice::Approve, Choice::Edit, Choice::Deny, Choice::Respond, Choice::Fail];

/// An event that a driver reports to the run. A number is the position of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// A check of a call. The flag is set if the tool has its changed definition.
    Check(usize, PolicyAnswer, bool),
    Decide(usize, Choice),
    /// The end of a running call. The flag is set if it succeeded.
    End(usize, bool),
    /// The function of a running call begins, and records a durable step.
    Begin(usize),
    /// The driver withdraws the start of a call whose function has not begun. The flag is set if the wait was too long.
    Withdraw(usize, bool),
    /// The next expiry.
    Tick,
    Recover,
    /// A prompt that supersedes the calls.
    Prompt,
    /// A prompt that steers the run.
    Steer,
    Cancel,
    /// The driver stops the run.
    Stop,
    /// The model breaks off, and may be asked again.
    Fail,
    /// The model answers without calls.
    Model,
}

/// A grant, with the data of its log entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LoggedGrant {
    pub(super) arguments: Digest,
    /// Set if the grant is for the changed definition of the tool.
    pub(super) changed: bool,
    pub(super) used: bool,
}

/// The facts about a call that an observer outside of the run knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct CallFacts {
    pub(super) kind: Kind,
    /// Set if the tool has its changed definition.
    pub(super) changed: bool,
    /// Set if the driver must check the call.
    pub(super) must_check: bool,
    /// The attempt that runs in this process.
    pub(super) live: Option<u32>,
    /// Set if the function of the call has begun, in this process or another one.
    pub(super) begun: bool,
    /// The number of the last announced interrupt.
    pub(super) reported: u32,
    pub(super) edits: u8,
    /// The number of permissions by a person or a policy.
    pub(super) consents: u8,
    pub(super) starts: u8,
    /// Digests of the arguments that a person or a policy allowed.
    pub(super) permitted: Vec<Digest>,
    pub(super) grant: Option<LoggedGrant>,
    /// Set if a person, a policy or the time forbade the call.
    pub(super) vetoed: bool,
    pub(super) announced: bool,
    /// The decisions, each with the number of its interrupt.
    pub(super) decided: Vec<(u32, Choice)>,
    pub(super) result: Option<Discriminant<CallResult>>,
}

/// The state of the world around the two calls of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) calls: [CallFacts; 2],
    pub(super) now: u64,
    pub(super) touching: Touching,
    /// Set if the model is being asked.
    pub(super) model: bool,
    /// The end of the turn, if the turn has ended.
    pub(super) turn_end: Option<String>,
    /// The time at which the driver sends the next tick.
    pub(super) wake: Option<u64>,
    /// The number of troubles that may still come: crashes, changes, expiries, and other answers of policies.
    pub(super) troubles: u8,
    pub(super) prompts: u8,
}

impl World {
    pub(super) fn new(kinds: [Kind; 2], troubles: u8, touching: Touching) -> Self {
        let calls = kinds.map(|kind| CallFacts {
            kind,
            changed: false,
            must_check: false,
            live: None,
            begun: false,
            reported: 0,
            edits: 0,
            consents: 0,
            starts: 0,
            permitted: Vec::new(),
            grant: None,
            vetoed: false,
            announced: false,
            decided: Vec::new(),
            result: None,
        });
        Self { calls, now: 0, touching, model: false, turn_end: None, wake: None, troubles, prompts: 1 }
    }

    pub(super) fn time(&self) -> Timestamp {
        Timestamp(self.now)
    }
}

impl CallFacts {
    /// Removes details that make no difference after the end of the call.
    pub(super) fn forget(&mut self) {
        self.changed = false;
        self.grant = None;
        self.permitted.clear();
        (self.edits, self.consents, self.reported) = (0, 0, 0);
        self.starts = self.starts.min(1);
    }
}

impl Kind {
    pub(super) fn policy_answer(self) -> PolicyAnswer {
        match self.obstacle {
            Obstacle::Nothing | Obstacle::External => PolicyAnswer::Allow,
            Obstacle::Ask => PolicyAnswer::Ask,
            Obstacle::Deny => PolicyAnswer::Deny,
        }
    }
}

pub(super) const NAMES: [&str; 2] = ["first", "second"];
pub(super) const ARGUMENTS: &str = r#"{"v":0}"#;

/// Returns the arguments with which a person replaces [`ARGUMENTS`].
pub(super) fn edited_arguments() -> Value {
    json!({"v": 1})
}

/// One of the two definitions of a tool.
#[derive(Debug)]
pub(super) struct ToolDefinition {
    pub(super) reference: Arc<ToolRef>,
    fingerprints: KnownFingerprints,
    spec: ToolSpec,
}

impl ToolDefinition {
    /// Creates a definition of the tool called `name`. The changed definition has one more parameter.
    pub(super) fn new(name: &str, changed: bool, set: impl FnOnce(&mut ToolOptions)) -> Self {
        let parameters = if changed { json!({"v": {}, "w": {}}) } else { json!({"v": {}}) };
        let input = Schema::new(json!({"type": "object", "properties": parameters}));
        let mut spec = ToolSpec::new(name, "Does something.", input);
        spec.options.effect = Effect::Destructive;
        set(&mut spec.options);
        let reference = Arc::new(ToolRef::new(&spec, spec.fingerprint()));
        Self { reference, fingerprints: KnownFingerprints::of(&spec), spec }
    }

    fn known(&self) -> KnownTool<'_> {
        KnownTool { reference: &self.reference, fingerprints: self.fingerprints, spec: &self.spec }
    }
}

/// Returns a definition of the tool of the call at `at`.
pub(super) fn tool(at: usize, kind: Kind, changed: bool) -> &'static ToolDefinition {
    static ALL: LazyLock<Vec<ToolDefinition>> = LazyLock::new(|| {
        let all = (0..32).map(|number: usize| {
            let (obstacle, idempotent) = (OBSTACLES[number / 4 % 4], !(number / 2).is_multiple_of(2));
            ToolDefinition::new(NAMES[number / 16], !number.is_multiple_of(2), |options| {
                (options.idempotent, options.external) = (idempotent, obstacle == Obstacle::External);
            })
        });
        all.collect()
    });
    let obstacle = OBSTACLES.iter().position(|obstacle| *obstacle == kind.obstacle).expect("one of all");
    &ALL[at * 16 + obstacle * 4 + usize::from(kind.idempotent) * 2 + usize::from(changed)]
}

/// An application whose policies always give the same answer.
struct Application(PolicyAnswer);

impl Rules for Application {
    fn authorize(&self, _: &ToolSpec, _: &str) -> Permission {
        match self.0 {
            PolicyAnswer::Allow => Permission::Allow,
            PolicyAnswer::Ask => Permission::Ask,
            PolicyAnswer::Deny => Permission::Deny { reason: None },
        }
    }

    fn run_approval(&self, _: &ToolSpec, _: &Value) -> Option<ArgumentPattern> {
        None
    }

    fn deciders(&self, _: &ToolSpec, _: &Value) -> Vec<Principal> {
        Vec::new()
    }

    fn read_output(&self, _: &str, _: &Interrupt, _: &Value) -> Result<Output, Refusal> {
        Ok(output())
    }
}

/// Returns the arguments `text`, which their tool accepts, with these resources.
fn read(text: &Arc<str>, touches: Option<Arc<TouchedResources>>) -> ReadArguments {
    let (text, author) = (Arc::clone(text), Author::Validators);
    let accepted = AcceptedArguments { needs_approval: false, normalized: None, touches, author, reading: None };
    ReadArguments { text, outcome: Ok(accepted) }
}

/// Returns the check of `call`, whose tool accepts `text`.
pub(super) fn check_accepted(
    run: &Run,
    call: &Call,
    tool: &ToolDefinition,
    text: &Arc<str>,
    answer: PolicyAnswer,
    touches: Option<Arc<TouchedResources>>,
) -> CheckedCall {
    judge_call(&Application(answer), Some(tool.known()), run, call, read(text, touches))
}

/// Returns the check of `call`, whose tool rejects `text`.
pub(super) fn check_rejected(run: &Run, call: &Call, text: &Arc<str>) -> CheckedCall {
    let read = ReadArguments { text: Arc::clone(text), outcome: Err(CallError::Rejected(feedback())) };
    judge_call(&Application(PolicyAnswer::Deny), None, run, call, read)
}

pub(super) fn feedback() -> Rejection {
    Rejection::one(Problem::new("/v", ProblemKind::Invalid, "too small"))
}

pub(super) fn output() -> Output {
    Output::json(&json!({"done": true})).expect("JSON")
}

pub(super) fn decision(choice: Choice) -> Decision {
    match choice {
        Choice::Approve => Decision::Approve,
        Choice::Edit => Decision::Edit { arguments: edited_arguments() },
        Choice::Deny => Decision::Deny { reason: None },
        Choice::Respond => Decision::Respond { output: json!({"done": true}) },
        Choice::Fail => Decision::Fail { error: "it broke".to_owned() },
    }
}

/// Returns the judge's evidence about a decision. `answer` is the policies' answer to an edit, and `touches` its resources.
pub(super) fn check_decision(
    run: &Run,
    interrupt: &InterruptId,
    decision: Decision,
    tool: &ToolDefinition,
    answer: PolicyAnswer,
    touches: Option<Arc<TouchedResources>>,
) -> CheckedDecision {
    let read = match &decision {
        Decision::Edit { arguments } => Some(read(&arguments.to_string().into(), touches)),
        _ => None,
    };
    judge_decision(&Application(answer), Some(tool.known()), run, interrupt, decision, read).expect("it fits")
}

/// Returns the judge's evidence about an edit of a call whose tool rejects the edited arguments.
pub(super) fn check_rejected_edit(run: &Run, interrupt: &InterruptId, tool: &ToolDefinition) -> CheckedDecision {
    let text = edited_arguments().to_string().into();
    let read = ReadArguments { text, outcome: Err(CallError::Rejected(feedback())) };
    let decision = decision(Choice::Edit);
    judge_decision(&Application(PolicyAnswer::Ask), Some(tool.known()), run, interrupt, decision, Some(read))
        .expect("only the run refuses the edit")
}
