//! The questions of a server to the person behind a call.
//!
//! In revisions with sessions, a question is a request of its own, and names no call. Over HTTP, it comes on the stream of its call.
//! Otherwise it belongs to one of the running calls, and the client does not know to which.

use std::sync::Mutex;

use rmcp::{
    ErrorData, RoleClient,
    model::{ElicitResult, ElicitationAction, ProgressToken, RequestId},
    service::{InboundStreamOrigin, RequestContext},
};
use serde_json::Value;
use tokio::{
    sync::{Mutex as AsyncMutex, watch},
    time::{Duration, Instant},
};
use tool_runtime::{
    Context, Failure,
    feedback::{escape, one_line},
    schema::CompiledSchema,
    tool::{Question, QuestionAnswer},
};
use tool_schema::schema::remove_invalid_keywords;

use crate::{host::lock, mcp::denials::action_of};

/// The maximum length of a call's arguments in a question, in characters.
const MAX_ARGUMENTS: usize = 100;

/// The reason why nobody reads the next question of a call.
const TOO_MANY: &str = "the call has asked as many questions as it may";

/// A question of a server: a text, and the schema of the answer.
pub struct RemoteQuestion {
    message: String,
    schema: Value,
}

impl RemoteQuestion {
    /// Reads the question from its parameters.
    ///
    /// Fails when it has more than `most` bytes, no text or no schema, or is a request to open a web page. The client does not offer that,
    /// because it does not trust the server.
    pub fn read(params: &Value, most: usize) -> Result<Self, ErrorData> {
        let refuse = |reason: &str| Err(ErrorData::invalid_params(reason.to_owned(), None));
        if params.to_string().len() > most {
            return refuse(&format!("a question has at most {most} bytes"));
        }
        if params.get("mode").is_some_and(|mode| !mode.is_null() && mode != "form") {
            return refuse("this client supports only the mode `form`");
        }
        let Some(message) = params["message"].as_str() else { return refuse("`message` is not a text") };
        let mut schema = params["requestedSchema"].clone();
        if !schema.is_object() {
            return refuse("`requestedSchema` is not an object");
        }
        // An answer that nothing can check would never be accepted.
        remove_invalid_keywords(&mut schema);
        if let Err(error) = CompiledSchema::compile(&schema) {
            return refuse(&format!("`requestedSchema` is not a schema: {error}"));
        }
        Ok(Self { message: message.to_owned(), schema })
    }

    /// Asks the person behind a call. `during` names the calls, if the question may belong to another.
    ///
    /// Fails when nobody could be asked.
    pub async fn put_to(&self, server: &str, cx: &Context, during: &str) -> Result<ElicitResult, Failure> {
        let text = format!("The MCP server `{}` asks{during}: {}", one_line(server), escape(&self.message));
        Ok(match cx.ask_question(Question::ask(text, self.schema.clone())).await? {
            QuestionAnswer::Given(value) => ElicitResult::new(ElicitationAction::Accept).with_content(value),
            denied @ QuestionAnswer::Denied(_) => ElicitResult::new(action_of(&denied).map_err(Failure::new)?),
            QuestionAnswer::Approved => return Err(Failure::new("the answer has no value")),
        })
    }
}

/// The running calls of a server, in the order in which they began.
#[derive(Default)]
pub struct RunningCalls {
    calls: Mutex<Vec<RunningCall>>,
    /// The lock of a request that is being sent, because a question may come before its call is registered.
    starting: AsyncMutex<()>,
    /// The lock of the question that a person is asked.
    asking: AsyncMutex<()>,
}

struct RunningCall {
    request: RequestId,
    token: ProgressToken,
    cx: Context,
    /// The tool's name and arguments, for a person.
    shown: String,
    /// The number of questions that were put to its person.
    asked: usize,
    /// The number of open questions that may be its own.
    open: watch::Sender<usize>,
}

impl RunningCalls {
    /// Sends the request of a call by `send`, and registers the call under the ids that `send` returns with its result. Also
    /// returns the call's limit of time.
    pub async fn start<T, E>(
        &self,
        cx: &Context,
        name: &str,
        arguments: &str,
        send: impl Future<Output = Result<(T, RequestId, ProgressToken), E>>,
    ) -> Result<(T, TimeLimit), E> {
        let starting = self.starting.lock().await;
        let (sent, request, token) = send.await?;
        let (open, questions) = watch::channel(0);
        let arguments: String = arguments.chars().take(MAX_ARGUMENTS).collect();
        let shown = format!("`{}` {}", one_line(name), one_line(&arguments));
        lock(&self.calls).push(RunningCall { request, token, cx: cx.clone(), shown, asked: 0, open });
        drop(starting);
        Ok((sent, TimeLimit(questions)))
    }

    /// Removes a call that has ended.
    pub fn end(&self, token: &ProgressToken) {
        lock(&self.calls).retain(|call| call.token != *token);
    }

    pub fn context(&self, token: &ProgressToken) -> Option<Context> {
        lock(&self.calls).iter().find(|call| call.token == *token).map(|call| call.cx.clone())
    }

