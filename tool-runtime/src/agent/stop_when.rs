//! When the loop stops although the model would go on.

use std::{fmt, sync::Arc};

use super::observers::contained;
use crate::message::{AssistantPart, Message};
use crate::model::Usage;
use crate::run::{Call, CallResult, Run};

/// A condition under which a run stops between two turns of its model, with a name that says which it was.
///
/// It is looked at when all calls of a turn have ended and the model would be asked again. The run is then
/// [`StopReason::Condition`](crate::run::StopReason::Condition), and goes on with the next prompt, or with
/// [`Session::resume`](crate::agent::Session::resume).
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

/// The name of what holds, if it does.
type Test = dyn Fn(&Run, &str) -> Option<String> + Send + Sync;

impl StopWhen {
    /// A condition of your own over the run so far, called `name`. If it panics, the run stops for that.
    pub fn custom(name: impl Into<String>, test: impl Fn(&Run) -> bool + Send + Sync + 'static) -> Self {
        let name: String = name.into();
        Self { name: name.into(), test: Arc::new(move |run, name| test(run).then(|| name.to_owned())) }
    }

    /// The model had so many turns since the run was last prompted or continued. Unlike
    /// [`Agent::max_steps`](crate::Agent::max_steps), it can be part of another condition.
    pub fn steps(steps: usize) -> Self {
        Self::custom(format!("{steps} steps"), move |run| run.steps() as usize >= steps)
    }

    /// The turn that was dealt with last had a call of the tool `name`, whatever came of it.
    pub fn called(name: impl Into<String>) -> Self {
        let name = name.into();
        Self::custom(format!("`{name}` was called"), move |run| run.current().iter().any(|call| call.name == name))
    }

    /// The turn that was dealt with last had a call of the tool `name` that did what was asked.
    pub fn succeeded(name: impl Into<String>) -> Self {
        let name = name.into();
        Self::custom(format!("`{name}` succeeded"), move |run| {
            run.current().iter().any(|call| call.name == name && call.result().is_some_and(CallResult::is_success))
        })
    }

    /// The model made the same call, with the same arguments, so many times in a row, and it ended the same each time: what
    /// small models do that do not understand why a call is refused, or that the answer is there.
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
            // What was tried before the prompt, somebody may have explained since.
            let said = run.prompts().last().map_or(0, |said| said.at as usize);
            if run.messages().iter().skip(said).map(calls_of).sum::<usize>() < times {
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

    /// So many calls were made in the whole run.
    pub fn calls(calls: usize) -> Self {
        Self::custom(format!("{calls} calls"), move |run| run.calls().len() >= calls)
    }

    /// So many tokens were used since the run was last prompted or continued, asked and answered together.
    pub fn tokens(tokens: u64) -> Self {
        Self::custom(format!("{tokens} tokens"), move |run| {
            let used = run.turns().iter().map(|turn| turn.usage.input_tokens.saturating_add(turn.usage.output_tokens));
            used.fold(0, u64::saturating_add) >= tokens
        })
    }

    /// The usage since the run was last prompted or continued costs so much by `price`, which gets the name of a model
    /// (empty if it is not known) and what one turn of it used. The run's record keeps both, so that another process counts
    /// the same.
    pub fn cost(most: f64, price: impl Fn(&str, Usage) -> f64 + Send + Sync + 'static) -> Self {
        Self::custom(format!("a cost of {most}"), move |run| {
            let of = |turn: &tool_run::run::TurnUsage| price(turn.model.as_deref().unwrap_or_default(), turn.usage);
            run.turns().iter().map(of).sum::<f64>() >= most
        })
    }

    /// One of the conditions holds; it is named by the first that does.
    pub fn any(conditions: impl IntoIterator<Item = Self>) -> Self {
        let conditions: Vec<Self> = conditions.into_iter().collect();
        let name = joined(&conditions, " or ");
        Self { name, test: Arc::new(move |run, _| conditions.iter().find_map(|one| one.holds(run))) }
    }

    /// All of the conditions hold, and there is one.
    pub fn all(conditions: impl IntoIterator<Item = Self>) -> Self {
        let conditions: Vec<Self> = conditions.into_iter().collect();
        let name = joined(&conditions, " and ");
        let test = move |run: &Run, _: &str| {
            let held: Option<Vec<String>> = conditions.iter().map(|one| one.holds(run)).collect();
            held.filter(|held| !held.is_empty()).map(|held| held.join(" and "))
        };
        Self { name, test: Arc::new(test) }
    }

    /// This condition or `other`.
    pub fn or(self, other: Self) -> Self {
        Self::any([self, other])
    }

    /// This condition and `other`.
    pub fn and(self, other: Self) -> Self {
        Self::all([self, other])
    }

    /// The name of what holds of `run`, if it does. A condition that panics holds: nobody knows what it would have stopped.
    pub fn holds(&self, run: &Run) -> Option<String> {
        let held = contained(|| (self.test)(run, &self.name));
        held.unwrap_or_else(|| Some(format!("the condition `{}` panicked", self.name)))
    }
}

/// How many calls a message makes.
fn calls_of(message: &Message) -> usize {
    match message {
        Message::Assistant { content } => content.iter().filter(|part| matches!(part, AssistantPart::Call(_))).count(),
        _ => 0,
    }
}

fn joined(conditions: &[StopWhen], by: &str) -> Arc<str> {
    conditions.iter().map(|one| &*one.name).collect::<Vec<_>>().join(by).into()
}

impl fmt::Debug for StopWhen {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("StopWhen").field(&self.name).finish()
    }
}
