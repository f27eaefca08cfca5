//! The settings of an agent.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::{BoxFuture, ready};
use serde_json::{Map, Value};

#[cfg(feature = "test-util")]
use super::TestClock;
use super::{
    Agent, AnswerProblem, Budget, Compaction, DenyAll, Event, Guard, Hook, HookResult, InvalidCall, NextStep, Observer,
    Operator, RepairedCall, StopWhen, UnreadableParts, ask::CheckedAnswer, caller::CallerHook, calls::Repairer,
    change_queues::ChangeQueues, clock::Source, event::NoObserver, guard::AnswerCheck, inner_limits::InnerLimits,
    left_runs::LeftRuns, next_step::Prepare, observers::AnyHook, secrets::SecretSource, team::Team, timeouts::Timeouts,
};
use crate::gate::Gate;
use crate::message::Pruning;
use crate::model::{Model, ModelSettings, ToolChoice};
use crate::run::{ArgumentPattern, OnTaint, RunOptions};
use crate::store::Store;
use crate::tool::{Context, Failure, InputHooks, Tool, ToolSpec};
use crate::toolset::{Policy, ProviderTool, Toolset};

/// The default of [`Agent::lease_time`], after which another worker may take over a run whose lease was not renewed.
pub const DEFAULT_LEASE: Duration = Duration::from_secs(30);

/// The settings of an agent.
#[derive(Clone)]
pub struct Setup {
    pub model: Arc<dyn Model>,
    /// Set if `model` is a placeholder, because the agent has no model.
    pub has_no_model: bool,
    pub observer: Arc<dyn Observer>,
    pub operator: Arc<dyn Operator>,
    pub instructions: Option<Arc<str>>,
    pub context: Context,
    pub settings: ModelSettings,
    pub tool_choice: ToolChoice,
    pub options: RunOptions,
    /// The application's function for callers, until it is asked.
    pub caller_hook: Option<CallerHook>,
    /// The agent from which that function made this one.
    pub before_caller: Option<Arc<Agent>>,
    /// The application's function that provides secrets.
    pub secrets: Option<SecretSource>,
    /// The agents that share the conversation, if there are others.
    pub team: Option<Arc<Team>>,
    /// The name of the agent that acts, if another one than the run's own.
    pub acting: Option<Arc<str>>,
    pub gate: Gate,
    pub store: Option<Arc<dyn Store>>,
    pub lease: Duration,
    pub hooks: Vec<AnyHook>,
    pub input_hooks: Vec<Arc<dyn InputHooks>>,
    pub repair: Option<Repairer>,
    pub clock: Source,
    /// The agent's name.
    pub name: Option<Arc<str>>,
    pub earlier_names: Arc<[String]>,
    /// The runs that workers with these names and tools leave alone.
    pub left_runs: Arc<LeftRuns>,
    pub change_queues: Arc<ChangeQueues>,
    /// Set if traces include the content of messages, arguments and outputs.
    pub trace_content: bool,
    pub stop: Option<StopWhen>,
    pub budgets: Vec<Budget>,
    /// The tools that end a run when a call of one of them succeeds.
    pub final_tools: Arc<[Arc<str>]>,
    pub guards: Vec<Guard>,
    /// The checks of answers in text, in their order.
    pub answer_checks: Vec<AnswerCheck>,
    /// The outcome of the check of a typed answer.
    pub checked_answer: Option<Arc<Mutex<CheckedAnswer>>>,
    /// The functions that prepare each turn, in their order.
    pub prepare: Vec<Arc<Prepare>>,
    /// The names of the tools on offer; `None` for all tools.
    pub active: Option<Arc<[String]>>,
    /// The names of the tools that come first in the list, in this order.
    pub order: Arc<[String]>,
    pub provided: Arc<[ProviderTool]>,
    pub timeouts: Timeouts,
    /// The models that take over, in this order, when the model before has failed.
    pub fallbacks: Arc<[Arc<dyn Model>]>,
    /// The number of times that one model is asked again after a failed turn.
    pub model_retries: u32,
    pub compaction: Option<Compaction>,
    pub unreadable_parts: UnreadableParts,
    /// The part of the run around an inner run that the inner run sees.
    pub outer: Option<Arc<InnerLimits>>,
    /// The context of the call around the run: no call of the run begins after that call has ended.
    pub outer_call: Option<Context>,
}

