//! A model that calls every tool with made-up arguments.

use std::{
    fmt::Write as _,
    sync::{Arc, Mutex},
};

use futures_util::stream::{self, BoxStream, StreamExt};
use serde_json::Value;

use crate::message::ToolCall;
use crate::model::{Delta, FinishReason, Model, ModelError, Request, Turn};
use crate::run::{CallResult, Run};
use crate::schema::CompiledSchema;
use crate::sync::lock;
use crate::tool::ToolSpec;
use tool_schema::schema::{Sampler, near_misses};

/// The number of calls in one turn. It is below the default of [`Limits::calls_per_turn`](crate::run::Limits::calls_per_turn).
const CALLS: usize = 32;

/// A model that calls every tool on offer, with arguments that are made from the tools' schemas. So an application can be tested
/// without a script. Clones share their state, and one model is for one run.
///
/// It calls each tool once with valid arguments, and then says "Every tool was called.". After [`EveryToolModel::with_near_misses`], it
/// first makes calls that each miss one limit of a schema.
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use tool_runtime::{Agent, test::{EveryToolModel, Person}, tool, toolset};
///
/// /// Pay money back.
/// #[tool(approval = always)]
/// async fn refund(/** In euros. */ #[arg(range(1..=500))] amount: u32) -> String {
///     format!("{amount} euros were paid back")
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let model = EveryToolModel::new().with_near_misses();
/// let agent = Agent::new(model.clone()).tools(toolset!(refund)).operator(Person::approving());
/// let mut session = agent.session();
/// session.send("Go.").await.unwrap();
/// model.assert_rejections(session.run()); // such as those of 0, 501, "text", and no amount
/// assert!(session.run().calls().last().unwrap().result().unwrap().is_success());
/// # });
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct EveryToolModel {
    round: u64,
    makes_near_misses: bool,
    given: Vec<(String, Value)>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    is_planned: bool,
    planned: Vec<PlannedCall>,
    /// The number of planned calls that were made.
    made: usize,
    /// The tools for which no valid arguments were found.
    unknown: Vec<String>,
}

#[derive(Debug)]
struct PlannedCall {
    call: ToolCall,
    /// The limit that the arguments miss, with its place; `None` for valid arguments.
    missed: Option<(&'static str, String)>,
}

impl EveryToolModel {
    /// Creates a model that calls each tool once, with valid arguments.
    pub fn new() -> Self {
        Self::default()
    }

    /// Chooses other made-up arguments. The same number gives the same arguments.
    pub fn round(mut self, round: u64) -> Self {
        self.round = round;
        self
    }

    /// Sets the valid arguments of one tool, for example because a validator accepts only some of those that the schema allows.
    pub fn arguments(mut self, tool: impl Into<String>, arguments: Value) -> Self {
        self.given.push((tool.into(), arguments));
        self
    }

    /// Also makes calls that the tools must reject: each misses one limit of the tool's schema, as closely as possible.
    pub fn with_near_misses(mut self) -> Self {
        self.makes_near_misses = true;
        self
    }

    /// Asserts that `run` rejected exactly the calls whose arguments miss a limit, and that it has all calls of this model.
    ///
    /// # Panics
    ///
    /// If not. The message lists the calls.
    #[track_caller]
    pub fn assert_rejections(&self, run: &Run) {
        let state = lock(&self.state);
        let mut wrong = String::new();
        for tool in &state.unknown {
            let _ = writeln!(wrong, "{tool}: no valid arguments were found; set them with `EveryToolModel::arguments`");
        }
        for PlannedCall { call: ToolCall { id, name, arguments }, missed } in &state.planned {
            let Some(call) = run.call(&id.as_str().into()) else {
                let _ = writeln!(wrong, "{name} {arguments}: the run ended before this call");
                continue;
            };
            match (call.result(), missed) {
                (Some(result @ CallResult::Rejected { .. }), None) => {
                    let reason = result.for_people(name, call.extent());
                    let _ = writeln!(wrong, "{name} {arguments}: rejected, but the schema allows it: {reason}");
                }
                (Some(CallResult::Rejected { .. }), Some(_)) | (_, None) => {}
                (_, Some((keyword, place))) => {
                    let _ =
                        writeln!(wrong, "{name} {arguments}: not rejected, but it misses `{keyword}` at \"{place}\"");
                }
            }
        }
        drop(state);
        assert!(wrong.is_empty(), "the tools and their schemas disagree:\n{wrong}");
    }

    fn next(&self, request: Request<'_>) -> Vec<Delta> {
        let mut state = lock(&self.state);
        if !std::mem::replace(&mut state.is_planned, true) {
            self.plan(request.tools.specs(), &mut state);
        }
        let mut deltas = Vec::new();
        for index in 0..(state.planned.len() - state.made).min(CALLS) {
            let ToolCall { id, name, arguments } = state.planned[state.made].call.clone();
            state.made += 1;
            deltas.push(Delta::CallStart { index, id, name });
            deltas.push(Delta::CallArguments { index, text: arguments });
            deltas.push(Delta::CallEnd { index });
        }
        if deltas.is_empty() {
            return Turn::say("Every tool was called.").into_deltas();
        }
        deltas.push(Delta::Finish(FinishReason::ToolCalls));
        deltas
    }

    /// Plans the calls of `tools`: first those that miss a limit, because a valid call of a final tool ends the run.
    fn plan(&self, tools: &[Arc<ToolSpec>], state: &mut State) {
        let (mut missing, mut valid) = (Vec::new(), Vec::new());
        for spec in tools {
            let schema = spec.input.neutral();
            let given = self.given.iter().find(|(name, _)| *name == spec.name).map(|(_, arguments)| arguments.clone());
            let compiled = CompiledSchema::compile(schema).ok();
            let found = || Sampler::new(self.round).valid(schema, compiled.as_ref()?);
            let Some(arguments) = given.or_else(found) else {
                state.unknown.push(spec.name.clone());
                continue;
            };
            if let Some(compiled) = compiled.filter(|_| self.makes_near_misses) {
                for miss in near_misses(schema, &compiled, &arguments) {
                    missing.push((spec.name.clone(), miss.value, Some((miss.keyword, miss.place))));
                }
            }
            valid.push((spec.name.clone(), arguments, None));
        }
        for (at, (name, arguments, missed)) in missing.into_iter().chain(valid).enumerate() {
            let call = ToolCall { id: format!("every_{at}"), name, arguments: arguments.to_string() };
            state.planned.push(PlannedCall { call, missed });
        }
    }
}

impl Model for EveryToolModel {
    fn name(&self) -> &'static str {
        "every-tool"
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        stream::once(async move { stream::iter(self.next(request).into_iter().map(Ok)) }).flatten().boxed()
    }
}
