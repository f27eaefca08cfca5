//! Questions whose answer has a type, or a check.

use std::{
    fmt,
    future::IntoFuture,
    sync::{Arc, Mutex},
};

use futures_util::{FutureExt, future::BoxFuture};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::agent::{
    Agent, AgentError, Reply, Session,
    drive::DriveOptions,
    guard::{AnswerCheck, DEFAULT_TIME_LIMIT, within},
    typed::{FinalAnswer, OwnCheck, Reminders},
};
use crate::feedback::Rejection;
use crate::message::Part;
use crate::run::{Phase, Prompt, Run, StopReason};
use crate::sync::lock;
use crate::tool::{Context, Output};
use tool_run::run::{LogInput, WantedAnswer};

/// The name of a check that an [`Ask`] has, in errors and in the log.
const CHECK: &str = "the check of the answer";

/// A question to an agent, which waits for the answer when it is awaited. [`Agent::ask`] and [`Session::ask`] create it.
///
/// The answer is the model's last text, unless the question says otherwise:
///
/// - [`Ask::typed`]: a value of a type, which the model gives by a call of a tool called `final_answer`, or as JSON text;
/// - [`Ask::final_tools`]: the output of one of the application's own tools.
///
/// A wrong answer goes back to the model as a rejection, as often as [`Agent::answer_retries`] allows. [`Ask::check`] adds a check of
/// the application.
///
/// ```
/// use tool_runtime::{Agent, model::{ScriptedModel, Turn}};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let agent = Agent::new(ScriptedModel::new([
///     Turn::call("final_answer", r#"{"answer": ["Rome"]}"#),
///     Turn::call("final_answer", r#"{"answer": ["Rome", "Oslo"]}"#),
/// ]));
/// let asked = agent.ask("Name two cities.").typed::<Vec<String>>().check(async |cities, _cx| match cities.len() {
///     2 => Ok(()),
///     n => Err(format!("two cities are wanted, not {n}").into()),
/// });
/// let answer = asked.await?;
/// assert_eq!((&*answer.value, answer.reply.steps), (&["Rome".to_owned(), "Oslo".to_owned()][..], 2));
/// # Ok::<(), tool_runtime::AgentError>(())
/// # }).unwrap();
/// ```
///
/// # Errors
///
/// The future fails like [`Session::send`], with [`AgentError::NoAnswer`] if the run ends or waits without an answer, and with
/// [`AgentError::Blocked`] if a check refuses the answer. The session still has the run: [`Session::resume_ask`] goes on, in this
/// process or in another.
#[must_use = "a question is asked when it is awaited"]
pub struct Ask<'a, T = String> {
    session: Asked<'a>,
    prompt: Option<Prompt>,
    form: Form<T>,
    check: Option<Arc<Check<T>>>,
}

impl<T> fmt::Debug for Ask<'_, T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { prompt, form, check, .. } = self;
        out.debug_struct("Ask")
            .field("prompt", prompt)
            .field("final_tools", &form.tools)
            .field("is_checked", &check.is_some())
            .finish_non_exhaustive()
    }
}

type Check<T> = dyn Fn(T, Context) -> BoxFuture<'static, Result<(), AnswerProblem>> + Send + Sync;

/// The session that asks.
enum Asked<'a> {
    Of(&'a mut Session),
    New(Box<Session>),
}

/// The form of an answer.
struct Form<T> {
    /// The tool that accepts the answer, if the application has no such tool.
    wanted: Option<FinalAnswer>,
    /// The application's tools that end the run; those of the agent if `None`.
    tools: Option<Vec<Arc<str>>>,
    /// Returns the answer of a run that has ended.
    read: fn(&Run, &Reply, Option<&FinalAnswer>) -> Option<T>,
    /// Returns that answer as JSON or text, for its check.
    given: fn(&Run, &Reply, Option<&FinalAnswer>) -> Option<String>,
    /// Lets the loop ask a check; `None` if this form has none.
    attach: Option<Attach<T>>,
}