    /// Puts a server's question to the person behind the call that asks it, after the questions that came before. A call asks at
    /// most `most` questions. If several calls may have asked and the chosen one ends, it was another's question.
    ///
    /// Fails when nobody could be asked. A person who has not seen the question has not declined it.
    pub async fn ask(
        &self,
        server: &str,
        most: usize,
        question: RemoteQuestion,
        context: &RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let nobody = |reason: &str| ErrorData::internal_error(format!("nobody was asked: {reason}"), None);
        drop(self.starting.lock().await);
        let open = self.open_question(most, context.extensions.get()).map_err(nobody)?;
        let ask = async {
            let _turn = self.asking.lock().await;
            loop {
                let ChosenCall { cx, during, mut open } = open.choose_call(most).map_err(nobody)?;
                let ended = async { while open.changed().await.is_ok() {} };
                let answered = tokio::select! {
                    biased;
                    () = ended => continue,
                    answered = question.put_to(server, &cx, &during) => answered,
                };
                match answered {
                    // The run has ended the call, and its task ends.
                    Err(_) if cx.cancellation().is_cancelled() || open.has_changed().is_err() => {}
                    answered => return answered.map_err(|failure| nobody(failure.for_model())),
                }
            }
        };
        tokio::select! {
            answered = ask => answered,
            () = context.ct.cancelled() => Err(nobody("the server has withdrawn the question")),
        }
    }

    /// Finds the calls that may have asked a question, which came on the stream of `origin`.
    ///
    /// Fails when no call runs, calls of several people do, or too many of their questions are open.
    fn open_question(
        &self,
        most: usize,
        origin: Option<&InboundStreamOrigin>,
    ) -> Result<OpenQuestion<'_>, &'static str> {
        let calls = lock(&self.calls);
        let named = match origin {
            Some(InboundStreamOrigin::OutboundRequest(request)) => calls.iter().find(|call| call.request == *request),
            _ => None,
        };
        let possible: Vec<&RunningCall> = named.map_or_else(|| calls.iter().collect(), |call| vec![call]);
        let Some(first) = possible.first() else { return Err("no call is running") };
        if possible.iter().any(|call| call.cx.principal() != first.cx.principal()) {
            return Err("calls of several people are running, and the question does not name its call");
        }
        if possible.iter().any(|call| *call.open.borrow() >= most.saturating_mul(possible.len())) {
            return Err(TOO_MANY);
        }
        for call in &possible {
            call.open.send_modify(|open| *open += 1);
        }
        Ok(OpenQuestion { running: self, calls: possible.into_iter().map(|call| call.token.clone()).collect() })
    }
}

/// The call whose person to ask.
struct ChosenCall {
    cx: Context,
    /// The words that name the calls, if several may have asked.
    during: String,
    /// Closed once the call has ended.
    open: watch::Receiver<usize>,
}

/// A question without an answer. Until it is dropped, the time of the calls that may have asked it stands still.
struct OpenQuestion<'a> {
    running: &'a RunningCalls,
    calls: Vec<ProgressToken>,
}

impl OpenQuestion<'_> {
    /// Returns the call whose person to ask. Of several that may have asked, it is the first one with the fewest questions, because
    /// many servers handle calls in order.
    ///
    /// Fails when all have ended, or have asked `most` questions.
    fn choose_call(&self, most: usize) -> Result<ChosenCall, &'static str> {
        let mut calls = lock(&self.running.calls);
        let is_possible =
            |call: &RunningCall| self.calls.contains(&call.token) && !call.cx.cancellation().is_cancelled();
        let mut possible: Vec<&mut RunningCall> = calls.iter_mut().filter(|call| is_possible(call)).collect();
        let during = match &possible[..] {
            [_] => String::new(),
            several => {
                let shown: Vec<&str> = several.iter().map(|call| call.shown.as_str()).collect();
                format!(" during one of these calls, {}", shown.join(", "))
            }
        };
        let chosen = possible.iter_mut().min_by_key(|call| call.asked).ok_or("the call has ended")?;
        if chosen.asked >= most {
            return Err(TOO_MANY);
        }
        chosen.asked += 1;
        Ok(ChosenCall { cx: chosen.cx.clone(), during, open: chosen.open.subscribe() })
    }
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        for call in lock(&self.running.calls).iter().filter(|call| self.calls.contains(&call.token)) {
            call.open.send_modify(|open| *open -= 1);
        }
    }
}

/// The limit of a call's time, which stands still while a question that may be the call's is open.
pub struct TimeLimit(watch::Receiver<usize>);

impl TimeLimit {
    /// Waits until `limit` is over. Waits forever once the call has ended.
    pub async fn wait(mut self, limit: Duration) {
        let mut left = limit;
        loop {
            if self.0.wait_for(|open| *open == 0).await.is_err() {
                return std::future::pending().await;
            }
            let since = Instant::now();
            tokio::select! {
                () = tokio::time::sleep(left) => return,
                _ = self.0.wait_for(|open| *open > 0) => left = left.saturating_sub(since.elapsed()),
            }
        }
    }
}
