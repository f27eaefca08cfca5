//! Conditions that stop the loop although the model would go on.

use std::{fmt, sync::Arc};

use super::observers::contained;
use crate::message::{AssistantPart, Message};
use crate::model::Usage;
use crate::run::{Call, CallResult, Run};

/// A condition that stops a run between two turns of its model, and its name.
///
/// The runtime tests it when all calls of a turn have ended and the model would be asked again. If it holds, the run stops with
/// [`StopReason::Condition`](crate::run::StopReason::Condition). The next prompt or
/// [`Session::resume`](crate::agent::Session::resume) continues the run.
///
/// The runtime also tests it after each turn of an inner run ([`Agent::as_tool`](crate::Agent::as_tool)). If that turn made the
/// condition hold, the inner runs stop after their steps, and so does the run. A condition that held before, such as a number of
/// steps, lets the calls of the step end.
///
/// ```
/// use tool_runtime::agent::StopWhen;
///
/// let enough = StopWhen::any([
///     StopWhen::steps(8),
///     StopWhen::called("hand_over"),
///     StopWhen::cost(0.50, |model, usage| match model {
///         "large" => usage.input_tokens as f64 * 3e-6 + usage.output_tokens as f64 * 15e-6,
///         _ => 0.0,
///     }),
///     StopWhen::custom("two failures", |run| {
///         run.calls().iter().filter(|call| call.result().is_some_and(|result| !result.is_success())).count() >= 2
///     }),
/// ]);
/// # let _ = enough;
/// ```
#[derive(Clone)]
pub struct StopWhen {
    name: Arc<str>,
    test: Arc<Test>,
}

/// A test of a run, which returns the name of the condition that holds.
type Test = dyn Fn(&Run, &str, Parts) -> Option<String> + Send + Sync;

/// The parts of a condition that a test includes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parts {
    All,
    /// The conditions on tokens and costs, and combinations that hold because of one.
    Usage,
}

impl StopWhen {
    /// Creates a condition called `name` from a function of the run so far. If the function panics, the run stops.
    pub fn custom(name: impl Into<String>, test: impl Fn(&Run) -> bool + Send + Sync + 'static) -> Self {
        Self::testing(name.into(), move |run, parts| parts == Parts::All && test(run))
    }

    fn testing(name: String, test: impl Fn(&Run, Parts) -> bool + Send + Sync + 'static) -> Self {
        Self { name: name.into(), test: Arc::new(move |run, name, parts| test(run, parts).then(|| name.to_owned())) }
    }

    /// Creates a condition that holds after `steps` turns since the run was last prompted or continued. Unlike
    /// [`Agent::max_steps`](crate::Agent::max_steps), it can be part of another condition.
    pub fn steps(steps: usize) -> Self {
        Self::custom(format!("{steps} steps"), move |run| run.steps() as usize >= steps)
    }

    /// Creates a condition that holds if the last turn had a call of the tool `name`, with any result.
    pub fn called(name: impl Into<String>) -> Self {
        let name = name.into();
        Self::custom(format!("`{name}` was called"), move |run| {
            run.current_calls().iter().any(|call| call.name == name)
        })
    }

    /// Creates a condition that holds if the last turn had a successful call of the tool `name`.
    pub fn succeeded(name: impl Into<String>) -> Self {
        let name = name.into();
        Self::custom(format!("`{name}` succeeded"), move |run| {
            run.current_calls()
                .iter()
                .any(|call| call.name == name && call.result().is_some_and(CallResult::is_success))
        })
    }

    /// Creates a condition that holds if the model made the same call `times` times in a row, with the same arguments and the
    /// same result. Small models do this if they do not understand a rejection, or overlook an answer.
    ///
    /// ```
    /// use tool_runtime::{Agent, agent::StopWhen, model::{ScriptedModel, Turn}, run::{Phase, StopReason}};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let model = ScriptedModel::new((0..50).map(|_| Turn::call("no_such_tool", "{}")));
    /// let reply = Agent::new(model).stop_when(StopWhen::stuck(3)).run("Go on.").await.unwrap();
    /// assert_eq!(reply.phase, Phase::Stopped(StopReason::Condition("the same call ended the same 3 times".to_owned())));
    /// # });
    /// ```
    pub fn stuck(times: usize) -> Self {
        Self::custom(format!("the same call ended the same {times} times"), move |run| {
            // Calls before the prompt do not count, because the prompt may have explained them.
            let start = run.prompts().last().map_or(0, |prompt| prompt.at as usize);
            if run.messages().iter().skip(start).map(calls_of).sum::<usize>() < times {
                return false;
            }
            let mut last = run.calls().iter().rev().take(times);
            let Some(first) = last.next() else { return false };
            let same = |call: &Call| {
                (&call.name, &call.arguments().text, call.result())
                    == (&first.name, &first.arguments().text, first.result())
            };
            last.all(same)
        })
    }

