//! Which of a client's claims a run waits for.

use std::borrow::Cow;

use super::{ChatRequest, Claim, Claimed, approval_id};
use crate::json::is_echo;
use crate::run::{Call, Decision, Obligation, ObligationId, ObligationKind, Run};

/// What a run makes of a client's claims.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Matched {
    /// What is decided, in the model's order.
    pub decisions: Vec<(ObligationId, Decision)>,
    /// Approvals of other arguments than the run asked about. They count for nothing.
    pub tampered: Vec<ObligationId>,
    /// How many answers the last message has to requests that nobody waits for: made up, moved here, or used before.
    pub unasked: usize,
}

/// Takes out of a request what `run` waits for. Everything else in it decides nothing.
pub fn match_claims(run: &Run, request: &ChatRequest) -> Matched {
    let mut matched = Matched::default();
    let mut used = 0;
    for open in run.obligations() {
        let Some(call) = run.call(open.id.call()) else { continue };
        let asked = approval_id(run.id(), open);
        let claim = request.claims.iter().rfind(|claim| match &claim.claimed {
            Claimed::Answered { approval, .. } => *approval == asked,
            _ if open.kind == ObligationKind::External => claim.call == call.id.as_str(),
            // Of a call inside of another, under the id that it was handed out with.
            _ => open.innermost().kind == ObligationKind::External && claim.call == asked,
        });
        let answers = matches!(claim, Some(Claim { claimed: Claimed::Answered { .. }, .. }));
        used += usize::from(answers && claim.is_some_and(|claim| claim.is_last));
        let beside = request.decisions.iter().find(|(id, _)| *id == asked).map(|(_, decision)| decision);
        match decision(call, open, claim, beside) {
            Ok(Some(decision)) => matched.decisions.push((open.id.clone(), decision)),
            Ok(None) => {}
            Err(Tampered) => matched.tampered.push(open.id.clone()),
        }
    }
    let answers = |claim: &&Claim| claim.is_last && matches!(claim.claimed, Claimed::Answered { .. });
    matched.unasked = request.claims.iter().filter(answers).count() - used;
    matched
}

struct Tampered;

fn decision(
    call: &Call,
    open: &Obligation,
    claim: Option<&Claim>,
    beside: Option<&Decision>,
) -> Result<Option<Decision>, Tampered> {
    let Some(claim) = claim else { return Ok(beside.cloned()) };
    Ok(match &claim.claimed {
        Claimed::Answered { approved: false, reason, .. } => Some(Decision::Deny { reason: reason.clone() }),
        Claimed::Answered { .. } => match beside {
            Some(decision) => Some(decision.clone()),
            None if is_shown(call, open, claim) => Some(Decision::Approve),
            None => return Err(Tampered),
        },
        Claimed::Output(output) => Some(Decision::Respond { output: output.clone() }),
        Claimed::Failed(error) => Some(Decision::Fail { error: error.clone() }),
    })
}

/// Returns whether the arguments that the client has are those that the run asked about. What it does not say is not other.
fn is_shown(call: &Call, open: &Obligation, claim: &Claim) -> bool {
    let Some(input) = &claim.input else { return true };
    // Arguments that no client reads were sent as a text.
    let input = serde_json::from_str(input).map_or(Cow::Borrowed(input.as_str()), |text: String| text.into());
    is_echo(&input, &open.shown.arguments.to_string()) || is_echo(&input, &call.arguments().text)
}
