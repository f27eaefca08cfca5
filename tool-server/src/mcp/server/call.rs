//! A `tools/call` request: it begins a run, or continues one with the client's responses, and reports progress and the result.

use std::{collections::BTreeMap, convert::Infallible, future::pending, pin::pin, sync::Arc};

use rmcp::{
    ErrorData,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock, ElicitRequest,
        ElicitResult, InputRequest, InputRequiredResult, MetaObject, ProgressNotificationParam, Resource,
        ResourceContents,
    },
};
use serde_json::Value;
use tokio::sync::mpsc::Receiver;
use tool_runtime::{
    Agent, AgentError, Cancellation, Part, Rejection,
    agent::Session,
    message::{self, MediaKind, SourceRef},
    run::{CallResult, Decision, Interrupt, InterruptId, Principal, Refusal, Run, RunId},
};
use tool_stores::sealed::SealError;

use super::{
    Shared,
    caller::RequestClient,
    list::ListedTool,
    operator::{AskVia, CallOperator, Form, NO_FORM, form_rejection, output_schema},
    reading::GivenCall,
    tasks::{self, TaskSupport},
};
use crate::{
    failures::report_error,
    host::{SingleUse, has_name, now},
    mcp::LogLevel,
};

/// Makes a call while its client waits for the result, or begins it as a task.
pub async fn call(
    shared: &Arc<Shared>,
    request: GivenCall,
    caller: Arc<RequestClient>,
    level: LogLevel,
) -> Result<CallToolResponse, ErrorData> {
    let (caller, name) = (&caller, &request.params.name);
    let offer = shared.offer_for(caller.authenticated()).await?;
    let Some(listed) = offer.get(name) else {
        return Err(ErrorData::invalid_params(format!("there is no tool called `{name}`"), None));
    };
    let support = shared.tasks.support(offer.agent.toolset(), name);
    if support != TaskSupport::Forbidden {
        match (support, caller.capabilities().supports_tasks()) {
            (_, true) => return tasks::begin_task(shared, offer, request, caller, level),
            (TaskSupport::Required, false) => {
                let required = ClientCapabilities::builder().enable_tasks().build();
                return Err(ErrorData::missing_required_client_capability(required));
            }
            (TaskSupport::Forbidden | TaskSupport::Optional, false) => {}
        }
    }
    let (operator, mut reports) = CallOperator::new(AskVia::Caller(Arc::clone(caller)), caller.progress_token());
    let operator = Arc::new(operator);
    let gone = Cancellation::new();
    let is_unfinished = request.params.request_state.is_some();
    // A request that continues a call has decisions. A client that leaves must not end the call between a decision and the work.
    let cancellation = if is_unfinished { Cancellation::new() } else { gone.clone() };
    let agent = offer.agent.clone().edit_context(|cx| caller.represent(cx, &cancellation, level));
    let Some(_permit) = shared.calls.acquire(agent.owner(), shared.max_calls) else {
        let limit = shared.max_calls;
        let text = format!("at most {limit} calls of one caller run at a time; try again when one has ended");
        return Err(ErrorData::internal_error(text, None));
    };
    let gone_from = is_unfinished.then_some(&gone);
    let exchange = Exchange::new(shared, agent, &operator, listed, Some(caller), gone_from);
    let mut work = pin!(exchange.run(request));
    let mut is_cancelled = false;
    // A client that does not read must not block the tool.
    let mut sending = None;
    let done = loop {
        tokio::select! {
            biased;
            () = caller.gone().cancelled(), if !is_cancelled => {
                // The run is cancelled, not dropped, so that its log contains the end of the call.
                is_cancelled = true;
                gone.cancel();
            }
            report = next_report(&mut reports), if sending.is_none() => sending = Some(Box::pin(caller.peer().notify_progress(report))),
            () = wait_until_sent(&mut sending) => sending = None,
            done = &mut work => break done,
        }
    };
    // Progress must be sent before the result.
    if let Some(sending) = sending {
        let _ = sending.await;
    }
    while let Some(report) = reports.as_mut().and_then(|reports| reports.try_recv().ok()) {
        // Boxed, because each call would be larger by this future, also one without progress.
        let _ = Box::pin(caller.peer().notify_progress(report)).await;
    }
    match done {
        // The revision 2026-07-28 has an error that names the missing capability. In earlier revisions, the model reads a text.
        Ok(CallToolResponse::Complete(result))
            if caller.is_modern() && result.is_error == Some(true) && operator.needed_elicitation() =>
        {
            let required = ClientCapabilities::builder().enable_elicitation().build();
            let mut error = ErrorData::missing_required_client_capability(required);
            let texts = result.content.iter().filter_map(|block| Some(block.as_text()?.text.as_str()));
            error.message = texts.collect::<Vec<_>>().join("\n").into();
            Err(error)
        }
        done => done,
    }
}

