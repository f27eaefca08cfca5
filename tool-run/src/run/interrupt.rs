//! Interrupts: the points where a call waits for a decision, with its view for people.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::feedback::{Rejection, one_line};
use crate::json;
use crate::json::text;
use crate::run::{Call, InterruptId, Principal, Question, Timestamp};
use crate::tool::fingerprint::Digest;
use crate::tool::{Effect, Fingerprint, Need, ToolSpec, UNDECIDED};

/// An interrupt: a call that waits for a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Interrupt {
    /// The id, which a decision names.
    pub id: InterruptId,
    /// The kind, which determines the decisions that are possible.
    pub kind: InterruptKind,
    /// The view of the call for the person that decides.
    pub shown: CallView,
    /// The time at which the interrupt was opened.
    pub opened_at: Timestamp,
    /// The time at which the interrupt expires if nobody has decided; `None` for never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The principals that may decide; only the run's owner if the list is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deciders: Vec<Principal>,
}

/// The kind of an interrupt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum InterruptKind {
    /// A person must allow the call. Decisions: approve (with an `offer`, also for the run), edit, deny, respond.
    Approval {
        /// The pattern of similar calls that can be allowed for the rest of the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offer: Option<ArgumentPattern>,
    },
    /// The running tool asks a question. Decisions: answer or deny; approve or deny if it asks for permission.
    Question {
        /// The question.
        question: Question,
    },
    /// The call is executed outside this program. Decisions: respond (with its output), fail, deny.
    External,
    /// The call was started, and its outcome is unknown. Decisions: approve (start it again), respond (it was done, with this
    /// output), fail (it was not done, or failed), deny (leave it).
    Reconcile,
    /// The tool is an agent, and a call of its inner run waits for a decision. Decisions: those of the inner interrupt.
    Inner {
        /// The tool of the inner call that waits.
        tool: String,
        /// The interrupt of the inner run, with its id there.
        interrupt: Box<Interrupt>,
        /// The problem with the previous decision, if there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feedback: Option<Box<Rejection>>,
    },
}

impl Interrupt {
    /// Creates an interrupt that never expires, and that the run's owner decides.
    pub fn new(id: InterruptId, kind: InterruptKind, shown: CallView, opened_at: Timestamp) -> Self {
        Self { id, kind, shown, opened_at, expires_at: None, deciders: Vec::new() }
    }

    /// Returns the principals that may decide the interrupt, in a run of `owner`: the named ones, or else the owner.
    pub fn deciders_of<'a>(&'a self, owner: &'a Principal) -> &'a [Principal] {
        deciders_or(&self.deciders, owner)
    }

    /// Returns whether `by` may decide the interrupt, in a run of `owner`.
    pub fn may_be_decided(&self, owner: &Principal, by: &Principal) -> bool {
        self.deciders_of(owner).contains(by)
    }

    /// Returns the innermost interrupt: the interrupt itself, or that of the inner run.
    pub fn innermost(&self) -> &Self {
        match &self.kind {
            InterruptKind::Inner { interrupt, .. } => interrupt.innermost(),
            _ => self,
        }
    }

    /// Returns the thing that the call lacks, if it waits for that before it starts.
    pub fn need(&self) -> Option<&Need> {
        match &self.kind {
            InterruptKind::Question { question } => question.need.as_ref(),
            _ => None,
        }
    }

    /// Returns a digest of the interrupt, to which the log binds a decision about an inner interrupt.
    pub fn digest(&self) -> Digest {
        Digest::of(serde_json::to_vec(&(&self.id, &self.kind, &self.shown)).unwrap_or_default())
    }
}

/// Returns `deciders`, or the run's owner if there are none.
pub(super) fn deciders_or<'a>(deciders: &'a [Principal], owner: &'a Principal) -> &'a [Principal] {
    if deciders.is_empty() { std::slice::from_ref(owner) } else { deciders }
}

