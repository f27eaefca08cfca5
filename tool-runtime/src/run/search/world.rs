//! The world around two calls: what the tools are, what a driver has to do, and what really happened.

use std::mem::Discriminant;
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use super::touching::Touching;
use crate::digest::Digest;
use crate::feedback::{Problem, ProblemKind, Rejection};
use crate::run::inspection::{Accepted, Finding, Inspection, Ruling, View};
use crate::run::{Author, CallId, CallResult, Decision, ObligationId, Shown, Time, ToolRef};
use crate::tool::{Effect, Fingerprint, Output, Touches};
use crate::toolset::Permission;

/// What stands between a call and its execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Gate {
    Auto,
    Ask,
    External,
    Deny,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    pub(super) gate: Gate,
    pub(super) idempotent: bool,
}

/// What a policy says at a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Says {
    Allow,
    Ask,
    Deny,
}

/// `inspection` of a call that touches something.
pub(super) fn touch(mut inspection: Inspection, touches: Option<Arc<Touches>>) -> Inspection {
    if let Finding::Accepted(accepted) = &mut inspection.finding {
        accepted.touches = touches;
    }
    inspection
}

/// What a person decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Choice {
    Approve,
    Edit,
    Deny,
    Respond,
    Fail,
}

pub(super) const CHOICES: [Choice; 5] = [Choice::Approve, Choice::Edit, Choice::Deny, Choice::Respond, Choice::Fail];

/// Something that can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// A call is looked at; the tool may be another one.
    Look(usize, Says, bool),
    Decide(usize, Choice),
    End(usize, bool),
    Tick,
    Recover,
    Prompt,
    /// A prompt that joins what goes on.
    Steer,
    Cancel,
    /// The driver does not go on.
    Stop,
    /// The model breaks off, and may be asked again.
    Fail,
    /// The model says something, and calls nothing.
    Model,
}

/// A grant as the log tells of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ledger {
    pub(super) arguments: Digest,
    pub(super) tool: bool,
    pub(super) used: bool,
}

/// What is known about a call from outside of the run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Seen {
    pub(super) kind: Kind,
    /// Whether the tool is the changed one.
    pub(super) changed: bool,
    /// The driver has to look at it.
    pub(super) look: bool,
    /// The attempt that is going on in this process.
    pub(super) live: Option<u32>,
    /// Which obligation somebody was told about.
    pub(super) told: u32,
    pub(super) edits: u8,
    /// How often somebody or a policy said that it may run.
    pub(super) consents: u8,
    pub(super) starts: u8,
    /// Texts of arguments that somebody or a policy allowed.
    pub(super) permitted: Vec<Digest>,
    pub(super) grant: Option<Ledger>,
    /// Somebody, a policy or the time said that it must not run.
    pub(super) vetoed: bool,
    pub(super) handed_out: bool,
    pub(super) decided: Vec<(u32, Choice)>,
    pub(super) result: Option<Discriminant<CallResult>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) calls: [Seen; 2],
    pub(super) now: u64,
    pub(super) touching: Touching,
    /// The model is asked.
    pub(super) model: bool,
    pub(super) wake: Option<u64>,
    /// How many troubles may still come: crashes, changes, expiries.
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
            told: 0,
            edits: 0,
            consents: 0,
            starts: 0,
            permitted: Vec::new(),
            grant: None,
            vetoed: false,
            handed_out: false,
            decided: Vec::new(),
            result: None,
        });
        Self { calls, now: 0, touching, model: false, wake: None, troubles, prompts: 1 }
    }

    pub(super) fn time(&self) -> Time {
        Time(self.now)
    }
}

impl Seen {
    /// What makes no difference when the call has ended.
    pub(super) fn forget(&mut self) {
        self.changed = false;
        self.grant = None;
        self.permitted.clear();
        (self.edits, self.consents, self.told) = (0, 0, 0);
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

const EDITED: &str = r#"{"v":1}"#;

/// What the person writes in place of [`ARGUMENTS`].
pub(super) fn edited() -> Value {
    json!({"v": 1})
}

/// The digests of both definitions of a tool.
pub(super) fn fingerprint(at: usize, changed: bool) -> Fingerprint {
    static ALL: LazyLock<Vec<Fingerprint>> = LazyLock::new(|| {
        let of = |n: usize| serde_json::from_value(json!(Digest::of(format!("tool {n}")))).expect("a digest");
        (0..32).map(of).collect()
    });
    ALL[at * 2 + usize::from(changed)]
}

pub(super) fn tool(at: usize, kind: Kind, changed: bool) -> Arc<ToolRef> {
    Arc::new(ToolRef {
        name: NAMES[at].to_owned(),
        origin: None,
        fingerprint: fingerprint(at, changed),
        version: None,
        effect: Effect::Destructive,
        idempotent: kind.idempotent,
        external: kind.gate == Gate::External,
        sequential: false,
        eager: false,
        untrusted: false,
        resumable: false,
        retries: 0,
        migrate_from: Vec::new(),
    })
}

pub(super) fn shown(tool: &ToolRef, text: &str) -> Shown {
    Shown {
        tool: tool.name.clone(),
        title: None,
        origin: None,
        effect: tool.effect,
        challenge: None,
        arguments: serde_json::from_str(text).unwrap_or_default(),
        lines: Vec::new(),
        tainted_by: Vec::new(),
    }
}

/// The digest of a text, computed once: in a debug build that is most of the work.
pub(super) fn digest(text: &str) -> Digest {
    static KNOWN: LazyLock<[(&str, Digest); 2]> =
        LazyLock::new(|| [ARGUMENTS, EDITED].map(|text| (text, Digest::of(text))));
    let known = KNOWN.iter().find(|(known, _)| *known == text);
    known.map_or_else(|| Digest::of(text), |(_, digest)| *digest)
}

pub(super) fn accepted(call: &CallId, tool: Arc<ToolRef>, text: &Arc<str>, says: Says) -> Inspection {
    let permission = match says {
        Says::Allow => Permission::Allow,
        Says::Ask => Permission::Ask,
        Says::Deny => Permission::Deny { reason: None },
    };
    let view =
        Some(Box::new(View { shown: shown(&tool, text), written: Vec::new(), offer: None, deciders: Vec::new() }));
    let identity = Some(tool.fingerprint.into());
    let finding = Finding::Accepted(Accepted { tool, permission, touches: None, view });
    Inspection { tool: identity, ..found(call, text, finding) }
}

fn found(call: &CallId, text: &Arc<str>, finding: Finding) -> Inspection {
    Inspection {
        call: call.clone(),
        text: Arc::clone(text),
        arguments: digest(text),
        normalized: None,
        author: Author::Validators,
        tool: None,
        finding,
    }
}

pub(super) fn rejected(call: &CallId, text: &Arc<str>) -> Inspection {
    let finding = Finding::Ended(CallResult::Rejected { feedback: feedback() });
    found(call, text, finding)
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

/// A decision as the inspector passes it on.
pub(super) fn ruling(
    obligation: &ObligationId,
    choice: Choice,
    tool: Arc<ToolRef>,
    touches: Option<Arc<Touches>>,
) -> Ruling {
    let text: Arc<str> = edited().to_string().into();
    let edit = || touch(accepted(&obligation.call, tool, &text, Says::Ask), touches);
    let inspection = (choice == Choice::Edit).then(edit);
    let output = (choice == Choice::Respond).then(output);
    Ruling { obligation: obligation.clone(), decision: decision(choice), inspection, output }
}
