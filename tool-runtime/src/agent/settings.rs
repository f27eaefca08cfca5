//! All that an application can set about an agent.

use std::{sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, ready};
use serde_json::{Map, Value};

#[cfg(feature = "test-util")]
use super::Clock;
use super::{
    Agent, DenyAll, Hooks, InvalidCall, NextStep, Observer, Operator, RepairedCall, StopWhen, calls::Repair,
    clock::Source, event::Unwatched, next_step::Prepare,
};
use crate::gate::Gate;
use crate::message::Prune;
use crate::model::{Model, Settings, ToolChoice};
use crate::run::{OnTaint, Pattern, RunOptions};
use crate::store::Store;
use crate::tool::{Context, Failure, InputHooks, Tool, ToolSpec};
use crate::toolset::{Policy, ProviderTool, Toolset};

/// How long a worker that does not report is waited for before another may take its run over, unless [`Agent::lease`] says
/// otherwise.
pub const DEFAULT_LEASE: Duration = Duration::from_secs(30);

/// The settings of an agent.
#[derive(Clone)]
pub struct Setup {
    pub model: Arc<dyn Model>,
    /// Set if the model is the one of an agent that has none.
    pub is_silent: bool,
    pub tools: Toolset,
    pub observer: Arc<dyn Observer>,
    pub operator: Arc<dyn Operator>,
    pub instructions: Option<Arc<str>>,
    pub context: Context,
    pub settings: Settings,
    pub tool_choice: ToolChoice,
    pub options: RunOptions,
    pub gate: Gate,
    pub store: Option<Arc<dyn Store>>,
    pub lease: Duration,
    pub hooks: Vec<Arc<dyn Hooks>>,
    pub input_hooks: Option<Arc<dyn InputHooks>>,
    pub repair: Option<Repair>,
    pub clock: Source,
    /// The agent's name, for traces and logs.
    pub name: Option<Arc<str>>,
    /// Set if traces hold the content of messages, arguments and outputs.
    #[cfg(feature = "tracing")]
    pub trace_content: bool,
    pub stop: Option<StopWhen>,
    pub prepare: Option<Arc<Prepare>>,
    /// The names of the tools on offer; all, if it is not set.
    pub active: Option<Arc<[String]>>,
    /// The names of tools that come first in the list, in their order.
    pub order: Arc<[String]>,
    /// Tools that the provider executes.
    pub provided: Arc<[ProviderTool]>,
    pub timeouts: Timeouts,
    /// Models that take the place of the one before when that fails.
    pub fallbacks: Arc<[Arc<dyn Model>]>,
    /// How often one model is asked again when its turn broke off.
    pub again: u32,
    pub prune: Option<Prune>,
}

impl Setup {
    /// The settings of an agent of which nothing but the model is set.
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self {
            model,
            is_silent: false,
            tools: Toolset::new(),
            observer: Arc::new(Unwatched),
            operator: Arc::new(DenyAll),
            instructions: None,
            context: Context::new(""),
            settings: Settings::default(),
            tool_choice: ToolChoice::Auto,
            options: RunOptions::default(),
            gate: Gate::new(Toolset::new()),
            store: None,
            lease: DEFAULT_LEASE,
            hooks: Vec::new(),
            input_hooks: None,
            repair: None,
            clock: Source::default(),
            name: None,
            #[cfg(feature = "tracing")]
            trace_content: false,
            stop: None,
            prepare: None,
            active: None,
            order: Arc::default(),
            provided: Arc::default(),
            timeouts: Timeouts::default(),
            fallbacks: Arc::default(),
            again: 0,
            prune: None,
        }
    }
}

