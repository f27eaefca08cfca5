//! Summaries that take the place of the beginning of a long conversation, for the model.

use std::{fmt, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::{FutureExt, StreamExt, future::BoxFuture};

use crate::message::{AssistantPart, Message, Usage};
use crate::model::{Delta, Model, ModelSettings, Request, ToolChoice, Turn};
use crate::run::Run;
use crate::toolset::ToolList;
use tool_run::run::{LogInput, Summary, size_of};

/// The default of [`Compaction::above_bytes`].
const DEFAULT_BYTES: u64 = 200_000;

/// The default of [`Compaction::keep_turns`].
const DEFAULT_TURNS: usize = 8;

/// The time limit of a summary.
const TIME_LIMIT: Duration = Duration::from_mins(2);

/// The prompt for a model that summarizes.
const PROMPT: &str = "Summarize the conversation so far for an assistant that will go on with it and sees nothing else of it. \
    Keep every fact, name, number, decision and open request. Write the summary only.";

/// The beginning of the message that holds a summary.
const HEADER: &str = "A summary of the conversation before this point:";

type Summarizer = dyn Fn(Vec<Message>) -> BoxFuture<'static, Result<Summarized, String>> + Send + Sync;

/// A text that summarizes messages, and the tokens that it used.
#[derive(Default)]
struct Summarized {
    text: String,
    usage: Usage,
    model: Option<Arc<str>>,
}

/// A rule that replaces the beginning of a long conversation by a summary, for the model ([`Agent::compact`]).
///
/// The run keeps every message, and each summary is an entry of its log: another process, an engine, and a run that is loaded again use
/// the same one. The last turns stay as they are, and no call is separated from its result. A later summary also covers the earlier one.
///
/// If the summary fails or takes longer than two minutes, the model gets the whole conversation, and the log has the problem. The next
/// summary is tried when the run is driven again.
///
/// ```
/// use tool_runtime::{Agent, agent::Compaction, model::{ScriptedModel, Turn}};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let summarizer = ScriptedModel::new([Turn::say("They greeted each other.")]);
/// let compaction = Compaction::by(summarizer).above_bytes(20).keep_turns(1);
/// let agent = Agent::new(ScriptedModel::new([Turn::say("Good morning."), Turn::say("Fine."), Turn::say("Bye.")]));
/// let mut session = agent.compact(compaction).session();
/// for prompt in ["Good morning!", "How are you?", "Goodbye!"] {
///     session.send(prompt).await?;
/// }
/// let summary = session.run().summary().unwrap();
/// assert_eq!((summary.messages, &*summary.text), (2, "They greeted each other."));
/// # Ok::<(), tool_runtime::AgentError>(())
/// # }).unwrap();
/// ```
///
/// [`Agent::compact`]: crate::Agent::compact
#[derive(Clone)]
pub struct Compaction {
    summarizer: Arc<Summarizer>,
    bytes: u64,
    turns: usize,
}

impl Compaction {
    /// Creates a rule whose summaries `model` writes. Their tokens count as those of the run.
    pub fn by(model: impl Model + 'static) -> Self {
        let model: Arc<dyn Model> = Arc::new(model);
        Self::of(move |messages| ask(Arc::clone(&model), messages).boxed())
    }

    /// Creates a rule whose summaries a function of the application writes. It receives the messages whose place the summary takes; the
    /// first one may be the summary before.
    pub fn with<F, R, E>(summarize: F) -> Self
    where
        F: Fn(Vec<Message>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<String, E>> + Send + 'static,
        E: fmt::Display,
    {
        let summarized = |done: Result<String, E>| match done {
            Ok(text) => Ok(Summarized { text, ..Summarized::default() }),
            Err(error) => Err(error.to_string()),
        };
        Self::of(move |messages| summarize(messages).map(summarized).boxed())
    }

    fn of(
        summarizer: impl Fn(Vec<Message>) -> BoxFuture<'static, Result<Summarized, String>> + Send + Sync + 'static,
    ) -> Self {
        Self { summarizer: Arc::new(summarizer), bytes: DEFAULT_BYTES, turns: DEFAULT_TURNS }
    }

    /// Sets the size in bytes of the messages after the last summary above which the next one is made; 200,000 by default. A token
    /// has about four bytes of text.
    pub fn above_bytes(mut self, bytes: u64) -> Self {
        self.bytes = bytes;
        self
    }

    /// Sets the number of the last turns of the model, with their results, that no summary replaces; 8 by default.
    pub fn keep_turns(mut self, turns: usize) -> Self {
        self.turns = turns.max(1);
        self
    }

    /// Returns the summary that is due in `run`, if one is.
    pub fn due(&self, run: &Run) -> Option<PendingSummary> {
        let summarized = run.summary().map_or(0, |summary| summary.messages as usize);
        let messages = run.messages().get(summarized..)?;
        if messages.iter().map(size_of).sum::<u64>() <= self.bytes {
            return None;
        }
        let is_turn = |message: &Message| matches!(message, Message::Assistant { .. });
        let mut turns = (0..messages.len()).rev().filter(|at| is_turn(&messages[*at]));
        let mut end = turns.nth(self.turns - 1)?;
        // The prompt of the first kept turn stays, too.
        while end > 0 && matches!(messages[end - 1], Message::User { .. }) {
            end -= 1;
        }
        if end == 0 {
            return None;
        }
        let before = run.summary().map(message_of);
        Some(PendingSummary {
            compaction: self.clone(),
            covered: before.into_iter().chain(messages[..end].iter().cloned()).collect(),
            messages: u32::try_from(summarized + end).ok()?,
        })
    }
}

impl fmt::Debug for Compaction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Compaction").field("bytes", &self.bytes).field("turns", &self.turns).finish_non_exhaustive()
    }
}

