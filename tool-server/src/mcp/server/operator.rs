//! The client of a call, as observer and operator of its run: it gets progress, and is asked where its revision has a way to ask.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use futures_util::future::BoxFuture;
use rmcp::{
    model::{ElicitRequest, InputRequest, NotificationMetaObject, ProgressNotificationParam, ProgressToken},
    task_manager::TaskContext,
};
use serde_json::Value;
use tokio::sync::Notify;
use tool_run::run::Shown;
use tool_runtime::{
    Rejection, ToolSpec,
    agent::{ApprovalRequest, Event, ExternalCall, Observer, Operator, QuestionRequest},
    feedback::Problem,
    run::{Decision, InterruptKind},
    tool::Progress,
};

use super::{caller::Caller, form::Form};

/// How much progress may wait to be sent; more is left out, for a client that does not read must not slow a tool down.
const MOST_WAITING: usize = 64;

/// How somebody at the client can be asked.
pub enum Asking {
    /// By a request of ours, while the call waits; or by the result, when the run is suspended; or not at all.
    Here(Arc<Caller>),
    /// In the state of a task, where the client finds it.
    ByTask(TaskContext),
    /// Not at all.
    Never,
}

/// Why a call was denied that needed somebody.
const NOBODY: &str = "somebody would have to decide, and this client cannot ask anybody: it supports no elicitation";

/// Why a call was denied about which a form of the client can say nothing.
pub const NO_FORM: &str = "somebody would have to decide, and a form of the client cannot carry the question";

/// The client of one call.
pub struct CallOperator {
    asking: Asking,
    asked: AtomicU32,
    asked_in_vain: AtomicBool,
    progress: Option<Reports>,
}

impl CallOperator {
    /// Returns the front of a call whose progress goes to `token`.
    pub fn new(asking: Asking, token: Option<ProgressToken>) -> Self {
        let (asked, asked_in_vain) = (AtomicU32::new(0), AtomicBool::new(false));
        Self { asking, asked, asked_in_vain, progress: token.map(Reports::new) }
    }

    /// Returns `true` if the call needed a person whom this client cannot ask.
    pub fn asked_in_vain(&self) -> bool {
        self.asked_in_vain.load(Ordering::Relaxed)
    }

    /// Returns the progress of the call, where the client wants it.
    pub fn progress(&self) -> Option<&Reports> {
        self.progress.as_ref()
    }

    /// Asks with a form. Where no form can carry the question, it denies.
    async fn ask(&self, form: Option<Form>) -> Decision {
        let Some(Form { params, wants, key }) = form else { return Decision::deny(NO_FORM) };
        let answered = match &self.asking {
            Asking::Here(caller) if caller.asks() && !caller.is_modern() => {
                caller.peer().create_elicitation(params).await.map_err(|error| error.to_string())
            }
            Asking::ByTask(task) => {
                // A key is used once in the life of a task.
                let number = self.asked.fetch_add(1, Ordering::Relaxed);
                let key = if number == 0 { key } else { format!("{key}_{number}") };
                match task.request_input(key, InputRequest::Elicitation(ElicitRequest::new(params))).await {
                    Ok(value) => serde_json::from_value(value).map_err(|error| error.to_string()),
                    Err(_) => Err("the task was called off".to_owned()),
                }
            }
            Asking::Here(_) | Asking::Never => {
                self.asked_in_vain.store(true, Ordering::Relaxed);
                return Decision::deny(NOBODY);
            }
        };
        match answered {
            Ok(result) => wants.decision(result).unwrap_or_else(Decision::deny),
            Err(error) => Decision::deny(format!("the client could not ask: {error}")),
        }
    }
}

impl Observer for CallOperator {
    fn event(&self, event: Event<'_>) {
        let Event::CallProgress(progress) = event else { return };
        if let Some(reports) = &self.progress {
            reports.report(progress);
        }
        if let (Asking::ByTask(task), Some(message)) = (&self.asking, &progress.message) {
            task.set_status_message(message);
        }
    }
}

impl Operator for CallOperator {
    fn attends(&self) -> bool {
        !matches!(&self.asking, Asking::Here(caller) if caller.asks_by_result())
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        let open = &request.interrupt;
        Box::pin(self.ask(Form::of(&open.kind, &open.shown, None, request.feedback.as_ref())))
    }

    fn execute<'a>(&'a self, call: &'a ExternalCall) -> BoxFuture<'a, Option<String>> {
        let form = shown(&call.spec, &call.arguments).and_then(|shown| {
            let output = output(&call.spec);
            Form::of(&InterruptKind::External, &shown, output.as_ref(), call.feedback.as_ref())
        });
        Box::pin(async move {
            match self.ask(form).await {
                Decision::Respond { output } => Some(output.to_string()),
                _ => None,
            }
        })
    }

    fn answer<'a>(&'a self, request: &'a QuestionRequest) -> BoxFuture<'a, Decision> {
        let kind = InterruptKind::Answer { question: request.question.clone() };
        let form = shown(&request.spec, &Value::Object(serde_json::Map::new()))
            .and_then(|shown| Form::of(&kind, &shown, None, request.feedback.as_ref()));
        Box::pin(self.ask(form))
    }

    fn reconcile<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        self.approve(request)
    }
}

fn shown(spec: &ToolSpec, arguments: &Value) -> Option<Shown> {
    Shown::new(spec, &arguments.to_string(), &[]).ok()
}

/// Returns the schema of the tool's output.
pub fn output(spec: &ToolSpec) -> Option<Value> {
    Some(spec.output.as_ref()?.neutral().clone())
}

/// The progress of a call on its way to the client. Most calls have none, so it takes no memory before there is some, as a
/// channel does.
pub struct Reports {
    token: ProgressToken,
    queue: Mutex<Queue>,
    more: Notify,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<ProgressNotificationParam>,
    last: Option<f64>,
}

impl Reports {
    fn new(token: ProgressToken) -> Self {
        Self { token, queue: Mutex::default(), more: Notify::new() }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn take(&self) -> Option<ProgressNotificationParam> {
        self.queue().waiting.pop_front()
    }

    /// Waits for the next.
    pub async fn next(&self) -> ProgressNotificationParam {
        loop {
            match self.take() {
                Some(report) => return report,
                None => self.more.notified().await,
            }
        }
    }

    fn report(&self, progress: &Progress) {
        let mut queue = self.queue();
        if queue.waiting.len() >= MOST_WAITING {
            return;
        }
        // It has to grow with every message, whatever the tool says.
        let done = match (queue.last, progress.total) {
            (Some(last), _) if progress.done > last => progress.done,
            (Some(last), Some(_)) => last.next_up(),
            (Some(last), None) => last + 1.0,
            (None, _) => progress.done,
        };
        let mut param = ProgressNotificationParam::new(self.token.clone(), done);
        param.total = progress.total;
        param.message = progress.message.clone().or_else(|| Some(progress.preliminary.as_ref()?.to_string()));
        if let Some(output) = &progress.preliminary {
            let mut meta = NotificationMetaObject::new();
            meta.insert("tool-runtime/preliminary".to_owned(), output.clone());
            param.meta = Some(meta);
        }
        queue.waiting.push_back(param);
        queue.last = Some(done);
        self.more.notify_one();
    }
}

/// Returns the problem of a form, for the form that follows it.
pub fn wrong(reason: String) -> Rejection {
    Rejection::one(Problem::new("", tool_runtime::feedback::ProblemKind::Invalid, reason))
}
