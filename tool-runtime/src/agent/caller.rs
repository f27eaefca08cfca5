//! The agent of each caller: what the application gives one principal, such as its tools and its instructions.

use std::{fmt, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};
use serde_json::Value;

use super::{Agent, AgentError, Session, settings::Setup};
use crate::run::{Principal, Run};
use crate::tool::Failure;

/// The time after which a function of the application has failed.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// The maximum size of the claims of a caller as JSON, in bytes.
pub const MAX_CLAIMS_BYTES: usize = 4096;

type ForCaller = dyn Fn(Agent, Caller) -> BoxFuture<'static, Result<Agent, Failure>> + Send + Sync;

/// The application's function that makes the agent of a caller.
#[derive(Clone)]
pub struct CallerHook(Arc<ForCaller>);

/// The principal on whose behalf an agent acts, with its claims.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Caller {
    /// The principal. It owns the runs.
    pub principal: Principal,
    /// Facts that the application knows of the principal beside its id, such as a plan, a role or a tenant. `null` if there is nothing.
    ///
    /// The claims are stored with each run, so that another process knows them when it continues the run. So they are no place for
    /// secrets. They have at most [`MAX_CLAIMS_BYTES`] bytes as JSON.
    pub claims: Value,
}

impl Caller {
    /// Creates a caller without claims.
    pub fn new(principal: impl Into<Principal>) -> Self {
        Self { principal: principal.into(), claims: Value::Null }
    }

    /// Sets the claims.
    pub fn with_claims(mut self, claims: impl Into<Value>) -> Self {
        self.claims = claims.into();
        self
    }
}

impl From<Principal> for Caller {
    fn from(principal: Principal) -> Self {
        Self::new(principal)
    }
}

impl From<&str> for Caller {
    fn from(principal: &str) -> Self {
        Self::new(principal)
    }
}

impl From<String> for Caller {
    fn from(principal: String) -> Self {
        Self::new(principal)
    }
}

impl Agent {
    /// Sets a function that makes the agent of each caller from this one: its tools, instructions, policies, limits, model, secrets,
    /// and values of any type in its context. A second function replaces the first.
    ///
    /// The function is asked once for each session, before the session first drives its run or checks a decision: for a request, a
    /// stored run that another process continues, and an inner run. It receives this agent and the [`Caller`] of the session's context,
    /// or else the owner of the run with the claims of the last prompt. [`Agent::for_caller`] asks it directly.
    ///
    /// - The store, the name, the observer, the operator and the clock remain those of this agent, and the calls act for the caller.
    /// - Limits and other options hold for runs that begin with the caller's agent. Runs that exist keep theirs.
    /// - A call that waits, and whose tool the caller does not have any more, never starts. When the caller continues the run, the model
    ///   reads that there is no such tool.
    /// - The function fails if it returns an error, panics, or takes longer than ten seconds. Nothing happens then, and the method fails
    ///   with [`AgentError::Caller`]. Only [`Session::cancel`] works without the function.
    ///
    /// Make tools before, and clone them in the function: a tool is compiled when it is made.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::{Agent, Toolset, agent::Caller, model::{FunctionModel, Turn}, tool, toolset};
    ///
    /// /// Finds a customer.
    /// #[tool(effect = read_only)]
    /// fn find_customer(/** The name. */ name: String) -> String {
    ///     name
    /// }
    ///
    /// /// Refunds an order.
    /// #[tool(approval = always)]
    /// fn refund(/** The number of the order. */ order: u64) -> u64 {
    ///     order
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let model = FunctionModel::new(|request| Turn::say(format!("I have {} tools.", request.tools.specs().len())));
    /// let (all, some): (Toolset, Toolset) = (toolset!(find_customer, refund), toolset!(find_customer));
    /// let desk = Agent::new(model).for_each_caller(move |agent, caller| {
    ///     let tools = if caller.claims["role"] == "clerk" { all.clone() } else { some.clone() };
    ///     async move { Ok(agent.tools(tools).instructions(format!("You help {}.", caller.principal))) }
    /// });
    ///
    /// let clerk = desk.for_caller(Caller::new("ann").with_claims(json!({ "role": "clerk" }))).await?;
    /// assert_eq!(clerk.run("Hi").await?.text, "I have 2 tools.");
    /// assert_eq!(desk.principal("ben").run("Hi").await?.text, "I have 1 tools.");
    /// # Ok::<(), tool_runtime::AgentError>(())
    /// # }).unwrap();
    /// ```
    pub fn for_each_caller<F, R>(mut self, make: F) -> Self
    where
        F: Fn(Self, Caller) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Self, Failure>> + Send + 'static,
    {
        let make = move |agent, caller| make(agent, caller).boxed();
        self.setup_mut().caller_hook = Some(CallerHook(Arc::new(make)));
        self
    }

