//! A call between two messages of its client: a run that begins, or goes on with what the client brings.

use std::{borrow::Cow, collections::BTreeMap, convert::Infallible, future::pending, sync::Arc};

use rmcp::{
    ErrorData,
    model::{
        CallToolRequestParams, CallToolResponse, ElicitRequest, ElicitResult, InputRequest, InputRequiredResult,
        JsonObject,
    },
};
use serde_json::Value;
use tool_runtime::{
    Agent, AgentError, Cancellation, Context, Rejection,
    agent::{Called, Session},
    run::{Decision, Obligation, ObligationId, Refusal, Run},
};
use tool_stores::sealed::SealError;

use super::{
    Shared,
    caller::Caller,
    form::Form,
    front::{CallFront, NO_FORM, output, wrong},
    list::Listed,
    outcome::{refused, told},
};
use crate::{clock::now, once::Once};

/// A call, between two messages of the client.
pub(super) struct Exchange<'a> {
    pub(super) shared: &'a Shared,
    /// The agent that the server has for all callers.
    pub(super) agent: &'a Agent,
    /// On whose behalf it acts now: what becomes of its context.
    pub(super) represent: &'a (dyn Fn(Context) -> Context + Send + Sync),
    pub(super) front: Arc<CallFront>,
    pub(super) listed: &'a Listed,
    /// Whether the client was told of an output schema.
    pub(super) has_schema: bool,
    /// Who waits for the result of the request, and may take one that asks for input.
    pub(super) caller: Option<&'a Caller>,
    /// Ends when nobody waits for an unfinished call any more: what was approved runs all the same.
    pub(super) gone: Option<&'a Cancellation>,
}

/// What a request wants: little of it for a new call, as most are.
pub(super) enum Wanted {
    New {
        name: Cow<'static, str>,
        arguments: String,
    },
    /// With the state that the client was given, and what it brings.
    Unfinished {
        state: String,
        request: Box<CallToolRequestParams>,
    },
}

impl Wanted {
    pub(super) fn of(mut request: CallToolRequestParams) -> Self {
        match request.request_state.take() {
            Some(state) => Self::Unfinished { state, request: Box::new(request) },
            None => {
                let arguments = serde_json::to_string(&request.arguments.unwrap_or_default()).unwrap_or_default();
                Self::New { name: request.name, arguments }
            }
        }
    }
}

/// What was wrong with what the client brought, by the obligation.
type Wrong = BTreeMap<ObligationId, Rejection>;