/// A function that lets the loop ask a check of an answer, and returns that check.
type Attach<T> = fn(Arc<Check<T>>, &mut Agent, &mut Option<FinalAnswer>) -> Arc<OwnCheck>;

/// The refusal of an answer by a check, which stops the run between two turns, and the answer that a check has accepted.
#[derive(Debug, Default)]
pub struct CheckedAnswer {
    refusal: Option<String>,
    accepted: Option<Value>,
}

impl CheckedAnswer {
    /// Returns the reason to stop the run, if the check has refused the answer.
    pub fn stop_reason(this: &Mutex<Self>) -> Option<StopReason> {
        lock(this).refusal.clone().map(|reason| StopReason::Blocked { by: CHECK.to_owned(), reason })
    }
}

/// An answer, and the reply with which it came.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Answered<T> {
    /// The answer.
    pub value: T,
    /// The reply to the last prompt: the usage, the steps and the text.
    pub reply: Reply,
}

/// The reason why a check does not accept an answer.
#[derive(Clone, Debug)]
pub enum AnswerProblem {
    /// The model is asked again, with these problems.
    Retry(Rejection),
    /// The run is blocked, for this reason.
    Refuse(String),
}

impl AnswerProblem {
    /// Creates a refusal: the model is not asked again.
    pub fn refuse(reason: impl Into<String>) -> Self {
        Self::Refuse(reason.into())
    }
}

impl From<Rejection> for AnswerProblem {
    fn from(rejection: Rejection) -> Self {
        Self::Retry(rejection)
    }
}

impl From<String> for AnswerProblem {
    /// Sends the model back with this text.
    fn from(problem: String) -> Self {
        Self::Retry(Rejection::from_message(problem))
    }
}

impl From<&str> for AnswerProblem {
    /// Sends the model back with this text.
    fn from(problem: &str) -> Self {
        problem.to_owned().into()
    }
}

impl Agent {
    /// Begins a question in a new conversation.
    pub fn ask(&self, prompt: impl Into<String>) -> Ask<'static> {
        self.ask_parts(vec![Part::text(prompt)])
    }

    /// Begins a question of text, images and files, in a new conversation.
    pub fn ask_parts(&self, content: Vec<Part>) -> Ask<'static> {
        let session = self.session();
        let prompt = session.new_prompt(content);
        Ask::new(Asked::New(Box::new(session)), Some(prompt))
    }
}

impl Session {
    /// Begins a question.
    pub fn ask(&mut self, prompt: impl Into<String>) -> Ask<'_> {
        self.ask_parts(vec![Part::text(prompt)])
    }

    /// Begins a question of text, images and files.
    pub fn ask_parts(&mut self, content: Vec<Part>) -> Ask<'_> {
        let prompt = self.new_prompt(content);
        Ask::new(Asked::Of(self), Some(prompt))
    }

    /// Continues a run that was asked, in this process or another, as [`Session::resume`] does. Name the same type, tools and check
    /// again. If the model has answered already, the answer is that one, and its check is repeated. If the run has no retries of
    /// answers left, the model gets one more.
    pub fn resume_ask(&mut self) -> Ask<'_> {
        Ask::new(Asked::Of(self), None)
    }
}

impl<'a> Ask<'a> {
    fn new(session: Asked<'a>, prompt: Option<Prompt>) -> Self {
        let read = |run: &Run, reply: &Reply, _: Option<&FinalAnswer>| {
            (run.phase() == Phase::Finished).then(|| reply.text.clone())
        };
        let form = Form { wanted: None, tools: None, read, given: read, attach: Some(attach_text as Attach<String>) };
        Self { session, prompt, form, check: None }
    }