impl InterruptKind {
    /// Returns the kind's name, as stored.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Approval { .. } => "approval",
            Self::Question { .. } => "question",
            Self::External => "external",
            Self::Reconcile => "reconcile",
            Self::Inner { .. } => "inner",
        }
    }

    /// Returns the verbs of the decisions that the interrupt accepts. [`Decision::ApproveForRun`] is not listed.
    pub(super) fn possible(&self) -> &'static [&'static str] {
        match self {
            Self::Approval { .. } => &["approve", "edit", "deny", "respond"],
            Self::Question { question } if question.schema.is_none() => &["approve", "deny"],
            Self::Question { .. } => &["answer", "deny"],
            Self::External => &["respond", "fail", "deny"],
            Self::Reconcile => &["approve", "respond", "fail", "deny"],
            Self::Inner { interrupt, .. } => interrupt.kind.possible(),
        }
    }

    /// Returns whether the interrupt accepts this decision.
    pub(super) fn accepts(&self, decision: &Decision) -> bool {
        match self {
            Self::Inner { interrupt, .. } => interrupt.kind.accepts(decision),
            Self::Approval { offer: Some(_) } if *decision == Decision::ApproveForRun => true,
            kind => kind.possible().contains(&decision.verb()),
        }
    }
}

/// The answer to an interrupt, such as an approval or a denial. `I` and `O` are the tool's input and output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decision<I = Value, O = Value> {
    /// The call may run as shown.
    Approve,
    /// The call may run as shown, and so may later calls that the interrupt's pattern covers.
    ApproveForRun,
    /// The call may run with these arguments in place of the model's. The judge checks them like the model's.
    Edit {
        /// The complete arguments.
        arguments: I,
    },
    /// The call must not run.
    Deny {
        /// The reason, for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The output of the call, which does not run.
    Respond {
        /// The output. It must fit the tool's output type.
        output: O,
    },
    /// The answer to the tool's question.
    Answer {
        /// The answer. It must fit the question.
        value: Value,
    },
    /// The call was executed outside and failed, or a lost call failed or did nothing.
    Fail {
        /// The text for the model.
        error: String,
    },
}

impl<I, O> Decision<I, O> {
    /// Creates a denial with a reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: Some(reason.into()) }
    }

    /// Creates the denial of a call or question about which no person could decide. `reason` ends the sentence "somebody would have to
    /// decide, and …".
    pub fn deny_undecided(reason: impl fmt::Display) -> Self {
        Self::deny(format!("{UNDECIDED}{reason}"))
    }

    /// Returns the verb of the decision, such as `approve for this run`.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::ApproveForRun => "approve for this run",
            Self::Edit { .. } => "edit",
            Self::Deny { .. } => "deny",
            Self::Respond { .. } => "respond",
            Self::Answer { .. } => "answer",
            Self::Fail { .. } => "fail",
        }
    }
}

impl<I: Serialize, O: Serialize> Decision<I, O> {
    /// Converts typed input and output to JSON.
    ///
    /// Fails if one of them has no JSON form.
    pub fn erase(self) -> Result<Decision, serde_json::Error> {
        Ok(match self {
            Self::Approve => Decision::Approve,
            Self::ApproveForRun => Decision::ApproveForRun,
            Self::Edit { arguments } => Decision::Edit { arguments: serde_json::to_value(arguments)? },
            Self::Deny { reason } => Decision::Deny { reason },
            Self::Respond { output } => Decision::Respond { output: serde_json::to_value(output)? },
            Self::Answer { value } => Decision::Answer { value },
            Self::Fail { error } => Decision::Fail { error },
        })
    }
}

/// A pattern of similar calls: calls whose arguments have these values. Other arguments do not matter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ArgumentPattern(pub Map<String, Value>);

impl ArgumentPattern {
    /// Returns whether the pattern covers the arguments. Each argument is its name and its JSON text; defaults are filled in.
    /// [`ToolSpec::argument_texts`](crate::tool::ToolSpec::argument_texts) returns them.
    ///
    /// Numbers are compared by value, to the last digit: `1.0` equals `1`, and 18446744073709551617 equals no other number. A
    /// [`Value`] cannot hold that number, so no pattern covers it.
    pub fn covers(&self, argument_texts: &[(String, String)]) -> bool {
        let fits = |name: &str, value: &Value| {
            let text = argument_texts.iter().find(|(known, _)| known == name);
            text.is_some_and(|(_, text)| json::is_same_value(text, &value.to_string()))
        };
        self.0.iter().all(|(name, value)| fits(name, value))
    }
}

/// A person's approval of later calls of one tool whose arguments match a pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunApproval {
    /// The fingerprint of the tool at that time.
    pub tool: Fingerprint,
    /// The pattern of the arguments.
    pub pattern: ArgumentPattern,
    /// The principal that approved the calls.
    pub by: Principal,
}

