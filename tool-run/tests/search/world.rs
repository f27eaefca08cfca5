//! The world around two calls: the tools, the pending actions of the driver, and what really happened.

use std::mem::Discriminant;
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use super::touching::Touching;
use tool_run::judge::{AcceptedArguments, KnownTool, ReadArguments, Rules, judge_call, judge_decision};
use tool_run::run::{
    ArgumentPattern, Author, Call, CallResult, CheckedCall, CheckedDecision, Decision, Digest, Interrupt, InterruptId,
    Principal, Refusal, Run, Time, ToolRef,
};
use tool_run::tool::{CallError, Effect, Identity, Output, Permission, Resources, ToolOptions, ToolSpec};
use tool_schema::feedback::{Problem, ProblemKind, Rejection};
use tool_schema::schema::Schema;

/// The obstacle between a call and its execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Gate {
    Auto,
    Ask,
    External,
    Deny,
}

const GATES: [Gate; 4] = [Gate::Auto, Gate::Ask, Gate::External, Gate::Deny];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    pub(super) gate: Gate,
    pub(super) idempotent: bool,
}

/// The answer of a policy at a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Says {
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

/// A possible event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// A check of a call, maybe with another definition of the tool.
    Look(usize, Says, bool),
    Decide(usize, Choice),
    End(usize, bool),
    Tick,
    Recover,
    Prompt,
    /// A prompt that steers the run.
    Steer,
    Cancel,
    /// The driver stops.
    Stop,
    /// The model breaks off, and may be asked again.
    Fail,
    /// The model answers without calls.
    Model,
}

/// A grant, as the log has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ledger {
    pub(super) arguments: Digest,
    pub(super) tool: bool,
    pub(super) used: bool,
}

/// Knowledge about a call from outside of the run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Seen {
    pub(super) kind: Kind,
    /// Set if the tool has its changed definition.
    pub(super) changed: bool,
    /// Set if the driver must check the call.
    pub(super) look: bool,
    /// The attempt that runs in this process.
    pub(super) live: Option<u32>,
    /// The number of the last announced interrupt.
    pub(super) reported: u32,
    pub(super) edits: u8,
    /// The number of permissions by a person or a policy.
    pub(super) consents: u8,
    pub(super) starts: u8,
    /// Digests of the arguments that a person or a policy allowed.
    pub(super) permitted: Vec<Digest>,
    pub(super) grant: Option<Ledger>,
    /// Set if a person, a policy or the time forbade the call.
    pub(super) vetoed: bool,
    pub(super) announced: bool,
    pub(super) decided: Vec<(u32, Choice)>,
    pub(super) result: Option<Discriminant<CallResult>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) calls: [Seen; 2],
    pub(super) now: u64,
    pub(super) touching: Touching,
    /// Set if the model is being asked.
    pub(super) model: bool,
    /// The end of the turn, if it has ended.
    pub(super) turn_end: Option<String>,
    pub(super) wake: Option<u64>,
    /// The number of troubles that may still come: crashes, changes, expiries.
    pub(super) troubles: u8,
    pub(super) prompts: u8,
}