impl Setup {
    /// Creates settings with only the model set.
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self {
            model,
            has_no_model: false,
            observer: Arc::new(NoObserver),
            operator: Arc::new(DenyAll),
            instructions: None,
            context: Context::new(""),
            settings: ModelSettings::default(),
            tool_choice: ToolChoice::Auto,
            options: RunOptions::default(),
            caller_hook: None,
            before_caller: None,
            secrets: None,
            team: None,
            acting: None,
            gate: Gate::new(Toolset::new()),
            store: None,
            lease: DEFAULT_LEASE,
            hooks: Vec::new(),
            input_hooks: Vec::new(),
            repair: None,
            clock: Source::default(),
            name: None,
            earlier_names: Arc::default(),
            left_runs: Arc::default(),
            change_queues: Arc::default(),
            trace_content: false,
            stop: None,
            budgets: Vec::new(),
            final_tools: Arc::default(),
            guards: Vec::new(),
            answer_checks: Vec::new(),
            checked_answer: None,
            prepare: Vec::new(),
            active: None,
            order: Arc::default(),
            provided: Arc::default(),
            timeouts: Timeouts::default(),
            fallbacks: Arc::default(),
            model_retries: 0,
            compaction: None,
            unreadable_parts: UnreadableParts::default(),
            outer: None,
            outer_call: None,
        }
    }

    /// Returns the model with this index: the agent's model, and then the fallbacks.
    pub fn model_at(&self, index: usize) -> &Arc<dyn Model> {
        index.checked_sub(1).and_then(|at| self.fallbacks.get(at)).unwrap_or(&self.model)
    }
}

impl Agent {
    /// Returns the settings for a change.
    pub(super) fn setup_mut(&mut self) -> &mut Setup {
        Arc::make_mut(&mut self.setup)
    }

