//! Interrupts: what a person sees of a call, and decides about it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::feedback::{Rejection, one_line};
use crate::json;
use crate::json::text;
use crate::run::{Call, InterruptId, Principal, Question, Time};
use crate::tool::spec::Digest;
use crate::tool::{Effect, Fingerprint, ToolSpec};

/// An interrupt: a call waits for a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Interrupt {
    /// Its id: what a decision names.
    pub id: InterruptId,
    /// The kind of an interrupt.
    pub kind: InterruptKind,
    /// The call, as the person may see it.
    pub shown: Shown,
    /// Since when it waits.
    pub since: Time,
    /// When it ends without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Time>,
    /// The principals that may decide; the run's owner if the list is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deciders: Vec<Principal>,
}

/// The kind of an interrupt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum InterruptKind {
    /// A person must allow the call. Decisions: approve, edit, deny, respond.
    Approval {
        /// Calls like this one can be allowed for the rest of the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offer: Option<Pattern>,
    },
    /// The running tool asks. Decisions: answer or deny; approve or deny where it asks for permission.
    Answer {
        /// The question.
        question: Question,
    },
    /// The call is executed outside. Decisions: respond (with its output), fail, deny.
    External,
    /// The call was started, and nobody knows what came of it. Decisions: approve (start it again), respond (it was done,
    /// this came of it), fail (it was not, or went wrong), deny (leave it).
    Reconcile,
    /// The call is a run of its own, of an agent that is a tool, and something in there waits for somebody. Decisions: those
    /// that the inner interrupt takes.
    Inner {
        /// The tool of the inner call that waits.
        tool: String,
        /// What waits in there. Its id is one of the inner run.
        #[serde(rename = "obligation")]
        interrupt: Box<Interrupt>,
        /// The problem with the decision that was given before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feedback: Option<Box<Rejection>>,
    },
}

impl Interrupt {
    /// Creates an interrupt that has no end and that the run's owner decides.
    pub fn new(id: InterruptId, kind: InterruptKind, shown: Shown, since: Time) -> Self {
        Self { id, kind, shown, since, expires: None, deciders: Vec::new() }
    }

    /// Returns the innermost interrupt: the one inside of this one, where it is that of a run inside of the call; or
    /// else this one.
    pub fn innermost(&self) -> &Self {
        match &self.kind {
            InterruptKind::Inner { interrupt, .. } => interrupt.innermost(),
            _ => self,
        }
    }

    /// Returns the digest that an answer to something inside of a call is bound to.
    pub fn digest(&self) -> Digest {
        Digest::of(serde_json::to_vec(&(&self.id, &self.kind, &self.shown)).unwrap_or_default())
    }
}

impl InterruptKind {
    /// The kind's name, as it is stored.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Approval { .. } => "approval",
            Self::Answer { .. } => "answer",
            Self::External => "external",
            Self::Reconcile => "reconcile",
            Self::Inner { .. } => "inner",
        }
    }

    /// Returns the verbs of the decisions that it takes, in the order in which a refusal lists them. Something inside of a
    /// call takes those that are taken there; an approval with an offer also takes one for the rest of the run.
    pub(super) fn possible(&self) -> &'static [&'static str] {
        match self {
            Self::Approval { .. } => &["approve", "edit", "deny", "respond"],
            Self::Answer { question } if question.schema.is_none() => &["approve", "deny"],
            Self::Answer { .. } => &["answer", "deny"],
            Self::External => &["respond", "fail", "deny"],
            Self::Reconcile => &["approve", "respond", "fail", "deny"],
            Self::Inner { interrupt, .. } => interrupt.kind.possible(),
        }
    }

    /// Returns whether it takes such a decision.
    pub(super) fn takes(&self, decision: &Decision) -> bool {
        match self {
            Self::Inner { interrupt, .. } => interrupt.kind.takes(decision),
            Self::Approval { offer: Some(_) } if *decision == Decision::ApproveForRun => true,
            kind => kind.possible().contains(&decision.verb()),
        }
    }
}

/// A decision about an interrupt. `I` is the tool's input, `O` its output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decision<I = Value, O = Value> {
    /// The call may run as it was shown.
    Approve,
    /// The call may run as it was shown, and so may the later ones that the offer covers.
    ApproveForRun,
    /// The call may run with these arguments in place of the model's: all of them, checked like the model's.
    Edit {
        /// All of the arguments.
        arguments: I,
    },
    /// The call must not run.
    Deny {
        /// Why; the model is told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// This is the call's output; it does not run.
    Respond {
        /// The output; it must fit the tool's output type.
        output: O,
    },
    /// The answer to the tool's question.
    Answer {
        /// The answer; it must fit the question.
        value: Value,
    },
    /// The call was executed outside, and failed.
    Fail {
        /// The text for the model.
        error: String,
    },
}

