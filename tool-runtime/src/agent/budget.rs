//! Budgets that several agents and runs share.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use crate::agent::observers::contained;
use crate::model::Usage;
use crate::run::StopReason;
use crate::sync::lock;
use tool_run::run::{InnerUsage, ModelUsage};

/// An amount of requests, tokens or money that several agents and runs of a process share ([`Agent::budget`]).
///
/// A clone is the same budget. Every request of a run with the budget counts: those of its turns, repairs and summaries, those of agents
/// inside of its calls, whatever budgets these have, and what tools report
/// ([`Context::add_usage`](crate::tool::Context::add_usage)).
///
/// When the budget is spent, no run with it asks a model again. Calls that run then end, and each run stops with
/// [`StopReason::LimitReached`], which names the budget. Turns that are under way can exceed a limit of tokens or costs; a limit of
/// requests is exact.
///
/// The count is in the memory of this process. What a run used before it was loaded does not count;
/// [`Limits::tokens`](crate::run::Limits::tokens) and [`StopWhen::cost`](super::StopWhen::cost) count in its log.
///
/// ```
/// use tool_runtime::{Agent, agent::Budget, model::{ScriptedModel, Turn}, run::{Phase, StopReason}};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let budget = Budget::new("trial").requests(1);
/// let agent = |text| Agent::new(ScriptedModel::new([Turn::say(text)])).budget(&budget);
/// assert_eq!(agent("One.").run("x").await?.text, "One.");
/// let Phase::Stopped(StopReason::LimitReached(limit)) = agent("Two.").run("y").await?.phase else { panic!("it went on") };
/// assert_eq!(limit, "the budget `trial` allows 1 requests, and they are used");
/// # Ok::<(), tool_runtime::AgentError>(())
/// # }).unwrap();
/// ```
///
/// [`Agent::budget`]: crate::Agent::budget
#[derive(Clone)]
pub struct Budget {
    name: Arc<str>,
    limits: Limits,
    spent: Arc<Mutex<Spent>>,
}

#[derive(Clone, Default)]
struct Limits {
    requests: Option<u64>,
    tokens: Option<u64>,
    cost: Option<(f64, Arc<Price>)>,
}

type Price = dyn Fn(&str, Usage) -> f64 + Send + Sync;

#[derive(Default)]
struct Spent {
    requests: u64,
    usage: Usage,
    cost: f64,
}

impl Budget {
    /// Creates a budget without limits, which only counts.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), limits: Limits::default(), spent: Arc::default() }
    }

    /// Sets the number of requests to models.
    pub fn requests(mut self, requests: u64) -> Self {
        self.limits.requests = Some(requests);
        self
    }

    /// Sets the number of tokens of requests and answers.
    pub fn tokens(mut self, tokens: u64) -> Self {
        self.limits.tokens = Some(tokens);
        self
    }

    /// Sets the cost, in the currency of `price`. `price` receives the name of a model (empty if unknown) and the tokens of one request.
    /// If it panics, or returns no number, the budget is spent.
    pub fn cost(mut self, limit: f64, price: impl Fn(&str, Usage) -> f64 + Send + Sync + 'static) -> Self {
        self.limits.cost = Some((limit, Arc::new(price)));
        self
    }

    /// Returns the number of requests that were made.
    pub fn requests_made(&self) -> u64 {
        lock(&self.spent).requests
    }

    /// Returns the tokens that were used.
    pub fn usage(&self) -> Usage {
        lock(&self.spent).usage
    }

    /// Returns the cost of what was used; zero without a limit of costs.
    pub fn spent(&self) -> f64 {
        lock(&self.spent).cost
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.spent, &other.spent)
    }

    /// Counts what a run used.
    pub(super) fn add(&self, used: &InnerUsage) {
        let cost: f64 = match &self.limits.cost {
            None => 0.0,
            Some((_, price)) => {
                let of = |turn: &ModelUsage| {
                    contained(|| price(turn.model.as_deref().unwrap_or_default(), turn.usage)).unwrap_or(f64::NAN)
                };
                used.turns.iter().map(of).sum()
            }
        };
        let mut spent = lock(&self.spent);
        spent.usage += used.usage;
        spent.cost += cost;
    }

    /// Returns the reason why no model may be asked, if there is one.
    pub(super) fn stop_reason(&self) -> Option<StopReason> {
        self.exceeded(&lock(&self.spent))
    }

    /// Counts a request, unless no model may be asked. Returns the reason then.
    pub(super) fn begin_request(&self) -> Option<StopReason> {
        let mut spent = lock(&self.spent);
        let reason = self.exceeded(&spent);
        if reason.is_none() {
            spent.requests = spent.requests.saturating_add(1);
        }
        reason
    }

    /// Takes back a request that was counted and not made.
    pub(super) fn undo_request(&self) {
        let mut spent = lock(&self.spent);
        spent.requests = spent.requests.saturating_sub(1);
    }

    fn exceeded(&self, spent: &Spent) -> Option<StopReason> {
        let Limits { requests, tokens, cost } = &self.limits;
        let of = |limit: &dyn fmt::Display, what: &str| {
            format!("the budget `{}` allows {limit}{what}, and they are used", self.name)
        };
        let limit = match (requests, tokens, cost) {
            (Some(requests), ..) if spent.requests >= *requests => of(requests, " requests"),
            (_, Some(tokens), _) if spent.usage.total() >= *tokens => of(tokens, " tokens"),
            (.., Some((limit, _))) if spent.cost >= *limit || spent.cost.is_nan() => {
                format!("the budget `{}` allows costs of {limit}, and {} are spent", self.name, spent.cost)
            }
            _ => return None,
        };
        Some(StopReason::LimitReached(limit))
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spent = lock(&self.spent);
        out.debug_struct("Budget")
            .field("name", &self.name)
            .field("requests", &(spent.requests, self.limits.requests))
            .field("tokens", &(spent.usage.total(), self.limits.tokens))
            .field("cost", &(spent.cost, self.limits.cost.as_ref().map(|(limit, _)| limit)))
            .finish()
    }
}
