//! Tests of the context that a tool receives with a call.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tool_runtime::{
    Agent, CallError, Cancellation, Context, Message, Toolset,
    model::{ScriptedModel, Turn},
    schema::Dialect,
    tool,
    tool::Progress,
    toolset,
    toolset::ListFormat,
};

struct Tenant(&'static str);

/// Returns the content of its context.
#[tool]
async fn know(#[context] cx: &Context) -> Value {
    cx.report_progress(1.0, Some(2.0), "half");
    cx.show_preliminary(json!({"so_far": 1}));
    json!({
        "id": cx.call_id(),
        "for": cx.principal(),
        "left": cx.time_left().map(|left| left > Duration::ZERO),
        "cancelled": cx.cancellation().is_cancelled(),
        "tenant": cx.get::<Tenant>().map(|tenant| tenant.0),
        "number": cx.get::<u64>(),
        "messages": cx.messages().len(),
    })
}

/// Waits until its call is cancelled.
#[tool]
async fn wait(#[context] cx: &Context) -> &'static str {
    cx.cancellation().cancelled().await;
    "stopped"
}

/// Sends a text with a secret key.
#[tool]
fn send(
    /// The text to send.
    text: String,
    #[arg(secret)] api_key: String,
    #[arg(secret)] port: Option<Port>,
) -> String {
    format!("{text} {} {}", api_key.len(), port.map_or(0, |port| port.0))
}

struct Port(u16);

impl<'de> serde::Deserialize<'de> for Port {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <String as serde::Deserialize>::deserialize(deserializer)?;
        text.parse().map(Self).map_err(serde::de::Error::custom)
    }
}

fn tools() -> Toolset {
    toolset!(know, wait, send)
}

async fn call_know(cx: Context) -> Value {
    tools().call("know", "{}", &cx).await.unwrap().decode().unwrap()
}

#[tokio::test]
async fn a_tool_receives_the_context_of_the_application() {
    let nothing = call_know(Context::new("call_1")).await;
    assert_eq!(
        nothing,
        json!({"id": "call_1", "for": null, "left": null, "cancelled": false, "tenant": null, "number": null, "messages": 0})
    );
    let stop = Cancellation::new();
    let cx = Context::new("x")
        .for_call("call_2")
        .with_principal("ann")
        .with_deadline(Instant::now() + Duration::from_mins(1))
        .with_cancellation(stop.clone())
        .with(Tenant("acme"))
        .with(1_u64)
        .with(2_u64)
        .with_messages(vec![Message::user("hi")]);
    assert_eq!(
        call_know(cx.clone()).await,
        json!({"id": "call_2", "for": "ann", "left": true, "cancelled": false, "tenant": "acme", "number": 2, "messages": 1})
    );
    let past = Instant::now();
    assert_eq!(call_know(cx.clone().with_deadline(past)).await["left"], false);
    let later = cx.with_deadline(past).with_deadline(past + Duration::from_secs(99));
    assert_eq!(later.deadline(), Some(past), "a deadline never becomes later");
    assert_eq!(later.time_left(), Some(Duration::ZERO));
    stop.cancel();
    let late = tools().call("know", "{}", &later).await;
    assert!(matches!(late, Err(CallError::Cancelled)), "the function does not begin: {late:?}");
}

#[tokio::test]
async fn a_listener_receives_progress() {
    let reports: Arc<Mutex<Vec<Progress>>> = Arc::default();
    let listener = Arc::clone(&reports);
    call_know(Context::new("c7").with_progress(move |progress| listener.lock().unwrap().push(progress))).await;
    let reports = reports.lock().unwrap();
    assert_eq!((reports[0].call_id.as_str(), reports[0].done, reports[0].total), ("c7", 1.0, Some(2.0)));
    assert_eq!(reports[0].message.as_deref(), Some("half"));
    assert_eq!((&reports[1].preliminary, reports.len()), (&Some(json!({"so_far": 1})), 2));
}

#[tokio::test]
async fn a_tool_notices_its_cancellation() {
    let stop = Cancellation::new();
    let cx = Context::new("c").with_cancellation(stop.clone());
    let task = tokio::spawn(async move { tools().call("wait", "{}", &cx).await });
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert!(!task.is_finished());
    stop.cancel();
    assert_eq!(task.await.unwrap().unwrap().as_json(), Some("\"stopped\""));
}

#[tokio::test]
async fn an_agent_passes_its_context_to_every_call() {
    let cx = Context::new("").with_principal("ann").with(Tenant("acme")).with_secret("api_key", "sesame");
    let model = ScriptedModel::new([
        Turn::call("know", json!({})).then_call("send", json!({"text": "hello"})),
        Turn::say("ok"),
    ]);
    let mut session = Agent::new(model).tools(tools()).context(cx).session();
    session.send("x").await.unwrap();
    let texts: Vec<String> = session
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::Tool(answer) => answer.content[0].as_text().map(str::to_owned),
            _ => None,
        })
        .collect();
    let known: Value = serde_json::from_str(&texts[0]).unwrap();
    assert_eq!((&known["for"], &known["tenant"], &known["messages"]), (&json!("ann"), &json!("acme"), &json!(1)));
    assert_ne!(known["id"], "", "each call has an id of its own: {known}");
    assert_eq!(texts[1], "hello 6 0");
}

