//! The AG-UI endpoint.

mod decide;
mod echo;
mod options;
mod tools;

use std::sync::Arc;

use crate::protocol::ag_ui::{Base, Frontend, Message, Plan, RunInput, Writer};
use axum::{
    Router,
    extract::{Path, Request, State},
    http::{StatusCode, request::Parts},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use tool_runtime::{agent::Session, run::Principal};

use crate::host::{ApiError, Chat, OnLeave, Protocol, Shared, Work, aside, owned, retire};
pub use options::AgUi;
use tools::Tools;

pub(crate) fn routes(options: AgUi) -> Router<Arc<Shared>> {
    let path = options.path.clone();
    let options = Arc::new(options);
    let again = format!("{}/{{thread}}/stream", path.trim_end_matches('/'));
    let run = move |State(shared): State<Arc<Shared>>, request: Request| run(shared, Arc::clone(&options), request);
    Router::new().route(&path, post(run)).route(&again, get(replay))
}

/// The events of the run that is under way in a thread, from its beginning.
async fn replay(
    State(shared): State<Arc<Shared>>,
    Path(thread): Path<String>,
    parts: Parts,
) -> Result<Response, ApiError> {
    let replay = shared.replay(Protocol::AgUi, &parts, &thread).await?;
    Ok(replay.unwrap_or_else(|| StatusCode::NO_CONTENT.into_response()))
}

/// Takes a request to run, and streams what comes of it.
async fn run(shared: Arc<Shared>, options: Arc<AgUi>, request: Request) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let principal = shared.principal(&parts).await?;
    let body = shared.body(Request::from_parts(parts, body)).await?;
    let bytes = body.len();
    let read = aside(bytes, move || RunInput::read(&body)).await?;
    let mut input = read.map_err(|malformed| ApiError::bad_request(malformed.to_string()))?;
    let sealed = input.sealed.take();
    let chat = Chat::enter(&shared, Protocol::AgUi, principal.clone(), &input.thread_id).await?;
    owned(Box::pin(answer(chat, options, principal, input, sealed, bytes))).await
}

/// Answers a request of so many `bytes`.
async fn answer(
    mut chat: Chat,
    options: Arc<AgUi>,
    principal: Principal,
    input: RunInput,
    sealed: Option<String>,
    bytes: usize,
) -> Result<Response, ApiError> {
    let frontend = Frontend::new(input);
    let input = frontend.input();
    let (agent, asking, check) = (chat.agent().clone(), frontend.clone(), options.check);
    let tools = aside(bytes, move || Tools::new(&agent, asking.input(), check)).await??;
    let answers = !input.resume.is_empty() || matches!(input.messages.last(), Some(Message::Tool { .. }));
    if answers && let Some(joined) = join(&mut chat, &frontend, &tools, bytes).await? {
        return Ok(joined);
    }
    chat.change_agent(|agent| {
        let agent = agent.tools(tools.all.clone()).with_context(|cx| cx.with(frontend.clone()));
        match options::grounding(input) {
            Some(text) if options.tells_context => agent.more_instructions(text),
            _ => agent,
        }
    });
    let session = chat.take_up(sealed.as_deref(), answers).await?;
    let (mut session, mut plan) = planned(session, &frontend, &tools, bytes).await?;
    if session.is_none() && answers_only(input, &plan) && chat.is_sealed() {
        let message = "the request answers an interrupt, and has no message with the sealed run as its \
                       `encryptedValue`; send the messages as the latest answer changed them";
        return Err(ApiError::conflict(message));
    }
    if let (Some(session), Base::Known) = (&mut session, &plan.base) {
        decide::decide(&mut chat, session, &mut plan, &tools).await?;
    }
    let warnings = [&input.warnings[..], &tools.warnings[..], &plan.warnings[..]].concat();
    let has_decided = !plan.decisions.is_empty();
    if plan.base != Base::Known {
        // What waits in the run is left behind.
        chat.spend().await?;
    }
    let session = match (session, plan.base) {
        (Some(mut session), Base::Branch(prompt)) => {
            retire(&mut session).await?;
            chat.branch(session.run(), prompt).await?
        }
        (_, Base::New(messages)) => chat.create(messages).await?,
        (None, _) => chat.create(Vec::new()).await?,
        (Some(session), Base::Known) => session,
    };
    let work = match plan.prompt {
        Some(said) => Work::Prompt { settle: has_decided, told: true, id: said.id, content: said.content },
        None => Work::Resume,
    };
    let visible = Arc::clone(&options.visible);
    let writer = Writer::new(input, tools.all, principal, uuid::Uuid::new_v4().simple().to_string())
        .client_tools(tools.of_client)
        .visibility(move |spec| visible(spec))
        .hold(chat.agent().is_guarded())
        .model(chat.agent().model_name())
        .frontend(frontend.clone())
        .warnings(warnings);
    frontend.on_change(chat.nudge());
    let on_leave = if (options.detaches)(input) { OnLeave::GoOn } else { OnLeave::Cancel };
    chat.answer(session, work, Box::new(writer), None, on_leave).await
}

/// The answer that is under way, where the request decides about something in it, or is what it answers: a request that was
/// sent twice must not stop what the first one began. `None` for one that says something, too, and does not want the answer
/// before.
async fn join(chat: &mut Chat, frontend: &Frontend, tools: &Tools, bytes: usize) -> Result<Option<Response>, ApiError> {
    let Some(running) = chat.under_way() else { return Ok(None) };
    let Some(session) = chat.open().await? else { return Ok(None) };
    let (Some(mut session), mut plan) = planned(Some(session), frontend, tools, bytes).await? else {
        return Ok(None);
    };
    if plan.prompt.is_some() || plan.base != Base::Known {
        return Ok(None);
    }
    decide::decide(chat, &mut session, &mut plan, tools).await?;
    let own = frontend.input().run_id.clone();
    running.join_as(move |frames| echo::echoed(frames, &own)).map(Some)
}

/// What the server takes of a request of so many `bytes`; the session is given back.
async fn planned(
    session: Option<Session>,
    frontend: &Frontend,
    tools: &Tools,
    bytes: usize,
) -> Result<(Option<Session>, Plan), ApiError> {
    let (frontend, tools) = (frontend.clone(), tools.all.clone());
    let plan = move || {
        let plan = Plan::new(session.as_ref().map(Session::run), frontend.input(), &tools);
        (session, plan)
    };
    aside(bytes, plan).await
}

/// Whether a request has answers to interrupts, and nothing else that a run could begin with.
fn answers_only(input: &RunInput, plan: &Plan) -> bool {
    let is_empty = matches!(&plan.base, Base::New(messages) if messages.is_empty());
    !input.resume.is_empty() && plan.prompt.is_none() && is_empty
}
