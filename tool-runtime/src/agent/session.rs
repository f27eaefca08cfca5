//! A conversation with an agent.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::{Agent, AgentError, Event, execute, history, turn, typed::Wanted};
use crate::message::{AssistantPart, Message, ToolCall};
use crate::model::{FinishReason, Usage};
use crate::toolset::Toolset;

/// A conversation with an agent, continued prompt by prompt.
#[derive(Clone, Debug)]
pub struct Session {
    agent: Agent,
    messages: Vec<Message>,
}

/// What came of a prompt.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// What the model said in its last turn.
    pub text: String,
    /// How many turns it took.
    pub steps: usize,
    /// Tokens used by all of them.
    pub usage: Usage,
    /// Why the run ended.
    pub stopped: Stopped,
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stopped {
    /// The model had no more calls to make.
    Done,
    /// The model wanted to go on, and had used all its steps.
    StepLimit,
    /// The model's last turn was cut; none of its calls ran.
    Cut(FinishReason),
}

impl Session {
    pub(super) fn new(agent: Agent, messages: Vec<Message>) -> Self {
        Self { agent, messages }
    }

    /// A conversation that goes on from `messages`, such as stored ones.
    pub fn resume(agent: Agent, messages: Vec<Message>) -> Self {
        Self::new(agent, messages)
    }

    /// The conversation so far, without the instructions.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The agent.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Says something and waits for what comes of it.
    ///
    /// After an error the conversation holds everything up to it, and can go on.
    pub async fn send(&mut self, prompt: impl Into<String>) -> Result<Reply, AgentError> {
        self.messages.push(Message::user(prompt));
        let tools = self.agent.tools.clone();
        self.advance(&tools, |_| false).await
    }

    /// Says something and waits for an answer of type `T`.
    ///
    /// The model gives it by calling a tool called `final_answer` whose schema is that of `T`; a wrong answer is told to
    /// it like any wrong call, so that it can mend it.
    pub async fn send_for<T: DeserializeOwned + JsonSchema + Send + 'static>(
        &mut self,
        prompt: impl Into<String>,
    ) -> Result<T, AgentError> {
        let wanted = Wanted::<T>::new();
        let tools = wanted.offer(&self.agent.tools)?;
        self.messages.push(Message::user(prompt));
        let reply = self.advance(&tools, |_| wanted.is_given()).await?;
        if let Some(answer) = wanted.take() {
            return Ok(answer);
        }
        // Some models answer in words although a tool is there for it; ask once more.
        self.messages.push(Message::user(Wanted::<T>::REMINDER));
        let reminded = self.advance(&tools, |_| wanted.is_given()).await?;
        wanted.take().ok_or_else(|| AgentError::NoAnswer {
            reason: format!("it said: {}", if reminded.text.is_empty() { reply.text } else { reminded.text }),
        })
    }

    async fn advance(&mut self, tools: &Toolset, is_done: impl Fn(&[ToolCall]) -> bool) -> Result<Reply, AgentError> {
        let cancellation = self.agent.context.cancellation().clone();
        let mut reply = Reply { text: String::new(), steps: 0, usage: Usage::default(), stopped: Stopped::Done };
        loop {
            reply.steps += 1;
            self.agent.front.event(Event::StepStarted { step: reply.steps });
            let messages = self.with_instructions();
            let turn = tokio::select! {
                turn = turn::turn(&self.agent, &messages, tools.list()) => turn?,
                () = cancellation.cancelled() => return Err(AgentError::Cancelled),
            };
            let mut content = turn.content;
            history::unique_ids(&mut content, &self.messages);
            let calls: Vec<ToolCall> = content.iter().filter_map(as_call).cloned().collect();
            reply.usage += turn.usage;
            reply.text = content.iter().filter_map(as_text).collect();
            if !content.is_empty() {
                self.messages.push(Message::Assistant { content });
            }
            let finish = turn.finish.unwrap_or(FinishReason::Stop);
            if !finish.is_safe() {
                self.messages.extend(calls.iter().map(|call| history::refuse(call, turn::cut(&finish))));
                reply.stopped = Stopped::Cut(finish);
                return Ok(reply);
            }
            if calls.is_empty() {
                return Ok(reply);
            }
            let results = execute::all(&self.agent, tools, &calls, messages).await;
            self.messages.extend(calls.iter().zip(&results).map(|(call, result)| history::answer(call, result)));
            if cancellation.is_cancelled() {
                return Err(AgentError::Cancelled);
            }
            if is_done(&calls) {
                return Ok(reply);
            }
            if reply.steps >= self.agent.max_steps {
                reply.stopped = Stopped::StepLimit;
                return Ok(reply);
            }
        }
    }

    fn with_instructions(&self) -> Vec<Message> {
        let system = self.agent.instructions.as_deref().map(Message::system);
        system.into_iter().chain(self.messages.iter().cloned()).collect()
    }
}

fn as_call(part: &AssistantPart) -> Option<&ToolCall> {
    match part {
        AssistantPart::Call(call) => Some(call),
        _ => None,
    }
}

fn as_text(part: &AssistantPart) -> Option<&str> {
    match part {
        AssistantPart::Text { text } => Some(text),
        _ => None,
    }
}