    /// Asks for a value of type `T`.
    ///
    /// The model gives it by a call of a tool called `final_answer`. If the schema of `T` is an object, as for a struct or a map, the
    /// arguments of that call are the answer. Providers accept no other arguments, so any other type is the field `answer` of an
    /// object. For example, a `Vec<u8>` is given as `{"answer": [1, 2]}`. A text that is such JSON is an answer, too.
    pub fn typed<T: DeserializeOwned + JsonSchema + Send + 'static>(self) -> Ask<'a, T> {
        let read = |run: &Run, _: &Reply, wanted: Option<&FinalAnswer>| {
            let json = wanted?.given(run)?;
            serde_json::from_str(&json).ok()
        };
        self.with_form(Form {
            wanted: Some(FinalAnswer::of::<T>()),
            tools: None,
            read,
            given: |run, _, wanted| wanted?.given(run),
            attach: Some(attach_typed::<T>),
        })
    }

    /// Asks for the output of one of the application's tools: a successful call of one of `names` ends the run. Without names, these
    /// are the agent's own ([`Agent::final_tools`]).
    ///
    /// ```
    /// use tool_runtime::{Agent, model::{ScriptedModel, Turn}, tool, toolset};
    ///
    /// /// Books a seat.
    /// #[tool]
    /// fn book(/** The row. */ row: u32) -> String {
    ///     format!("{row}A")
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let model = ScriptedModel::new([Turn::call("book", r#"{"row": 7}"#)]);
    /// let answer = Agent::new(model).tools(toolset!(book)).ask("A seat in row 7, please.").final_tools(["book"]).await?;
    /// assert_eq!(answer.value.decode::<String>().unwrap(), "7A");
    /// # Ok::<(), tool_runtime::AgentError>(())
    /// # }).unwrap();
    /// ```
    pub fn final_tools<N: Into<Arc<str>>>(self, names: impl IntoIterator<Item = N>) -> Ask<'a, Output> {
        let names: Vec<Arc<str>> = names.into_iter().map(Into::into).collect();
        let read = |_: &Run, reply: &Reply, _: Option<&FinalAnswer>| reply.output().cloned();
        let tools = (!names.is_empty()).then_some(names);
        self.with_form(Form { wanted: None, tools, read, given: |_, _, _| None, attach: None })
    }

    fn with_form<T>(self, form: Form<T>) -> Ask<'a, T> {
        Ask { session: self.session, prompt: self.prompt, form, check: None }
    }
}

impl<T: DeserializeOwned + JsonSchema + Send + 'static> Ask<'_, T> {
    /// Sets a check of the answer, for what its type cannot state.
    ///
    /// An [`AnswerProblem`] from a text or a [`Rejection`] sends the model back with it, as a tool's rejection does.
    /// [`AnswerProblem::refuse`] blocks the run. A check that panics, or takes longer than half a minute, refuses. The check may be
    /// asked about one answer several times.
    pub fn check<F, R>(mut self, check: F) -> Self
    where
        F: Fn(T, Context) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), AnswerProblem>> + Send + 'static,
    {
        self.check = Some(Arc::new(move |value, cx| check(value, cx).boxed()));
        self
    }
}

impl<'a, T: Send + 'static> IntoFuture for Ask<'a, T> {
    type Output = Result<Answered<T>, AgentError>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.go().await })
    }
}

/// Returns a check of answers that `read` reads, and which notes in the agent what it has accepted and refused.
fn own_check<T: Send + 'static>(
    check: Arc<Check<T>>,
    agent: &mut Agent,
    read: fn(&str) -> Result<T, Rejection>,
) -> Arc<OwnCheck> {
    let state = Arc::<Mutex<CheckedAnswer>>::default();
    agent.setup_mut().checked_answer = Some(Arc::clone(&state));
    Arc::new(move |given, cx| {
        let (check, state) = (Arc::clone(&check), Arc::clone(&state));
        async move {
            if let Some(reason) = &lock(&state).refusal {
                // No other answer takes the place of the refused one.
                return Err(Rejection::from_message(reason.clone()));
            }
            let value = read(&given)?;
            match within(DEFAULT_TIME_LIMIT, async move { check(value, cx).await }).await {
                Ok(()) => lock(&state).accepted = Some(value_of(&given)),
                Err(AnswerProblem::Retry(rejection)) => return Err(rejection),
                Err(AnswerProblem::Refuse(reason)) => {
                    lock(&state).refusal = Some(reason.clone());
                    return Err(Rejection::from_message(reason));
                }
            }
            Ok(())
        }
        .boxed()
    })
}