/// The view of a call for a person: complete, and without characters that could deceive the reader.
///
/// It shows the arguments as the tool accepted them, with defaults filled in. Control characters, escape sequences and
/// characters that change the direction of text are escaped in all fields but `arguments`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallView {
    /// The tool's name.
    pub tool: String,
    /// The tool's name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The origin of the tool, if it is not part of this program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The tool's effect on the world.
    pub effect: Effect,
    /// The question of the declaration, with the arguments in their places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub challenge: Option<String>,
    /// The arguments as JSON, for a form. They are not escaped, and numbers of more than 64 bits are rounded; see `lines`.
    pub arguments: Value,
    /// The names and values of the arguments, one line each.
    pub lines: Vec<(String, String)>,
    /// The tools whose outputs came before this call and may contain untrusted text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tainted_by: Vec<String>,
}

impl CallView {
    /// Creates the view of a call of the tool `spec`.
    ///
    /// Fails if `arguments` are not a JSON object, or are nested 128 levels deep.
    pub fn new(spec: &ToolSpec, arguments: &str, tainted_by: &[String]) -> Result<Self, Rejection> {
        let argument_texts = spec.argument_texts(arguments)?;
        Ok(Self {
            tool: one_line(&spec.name),
            title: spec.title.as_deref().map(one_line),
            origin: spec.options.origin.as_deref().map(one_line),
            effect: spec.options.effect,
            challenge: spec.challenge(&argument_texts).as_deref().map(one_line),
            arguments: spec.fill_defaults(arguments)?,
            lines: argument_texts.iter().map(|(name, value)| (one_line(name), one_line(value))).collect(),
            tainted_by: tainted_by.iter().map(|name| one_line(name)).collect(),
        })
    }

    /// Creates the view of a call that was started already, with its arguments as written.
    pub(super) fn of_running(call: &Call) -> Self {
        let text = &call.arguments().text;
        let line = |(name, value): &(String, String)| (one_line(name), one_line(value));
        Self {
            tool: one_line(&call.name),
            title: None,
            origin: call.tool.as_ref().and_then(|tool| tool.origin.as_deref()).map(one_line),
            effect: call.tool.as_ref().map_or(Effect::default(), |tool| tool.effect),
            challenge: None,
            lines: text::last_entries(text).iter().flatten().map(line).collect(),
            arguments: serde_json::from_str(text).unwrap_or_default(),
            tainted_by: Vec::new(),
        }
    }

    /// Returns the digest of the whole view.
    pub fn digest(&self) -> Digest {
        Digest::of(serde_json::to_vec(self).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ArgumentPattern, Decision, InterruptKind};
    use crate::run::{Question, Refusal};

    /// Checks every kind against every decision, and the text of the refusal.
    #[test]
    fn each_kind_accepts_its_decisions_and_no_others() {
        let approval = |offer: Option<ArgumentPattern>| InterruptKind::Approval { offer };
        let answer = |question: Question| InterruptKind::Question { question };
        let table = [
            (approval(None), "x.xxx..", "approve, edit, deny, respond"),
            (approval(Some(ArgumentPattern(serde_json::Map::new()))), "xxxxx..", "approve, edit, deny, respond"),
            (answer(Question::approval("May I?")), "x..x...", "approve, deny"),
            (answer(Question::ask("Which?", json!({}))), "...x.x.", "answer, deny"),
            (InterruptKind::External, "...xx.x", "respond, fail, deny"),
            (InterruptKind::Reconcile, "x..xx.x", "approve, respond, fail, deny"),
        ];
        for (kind, row, possible) in table {
            let decisions: [Decision; 7] = [
                Decision::Approve,
                Decision::ApproveForRun,
                Decision::Edit { arguments: Value::Null },
                Decision::Deny { reason: None },
                Decision::Respond { output: Value::Null },
                Decision::Answer { value: Value::Null },
                Decision::Fail { error: String::new() },
            ];
            let mark = |decision| if kind.accepts(decision) { 'x' } else { '.' };
            let accepted: String = decisions.iter().map(mark).collect();
            assert_eq!(accepted, row, "{kind:?}");
            let refusal = Refusal::NotOffered { decision: "edit", possible: kind.possible() };
            assert_eq!(refusal.to_string(), format!("this interrupt does not accept `edit`; use one of: {possible}"));
        }
    }
}