/// The principal is a setting of its own, so `context` does not reset it.
#[tokio::test]
async fn the_order_of_principal_and_context_does_not_matter() {
    let agent = || Agent::new(ScriptedModel::new([Turn::call("know", json!({})), Turn::say("ok")])).tools(tools());
    let north = || Context::new("").with(Tenant("north"));
    for agent in [
        agent().principal("ann").context(north()),
        agent().context(north()).principal("ann"),
        agent().principal("bob").context(north().with_principal("ann")),
        agent().principal("ann").edit_context(|cx| cx.with(Tenant("north"))),
        agent().context(Context::new("").with_principal("ann")).context(north()),
    ] {
        assert_eq!(agent.owner(), "ann".into());
        let mut session = agent.session();
        session.send("x").await.unwrap();
        assert_eq!(session.run().owner(), &"ann".into());
        let known: Value = session.run().calls()[0].result().unwrap().output().unwrap().decode().unwrap();
        assert_eq!((&known["for"], &known["tenant"]), (&json!("ann"), &json!("north")));
        // A later change of the context does not make the session a stranger to its run.
        session.change_agent(|agent| agent.context(Context::new("")));
        assert_eq!(session.agent().owner(), "ann".into());
    }
}

/// Everything but the principal is of one request.
#[tokio::test]
async fn a_context_replaces_what_belonged_to_another_request() {
    let stop = Cancellation::new();
    stop.cancel();
    let first = Context::new("").with(Tenant("north")).with_cancellation(stop).with_deadline(Instant::now());
    let model =
        ScriptedModel::new([Turn::call("know", json!({})).then_call("send", json!({"text": "t"})), Turn::say("ok")]);
    let agent = Agent::new(model).tools(tools()).principal("ann").context(first.with_secret("api_key", "sesame"));
    let mut session = agent.context(Context::new("")).session();
    session.send("x").await.unwrap();
    let result = |at: usize| session.run().calls()[at].result().unwrap();
    let known: Value = result(0).output().unwrap().decode().unwrap();
    assert_eq!((&known["tenant"], &known["left"], &known["cancelled"]), (&json!(null), &json!(null), &json!(false)));
    assert!(!result(1).is_success());
}

async fn call_send(arguments: &str, cx: Context) -> Result<String, CallError> {
    tools().call("send", arguments, &cx).await.map(|output| output.decode().unwrap())
}

#[tokio::test]
async fn only_the_application_can_set_a_secret() {
    let cx = || Context::new("c").with_secret("api_key", "sesame-123");
    assert_eq!(call_send(r#"{"text":"t"}"#, cx()).await.unwrap(), "t 10 0");
    assert_eq!(call_send(r#"{"text":"t"}"#, cx().with_secret("port", "8080")).await.unwrap(), "t 10 8080");

    for forged in
        [r#"{"text":"t","api_key":"mine"}"#, r#"{"text":"t","port":"1"}"#, r#"{"text":"t","api\u005fkey":"m"}"#]
    {
        let error = call_send(forged, cx()).await.unwrap_err();
        assert!(matches!(error, CallError::Rejected(_)), "{error}");
        assert!(!error.for_log().contains("sesame"), "{error:?}");
    }
    for (missing, log) in
        [(Context::new("c"), "no secret `api_key`"), (cx().with_secret("port", "no"), "`port` does not fit")]
    {
        let error = call_send(r#"{"text":"t"}"#, missing).await.unwrap_err();
        assert_eq!(error.to_string(), "the tool is not configured", "the model does not learn about the secret");
        assert!(error.for_log().contains(log) && !error.for_log().contains("sesame"), "{}", error.for_log());
    }
}

#[test]
fn a_secret_is_in_no_definition_log_or_feedback() {
    let tools = tools();
    let spec = tools.get("send").unwrap().spec();
    let mut written = vec![spec.input.neutral().to_string(), format!("{spec:?}"), format!("{tools:?}")];
    written.extend(Dialect::ALL.iter().map(|dialect| spec.input.lowered(*dialect).json().get().to_owned()));
    written.extend(ListFormat::ALL.iter().map(|format| tools.list().json(*format).get().to_owned()));
    let cx = Context::new("c").with_secret("api_key", "sesame").with_secret("port", "8080");
    written.push(format!("{cx:?} {cx:#?}"));
    for text in written {
        assert!(!text.contains("api_key") && !text.contains("sesame") && !text.contains("8080"), "{text}");
    }
    let Err(CallError::Rejected(rejection)) = tools.prepare("send", r#"{"txt":1}"#, &cx).now().unwrap() else {
        panic!()
    };
    let texts = format!("{rejection} {rejection:?} {}", rejection.to_json());
    assert!(!texts.contains("api_key") && !texts.contains("sesame"), "{texts}");
}
