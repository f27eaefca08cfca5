//! Answers to interrupts, as decisions.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{Plan, is_result};
use crate::protocol::ag_ui::input::{ResumeEntry, ResumeStatus, RunInput};
use crate::protocol::approval_id;
use tool_runtime::feedback;
use tool_runtime::run::{Decision, Obligation, ObligationKind, Run};

impl Plan {
    /// Adds the answers that name something that waits; of two to one interrupt, the first. All others become warnings.
    pub(super) fn resume(&mut self, run: &Run, input: &RunInput) {
        if input.resume.is_empty() {
            return;
        }
        let asked = run.obligations().filter(|open| !is_result(open));
        let asked: HashMap<_, _> = asked.map(|open| (approval_id(run.id(), open), open)).collect();
        let mut decided = HashSet::new();
        for entry in &input.resume {
            let id = &entry.interrupt_id;
            let Some(open) = asked.get(id) else {
                self.warn(|| unknown(id));
                continue;
            };
            if decided.contains(id) {
                self.warn(|| format!("{} was answered twice; the first answer is taken", name(id)));
                continue;
            }
            match decision(open, entry) {
                Ok(decision) => {
                    decided.insert(id);
                    self.decisions.push((open.id.clone(), decision));
                }
                Err(wanted) => self.warn(|| {
                    format!("the answer to {} does not fit, and it is still open: expected {wanted}", name(id))
                }),
            }
        }
    }
}

/// What is said of an answer to nothing.
pub(super) fn unknown(id: &str) -> String {
    format!("nothing here waits for an answer to {}", name(id))
}

fn name(id: &str) -> String {
    feedback::name(id)
}

/// What an answer decides.
///
/// Fails with what was expected; nothing that is not plainly a yes is taken for one.
fn decision(open: &Obligation, entry: &ResumeEntry) -> Result<Decision, &'static str> {
    let payload = entry.payload.as_ref();
    if entry.status == ResumeStatus::Cancelled {
        return Ok(Decision::Deny { reason: reason(payload).or_else(|| Some("the request was dismissed".to_owned())) });
    }
    if let ObligationKind::Answer { question } = &open.innermost().kind
        && question.schema.is_some()
    {
        let value = payload.cloned().ok_or("the answer as the payload")?;
        return Ok(Decision::Answer { value });
    }
    if open.innermost().kind == ObligationKind::External {
        return Ok(Decision::Respond { output: payload.cloned().ok_or("the call's output as the payload")? });
    }
    let wanted = "a payload with `approved`, true or false";
    let approved = match payload {
        Some(Value::Bool(approved)) => *approved,
        Some(Value::Object(members)) => members.get("approved").and_then(Value::as_bool).ok_or(wanted)?,
        _ => return Err(wanted),
    };
    if !approved {
        return Ok(Decision::Deny { reason: reason(payload) });
    }
    let edited = payload.and_then(|payload| payload.get("editedArgs")).filter(|edited| !edited.is_null());
    match (edited, &open.innermost().kind) {
        (None, _) => Ok(Decision::Approve),
        (Some(Value::Object(arguments)), ObligationKind::Approval { .. }) => {
            Ok(Decision::Edit { arguments: Value::Object(arguments.clone()) })
        }
        (Some(_), ObligationKind::Approval { .. }) => Err("`editedArgs` to be an object with all arguments"),
        (Some(_), _) => Err("no `editedArgs`: the call was started already"),
    }
}

/// Why not, in words.
fn reason(payload: Option<&Value>) -> Option<String> {
    let payload = payload?;
    let text = payload.as_str().or_else(|| payload.get("reason")?.as_str())?;
    Some(text.to_owned()).filter(|text| !text.trim().is_empty())
}
