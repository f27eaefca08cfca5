use tool_runtime::run::{Decision, InterruptId};
use tool_run::run::CheckedDecision;

fn forge(interrupt: InterruptId) -> CheckedDecision {
    CheckedDecision { interrupt, decision: Decision::Approve }
}

fn change(mut checked: CheckedDecision) -> CheckedDecision {
    checked.decision = Decision::Approve;
    checked
}

fn main() {}
