//! A second run like the first. Outside tests there is none: a grant must not be doubled.

use crate::run::past::Past;
use crate::run::{Call, CallState, Grant, Run};

pub(super) fn copy(run: &Run) -> Run {
    Run {
        id: run.id.clone(),
        owner: run.owner.clone(),
        options: run.options,
        rev: run.rev,
        messages: run.messages.clone(),
        prompts: run.prompts.clone(),
        bytes: run.bytes,
        calls: run.calls.iter().map(call).collect(),
        index: run.index.clone(),
        turn: run.turn,
        steps: run.steps,
        usage: run.usage,
        turns: run.turns.clone(),
        offered: run.offered.clone(),
        activity: run.activity.clone(),
        first: run.first,
        passed: run.passed,
        recent: run.recent,
        stages: run.stages,
        retries: run.retries,
        inner_calls: run.inner_calls,
        until: run.until.clone(),
        stopping: run.stopping,
        answer: run.answer.clone(),
        queue: run.queue.clone(),
        allowances: run.allowances.clone(),
        taint: run.taint.clone(),
    }
}

fn call(call: &Call) -> Call {
    let state = match &call.state {
        CallState::Proposed => CallState::Proposed,
        CallState::Open(open) => CallState::Open(open.clone()),
        CallState::Ready(grant) => CallState::Ready(Box::new(Grant {
            run: grant.run.clone(),
            call: grant.call.clone(),
            by: grant.by.clone(),
            ..**grant
        })),
        CallState::Running => CallState::Running,
        CallState::Unknown => CallState::Unknown,
        CallState::Done(result) => CallState::Done(result.clone()),
    };
    let past = call.past.as_deref().map(|past| {
        Box::new(Past {
            revisions: past.revisions.clone(),
            decided: past.decided.clone(),
            answers: past.answers.clone(),
            steps: past.steps.clone(),
            begun: past.begun.clone(),
            ..*past
        })
    });
    Call {
        id: call.id.clone(),
        provider_id: call.provider_id.clone(),
        name: call.name.clone(),
        tool: call.tool.clone(),
        arguments: call.arguments.clone(),
        touches: call.touches.clone(),
        state,
        past,
        ..*call
    }
}
