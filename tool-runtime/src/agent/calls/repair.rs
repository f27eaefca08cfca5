//! Calls that cannot run as the model wrote them, and their repair, once, by the application or by the model.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::{FutureExt, StreamExt, future::BoxFuture};

use super::{CheckOutcome, CheckTasks};
use crate::agent::{
    Agent,
    driver::Driver,
    unreadable::{describe_parts, places_of_media},
};
use crate::feedback::Rejection;
use crate::gate::Gate;
use crate::message::{AssistantPart, Message, Part, ToolCall, ToolMessage};
use crate::model::{Delta, Request, ToolChoice, Turn, Usage};
use crate::run::{Call, CallId, Phase};
use crate::tool::ToolSpec;
use crate::toolset::Toolset;
use tool_run::run::{Author, CheckedCall, LogInput, Stage};

const REPAIR_TIMEOUT: Duration = Duration::from_mins(1);

/// A call that cannot run, because its tool does not exist or rejects the arguments.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InvalidCall {
    /// The call as the model wrote it.
    pub call: ToolCall,
    /// The answer that the model receives without a repair.
    pub for_model: Vec<Part>,
    /// The problems of the arguments; `None` if the tool does not exist.
    pub rejection: Option<Rejection>,
    /// The specification of the tool; `None` if it does not exist.
    pub spec: Option<Arc<ToolSpec>>,
    /// The agent's tools, including those that are not on offer.
    pub tools: Toolset,
    /// The conversation up to the turn that made the call.
    pub messages: Arc<Vec<Message>>,
}

/// A replacement for an [`InvalidCall`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairedCall {
    name: Option<String>,
    arguments: String,
}

impl RepairedCall {
    /// Creates a replacement with the same tool and other arguments, as JSON.
    #[allow(clippy::needless_pass_by_value, reason = "a value made by `json!` on the spot reads best")]
    pub fn arguments(arguments: impl ToString) -> Self {
        Self { name: None, arguments: arguments.to_string() }
    }

    /// Creates a replacement that calls the tool `name`.
    #[allow(clippy::needless_pass_by_value, reason = "a value made by `json!` on the spot reads best")]
    pub fn call(name: impl Into<String>, arguments: impl ToString) -> Self {
        Self { name: Some(name.into()), arguments: arguments.to_string() }
    }
}

type RepairFn = dyn Fn(InvalidCall) -> BoxFuture<'static, Option<RepairedCall>> + Send + Sync;

#[derive(Clone)]
pub enum Repairer {
    Application(Arc<RepairFn>),
    Model,
}

/// The repairs under way, and the repairer.
pub struct Repairs {
    repairer: Repairer,
    calls: Vec<CallId>,
}

/// The replacement of a call, with the tokens that it took, and the model that used them.
type Replacement = (RepairedCall, Usage, Option<Arc<str>>);

/// A rejected call, and its replacement, if there is one.
pub struct RepairOutcome {
    call: CallId,
    checked: CheckedCall,
    replacement: Option<Replacement>,
    by: Author,
}

impl Repairs {
    pub fn new(repairer: Repairer) -> Self {
        Self { repairer, calls: Vec::new() }
    }