    /// Sets whether the model may, must or must not call a tool, in every step.
    ///
    /// - [`ToolChoice::None`]: if the model makes a call all the same, the answer says that there is no such tool, and nothing
    ///   runs.
    /// - [`ToolChoice::Tool`]: calls of other tools get that answer.
    /// - [`ToolChoice::Required`] and `Tool`: if the model makes no such call, its turn stands, and the observer receives
    ///   [`Event::ChoiceIgnored`]. A model that obeys never finishes by itself. So set a
    ///   condition ([`Agent::stop_when`]), or let [`Agent::prepare_step`] remove the choice after the first step.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.setup_mut().tool_choice = choice;
        self
    }

    /// Offers only the tools with these names. The other tools remain with the agent: earlier calls of them go on, and
    /// [`Agent::prepare_step`] can offer them in a step. A call of another tool is answered as if the tool did not exist, even
    /// if another process checks that call later.
    pub fn active_tools<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.setup_mut().active = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Puts the tools with these names first in the list for the model, in this order. The others follow in their own order.
    /// Providers cache the beginning of a request, so tools that rarely change should come first.
    pub fn tool_order<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.setup_mut().order = names.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a tool that the model's provider executes, such as its web search.
    ///
    /// Its results are part of the model's turn ([`AssistantPart::Provider`](crate::message::AssistantPart::Provider)), and the
    /// observer receives them ([`Event::ProviderPart`]). The provider's calls are not calls
    /// of the run, so they need no approval. [`Agent::active_tools`] does not name the tool.
    pub fn provider_tool(mut self, tool: ProviderTool) -> Self {
        let before = self.setup.provided.iter().cloned();
        self.setup_mut().provided = before.chain([tool]).collect::<Arc<[_]>>();
        self
    }

    /// Sets the agent's tools. All are on offer, unless [`Agent::active_tools`] selects some.
    pub fn tools(mut self, tools: Toolset) -> Self {
        let tools = self.set_own_tools(tools);
        let setup = self.setup_mut();
        setup.gate = setup.gate.with_tools(tools);
        setup.left_runs = Arc::default();
        self
    }

    /// Sets the instructions for the model.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.setup_mut().instructions = Some(text.into().into());
        self
    }

    /// Appends to the instructions for the model.
    pub fn more_instructions(self, text: impl Into<String>) -> Self {
        let text = text.into();
        match self.setup.instructions.clone() {
            Some(before) => self.instructions(format!("{before}\n\n{text}")),
            None => self.instructions(text),
        }
    }

    /// Sets the observer of the runs. For several receivers, see [`Agent::hook`].
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.setup_mut().observer = Arc::new(observer);
        self
    }

    /// Sets the operator, which decides about calls, answers questions and executes external calls. [`DenyAll`] by default.
    ///
    /// A type that both observes and decides, such as a terminal, is set twice:
    /// `.observer(terminal.clone()).operator(terminal)`.
    pub fn operator(mut self, operator: impl Operator + 'static) -> Self {
        self.setup_mut().operator = Arc::new(operator);
        self
    }

    /// Sets the context of every call: principal, secrets, extensions, cancellation, deadline.
    ///
    /// A `context` without a principal keeps the agent's, so its order with [`Agent::principal`] does not matter. Everything else
    /// is replaced, so that no request receives the secrets, the values or the deadline of another. [`Agent::edit_context`] adds
    /// to the context.
    ///
    /// ```
    /// # use tool_runtime::{Agent, Context, model::{ScriptedModel, Turn}};
    /// let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")])).principal("ann");
    /// assert_eq!(agent.clone().context(Context::new("").with_secret("key", "k-123")).owner(), "ann".into());
    /// assert_eq!(agent.edit_context(|_| Context::new("")).owner(), "ann".into());
    /// ```
    pub fn context(self, context: Context) -> Self {
        self.edit_context(|_| context)
    }

    /// Changes the context of every call, for example its secrets or its cancellation for one request. A result without a
    /// principal keeps the agent's.
    pub fn edit_context(mut self, change: impl FnOnce(Context) -> Context) -> Self {
        let before = self.setup.context.clone();
        let context = change(before.clone());
        self.setup_mut().context = match (context.principal(), before.principal()) {
            (None, Some(principal)) => context.with_principal(principal),
            _ => context,
        };
        self
    }

    /// Sets the principal on whose behalf the agent acts. It owns the agent's runs, and every call sees it.
    pub fn principal(self, principal: impl Into<String>) -> Self {
        self.edit_context(|cx| cx.with_principal(principal))
    }

    /// Sets the largest number of steps after a prompt; at least one.
    pub fn max_steps(self, steps: usize) -> Self {
        self.options(|options| options.limits.steps = count(steps.max(1)))
    }

    /// Sets the largest number of calls of one turn that run. The others get a result that says so.
    pub fn max_calls_per_turn(self, calls: usize) -> Self {
        self.options(|options| options.limits.calls_per_turn = count(calls))
    }

    /// Sets the largest number of calls that run in parallel; at least one.
    pub fn max_parallel_calls(self, calls: usize) -> Self {
        self.options(|options| options.limits.parallel_calls = count(calls.max(1)))
    }

    /// Sets the number of times that a model may try again after a wrong answer ([`Agent::ask`]); 1 by default. Wrong are calls of
    /// final tools that fail or are rejected, and answers that a check sends back. The limit is part of the run's log.
    ///
    /// ```
    /// # use tool_runtime::{Agent, model::{ScriptedModel, Turn}};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let wrong = || Turn::call("final_answer", r#"{"answer": 1000}"#);
    /// let agent = Agent::new(ScriptedModel::new([wrong(), wrong(), wrong()])).answer_retries(2);
    /// let error = agent.ask("A small number?").typed::<u8>().await.unwrap_err();
    /// assert!(error.to_string().contains("got 1000"));
    /// # });
    /// ```
    pub fn answer_retries(self, retries: usize) -> Self {
        self.options(|options| options.limits.answer_retries = count(retries))
    }

    /// Changes the limits and options of new runs.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tool_runtime::{Agent, model::{ScriptedModel, Turn}, run::{OnDeny, OnPrompt}};
    ///
    /// let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")])).options(|options| {
    ///     options.on_prompt = OnPrompt::Supersede;
    ///     options.on_deny = OnDeny::StopTurn;
    ///     options.approval_expiry = Some(Duration::from_hours(24));
    ///     options.limits.calls_per_turn = 8;
    /// });
    /// # let _ = agent;
    /// ```
    pub fn options(mut self, change: impl FnOnce(&mut RunOptions)) -> Self {
        change(&mut self.setup_mut().options);
        self
    }

    /// Sets the store for the runs, so that they survive the process. Without one, they live in their sessions.
    pub fn store(mut self, store: impl Store + 'static) -> Self {
        self.setup_mut().store = Some(Arc::new(store));
        self
    }

    /// Removes the store, so that runs live only in their [`Session`](super::Session)s.
    pub fn without_store(mut self) -> Self {
        self.setup_mut().store = None;
        self
    }

    /// Sets the time after which another worker may take over a run whose worker has not renewed its lease.
    pub fn lease_time(mut self, ttl: Duration) -> Self {
        // A store counts in milliseconds.
        self.setup_mut().lease = ttl.max(Duration::from_millis(1));
        self
    }

    /// Returns the time after which another worker may take over a run whose worker has not renewed its lease.
    pub fn lease_duration(&self) -> Duration {
        self.setup.lease
    }

    /// Adds `policy` to those that judge every call, beside the declarations of the tools. No policy can weaken another.
    pub fn policy(mut self, policy: impl Policy) -> Self {
        self.setup_mut().gate = self.setup.gate.clone().policy(Arc::new(policy));
        self
    }

    /// Sets a function that returns, for a call, the pattern of later calls that a person may approve together with that call.
    /// Such an approval holds for the rest of the run. The agent does not offer a pattern that does not cover the call itself
    /// ([`ArgumentPattern::covers`]).
    pub fn offer_run_approval(
        mut self,
        offer: impl Fn(&ToolSpec, &serde_json::Value) -> Option<ArgumentPattern> + Send + Sync + 'static,
    ) -> Self {
        self.setup_mut().gate = self.setup.gate.clone().offer_run_approval(Arc::new(offer));
        self
    }

    /// Sets a function that returns, for a tool and arguments, the principals that may approve or execute the call in place of
    /// the run's owner. With an empty list, the owner decides. The agent's operator decides only what the owner may decide.
    /// Other principals use [`Agent::decide`], and find the interrupts that wait for them with [`Agent::waiting`].
    pub fn deciders(
        mut self,
        deciders: impl Fn(&ToolSpec, &serde_json::Value) -> Vec<crate::run::Principal> + Send + Sync + 'static,
    ) -> Self {
        self.setup_mut().gate = self.setup.gate.clone().deciders(Arc::new(deciders));
        self
    }

    /// Sets a function of the application that repairs calls whose tool does not exist or rejects their arguments. The function
    /// gets one try for each call, of at most a minute. Without a repair, the model receives the problems.
    ///
    /// A repaired call is checked like any other, with policies and approvals. The rejected call is in the run's log, but not in
    /// the conversation, which has only the repaired one. So no model imitates the mistake, and no provider has to read
    /// arguments that are not JSON.
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
        self.setup_mut().repair = Some(Repairer::Application(Arc::new(move |bad| Box::pin(repair(bad)))));
        self
    }

    /// Lets the model repair calls. In the same step, the agent asks its first model once more for the single call, with the
    /// problem. The tokens of this request count. It has the run's conversation as it is: functions of [`Agent::prepare_step`] and
    /// [`Agent::prune`] do not change it.
    pub fn repair_by_model(mut self) -> Self {
        self.setup_mut().repair = Some(Repairer::Model);
        self
    }

    /// Lets the application refine the arguments of the tool `T` after the tool has accepted them, and before the policies
    /// judge them.
    ///
    /// A person sees, approves and edits the refined arguments, and the tool runs with them. The tool reads the result like a
    /// model's arguments. If the tool rejects the result, or `refine` panics, the call fails. A person's edit is not refined.
    /// Several functions for one tool run in the order in which they were added, each with the result of the one before.
    ///
    /// `refine` receives the typed input, and changes the arguments as JSON. It must be quick.
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
        self.refine_with(T::NAME, move |text, arguments, cx| {
            if let Ok(input) = T::decode(text, cx) {
                refine(&input, arguments);
            }
        })
    }

    /// Refines the arguments of the tool `name` without its types: for run-time tools, and for tools under another name.
    pub fn refine_named(
        self,
        name: impl Into<String>,
        refine: impl Fn(&mut Map<String, Value>) + Send + Sync + 'static,
    ) -> Self {
        self.refine_with(name, move |_, arguments, _| refine(arguments))
    }

    fn refine_with(
        mut self,
        name: impl Into<String>,
        refine: impl Fn(&str, &mut Map<String, Value>, &crate::tool::Context) + Send + Sync + 'static,
    ) -> Self {
        self.setup_mut().gate = self.setup.gate.clone().refine(name.into(), Arc::new(refine));
        self
    }

    /// Adds hooks that receive the arguments of every call while the model writes them, beside the tools' own hooks. Hooks that
    /// were added before stay. They receive nothing about calls of tools that the agent does not have.
    pub fn input_hooks(mut self, hooks: impl InputHooks + 'static) -> Self {
        self.setup_mut().input_hooks.push(Arc::new(hooks));
        self
    }

    /// Adds a hook: code that receives every event of a run. Hooks that were added before stay.
    pub fn hook<R: Into<HookResult>>(mut self, hook: impl Hook<R>) -> Self {
        self.setup_mut().hooks.push(Arc::new(move |event: &Event<'_>| hook(event).into()));
        self
    }

    /// Sets the sampling and the size of the model's turns.
    pub fn model_settings(mut self, settings: ModelSettings) -> Self {
        self.setup_mut().settings = settings;
        self
    }

    /// Adds a model that takes over when the models before it have failed, until the run is prompted or continued again.
    ///
    /// A model is given up at once if it refuses, or is not configured or not authorised. If it is unavailable, limits the
    /// rate, is too slow or breaks the protocol, it is given up after its retries ([`Agent::model_retries`]). The content of
    /// a failed turn that is tried again is dropped, except for complete calls that started early. The run answers these calls, and never makes
    /// them twice.
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

    /// Sets what happens to an image, a document or another part that the model cannot take ([`Model::takes`]). By default, the model
    /// reads a short description of it.
    ///
    /// ```
    /// use tool_runtime::{Agent, agent::UnreadableParts, model::{ScriptedModel, Turn}};
    ///
    /// let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")])).unreadable_parts(UnreadableParts::Refuse);
    /// # let _ = agent;
    /// ```
    pub fn unreadable_parts(mut self, choice: UnreadableParts) -> Self {
        self.setup_mut().unreadable_parts = choice;
        self
    }

    /// Sets the number of retries of a model after a temporary failure. In such a failure, the model was unavailable, limited
    /// the rate, was too slow, broke off in the middle, or broke the protocol. The default is 0, because
    /// `tool_models::http::Http` retries requests that were not answered. The agent gives up a model that asks
    /// for a wait of more than a minute.
    ///
    /// All retries of a run, of turns and of calls, count for [`Limits::retries`](crate::run::Limits::retries).
    pub fn model_retries(mut self, retries: u32) -> Self {
        self.setup_mut().model_retries = retries;
        self
    }

    /// Adds a function that prepares each turn of the model. It can set the model, the tools and their order, the choice of
    /// tools, the instructions and the messages.
    ///
    /// Functions run in the order in which they were added, with those of [`Agent::prepare_step_async`]. Each one sees the
    /// changes of those before it.
    ///
    /// Tools that are not on offer in a step cannot be called in it. If `prepare` panics, the model is not asked. The run
    /// stops as if the model had failed, and can be continued.
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

    /// Adds an async function that prepares each turn, like [`Agent::prepare_step`], and can fail. If it fails, the functions
    /// after it do not run, and the run stops as if the model had failed. The model does not receive the reason.
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
        self.setup_mut().prepare.push(Arc::new(prepare));
        self
    }

    /// Ends a run when a call of one of these tools succeeds, as if the model had answered. The output is [`Reply::output`].
    /// [`Ask::final_tools`] sets the tools of one question, and states how to get the output.
    ///
    /// If all tools on offer are final ones, the model must call one ([`ToolChoice::Required`]), unless a
    /// [choice](Agent::tool_choice) is set.
    ///
    /// [`Reply::output`]: super::Reply::output
    /// [`Ask::final_tools`]: super::Ask::final_tools
    pub fn final_tools<N: Into<Arc<str>>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.setup_mut().final_tools = names.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a check of each prompt, which goes on beside the model's first turn. Guards that were added before stay.
    pub fn guard(mut self, guard: Guard) -> Self {
        self.setup_mut().guards.push(guard);
        self
    }

    /// Adds a check called `name` of the model's answers in text, in every run of the agent, wherever it is driven. Checks that were
    /// added before come first. [`Ask::check`] is for one question, and for typed answers.
    ///
    /// The function receives the text and the run's context. An [`AnswerProblem`] from a text or a
    /// [`Rejection`](crate::feedback::Rejection) sends the model back with it, as often as [`Agent::answer_retries`] allows; the model
    /// reads it as a message. [`AnswerProblem::refuse`], a panic, and no result within half a minute block the run
    /// ([`AgentError::Blocked`](crate::AgentError::Blocked)). The pieces of the text are reported before the check.
    ///
    /// ```
    /// use tool_runtime::{Agent, model::{ScriptedModel, Turn}};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let model = ScriptedModel::new([Turn::say("It is about 3."), Turn::say("It is 3.14.")]);
    /// let agent = Agent::new(model).check_answer("digits", async |text, _cx| {
    ///     if text.contains('.') && text.contains("3.1") { Ok(()) } else { Err("name two digits after the point".into()) }
    /// });
    /// assert_eq!(agent.run("How much is pi?").await?.text, "It is 3.14.");
    /// # Ok::<(), tool_runtime::AgentError>(())
    /// # }).unwrap();
    /// ```
    ///
    /// [`Ask::check`]: super::Ask::check
    pub fn check_answer<F, R>(mut self, name: impl Into<Arc<str>>, check: F) -> Self
    where
        F: Fn(String, Context) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), AnswerProblem>> + Send + 'static,
    {
        self.setup_mut().answer_checks.push(AnswerCheck::new(name.into(), check));
        self
    }

    /// Counts what the agent's runs use in `budget`, and stops them when it is spent. Budgets that were set before stay.
    pub fn budget(mut self, budget: &Budget) -> Self {
        if !self.setup.budgets.iter().any(|known| known.is_same(budget)) {
            self.setup_mut().budgets.push(budget.clone());
        }
        self
    }

    /// Stops a run if `condition` holds after a turn whose calls have ended. Conditions that were set before stay.
    pub fn stop_when(mut self, condition: StopWhen) -> Self {
        let setup = self.setup_mut();
        setup.stop = Some(match setup.stop.take() {
            Some(before) => before.or(condition),
            None => condition,
        });
        self
    }

    /// Sets the largest number of tokens of requests and answers after a prompt. The limit is part of the run's log. The run
    /// checks it between turns, so the last turn may exceed it.
    pub fn max_tokens(self, tokens: u64) -> Self {
        self.options(|options| options.limits.tokens = Some(tokens))
    }

    /// Sets the longest time that a run may work after a prompt. The limit is part of the run's log. Time in which the run only
    /// waits for decisions does not count. When the time is over, the model's turn is dropped, running calls are cancelled, and
    /// the run stops with [`StopReason::TimedOut`](crate::run::StopReason::TimedOut).
    pub fn max_time(self, time: Duration) -> Self {
        self.options(|options| options.limits.time = Some(time))
    }

    /// Sets the time limits of the parts of a run.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.setup_mut().timeouts = timeouts;
        self
    }

    /// Adds a rule that leaves out parts of the conversation for the model. The run keeps all of it.
    ///
    /// The rule is one of the functions of [`Agent::prepare_step`], in the order in which they are added: each one sees the messages
    /// that the ones before it have left.
    ///
    /// Each change to earlier messages invalidates the provider's cache of them. So prune a conversation rarely, and then much:
    /// see [`Pruning`].
    pub fn prune(self, prune: Pruning) -> Self {
        self.prepare_step(move |step| {
            let kept = prune.apply(step.messages());
            if kept != step.messages() {
                step.set_messages(kept, "pruned");
            }
        })
    }

    /// Sets the rule that replaces the beginning of a long conversation by a summary, for the model. The run keeps all of it, and the
    /// summary. The functions of [`Agent::prepare_step`] see the summary in place of what it covers.
    pub fn compact(mut self, compaction: Compaction) -> Self {
        self.setup_mut().compaction = Some(compaction);
        self
    }

    /// Sets the agent's name, which tells the applications of one store apart.
    ///
    /// Each run keeps the name of the agent that made it ([`Run::made_by`](crate::run::Run::made_by)), and traces show the
    /// agent's name. Workers continue only runs of their agent's names: [`Agent::sweep`], [`Agent::resume_run`], a server, and
    /// the processes of an engine. Without a name, or with an empty one, they continue the runs of all agents without a name,
    /// such as those of older versions. [`Agent::open`] and the methods that take a run's id work for every run.
    ///
    /// If you give another name to an agent that has runs, list the one before in [`Agent::earlier_names`].
    pub fn name(mut self, name: impl Into<String>) -> Self {
        let setup = self.setup_mut();
        setup.name = Some(name.into().into());
        setup.left_runs = Arc::default();
        self
    }

    /// Sets the names that the agent had before. Its workers also continue the runs of these names. The empty name stands for
    /// the time without a name.
    ///
    /// ```
    /// use tool_runtime::{Agent, model::{ScriptedModel, Turn}};
    ///
    /// let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")])).name("travel").earlier_names(["trips", ""]);
    /// assert_eq!(agent.names().collect::<Vec<_>>(), ["travel", "trips", ""]);
    /// ```
    pub fn earlier_names<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        let setup = self.setup_mut();
        setup.earlier_names = names.into_iter().map(Into::into).collect();
        setup.left_runs = Arc::default();
        self
    }

    /// Returns the agent's name, and then its earlier names. The empty name stands for no name.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let name = self.setup.name.as_deref().unwrap_or_default();
        std::iter::once(name).chain(self.setup.earlier_names.iter().map(String::as_str))
    }

    /// Sets whether traces include content: instructions, messages, tool definitions, arguments and outputs. The log then also has
    /// excerpts of answers that cannot be read, and the words of people. The default is no. Parameters marked `#[arg(secret)]` are never included.
    pub fn trace_content(mut self, on: bool) -> Self {
        self.setup_mut().trace_content = on;
        self
    }

    /// Sets the clock of the runs, in tests.
    #[cfg(feature = "test-util")]
    pub fn clock(mut self, clock: &TestClock) -> Self {
        self.setup_mut().clock = Source::made(clock);
        self
    }

    /// Returns the model's name.
    pub fn model_name(&self) -> &str {
        self.setup.model.name()
    }

    /// Returns the agent's tools, including those that [`Agent::active_tools`] does not select.
    pub fn toolset(&self) -> &Toolset {
        self.setup.gate.tools()
    }

    /// Returns the store of the runs.
    pub fn run_store(&self) -> Option<&Arc<dyn Store>> {
        self.setup.store.as_ref()
    }

    /// Returns whether the agent has policies of its own, or requires approvals after untrusted text ([`OnTaint::Ask`]).
    pub fn has_policies(&self) -> bool {
        self.setup.gate.has_policies() || self.setup.options.on_taint == OnTaint::Ask
    }
}

fn count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