/// Waits until the pending message is sent. Waits forever if there is none.
async fn wait_until_sent<T>(sending: &mut Option<impl Future<Output = T> + Unpin>) {
    match sending {
        Some(sending) => drop(sending.await),
        None => pending().await,
    }
}

/// Waits for the next progress of a call. Waits forever if the client wants none.
async fn next_report(reports: &mut Option<Receiver<ProgressNotificationParam>>) -> ProgressNotificationParam {
    if let Some(reports) = reports
        && let Some(report) = reports.recv().await
    {
        return report;
    }
    pending().await
}

/// The handling of one request of a call.
pub struct Exchange<'a> {
    shared: &'a Shared,
    /// The agent that acts on behalf of the client.
    agent: Agent,
    tool: &'a ListedTool,
    /// The client that waits for the result. `None` for a task.
    caller: Option<&'a RequestClient>,
    /// The signal that the client of a continued call has left. Approved calls still run to their end.
    gone: Option<&'a Cancellation>,
}

/// The rejections of the client's responses, by interrupt.
type Rejections = BTreeMap<InterruptId, Rejection>;

impl Exchange<'_> {
    pub fn new<'a>(
        shared: &'a Shared,
        agent: Agent,
        operator: &Arc<CallOperator>,
        tool: &'a ListedTool,
        caller: Option<&'a RequestClient>,
        gone: Option<&'a Cancellation>,
    ) -> Exchange<'a> {
        let agent = agent.observer(Arc::clone(operator)).operator(Arc::clone(operator));
        Exchange { shared, agent, tool, caller, gone }
    }

    /// Makes the call, or continues it.
    pub async fn run(&self, request: GivenCall) -> Result<CallToolResponse, ErrorData> {
        let GivenCall { params: mut request, arguments } = request;
        let arguments = self.tool.arguments(arguments);
        // Boxed, because driving a run needs a large future, which would otherwise be part of the future of every call.
        if let Some(state) = request.request_state.take() {
            return Box::pin(self.continue_call(&state, &arguments, request)).await;
        }
        let mut session = self.agent.session_with_id(new_run_id(&self.agent.owner()), Vec::new());
        let call = session.call(request.name, arguments).await.map_err(run_error)?;
        match call.result() {
            Some(result) => Ok(self.result(call.for_model().unwrap_or_default(), result).into()),
            None => Box::pin(self.settle(session, Rejections::new(), None)).await,
        }
    }

    /// Continues the call that is sealed in `state`, with the client's responses.
    async fn continue_call(
        &self,
        state: &str,
        arguments: &str,
        request: CallToolRequestParams,
    ) -> Result<CallToolResponse, ErrorData> {
        let CallToolRequestParams { name, input_responses, .. } = request;
        let Unfinished { mut session, asked, single_use } = self.open(state, &name, arguments).await?;
        let rejections =
            self.submit_decisions(&mut session, &asked, &single_use, input_responses.unwrap_or_default()).await?;
        let spent = single_use.before_next_effect(&mut session, None);
        let done = self.drive(&mut session).await;
        single_use.settle(session.run()).await;
        spent.await.map_err(|_| run_error(AgentError::Cancelled))?.map_err(seal_error)?;
        done?;
        self.settle(session, rejections, Some(&single_use)).await
    }

    /// Drives the run. If the client leaves, the run ends only after approved calls have ended.
    async fn drive(&self, session: &mut Session) -> Result<(), ErrorData> {
        let handle = session.handle();
        let client_leaves = async {
            match self.gone {
                Some(gone) => gone.cancelled().await,
                None => pending().await,
            }
            handle.client_left();
            pending::<Infallible>().await
        };
        tokio::select! {
            biased;
            never = client_leaves => match never {},
            done = session.resume() => done.map(drop).map_err(run_error),
        }
    }

    /// Returns the result when the call has ended, or a request for input that the client can provide. Denies interrupts that
    /// no form can carry, and drives the run again.
    async fn settle(
        &self,
        mut session: Session,
        mut rejections: Rejections,
        single_use: Option<&SingleUse>,
    ) -> Result<CallToolResponse, ErrorData> {
        loop {
            let Some(call) = session.run().calls().first() else {
                return Err(ErrorData::internal_error("the call was not made", None));
            };
            if let Some(result) = call.result() {
                if let Some(single_use) = single_use {
                    single_use.spend().await.map_err(seal_error)?;
                }
                let parts = call.for_model().unwrap_or_default();
                return Ok(self.result(parts, result).into());
            }
            let (forms, impossible) = self.forms(&session, &rejections);
            if impossible.is_empty() {
                return self.ask_for_input(&session, forms, single_use);
            }
            for id in impossible {
                session.decide(&id, Decision::deny_undecided(NO_FORM), self.agent.owner()).await.map_err(run_error)?;
            }
            rejections.clear();
            self.drive(&mut session).await?;
        }
    }

    /// Opens the sealed run that the client sent.
    async fn open(&self, state: &str, name: &str, arguments: &str) -> Result<Unfinished, ErrorData> {
        let agent = &self.agent;
        let (run, opening) = self.shared.sealer.peek(state, &agent.owner(), now()).map_err(seal_error)?;
        if !belongs_to_call(&run, name, arguments) {
            return Err(unusable_state("it is of another call"));
        }
        if !has_name(agent, run.made_by().unwrap_or_default()) {
            return Err(unusable_state("it is of another application"));
        }
        let single_use = SingleUse::new(&self.shared.sealer, opening, &run);
        let asked = run.interrupts().map(|open| open.id.clone()).collect();
        let session = if agent.is_stored() {
            agent.open(run.id()).await.map_err(|error| load_error("the run of a call cannot be loaded", error))?
        } else {
            agent.session_from_run(run)
        };
        Ok(Unfinished { session, asked, single_use })
    }

    /// Submits the decisions in the client's responses. Returns the rejections of invalid responses. Their interrupts stay
    /// open, and the next result asks about them again.
    async fn submit_decisions(
        &self,
        session: &mut Session,
        asked: &[InterruptId],
        single_use: &SingleUse,
        mut responses: BTreeMap<String, Value>,
    ) -> Result<Rejections, ErrorData> {
        let principal = self.agent.owner();
        let still_open = session.interrupts().filter(|open| asked.contains(&open.id));
        let forms: Vec<(InterruptId, Form)> =
            still_open.filter_map(|open| Some((open.id.clone(), self.form(open, None)?))).collect();
        let mut rejections = Rejections::new();
        for (id, Form { kind, key, .. }) in forms {
            let Some(response) = responses.remove(&key) else { continue };
            let result: ElicitResult = serde_json::from_value(response).map_err(|error| {
                ErrorData::invalid_params(format!("the response to `{key}` is not an ElicitResult: {error}"), None)
            })?;
            let decision = match kind.read_decision(result) {
                Ok(decision) => decision,
                Err(reason) => {
                    rejections.insert(id, form_rejection(reason));
                    continue;
                }
            };
            match session.decide(&id, decision.clone(), principal.clone()).await {
                Ok(()) => single_use.note_decision(&decision),
                Err(AgentError::Refused(Refusal::Invalid { feedback })) => drop(rejections.insert(id, feedback)),
                Err(AgentError::Refused(refusal)) => {
                    return Err(ErrorData::invalid_params(format!("the response to `{key}`: {refusal}"), None));
                }
                Err(error) => return Err(run_error(error)),
            }
        }
        Ok(rejections)
    }

    /// Returns the forms for the run's owner, and the interrupts that no form can carry.
    fn forms(&self, session: &Session, rejections: &Rejections) -> (Vec<Form>, Vec<InterruptId>) {
        let run = session.run();
        let (mut forms, mut impossible) = (Vec::new(), Vec::new());
        for open in run.interrupts().filter(|open| run.may_decide(open, run.owner())) {
            match self.form(open, rejections.get(&open.id)) {
                Some(form) => forms.push(form),
                None => impossible.push(open.id.clone()),
            }
        }
        (forms, impossible)
    }

    fn form(&self, open: &Interrupt, feedback: Option<&Rejection>) -> Option<Form> {
        let tool = self.agent.toolset().get(&self.tool.definition.name)?;
        Form::of(&open.kind, &open.shown, output_schema(tool.spec()).as_ref(), feedback)
    }

    /// Returns the result that asks the client for input, or an error result if the client cannot provide it.
    fn ask_for_input(
        &self,
        session: &Session,
        forms: Vec<Form>,
        single_use: Option<&SingleUse>,
    ) -> Result<CallToolResponse, ErrorData> {
        if forms.is_empty() || !self.caller.is_some_and(RequestClient::accepts_input_requests) {
            // The call waits for another person.
            let place = if self.agent.is_stored() { "; it goes on when they decide" } else { ", and did not run" };
            return Ok(error_result(format!("the call waits for somebody who is not at this client{place}")).into());
        }
        let (run, principal) = (session.run(), self.agent.owner());
        let state = match single_use {
            Some(single_use) => single_use.seal(run, &principal),
            None => self.shared.sealer.seal(run, &principal, now()),
        };
        let state = state.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let request = |form: Form| (form.key, InputRequest::Elicitation(ElicitRequest::new(form.params)));
        let requests = forms.into_iter().map(request).collect();
        Ok(InputRequiredResult::new(Some(requests), Some(state)).into())
    }

    /// Returns the result of a call that has ended, with the `parts` for a model. If the client knows an output schema,
    /// structured content fits it.
    fn result(&self, parts: Vec<Part>, result: &CallResult) -> CallToolResult {
        let is_modern = self.caller.is_none_or(RequestClient::is_modern);
        let has_schema = self.tool.has_output_schema(is_modern);
        let content: Vec<ContentBlock> = parts.into_iter().map(content_block).collect();
        if !result.is_success() {
            let mut ended = CallToolResult::error(content);
            match result.rejection().map(Rejection::to_json) {
                Some(feedback) if has_schema => {
                    let mut meta = MetaObject::new();
                    meta.insert(FEEDBACK.to_owned(), feedback);
                    ended.meta = Some(meta);
                }
                feedback => ended.structured_content = feedback,
            }
            return ended;
        }
        let mut ended = CallToolResult::success(content);
        if has_schema {
            let json = result.output().and_then(|output| output.as_json());
            ended.structured_content = json.and_then(|json| serde_json::from_str(json).ok());
        }
        ended
    }
}