    /// Creates a condition that holds after `calls` calls in the whole run. Those of inner runs do not count;
    /// [`Limits::calls`](crate::run::Limits::calls) counts them.
    pub fn calls(calls: usize) -> Self {
        Self::custom(format!("{calls} calls"), move |run| run.calls().len() >= calls)
    }

    /// Creates a condition that holds after `tokens` tokens of requests and answers since the run was last prompted or
    /// continued. Those of inner runs count.
    pub fn tokens(tokens: u64) -> Self {
        Self::testing(format!("{tokens} tokens"), move |run, _| {
            let used: Usage = run.turn_usages().iter().map(|turn| turn.usage).sum();
            used.total() >= tokens
        })
    }

    /// Creates a condition that holds if the usage since the run was last prompted or continued reaches the cost `limit`, in
    /// the currency of `price`. `price` receives the name of a model (empty if unknown) and the usage of one of its turns, also
    /// for the turns of inner runs. The run's log keeps both, so that another process computes the same cost.
    pub fn cost(limit: f64, price: impl Fn(&str, Usage) -> f64 + Send + Sync + 'static) -> Self {
        Self::testing(format!("a cost of {limit}"), move |run, _| {
            let of = |turn: &tool_run::run::TurnUsage| price(turn.model.as_deref().unwrap_or_default(), turn.usage);
            run.turn_usages().iter().map(of).sum::<f64>() >= limit
        })
    }

    /// Creates a condition that holds if one of `conditions` holds. The run stops with the name of the first one that holds.
    pub fn any(conditions: impl IntoIterator<Item = Self>) -> Self {
        let conditions: Vec<Self> = conditions.into_iter().collect();
        let name = join(&conditions, " or ");
        Self { name, test: Arc::new(move |run, _, parts| conditions.iter().find_map(|one| one.test(run, parts))) }
    }

    /// Creates a condition that holds if all of `conditions` hold, and there is at least one.
    pub fn all(conditions: impl IntoIterator<Item = Self>) -> Self {
        let conditions: Vec<Self> = conditions.into_iter().collect();
        let name = join(&conditions, " and ");
        let test = move |run: &Run, _: &str, parts| {
            if parts == Parts::Usage && !conditions.iter().any(|one| one.holds_by_usage(run).is_some()) {
                return None;
            }
            let held: Option<Vec<String>> = conditions.iter().map(|one| one.holds(run)).collect();
            held.filter(|held| !held.is_empty()).map(|held| held.join(" and "))
        };
        Self { name, test: Arc::new(test) }
    }

    /// Creates a condition that holds if this one or `other` holds.
    pub fn or(self, other: Self) -> Self {
        Self::any([self, other])
    }

    /// Creates a condition that holds if this one and `other` hold.
    pub fn and(self, other: Self) -> Self {
        Self::all([self, other])
    }

    /// Returns the name of the condition that holds for `run`, if one does. A condition that panics holds, because it might
    /// have had to stop the run.
    pub fn holds(&self, run: &Run) -> Option<String> {
        self.test(run, Parts::All)
    }

    /// Returns the name of the condition if it holds for `run` because of a condition on tokens or costs.
    pub(super) fn holds_by_usage(&self, run: &Run) -> Option<String> {
        self.test(run, Parts::Usage)
    }

    fn test(&self, run: &Run, parts: Parts) -> Option<String> {
        let held = contained(|| (self.test)(run, &self.name, parts));
        held.unwrap_or_else(|| Some(format!("the condition `{}` panicked", self.name)))
    }
}

fn calls_of(message: &Message) -> usize {
    match message {
        Message::Assistant { content } => content.iter().filter(|part| matches!(part, AssistantPart::Call(_))).count(),
        _ => 0,
    }
}

fn join(conditions: &[StopWhen], by: &str) -> Arc<str> {
    conditions.iter().map(|one| &*one.name).collect::<Vec<_>>().join(by).into()
}

impl fmt::Debug for StopWhen {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("StopWhen").field(&self.name).finish()
    }
}