    /// Returns the agent of `caller`: this agent, acting for the principal with its claims, as the function of
    /// [`Agent::for_each_caller`] changes it. Without such a function, only the context changes.
    ///
    /// Fails with [`AgentError::Caller`] if the function fails, or the claims have more than [`MAX_CLAIMS_BYTES`] bytes.
    pub async fn for_caller(&self, caller: impl Into<Caller>) -> Result<Self, AgentError> {
        let Caller { principal, claims } = caller.into();
        let agent = self.clone().acting_for(&principal, Some(Arc::new(claims)));
        agent.check_claims()?;
        let mut made = agent.of_caller(None).await?;
        if made.setup.before_caller.is_some() {
            // This agent is there in any case. The one that acts for the caller would be another copy of it.
            made.setup_mut().before_caller = Some(Arc::new(self.clone()));
        }
        Ok(made)
    }

    /// Returns whether each caller has an agent of its own ([`Agent::for_each_caller`]), and this is not that of one.
    pub fn asks_for_callers(&self) -> bool {
        self.setup.caller_hook.is_some()
    }

    /// Returns the caller in the agent's context.
    pub fn caller(&self) -> Caller {
        Caller { principal: self.owner(), claims: self.setup.context.claims().clone() }
    }

    /// Returns the owner of `run`, with the claims of the agent's context if that is the owner's, and else those of the run.
    pub(super) fn caller_of(&self, run: &Run) -> Caller {
        let owner = run.owner();
        let claims = self.setup.context.shared_claims().filter(|_| *owner == self.owner()).or_else(|| run.claims());
        Caller { principal: owner.clone(), claims: claims.map_or(Value::Null, |claims| claims.as_ref().clone()) }
    }

    /// Returns the agent of the owner of `run`. The agent of another caller goes back to the one from which it was made.
    pub(super) async fn of_owner(&self, run: &Run) -> Result<Self, AgentError> {
        let owner = run.owner();
        if *owner == self.owner() {
            return self.of_caller(Some(run)).await;
        }
        let mut agent = match &self.setup.before_caller {
            Some(before) => Self::clone(before).observer(Arc::clone(&self.setup.observer)),
            None => self.clone(),
        };
        agent.setup_mut().operator.clone_from(&self.setup.operator);
        agent.acting_for(owner, run.claims().cloned()).of_caller(Some(run)).await
    }