/// The beginning of the ids of the runs that hold a client's call.
const RUN_PREFIX: &str = "mcp:";

/// Returns the id of a run of a call by `owner`.
fn new_run_id(owner: &Principal) -> String {
    format!("{RUN_PREFIX}{}:{owner}", uuid::Uuid::new_v4().hyphenated())
}

/// Returns the owner of the run if it holds a client's call, and not a chat or another run in the same store. Ids of earlier
/// versions name no owner; they are as of one.
pub fn owner_of_call(run: &RunId) -> Option<Principal> {
    let id = run.as_str().strip_prefix(RUN_PREFIX)?;
    Some(id.split_once(':').map_or("", |(_, owner)| owner).into())
}

/// An unfinished call to continue.
struct Unfinished {
    session: Session,
    /// The interrupts that the client was asked about. With a store, others may have decided them meanwhile.
    asked: Vec<InterruptId>,
    single_use: Arc<SingleUse>,
}

/// Returns the error for a state that cannot be opened. It hides details of the nonce store.
fn seal_error(error: SealError) -> ErrorData {
    match error {
        SealError::Store(error) => load_error("the sealed run of a call cannot be opened", error.into()),
        error => unusable_state(error),
    }
}

fn unusable_state(reason: impl std::fmt::Display) -> ErrorData {
    ErrorData::invalid_params(format!("the requestState cannot be used: {reason}"), None)
}