/// How long the parts of a run may take; `None` for any time. A tool's own limit is declared with it
/// (`#[tool(timeout = "5s")]`), that of the whole run is [`Agent::max_time`].
///
/// A model that is too slow is left alone: its turn has failed, and is asked for again or goes to the next model where
/// [`Agent::model_retries`] and [`Agent::fallback`] say so, otherwise the run has failed. When a step is over its time,
/// what goes on ends (calls that run are cancelled) and the run is
/// [`StopReason::TimedOut`](crate::run::StopReason::TimedOut). In both cases it can go on with
/// [`Session::resume`](crate::agent::Session::resume).
///
/// ```
/// use std::time::Duration;
/// use tool_runtime::agent::Timeouts;
///
/// let timeouts = Timeouts { first_chunk: Some(Duration::from_secs(20)), ..Timeouts::default() };
/// # let _ = timeouts;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeouts {
    /// A turn of the model with its calls, tries again included. The time in which only a person could go on is not counted.
    pub step: Option<Duration>,
    /// A turn of the model, from the request to its end.
    pub model: Option<Duration>,
    /// From the request to the first piece of the answer.
    pub first_chunk: Option<Duration>,
    /// From one piece of the answer to the next.
    pub chunk: Option<Duration>,
}

impl Agent {
    /// Returns the settings, to be changed.
    pub(super) fn setup_mut(&mut self) -> &mut Setup {
        Arc::make_mut(&mut self.setup)
    }