impl Exchange<'_> {
    /// Makes the call, or goes on with it.
    pub(super) async fn run(&self, wanted: Wanted) -> Result<CallToolResponse, ErrorData> {
        // Boxed: what a run needs while it is driven is large, and lies in the future of every call otherwise.
        match wanted {
            Wanted::New { name, arguments } => {
                let front = Arc::clone(&self.front);
                match self.agent.call_for(self.represent, front, name, arguments).await.map_err(failed)? {
                    Called::Ended(ended) => Ok(told(ended.for_model(), &ended.result, self.has_schema).into()),
                    Called::Waits(session) => Box::pin(self.settled(*session, Wrong::new(), None)).await,
                }
            }
            Wanted::Unfinished { state, request } => Box::pin(self.go_on(&state, *request)).await,
        }
    }

    async fn go_on(&self, state: &str, request: CallToolRequestParams) -> Result<CallToolResponse, ErrorData> {
        let CallToolRequestParams { name, arguments, input_responses, .. } = request;
        let Unfinished { mut session, asked, once } = self.open(state, &name, &arguments.unwrap_or_default()).await?;
        let wrong = self.decide(&mut session, &asked, &once, input_responses.unwrap_or_default()).await?;
        let told = once.commits(&mut session, None);
        let done = self.drive(&mut session).await;
        once.rests(session.run()).await;
        told.await.map_err(|_| failed(AgentError::Cancelled))?.map_err(closed)?;
        done?;
        self.settled(session, wrong, Some(&once)).await
    }

    /// Goes on with the run. A client that has gone ends it only when what was approved has ended.
    async fn drive(&self, session: &mut Session) -> Result<(), ErrorData> {
        let handle = session.handle();
        let left = async {
            match self.gone {
                Some(gone) => gone.cancelled().await,
                None => pending().await,
            }
            handle.leave();
            pending::<Infallible>().await
        };
        tokio::select! {
            biased;
            never = left => match never {},
            done = session.resume() => done.map(drop).map_err(failed),
        }
    }

    /// The agent, for this caller.
    fn agent(&self) -> Agent {
        self.agent.clone().front(Arc::clone(&self.front)).with_context(self.represent)
    }

    /// Waits until the call has ended, or asks for something that somebody at the client can say.
    async fn settled(
        &self,
        mut session: Session,
        mut wrong: Wrong,
        once: Option<&Once>,
    ) -> Result<CallToolResponse, ErrorData> {
        loop {
            let Some(call) = session.run().calls().first() else {
                return Err(ErrorData::internal_error("the call was not made", None));
            };
            if let Some(result) = call.result() {
                if let Some(once) = once {
                    once.spend().await.map_err(closed)?;
                }
                let parts = result.for_model(&call.name, call.may_have_run());
                return Ok(told(parts, result, self.has_schema).into());
            }
            let (forms, impossible) = self.forms(&session, &wrong);
            if impossible.is_empty() {
                return self.suspended(&session, forms, once);
            }
            for id in impossible {
                session.decide(&id, Decision::deny(NO_FORM), self.agent().principal()).await.map_err(failed)?;
            }
            wrong.clear();
            self.drive(&mut session).await?;
        }
    }

    /// The run that the client holds. What it says is a claim until it is unsealed; then it is what we said.
    async fn open(&self, state: &str, name: &str, arguments: &JsonObject) -> Result<Unfinished, ErrorData> {
        let agent = self.agent();
        let (run, opening) = self.shared.sealer.peek(state, &agent.principal(), now()).map_err(closed)?;
        if !is_of(&run, name, arguments) {
            return Err(unusable("it is of another call"));
        }
        let once = Once::new(&self.shared.sealer, opening, &run);
        let asked = run.obligations().map(|open| open.id.clone()).collect();
        let session =
            if agent.is_stored() { agent.open(run.id()).await.map_err(failed)? } else { agent.session_of(run) };
        Ok(Unfinished { session, asked, once })
    }

    /// Decides what the client brings decisions about. What does not fit stays open, and is asked again.
    async fn decide(
        &self,
        session: &mut Session,
        asked: &[ObligationId],
        once: &Once,
        mut responses: BTreeMap<String, Value>,
    ) -> Result<Wrong, ErrorData> {
        let principal = self.agent().principal();
        let still_open = session.obligations().filter(|open| asked.contains(&open.id));
        let forms: Vec<(ObligationId, Form)> =
            still_open.filter_map(|open| Some((open.id.clone(), self.form(open, None)?))).collect();
        let mut unfit = Wrong::new();
        for (id, Form { wants, key, .. }) in forms {
            let Some(response) = responses.remove(&key) else { continue };
            let result: ElicitResult = serde_json::from_value(response).map_err(|error| {
                ErrorData::invalid_params(format!("the response to `{key}` is no ElicitResult: {error}"), None)
            })?;
            let decision = match wants.decision(result) {
                Ok(decision) => decision,
                Err(reason) => {
                    unfit.insert(id, wrong(reason));
                    continue;
                }
            };
            match session.decide(&id, decision.clone(), principal.clone()).await {
                Ok(()) => once.decided(&decision),
                Err(AgentError::Refused(Refusal::Invalid { feedback })) => drop(unfit.insert(id, feedback)),
                Err(AgentError::Refused(refusal)) => {
                    return Err(ErrorData::invalid_params(format!("the response to `{key}`: {refusal}"), None));
                }
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(unfit)
    }

    /// What the owner is to be asked, and what they should be and cannot.
    fn forms(&self, session: &Session, wrong: &Wrong) -> (Vec<Form>, Vec<ObligationId>) {
        let run = session.run();
        let (mut forms, mut impossible) = (Vec::new(), Vec::new());
        for open in run.obligations().filter(|open| run.may_decide(open, run.owner())) {
            match self.form(open, wrong.get(&open.id)) {
                Some(form) => forms.push(form),
                None => impossible.push(open.id.clone()),
            }
        }
        (forms, impossible)
    }

    fn form(&self, open: &Obligation, feedback: Option<&Rejection>) -> Option<Form> {
        let tool = self.agent.toolset().get(&self.listed.tool(true).name)?;
        Form::of(&open.kind, &open.shown, output(tool.spec()).as_ref(), feedback)
    }

    fn suspended(
        &self,
        session: &Session,
        forms: Vec<Form>,
        once: Option<&Once>,
    ) -> Result<CallToolResponse, ErrorData> {
        if forms.is_empty() || !self.caller.is_some_and(Caller::asks_by_result) {
            // It waits for somebody else.
            let place = if self.agent.is_stored() { "; it goes on when they decide" } else { ", and did not run" };
            return Ok(refused(format!("the call waits for somebody who is not at this client{place}")).into());
        }
        let (run, principal) = (session.run(), self.agent().principal());
        let state = match once {
            Some(once) => once.seal(run, &principal),
            None => self.shared.sealer.seal(run, &principal, now()),
        };
        let state = state.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let request = |form: Form| (form.key, InputRequest::Elicitation(ElicitRequest::new(form.params)));
        let requests = forms.into_iter().map(request).collect();
        Ok(InputRequiredResult::new(Some(requests), Some(state)).into())
    }
}

/// A call that goes on.
struct Unfinished {
    session: Session,
    /// The obligations that the client was asked about; in a store they may be decided by now.
    asked: Vec<ObligationId>,
    once: Arc<Once>,
}

/// A state that is not opened. What is wrong with the nonce store is not the client's business.
fn closed(error: SealError) -> ErrorData {
    match error {
        SealError::Store(error) => failed(error.into()),
        error => unusable(error),
    }
}

/// A state that the client has brought and that opens nothing.
fn unusable(reason: impl std::fmt::Display) -> ErrorData {
    ErrorData::invalid_params(format!("the requestState cannot be used: {reason}"), None)
}

/// Whether it is a run of this call: what was approved for one must not be had for another.
fn is_of(run: &Run, name: &str, arguments: &JsonObject) -> bool {
    let Some(call) = run.calls().first() else { return false };
    let given = call.revisions().first().unwrap_or(call.arguments());
    let same = serde_json::from_str::<JsonObject>(&given.text).is_ok_and(|given| given == *arguments);
    call.name == name && same
}

/// A run that could not go on. The client learns that it is ours to mend, and no more.
fn failed(error: AgentError) -> ErrorData {
    match error {
        AgentError::Cancelled => ErrorData::internal_error("the call was cancelled", None),
        AgentError::Refused(refusal) => ErrorData::invalid_request(refusal.to_string(), None),
        _ => ErrorData::internal_error("the server could not run the call", None),
    }
}