/// Returns whether `run` belongs to this call. An approval of one call must not be used for another.
fn belongs_to_call(run: &Run, name: &str, arguments: &str) -> bool {
    let Some(call) = run.calls().first() else { return false };
    let given = call.revisions().first().unwrap_or(call.arguments());
    let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
    call.name == name && parse(&given.text).is_some_and(|given| parse(arguments) == Some(given))
}

/// Returns the error for a run that cannot be loaded, and reports it: no driver of the run does.
fn load_error(what: &str, error: AgentError) -> ErrorData {
    report_error(what, &error);
    run_error(error)
}

/// Returns the error for a run that cannot go on. It hides details of the server.
fn run_error(error: AgentError) -> ErrorData {
    match error {
        AgentError::Cancelled => ErrorData::internal_error("the call was cancelled", None),
        AgentError::Refused(refusal) => ErrorData::invalid_request(refusal.to_string(), None),
        _ => ErrorData::internal_error("the server could not run the call", None),
    }
}

/// The metadata key of feedback for clients that know an output schema, because feedback does not fit the schema.
const FEEDBACK: &str = "tool-runtime/feedback";

/// Returns the error result of a call that cannot be finished at this client.
fn error_result(text: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// Returns a part as content. Media by its address is a link, and a document with bytes is an embedded resource.
fn content_block(part: Part) -> ContentBlock {
    if let Part::Resource { uri, media_type: mime_type, contents } = part {
        return ContentBlock::resource(match contents {
            message::ResourceContents::Text(text) => {
                ResourceContents::TextResourceContents { uri, mime_type, text, meta: None }
            }
            message::ResourceContents::Base64(blob) => {
                ResourceContents::BlobResourceContents { uri, mime_type, blob, meta: None }
            }
        });
    }
    let Some(media) = part.as_media() else { return ContentBlock::text(part.as_text().unwrap_or_default()) };
    let media_type = media.media_type.unwrap_or("application/octet-stream");
    match (media.source, media.kind) {
        (SourceRef::Base64(data), MediaKind::Image) => ContentBlock::image(data, media_type),
        (SourceRef::Base64(data), MediaKind::Audio) => ContentBlock::audio(data, media_type),
        (SourceRef::Base64(data), MediaKind::Document) => {
            ContentBlock::resource(ResourceContents::BlobResourceContents {
                uri: format!("attachment:{}", media.name.unwrap_or("document")),
                mime_type: Some(media_type.to_owned()),
                blob: data.to_owned(),
                meta: None,
            })
        }
        (SourceRef::Url(url), _) => {
            let mut link = Resource::new(url, media.name.unwrap_or(url));
            link.mime_type = media.media_type.map(str::to_owned);
            ContentBlock::resource_link(link)
        }
        _ => ContentBlock::text(part.in_words()),
    }
}
