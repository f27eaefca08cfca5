//! Which of a client's claims a run waits for.

use std::{borrow::Cow, collections::HashMap};

use super::{ChatRequest, Claim, Claimed, approval_id};
use tool_runtime::json::is_echo;
use tool_runtime::run::{Call, Decision, Obligation, ObligationId, ObligationKind, Run};

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
    let claims = Claims::new(&request.claims);
    let beside: HashMap<_, _> = request.decisions.iter().map(|(id, decision)| (id.as_str(), decision)).collect();
    for open in run.obligations() {
        let Some(call) = run.call(open.id.call()) else { continue };
        let asked = approval_id(run.id(), open);
        let is_external = open.innermost().kind == ObligationKind::External;
        let claim = match open.kind {
            ObligationKind::External => claims.about(&asked, Some(call.id.as_str())),
            // Of a call inside of another, under the id that it was handed out with.
            _ => claims.about(&asked, is_external.then_some(&asked)),
        };
        let answers = matches!(claim, Some(Claim { claimed: Claimed::Answered { .. }, .. }));
        used += usize::from(answers && claim.is_some_and(|claim| claim.is_last));
        match decision(call, open, claim, beside.get(asked.as_str()).copied()) {
            Ok(Some(decision)) => matched.decisions.push((open.id.clone(), decision)),
            Ok(None) => {}
            Err(Tampered) => matched.tampered.push(open.id.clone()),
        }
    }
    let answers = |claim: &&Claim| claim.is_last && matches!(claim.claimed, Claimed::Answered { .. });
    matched.unasked = request.claims.iter().filter(answers).count() - used;
    matched
}

/// The places of claims by what they are about. Of several about one thing, the last counts.
struct Claims<'a> {
    all: &'a [Claim],
    answers: HashMap<&'a str, usize>,
    results: HashMap<&'a str, usize>,
}

impl<'a> Claims<'a> {
    fn new(all: &'a [Claim]) -> Self {
        let (mut answers, mut results) = (HashMap::new(), HashMap::new());
        for (at, claim) in all.iter().enumerate() {
            match &claim.claimed {
                Claimed::Answered { approval, .. } => answers.insert(approval.as_str(), at),
                Claimed::Output(_) | Claimed::Failed(_) => results.insert(claim.call.as_str(), at),
            };
        }
        Self { all, answers, results }
    }

    /// The last answer to the request `asked`, or result of `call`.
    fn about(&self, asked: &str, call: Option<&str>) -> Option<&'a Claim> {
        let answer = self.answers.get(asked);
        let result = call.and_then(|call| self.results.get(call));
        answer.max(result).map(|at| &self.all[*at])
    }
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