    /// Starts the repair of a rejected call. Returns the evidence if the call needs no repair, or must not be repaired.
    pub fn begin(
        &mut self,
        checks: &mut CheckTasks,
        agent: &Agent,
        gate: &Gate,
        id: &CallId,
        checked: CheckedCall,
        driver: &Driver<'_>,
    ) -> Option<CheckedCall> {
        let Some(call) = driver.run().call(id).filter(|call| may_be_repaired(call)) else { return Some(checked) };
        let Some(answer) = checked.for_model(&call.name) else { return Some(checked) };
        if driver.run().phase() == Phase::Generating || self.calls.contains(id) {
            // The call is checked again after the turn, or it is under repair already.
            return None;
        }
        if matches!(self.repairer, Repairer::Model) && driver.stored.begin_request().is_some() {
            return Some(checked);
        }
        self.calls.push(id.clone());
        let bad = bad_call(call, answer, &checked, gate, driver);
        let repairer = self.repairer.clone();
        let by = match repairer {
            Repairer::Application(_) => Author::Repair,
            Repairer::Model => Author::Model,
        };
        let (agent, call) = (agent.clone(), id.clone());
        checks.spawn(async move {
            let work = async move {
                match repairer {
                    Repairer::Application(repair) => Some((repair(bad).await?, Usage::default(), None)),
                    Repairer::Model => ask_again(&agent, bad).await,
                }
            };
            // A repairer that fails or panics repairs nothing.
            let work = tokio::time::timeout(REPAIR_TIMEOUT, AssertUnwindSafe(work).catch_unwind()).await;
            let replacement = work.ok().and_then(Result::ok).flatten();
            CheckOutcome::Repaired(Box::new(RepairOutcome { call, checked, replacement, by }))
        });
        None
    }

    /// Records a repaired call in the log, or the rejection of a call that was not repaired.
    pub fn finish(&mut self, repaired: RepairOutcome, driver: &mut Driver<'_>) {
        let RepairOutcome { call, checked, replacement, by } = repaired;
        self.calls.retain(|known| *known != call);
        if let Some((RepairedCall { name, arguments }, usage, model)) = replacement {
            let input = LogInput::Repaired { call: call.clone(), name, arguments, by, usage, model };
            if driver.try_record(input).is_ok() {
                return;
            }
        }
        driver.record(LogInput::Checked { call, checked, at: driver.now() });
    }
}

/// Returns whether a call may be repaired: only once, and only if it was neither started nor edited.
fn may_be_repaired(call: &Call) -> bool {
    call.stage() == Stage::Proposed && call.attempts == 0 && call.revisions().is_empty()
}

fn bad_call(call: &Call, answer: Vec<Part>, checked: &CheckedCall, gate: &Gate, driver: &Driver<'_>) -> InvalidCall {
    InvalidCall {
        call: ToolCall {
            id: call.id.to_string(),
            name: call.name.clone(),
            arguments: call.arguments().text.to_string(),
        },
        for_model: answer,
        rejection: checked.rejection().cloned(),
        spec: gate.tools().get(&call.name).map(|tool| Arc::clone(tool.spec())),
        tools: gate.tools().clone(),
        messages: driver.stored.shared_context().shared_messages(),
    }
}

async fn ask_again(agent: &Agent, bad: InvalidCall) -> Option<Replacement> {
    let answer = ToolMessage {
        call_id: bad.call.id.clone(),
        tool: bad.call.name.clone(),
        content: bad.for_model,
        is_error: true,
    };
    let tool = bad.spec.as_ref().map(|spec| ToolChoice::Tool(spec.name.clone()));
    let choice = tool.unwrap_or(ToolChoice::Required).as_offered();
    let mut messages = bad.messages.to_vec();
    messages.push(Message::Assistant { content: vec![AssistantPart::Call(bad.call)] });
    messages.push(Message::Tool(answer));
    let mut messages = Arc::new(messages);
    let media: Vec<_> = places_of_media(&messages, 0).collect();
    describe_parts(&*agent.setup.model, &mut messages, media, agent.setup.unreadable_parts).ok()?;
    let request = Request::new(&messages, bad.tools.list()).with_choice(&choice).with_settings(&agent.setup.settings);
    let mut stream = agent.setup.model.stream(request);
    let mut turn = Turn::default();
    while let Some(delta) = stream.next().await {
        let delta = delta.ok()?;
        let is_last = matches!(delta, Delta::Finish(_));
        turn.push(delta);
        if is_last {
            break;
        }
    }
    let call = turn.calls().next()?;
    Some((
        RepairedCall::call(bad.tools.own_name(&call.name), &call.arguments),
        turn.usage,
        Some(agent.setup.model.name().into()),
    ))
}