/// Returns an answer for a comparison that ignores its layout.
fn value_of(given: &str) -> Value {
    serde_json::from_str(given).unwrap_or_else(|_| given.into())
}

/// Lets the loop ask `own` about answers in text, of which `read` returns what is checked. Returns no problem for any other text.
fn add_text_check(
    agent: &mut Agent,
    own: Arc<OwnCheck>,
    is_typed: bool,
    read: impl Fn(String) -> Option<String> + Send + Sync + 'static,
) {
    let state = agent.setup.checked_answer.clone();
    let ask = move |text, cx| {
        let (checked, state) = (read(text).map(|given| own(given, cx)), state.clone());
        async move {
            let Some(checked) = checked else { return Ok(()) };
            let refusal = || lock(state.as_deref()?).refusal.clone();
            checked.await.map_err(|problem| refusal().map_or(AnswerProblem::Retry(problem), AnswerProblem::Refuse))
        }
    };
    let mut check = AnswerCheck::new(CHECK.into(), ask);
    check.is_typed = is_typed;
    agent.setup_mut().answer_checks.push(check);
}

fn attach_text(check: Arc<Check<String>>, agent: &mut Agent, _: &mut Option<FinalAnswer>) -> Arc<OwnCheck> {
    let own = own_check(check, agent, |text| Ok(text.to_owned()));
    add_text_check(agent, Arc::clone(&own), false, Some);
    own
}

fn attach_typed<T: DeserializeOwned + Send + 'static>(
    check: Arc<Check<T>>,
    agent: &mut Agent,
    wanted: &mut Option<FinalAnswer>,
) -> Arc<OwnCheck> {
    let read = |json: &str| serde_json::from_str(json).map_err(|error| Rejection::from_message(error.to_string()));
    let own = own_check::<T>(check, agent, read);
    if let Some(wanted) = wanted {
        wanted.own = Some(Arc::clone(&own));
        let wanted = wanted.clone();
        add_text_check(agent, Arc::clone(&own), true, move |text| wanted.accept_text(&text));
    }
    own
}

impl<T> Ask<'_, T> {
    async fn go(self) -> Result<Answered<T>, AgentError> {
        let Self { session, prompt, form: Form { mut wanted, tools, read, given, attach }, check } = self;
        let mut new;
        let session = match session {
            Asked::Of(session) => session,
            Asked::New(session) => {
                new = session;
                &mut *new
            }
        };
        session.ask_for_caller().await?;
        let mut agent = session.agent.clone();
        let own = check.zip(attach).map(|(check, attach)| attach(check, &mut agent, &mut wanted));
        if let Some(wanted) = &wanted {
            let tools = agent.toolset().clone().with(wanted.clone());
            agent = agent.tools(tools.map_err(|error| AgentError::NoAnswer { reason: error.to_string() })?);
        }
        let answer = match (&wanted, tools) {
            (Some(wanted), _) => Some(WantedAnswer {
                final_tools: vec![FinalAnswer::NAME.into()],
                answer_schema: Some(Arc::new(wanted.schema().clone())),
            }),
            (None, tools) => tools.map(|final_tools| WantedAnswer { final_tools, answer_schema: None }),
        };
        if wanted.is_none() && prompt.is_some() {
            check_final_tools(&agent, answer.as_ref())?;
        }
        let input = match prompt {
            Some(prompt) => Some(LogInput::Prompt(asking(prompt, answer.as_ref()))),
            None => session.input_for(answer.as_ref())?,
        };
        let mut reply = session.drive_as(&agent, input, DriveOptions::default()).await?;
        let mut reminders = Reminders::default();
        loop {
            let run = session.run();
            let problem = match read(run, &reply, wanted.as_ref()) {
                Some(value) => match check_again(&agent, own.as_deref(), given(run, &reply, wanted.as_ref())).await {
                    Ok(()) => return Ok(Answered { value, reply }),
                    Err(problem) => Some(problem),
                },
                None => wanted.as_ref().and_then(|wanted| wanted.problems_in_text(run)),
            };
            if let Some(StopReason::Blocked { by, reason }) =
                agent.setup.checked_answer.as_deref().and_then(CheckedAnswer::stop_reason)
            {
                return Err(AgentError::Blocked { by, reason });
            }
            let Some(text) = reminders.next(run, problem.as_ref()) else {
                return Err(no_answer(run, &reply, problem));
            };
            let mut prompt = session.new_prompt(vec![Part::text(text)]);
            // The text is not of a person.
            prompt.corrects = true;
            let input = LogInput::Prompt(asking(prompt, answer.as_ref()));
            reply = session.drive_as(&agent, Some(input), DriveOptions::default()).await?;
        }
    }
}