    /// Returns the agent of the caller in the context, or else of the owner of `run`. Asks the application's function, if there is
    /// one that was not asked yet.
    pub(super) async fn of_caller(&self, run: Option<&Run>) -> Result<Self, AgentError> {
        let cx = &self.setup.context;
        let principal = cx.principal().map(Principal::from).or_else(|| run.map(|run| run.owner().clone()));
        let principal = principal.unwrap_or_else(Principal::anonymous);
        // The claims of a run are those of its owner.
        let of_run = || run.filter(|run| *run.owner() == principal)?.claims();
        let claims = cx.shared_claims().or_else(of_run).cloned();
        let Some(CallerHook(make)) = self.setup.caller_hook.clone() else {
            let is_known = cx.shared_claims().is_some() || claims.is_none();
            return Ok(if is_known { self.clone() } else { self.clone().edit_context(|cx| cx.of_claims(claims)) });
        };
        let mut given = self.clone().acting_for(&principal, Some(claims.unwrap_or_default()));
        given.setup_mut().caller_hook = None;
        let own = given.clone();
        let caller = given.caller();
        let made = tokio::select! {
            biased;
            () = cx.cancellation().cancelled() => return Err(AgentError::Cancelled),
            // The function may panic before it returns its future.
            made = ask_application(async { make(given, caller).await }) => made,
        };
        let mut made = own.keep_own(made.map_err(|reason| AgentError::Caller { reason })?);
        made.setup_mut().before_caller = Some(Arc::new(self.clone()));
        Ok(made)
    }

    pub(super) fn acting_for(self, principal: &Principal, claims: Option<Arc<Value>>) -> Self {
        self.edit_context(|cx| cx.of_principal(Some(principal.as_str()), claims))
    }

    /// Returns `made` with the parts that are the same for all callers, and the caller of this agent's context.
    fn keep_own(&self, mut made: Self) -> Self {
        let own = &*self.setup;
        if own.has_no_model {
            made = made.without_models();
        }
        let setup: &mut Setup = made.setup_mut();
        let (principal, claims) = (own.context.principal(), own.context.shared_claims().cloned());
        let context = std::mem::take(&mut setup.context).of_principal(principal, claims);
        setup.context = context.with_cancellation(own.context.cancellation().clone());
        setup.options.on_prompt = own.options.on_prompt;
        setup.caller_hook = None;
        setup.store.clone_from(&own.store);
        setup.lease = own.lease;
        setup.name.clone_from(&own.name);
        setup.earlier_names.clone_from(&own.earlier_names);
        setup.left_runs.clone_from(&own.left_runs);
        setup.change_queues.clone_from(&own.change_queues);
        setup.observer.clone_from(&own.observer);
        setup.operator.clone_from(&own.operator);
        setup.clock.clone_from(&own.clock);
        setup.outer.clone_from(&own.outer);
        setup.outer_call.clone_from(&own.outer_call);
        made
    }

    fn check_claims(&self) -> Result<(), AgentError> {
        let bytes = self.setup.context.shared_claims().map_or(0, |claims| claims.to_string().len());
        if bytes <= MAX_CLAIMS_BYTES {
            return Ok(());
        }
        let reason = format!("the claims have {bytes} bytes, and at most {MAX_CLAIMS_BYTES} are stored with a run");
        Err(AgentError::Caller { reason })
    }
}

/// Returns what a function of the application returns. Fails with the reason if it fails, panics or takes too long.
pub async fn ask_application<T>(asked: impl Future<Output = Result<T, Failure>>) -> Result<T, String> {
    match tokio::time::timeout(TIME_LIMIT, AssertUnwindSafe(asked).catch_unwind()).await {
        Ok(Ok(Ok(made))) => Ok(made),
        Ok(Ok(Err(failure))) => Err(failure.for_log()),
        Ok(Err(_)) => Err("the function panicked".to_owned()),
        Err(_) => Err(format!("the function took longer than {} s", TIME_LIMIT.as_secs())),
    }
}

impl Session {
    /// Asks for the agent of the session's caller, unless it was asked before.
    pub(super) async fn ask_for_caller(&mut self) -> Result<(), AgentError> {
        self.agent.check_claims()?;
        let asks = self.agent.asks_for_callers();
        if !asks && self.stored.run().claims().is_none() {
            return Ok(());
        }
        // Boxed, because most agents have no such function, and this future is part of many.
        self.agent = Box::pin(self.agent.of_caller(Some(self.stored.run()))).await?;
        if asks {
            self.stored.set_options(self.agent.setup.options);
        }
        Ok(())
    }
}

impl fmt::Debug for CallerHook {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("CallerHook")
    }
}