impl<I, O> Decision<I, O> {
    /// A denial with a reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: Some(reason.into()) }
    }

    /// Returns the verb of the decision, as a word or two.
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
    /// Returns the decision with JSON in place of typed input and output.
    ///
    /// Fails when one of them has no JSON form.
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

/// A pattern of calls that are like one another: those whose arguments have these values, whatever the others are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pattern(pub Map<String, Value>);

impl Pattern {
    /// Returns whether arguments fit that are written like this: by name, defaults filled in, each as JSON. These are the
    /// texts that [`ToolSpec::written`](crate::tool::ToolSpec::written) returns.
    ///
    /// Numbers are compared by value and to the last digit: `1.0` is `1`, and 18446744073709551617 is nothing else. A
    /// [`Value`] cannot hold such a number, so no pattern covers it.
    pub fn covers(&self, written: &[(String, String)]) -> bool {
        let fits = |name: &str, value: &Value| {
            let text = written.iter().find(|(known, _)| known == name);
            text.is_some_and(|(_, text)| json::same(text, &value.to_string()))
        };
        self.0.iter().all(|(name, value)| fits(name, value))
    }
}

/// Calls that somebody allowed for the rest of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Allowance {
    /// Of this tool, as it was.
    pub tool: Fingerprint,
    /// With these arguments.
    pub pattern: Pattern,
    /// The principal that allowed it.
    pub by: Principal,
}

/// The view of a call that a person gets: all of it, with nothing cut and nothing that could fool the eye.
///
/// It is made of the arguments as the tool accepted them, defaults filled in. Control characters, escape sequences and
/// characters that turn the direction of text are written out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Shown {
    /// The tool's name.
    pub tool: String,
    /// The tool's name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Where the tool comes from, if not from this program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The tool's effect on the world.
    pub effect: Effect,
    /// The question of the declaration, with the arguments in their places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub challenge: Option<String>,
    /// The arguments as JSON, for a form: not escaped, and numbers of more than 64 bits are rounded; see `lines`.
    pub arguments: Value,
    /// The arguments' names and values, to be shown a line each.
    pub lines: Vec<(String, String)>,
    /// Tools whose outputs hold text of strangers, and came before this call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tainted_by: Vec<String>,
}

impl Shown {
    /// Returns the view of a call of the tool `spec`.
    ///
    /// Fails when `arguments` are no object.
    pub fn new(spec: &ToolSpec, arguments: &str, tainted_by: &[String]) -> Result<Self, Rejection> {
        let written = spec.written(arguments)?;
        Ok(Self {
            tool: one_line(&spec.name),
            title: spec.title.as_deref().map(one_line),
            origin: spec.traits.origin.as_deref().map(one_line),
            effect: spec.traits.effect,
            challenge: spec.challenge(&written).as_deref().map(one_line),
            arguments: spec.with_defaults(arguments)?,
            lines: written.iter().map(|(name, value)| (one_line(name), one_line(value))).collect(),
            tainted_by: tainted_by.iter().map(|name| one_line(name)).collect(),
        })
    }

    /// Returns the view of a call that was started already: its arguments as they were written.
    pub(super) fn of_running(call: &Call) -> Self {
        let text = &call.arguments().text;
        let line = |(name, value): &(String, String)| (one_line(name), one_line(value));
        Self {
            tool: one_line(&call.name),
            title: None,
            origin: call.tool.as_ref().and_then(|tool| tool.origin.as_deref()).map(one_line),
            effect: call.tool.as_ref().map_or(Effect::default(), |tool| tool.effect),
            challenge: None,
            lines: text::members(text).iter().flatten().map(line).collect(),
            arguments: serde_json::from_str(text).unwrap_or_default(),
            tainted_by: Vec::new(),
        }
    }

    /// The digest of everything that is shown.
    pub fn digest(&self) -> Digest {
        Digest::of(serde_json::to_vec(self).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Decision, InterruptKind, Pattern};
    use crate::run::{Question, Refusal};

    /// Every kind against every decision, and the sentence of a refusal.
    #[test]
    fn each_kind_takes_its_decisions_and_no_others() {
        let approval = |offer: Option<Pattern>| InterruptKind::Approval { offer };
        let answer = |question: Question| InterruptKind::Answer { question };
        let table = [
            (approval(None), "x.xxx..", "approve, edit, deny, respond"),
            (approval(Some(Pattern(serde_json::Map::new()))), "xxxxx..", "approve, edit, deny, respond"),
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
            let taken: String = decisions.iter().map(|decision| if kind.takes(decision) { 'x' } else { '.' }).collect();
            assert_eq!(taken, row, "{kind:?}");
            let refusal = Refusal::NotOffered { decision: "edit", possible: kind.possible() };
            assert_eq!(refusal.to_string(), format!("cannot edit here; possible: {possible}"));
        }
    }
}