impl Session {
    /// Returns the input that continues the run with `answer` as the answer that is wanted.
    ///
    /// Fails if the run is in the middle of its work, and its last prompt asked for another answer.
    fn input_for(&self, answer: Option<&WantedAnswer>) -> Result<Option<LogInput>, AgentError> {
        let run = self.run();
        let is_wanted = answer.is_none_or(|answer| {
            run.final_tools() == answer.final_tools && run.answer_schema() == answer.answer_schema.as_ref()
        });
        let input = self.continue_input(answer.filter(|_| !is_wanted).cloned().map(Box::new));
        if is_wanted || input.is_some() {
            return Ok(input);
        }
        let reason = "the run was not asked for this answer, and is not stopped; use `ask`".to_owned();
        Err(AgentError::NoAnswer { reason })
    }
}

/// Fails if the agent does not have one of the application's tools that should give the answer.
fn check_final_tools(agent: &Agent, answer: Option<&WantedAnswer>) -> Result<(), AgentError> {
    let tools = agent.setup.gate.tools();
    let missing = answer.into_iter().flat_map(|answer| &answer.final_tools).find(|name| tools.get(name).is_none());
    let Some(name) = missing else { return Ok(()) };
    let hint = tools.nearest(name).map(|known| format!("; did you mean `{known}`?")).unwrap_or_default();
    Err(AgentError::NoAnswer { reason: format!("the agent has no tool `{name}`{hint}") })
}

fn asking(mut prompt: Prompt, answer: Option<&WantedAnswer>) -> Prompt {
    if let Some(WantedAnswer { final_tools, answer_schema }) = answer {
        (prompt.final_tools, prompt.answer_schema) = (final_tools.clone(), answer_schema.clone());
    }
    prompt
}

/// Asks the application's check about an answer, unless it has accepted that answer in this process.
async fn check_again(agent: &Agent, own: Option<&OwnCheck>, given: Option<String>) -> Result<(), Rejection> {
    let Some((own, given)) = own.zip(given) else { return Ok(()) };
    let state = agent.setup.checked_answer.as_deref();
    let is_known = state.is_some_and(|state| lock(state).accepted == Some(value_of(&given)));
    if is_known { Ok(()) } else { own(given, agent.setup.context.clone()).await }
}

/// Returns the error of a run without an answer, with the problems of the last one.
fn no_answer(run: &Run, reply: &Reply, problem: Option<Rejection>) -> AgentError {
    let reason = match &reply.phase {
        Phase::Finished => format!("its last text is: {}", reply.text),
        phase => format!("the run has not finished: {phase}"),
    };
    let refused = problem.map(|problem| problem.to_string()).or_else(|| FinalAnswer::refusal(run));
    AgentError::NoAnswer {
        reason: match refused {
            Some(problems) => format!("{reason}; the last answer was refused: {problems}"),
            None => reason,
        },
    }
}