    /// Sets whether the model may, must or must not call a tool, in every step.
    ///
    /// - [`ToolChoice::None`]: a model that calls anyway is answered as if there were no such tool; nothing runs.
    /// - [`ToolChoice::Tool`]: calls of other tools are answered so.
    /// - [`ToolChoice::Required`], and `Tool`: a model that makes no such call has its way, and its turn stands;
    ///   [`Event::ChoiceIgnored`](crate::agent::Event::ChoiceIgnored) tells of it. A model that obeys never comes to an end
    ///   by itself: set a condition ([`Agent::stop_when`]), or let [`Agent::prepare_step`] lift the choice after the first
    ///   step.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.setup_mut().tool_choice = choice;
        self
    }

    /// Offers only the tools of these names. The others stay the agent's: what a run called of them before goes on, and
    /// [`Agent::prepare_step`] can offer them in a step. A call of a tool that is not on offer is answered as if there were
    /// no such tool, also if it is looked at later, in another process.
    pub fn active_tools<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.setup_mut().active = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Puts the tools of these names first in the list that the model gets, in this order; the others follow in their own.
    /// Providers cache the beginning of a request, so what changes rarely comes first.
    pub fn tool_order<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.setup_mut().order = names.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a tool that the model's provider executes, such as its web search. What comes of it is part of the model's turn
    /// ([`AssistantPart::Provider`](crate::message::AssistantPart::Provider)) and told
    /// ([`Event::Provided`](crate::agent::Event::Provided)), but it is no call of the run: nobody approves it, and
    /// [`Agent::active_tools`] does not name it.
    pub fn provider_tool(mut self, tool: ProviderTool) -> Self {
        let before = self.setup.provided.iter().cloned();
        self.setup_mut().provided = before.chain([tool]).collect::<Arc<[_]>>();
        self
    }

    /// Sets the tools on offer.
    pub fn tools(mut self, tools: Toolset) -> Self {
        self.setup_mut().gate = self.inspect_with(Gate::new(tools.clone()));
        self.setup_mut().tools = tools;
        self
    }

    /// Sets what the model is told to be and to do.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.setup_mut().instructions = Some(text.into().into());
        self
    }

    /// Adds to what the model is told to be and to do, behind what was said before.
    pub fn more_instructions(self, text: impl Into<String>) -> Self {
        let text = text.into();
        match self.setup.instructions.clone() {
            Some(before) => self.instructions(format!("{before}\n\n{text}")),
            None => self.instructions(text),
        }
    }

    /// Sets who watches the runs. For several, see [`Agent::hooks`].
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.setup_mut().observer = Arc::new(observer);
        self
    }

    /// Sets who decides about calls, answers questions and executes external calls: [`DenyAll`], unless it is set.
    ///
    /// What watches and decides, such as a terminal, is set as both: `.observer(terminal.clone()).operator(terminal)`.
    pub fn operator(mut self, operator: impl Operator + 'static) -> Self {
        self.setup_mut().operator = Arc::new(operator);
        self
    }

    /// Sets what every call gets to know: principal, secrets, extensions, cancellation, deadline.
    pub fn context(mut self, context: Context) -> Self {
        self.setup_mut().context = context;
        self
    }

    /// Changes what every call gets to know, for example for one request: its secrets, its cancellation.
    pub fn with_context(mut self, change: impl FnOnce(Context) -> Context) -> Self {
        self.setup_mut().context = change(self.setup.context.clone());
        self
    }

    /// Sets on whose behalf the agent acts: who owns its runs, and whom every call knows.
    pub fn with_principal(self, principal: impl Into<String>) -> Self {
        self.with_context(|cx| cx.with_principal(principal))
    }

    /// Sets how many turns of the model may follow a prompt; at least one.
    pub fn max_steps(self, steps: usize) -> Self {
        self.options(|options| options.limits.steps = count(steps.max(1)))
    }

    /// Sets how many calls of one turn are run; the others get a result that says so.
    pub fn max_calls(self, calls: usize) -> Self {
        self.options(|options| options.limits.calls_per_turn = count(calls))
    }

    /// Sets how many calls run side by side; at least one.
    pub fn parallel(self, calls: usize) -> Self {
        self.options(|options| options.limits.in_flight = count(calls.max(1)))
    }

    /// Changes what new runs may use, and what they do where systems differ.
    ///
    /// ```
    /// use tool_runtime::{Agent, model::{ScriptedModel, Turn}, run::{OnDeny, OnPrompt}};
    ///
    /// let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")])).options(|options| {
    ///     options.on_prompt = OnPrompt::Supersede;
    ///     options.on_deny = OnDeny::StopTurn;
    ///     options.approval_expiry = Some(24 * 60 * 60 * 1000);
    ///     options.limits.calls_per_turn = 8;
    /// });
    /// # let _ = agent;
    /// ```
    pub fn options(mut self, change: impl FnOnce(&mut RunOptions)) -> Self {
        change(&mut self.setup_mut().options);
        self
    }

    /// Keeps the runs in `store`, so that they survive the process. Without one they live in their [`Session`](super::Session).
    pub fn store(mut self, store: impl Store + 'static) -> Self {
        self.setup_mut().store = Some(Arc::new(store));
        self
    }

    /// Keeps the runs in their [`Session`](super::Session)s only.
    pub fn without_store(mut self) -> Self {
        self.setup_mut().store = None;
        self
    }

    /// Sets how long a worker that does not report is waited for before another may take its run over.
    pub fn lease(mut self, ttl: Duration) -> Self {
        // A store counts in milliseconds.
        self.setup_mut().lease = ttl.max(Duration::from_millis(1));
        self
    }

    /// Puts the calls under `policy`, beside what the tools say themselves and other policies: none can weaken another.
    pub fn policy(mut self, policy: impl Policy) -> Self {
        self.setup_mut().gate = self.setup.gate.clone().policy(Arc::new(policy));
        self
    }

    /// Sets which calls a person may allow for the rest of a run, and which others are like them: those with the same
    /// values for the parameters of the pattern. A pattern that does not cover the call itself ([`Pattern::covers`]) is not
    /// offered.
    pub fn offer(
        mut self,
        offer: impl Fn(&ToolSpec, &serde_json::Value) -> Option<Pattern> + Send + Sync + 'static,
    ) -> Self {
        self.setup_mut().gate = self.setup.gate.clone().offer(Arc::new(offer));
        self
    }

    /// Sets who may approve or execute a call in place of the run's owner: from the tool and the arguments. Where nobody is
    /// named, it is the owner. An operator that attends is asked only about what the owner may decide; the others use
    /// [`Agent::decide`], and [`Waiting`](crate::store::Waiting) lists what waits for them.
    pub fn deciders(
        mut self,
        deciders: impl Fn(&ToolSpec, &serde_json::Value) -> Vec<crate::run::Principal> + Send + Sync + 'static,
    ) -> Self {
        self.setup_mut().gate = self.setup.gate.clone().deciders(Arc::new(deciders));
        self
    }

    /// `gate` with the policies of this agent.
    pub(super) fn inspect_with(&self, gate: Gate) -> Gate {
        gate.rules_of(&self.setup.gate)
    }

    /// Sets who repairs a call whose tool does not exist or refuses its arguments: a function of the application. It gets one
    /// chance for each call; without an answer, within a minute, the model is told what is wrong, as without it.
    ///
    /// A repaired call is looked at like any other, policies and approvals included. The bad one is in the run's log, and not
    /// in the conversation: there the call stands as it was repaired, so no model learns from its mistake, and no provider
    /// has to read arguments that are no JSON.
    ///
    /// ```
    /// use tool_runtime::{Agent, agent::RepairedCall, model::{ScriptedModel, Turn}, tool, toolset};
    ///
    /// /// Looks up how warm a city is.
    /// #[tool(effect = read_only)]
    /// fn temperature(city: String) -> i64 {
    ///     city.len() as i64
    /// }
    ///
    /// let model = ScriptedModel::new([Turn::call("get_temperature", r#"{"city": "Oslo"}"#), Turn::say("4 degrees.")]);
    /// let agent = Agent::new(model).tools(toolset!(temperature)).repair(|bad| async move {
    ///     let name = bad.call.name.strip_prefix("get_")?.to_owned();
    ///     bad.tools.get(&name)?;
    ///     Some(RepairedCall::call(name, bad.call.arguments))
    /// });
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let mut session = agent.session();
    /// session.send("How warm is it in Oslo?").await?;
    /// assert!(session.run().calls()[0].result().unwrap().is_success());
    /// # Ok::<(), tool_runtime::AgentError>(())
    /// # }).unwrap();
    /// ```
    pub fn repair<R>(mut self, repair: impl Fn(InvalidCall) -> R + Send + Sync + 'static) -> Self
    where
        R: Future<Output = Option<RepairedCall>> + Send + 'static,
    {
        self.setup_mut().repair = Some(Repair::Application(Arc::new(move |bad| Box::pin(repair(bad)))));
        self
    }

    /// Lets the model repair calls: it is asked once more for the one call, with the problem, in the same step. Its tokens count.
    pub fn repair_by_model(mut self) -> Self {
        self.setup_mut().repair = Some(Repair::Model);
        self
    }

    /// Lets the application refine the arguments of the tool `T` when they were accepted, before anybody judges them: a
    /// person is shown, approves and edits the refined ones, and they are what runs. What comes of it is read by the tool
    /// again, like a model's; if the tool refuses it, or the function panics, the call fails. A person's edit is not refined.
    ///
    /// `refine` sees the typed input, and changes the arguments as JSON. It must be quick; what has to wait belongs into a
    /// validator.
    ///
    /// ```
    /// use tool_runtime::{Agent, model::{ScriptedModel, Turn}, tool, toolset};
    ///
    /// /// Searches.
    /// #[tool(effect = read_only)]
    /// fn search(query: String, #[arg(default)] safe: bool) -> String {
    ///     format!("{query} {safe}")
    /// }
    ///
    /// let model = ScriptedModel::new([Turn::call("search", r#"{"query": " cats "}"#), Turn::say("Found.")]);
    /// let agent = Agent::new(model).tools(toolset!(search)).refine::<search>(|input, arguments| {
    ///     arguments.insert("query".into(), input.query.trim().into());
    ///     arguments.insert("safe".into(), true.into());
    /// });
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let mut session = agent.session();
    /// session.send("Cats!").await?;
    /// let call = &session.run().calls()[0];
    /// assert_eq!(&*call.arguments().text, r#"{"query":"cats","safe":true}"#);
    /// assert_eq!(call.result().unwrap().output().unwrap().as_json(), Some(r#""cats true""#));
    /// # Ok::<(), tool_runtime::AgentError>(())
    /// # }).unwrap();
    /// ```
    pub fn refine<T: Tool>(self, refine: impl Fn(&T::Input, &mut Map<String, Value>) + Send + Sync + 'static) -> Self {
        self.refined(T::NAME, move |text, arguments, cx| {
            if let Ok(input) = T::decode(text, cx) {
                refine(&input, arguments);
            }
        })
    }

    /// Refines arguments of the tool `name`, whose types are not known here: one of run time, or under another name.
    pub fn refine_named(
        self,
        name: impl Into<String>,
        refine: impl Fn(&mut Map<String, Value>) + Send + Sync + 'static,
    ) -> Self {
        self.refined(name, move |_, arguments, _| refine(arguments))
    }

    fn refined(
        mut self,
        name: impl Into<String>,
        refine: impl Fn(&str, &mut Map<String, Value>, &crate::tool::Context) + Send + Sync + 'static,
    ) -> Self {
        self.setup_mut().gate = self.setup.gate.clone().refine(name.into(), Arc::new(refine));
        self
    }

    /// Tells `hooks` of the arguments of every call while the model writes them, beside the hooks that the tools have
    /// themselves. Calls of tools that are not on offer are not told.
    pub fn input_hooks(mut self, hooks: impl InputHooks + 'static) -> Self {
        self.setup_mut().input_hooks = Some(Arc::new(hooks));
        self
    }

    /// Adds hooks: code that is called at everything that happens in a run, with those that were added before.
    pub fn hooks(mut self, hooks: impl Hooks + 'static) -> Self {
        self.setup_mut().hooks.push(Arc::new(hooks));
        self
    }

    /// Sets sampling and size of the model's turns.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.setup_mut().settings = settings;
        self
    }

    /// Adds a model that takes over when those before it have failed, until the next prompt.
    ///
    /// A model that is refused, not configured or not authorised is given up at once; one that is unavailable, limits the
    /// rate, is too slow or breaks the protocol, when it was asked again in vain ([`Agent::model_retries`]). What the failed
    /// turn said is dropped, except for calls that were complete and started early: those are kept, answered, and never made
    /// twice.
    ///
    /// ```
    /// use tool_runtime::{Agent, model::{ModelError, ModelErrorKind, ScriptedModel, Turn}};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let down = ScriptedModel::new([ModelError::new(ModelErrorKind::Refused, "no such model")]);
    /// let agent = Agent::new(down).fallback(ScriptedModel::new([Turn::say("Hello.")]));
    /// assert_eq!(agent.run("Hi").await.unwrap().text, "Hello.");
    /// # });
    /// ```
    pub fn fallback(mut self, model: impl Model + 'static) -> Self {
        let before = self.setup.fallbacks.iter().cloned();
        self.setup_mut().fallbacks = before.chain([Arc::new(model) as Arc<dyn Model>]).collect();
        self
    }

    /// Sets how often a model is asked again whose turn failed in a way that may pass: it was unavailable, limited the rate,
    /// was too slow, or broke off in the middle. Not at all, unless it is set: a provider over HTTP retries requests that were
    /// not answered by itself.
    ///
    /// All tries of a run, of turns and of calls, come out of [`Limits::retries`](crate::run::Limits::retries).
    pub fn model_retries(mut self, retries: u32) -> Self {
        self.setup_mut().again = retries;
        self
    }

    /// Lets `prepare` decide before each turn what the model is asked with: which model, which tools in which order, whether
    /// it must call one, what it is told and shown.
    ///
    /// Tools that are not on offer in a step cannot be called in it. If `prepare` panics, the model is not asked: the run
    /// stops as if the model had failed, and can go on.
    ///
    /// ```
    /// use tool_runtime::{Agent, model::{ScriptedModel, ToolChoice, Turn}};
    ///
    /// let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")])).prepare_step(|step| {
    ///     if step.number() == 1 {
    ///         step.set_tool_choice(ToolChoice::Required);
    ///     } else if step.usage().output_tokens > 20_000 || !step.taint().is_empty() {
    ///         step.set_tools(["summarise"]).set_instructions("Come to an end.");
    ///     }
    /// });
    /// # let _ = agent;
    /// ```
    pub fn prepare_step(self, prepare: impl Fn(&mut NextStep) + Send + Sync + 'static) -> Self {
        self.prepare_with(move |mut step| {
            prepare(&mut step);
            Box::pin(ready(Ok(step)))
        })
    }

    /// The same for what takes its time, or can fail. When it fails, the run stops as if the model had; it is not told why.
    ///
    /// ```
    /// use tool_runtime::{Agent, Failure, agent::NextStep, model::{ScriptedModel, Turn}};
    ///
    /// async fn look_up(user: &str) -> Result<String, Failure> {
    ///     Ok(format!("Be kind to {user}."))
    /// }
    ///
    /// let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")])).prepare_step_async(|mut step| async move {
    ///     step.set_instructions(look_up("ann").await?);
    ///     Ok(step)
    /// });
    /// # let _: (Agent, Option<NextStep>) = (agent, None);
    /// ```
    pub fn prepare_step_async<F>(self, prepare: impl Fn(NextStep) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<NextStep, Failure>> + Send + 'static,
    {
        self.prepare_with(move |step| Box::pin(prepare(step)))
    }

    fn prepare_with(
        mut self,
        prepare: impl Fn(NextStep) -> BoxFuture<'static, Result<NextStep, Failure>> + Send + Sync + 'static,
    ) -> Self {
        self.setup_mut().prepare = Some(Arc::new(prepare));
        self
    }

    /// Stops a run when `condition` holds after a turn whose calls have ended; beside the conditions that were set before.
    pub fn stop_when(mut self, condition: StopWhen) -> Self {
        let setup = self.setup_mut();
        setup.stop = Some(match setup.stop.take() {
            Some(before) => before.or(condition),
            None => condition,
        });
        self
    }

    /// Sets how many tokens the model may use after a prompt, asked and answered together. It is part of the run's record,
    /// and looked at between turns.
    pub fn max_tokens(self, tokens: u64) -> Self {
        self.options(|options| options.limits.tokens = Some(tokens))
    }

    /// Sets how long a run may work after a prompt. It is part of the run's record. The time in which it waits for somebody
    /// is not counted. When it is over, what goes on ends: the model is not listened to any more, calls that run are
    /// cancelled, and the run is [`StopReason::TimedOut`](crate::run::StopReason::TimedOut).
    pub fn max_time(self, time: Duration) -> Self {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.options(|options| options.limits.time = Some(millis))
    }

    /// Sets how long the parts of a run may take.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.setup_mut().timeouts = timeouts;
        self
    }

    /// Sets what of the conversation is left out when a model is asked. The run keeps all of it.
    ///
    /// Every change to what was sent before costs the provider's cache of it, so a conversation is best pruned rarely and
    /// much: see [`Prune`].
    pub fn prune(mut self, prune: Prune) -> Self {
        self.setup_mut().prune = Some(prune);
        self
    }

    /// Sets the agent's name, for traces and logs.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.setup_mut().name = Some(name.into().into());
        self
    }

    /// Sets whether traces hold what was said: instructions, messages, the tools' definitions, arguments and outputs. No at
    /// first. Parameters marked `#[arg(secret)]` are in none of these.
    #[cfg(feature = "tracing")]
    pub fn trace_content(mut self, on: bool) -> Self {
        self.setup_mut().trace_content = on;
        self
    }

    /// Sets the time that runs go by, in tests.
    #[cfg(feature = "test-util")]
    pub fn clock(mut self, clock: &Clock) -> Self {
        self.setup_mut().clock = Source::made(clock);
        self
    }

    /// The model's name.
    pub fn model_name(&self) -> &str {
        self.setup.model.name()
    }

    /// The tools on offer.
    pub fn toolset(&self) -> &Toolset {
        &self.setup.tools
    }

    /// Where the runs are kept.
    pub fn stored_in(&self) -> Option<&Arc<dyn Store>> {
        self.setup.store.as_ref()
    }

    /// Returns whether policies of the agent itself may refuse calls, or ask about them.
    pub fn is_guarded(&self) -> bool {
        self.setup.gate.has_policies() || self.setup.options.on_taint == OnTaint::Ask
    }
}

fn count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