impl World {
    pub(super) fn new(kinds: [Kind; 2], troubles: u8, touching: Touching) -> Self {
        let calls = kinds.map(|kind| Seen {
            kind,
            changed: false,
            look: false,
            live: None,
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

    pub(super) fn time(&self) -> Time {
        Time(self.now)
    }
}

impl Seen {
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
    pub(super) fn says(self) -> Says {
        match self.gate {
            Gate::Auto | Gate::External => Says::Allow,
            Gate::Ask => Says::Ask,
            Gate::Deny => Says::Deny,
        }
    }
}

pub(super) const NAMES: [&str; 2] = ["first", "second"];
pub(super) const ARGUMENTS: &str = r#"{"v":0}"#;

/// Returns the person's arguments in place of [`ARGUMENTS`].
pub(super) fn edited() -> Value {
    json!({"v": 1})
}

/// A tool in one of its definitions.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) reference: Arc<ToolRef>,
    identity: Identity,
    spec: ToolSpec,
}

impl Known {
    /// Creates the tool of this name. Its changed definition has one more parameter.
    pub(super) fn new(name: &str, changed: bool, set: impl FnOnce(&mut ToolOptions)) -> Self {
        let parameters = if changed { json!({"v": {}, "w": {}}) } else { json!({"v": {}}) };
        let input = Schema::new(json!({"type": "object", "properties": parameters}));
        let mut spec = ToolSpec::new(name, "Does something.", input);
        spec.options.effect = Effect::Destructive;
        set(&mut spec.options);
        let reference = Arc::new(ToolRef::new(&spec, spec.fingerprint()));
        Self { reference, identity: Identity::of(&spec), spec }
    }
}

/// Returns the tool of a call, in one of both definitions.
pub(super) fn tool(at: usize, kind: Kind, changed: bool) -> &'static Known {
    static ALL: LazyLock<Vec<Known>> = LazyLock::new(|| {
        let all = (0..32).map(|number: usize| {
            let (gate, idempotent) = (GATES[number / 4 % 4], !(number / 2).is_multiple_of(2));
            Known::new(NAMES[number / 16], !number.is_multiple_of(2), |options| {
                (options.idempotent, options.external) = (idempotent, gate == Gate::External);
            })
        });
        all.collect()
    });
    let gate = GATES.iter().position(|gate| *gate == kind.gate).expect("one of all");
    &ALL[at * 16 + gate * 4 + usize::from(kind.idempotent) * 2 + usize::from(changed)]
}

/// An application with at most one tool, whose policies have one answer.
struct Bench<'a>(Option<&'a Known>, Says);

impl Rules for Bench<'_> {
    fn tool(&self, _: &str) -> Option<KnownTool<'_>> {
        let Known { reference, identity, spec } = self.0?;
        Some(KnownTool { reference, identity: *identity, spec })
    }

    fn permission(&self, _: &ToolSpec, _: &str) -> Permission {
        match self.1 {
            Says::Allow => Permission::Allow,
            Says::Ask => Permission::Ask,
            Says::Deny => Permission::Deny { reason: None },
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

/// Returns the tool's reading of `text`, with these resources.
fn read(text: &Arc<str>, touches: Option<Arc<Resources>>) -> ReadArguments {
    let (text, author) = (Arc::clone(text), Author::Validators);
    ReadArguments { text, outcome: Ok(AcceptedArguments { needs_approval: false, normalized: None, touches, author }) }
}

/// Returns the check of `call`, whose tool accepts `text`.
pub(super) fn accepted(
    run: &Run,
    call: &Call,
    tool: &Known,
    text: &Arc<str>,
    says: Says,
    touches: Option<Arc<Resources>>,
) -> CheckedCall {
    judge_call(&Bench(Some(tool), says), run, call, read(text, touches))
}

/// Returns the check of `call`, whose tool rejects `text`.
pub(super) fn rejected(run: &Run, call: &Call, text: &Arc<str>) -> CheckedCall {
    let read = ReadArguments { text: Arc::clone(text), outcome: Err(CallError::Rejected(feedback())) };
    judge_call(&Bench(None, Says::Deny), run, call, read)
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
        Choice::Edit => Decision::Edit { arguments: edited() },
        Choice::Deny => Decision::Deny { reason: None },
        Choice::Respond => Decision::Respond { output: json!({"done": true}) },
        Choice::Fail => Decision::Fail { error: "it broke".to_owned() },
    }
}

/// Returns a decision as the gate passes it on, with the policies' answer and the resources of an edit.
pub(super) fn ruling(
    run: &Run,
    interrupt: &InterruptId,
    decision: Decision,
    tool: &Known,
    says: Says,
    touches: Option<Arc<Resources>>,
) -> CheckedDecision {
    let read = match &decision {
        Decision::Edit { arguments } => Some(read(&arguments.to_string().into(), touches)),
        _ => None,
    };
    judge_decision(&Bench(Some(tool), says), run, interrupt, decision, read).expect("it fits")
}

/// Returns the decision to edit a call whose tool rejects the edited arguments.
pub(super) fn refused_edit(run: &Run, interrupt: &InterruptId, tool: &Known) -> CheckedDecision {
    let text = edited().to_string().into();
    let read = ReadArguments { text, outcome: Err(CallError::Rejected(feedback())) };
    let decision = decision(Choice::Edit);
    judge_decision(&Bench(Some(tool), Says::Ask), run, interrupt, decision, Some(read)).expect("the run says so")
}