/// A summary that is not made yet.
#[derive(Debug)]
pub struct PendingSummary {
    compaction: Compaction,
    /// The messages whose place it takes, with the summary before.
    covered: Vec<Message>,
    messages: u32,
}

impl PendingSummary {
    /// Makes the summary. Fails if its text is blank, too.
    pub async fn make(self) -> Result<LogInput, String> {
        let Self { compaction, covered, messages } = self;
        let made = async { (compaction.summarizer)(covered).await };
        let done = tokio::time::timeout(TIME_LIMIT, AssertUnwindSafe(made).catch_unwind()).await;
        let Summarized { text, usage, model } = match done {
            Ok(Ok(done)) => done?,
            Ok(Err(_)) => return Err("the function that summarizes panicked".to_owned()),
            Err(_) => return Err(format!("no summary within {} s", TIME_LIMIT.as_secs())),
        };
        if text.trim().is_empty() {
            return Err("the summary is empty".to_owned());
        }
        let reason = format!("the conversation had more than {} bytes", compaction.bytes);
        Ok(LogInput::Summarized { summary: Summary::new(messages, text), reason, usage, model })
    }
}

/// Returns the messages that a model sees of a conversation, as far as `summary` replaces its beginning. System messages stay.
pub fn shortened<'m>(summary: Option<&'m Summary>, messages: &'m [Message]) -> impl Iterator<Item = Message> + use<'m> {
    let covered = &messages[..summary.map_or(0, |summary| summary.messages as usize).min(messages.len())];
    let systems = covered.iter().filter(|message| matches!(message, Message::System { .. })).cloned();
    systems.chain(summary.map(message_of))
}

fn message_of(summary: &Summary) -> Message {
    Message::user(format!("{HEADER}\n\n{}", summary.text))
}

/// Asks a model for a summary.
async fn ask(model: Arc<dyn Model>, mut messages: Vec<Message>) -> Result<Summarized, String> {
    messages.push(Message::user(PROMPT));
    let (messages, _) = tool_run::message::repair(messages);
    let (tools, settings) = (ToolList::new(Vec::new()), ModelSettings::default());
    let request = Request::new(&messages, &tools).with_choice(&ToolChoice::None).with_settings(&settings);
    let mut stream = model.stream(request);
    let mut turn = Turn::default();
    while let Some(delta) = stream.next().await {
        let delta = delta.map_err(|error| error.to_string())?;
        let is_last = matches!(delta, Delta::Finish(_));
        turn.push(delta);
        if is_last {
            break;
        }
    }
    let texts = turn.content.iter().filter_map(|part| match part {
        AssistantPart::Text { text } => Some(text.as_str()),
        _ => None,
    });
    Ok(Summarized { text: texts.collect(), usage: turn.usage, model: Some(model.name().into()) })
}
