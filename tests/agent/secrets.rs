//! Tests that secrets reach no model.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use serde_json::{Value, json};
use tool_runtime::{
    Agent, CallError, Content, Context, Failure, Media, OutputWithContent, Part, Rejection, ResourceContents, Toolset,
    agent::EventKind,
    feedback::{Choices, Report},
    layer::{CallLog, SecretFilter},
    model::{ScriptedModel, Turn},
    run::Decision,
    test::Events,
    tool, toolset,
    toolset::RuntimeTool,
};
use tool_test_kit::AllAndSome as _;

const REFUSED: &str = "The call was rejected:\ncall: the output contains a secret which is not allowed";

/// Returns a set of one tool that returns `output`.
fn tools_returning(output: Value) -> Toolset {
    let tool = RuntimeTool::new("give", "Gives.").handler(move |_, _| {
        let output = output.clone();
        async move { Ok(output) }
    });
    Toolset::new().with(tool.unwrap()).unwrap()
}

async fn model_text(tools: &Toolset, name: &str, arguments: &str) -> String {
    match tools.call(name, arguments, &Context::new("c")).await {
        Ok(output) => output.text(),
        Err(error) => error.for_model().as_text().unwrap().to_owned(),
    }
}

#[tokio::test]
async fn a_secret_is_found_anywhere_in_an_output() {
    let secrets = SecretFilter::new(["hunter2", "", "1234", "say \"hi\"", "grüße\n"]).pattern("sk-[a-z]{4}").unwrap();
    for output in [
        json!("hunter2"),
        json!({ "a": [{ "b": "it is hunter2!" }] }),
        json!({ "hunter2": 1 }),
        json!([12345]),
        json!("she says \"say \\\"hi\\\"\" and say \"hi\""),
        json!(["viele grüße\n"]),
        json!({ "key": { "sk-abcd": null } }),
    ] {
        assert_eq!(
            model_text(&tools_returning(output.clone()).layer(secrets.clone()), "give", "{}").await,
            REFUSED,
            "{output}"
        );
        let clean =
            model_text(&tools_returning(output.clone()).layer(secrets.clone().redact("***")), "give", "{}").await;
        assert!(clean.contains("***") && !clean.contains("hunter2") && !clean.contains("1234"), "{output}: {clean}");
    }
    for output in [json!("hunter 2"), json!(["hunt", "er2"]), json!({ "n": 12 }), json!("sk-ABCD"), json!(null)] {
        let unchanged = model_text(&tools_returning(output.clone()), "give", "{}").await;
        assert_eq!(
            model_text(&tools_returning(output).layer(secrets.clone().redact("*")), "give", "{}").await,
            unchanged
        );
    }
}

#[tokio::test]
async fn redaction_leaves_the_rest_unchanged() {
    let secrets = SecretFilter::new(["password", "password1"]).redact("[redacted]");
    let output = json!({ "a": 1.50, "big": 12_345_678_901_234_567_890_u64, "b": ["password1", "my password", null] });
    let clean = model_text(&tools_returning(output).layer(secrets), "give", "{}").await;
    assert_eq!(clean, r#"{"a":1.5,"big":12345678901234567890,"b":["[redacted]","my [redacted]",null]}"#);
    let stubborn = SecretFilter::new(["a"]).redact("banana");
    assert_eq!(
        model_text(&tools_returning(json!("abc")).layer(stubborn), "give", "{}").await,
        REFUSED,
        "a replacement with the secret is refused"
    );
    let across = SecretFilter::new([r#"x","y"#]).redact("-").problem("no");
    assert_eq!(
        model_text(&tools_returning(json!(["x", "y"])).layer(across), "give", "{}").await,
        "The call was rejected:\ncall: no"
    );
}

/// Shows the model another text than it returns.
#[tool]
fn shown(in_model: bool) -> OutputWithContent<String> {
    let (secret, public) = ("hunter2".to_owned(), "public".to_owned());
    let (value, model) = if in_model { (public, secret) } else { (secret, public) };
    OutputWithContent { value, model: vec![Part::text(model)] }
}

/// Returns content.
#[tool]
fn content() -> Content {
    let image = Part::Image(Media::base64("image/png", "hunter2"));
    let file = |uri: &str, text: &str| Part::Resource {
        uri: uri.into(),
        media_type: None,
        contents: ResourceContents::Text(text.into()),
    };
    let files = [file("file:///hunter2", "public"), file("file:///a", "hunter2")];
    Content([vec![image, Part::Json { json: r#"{"p":"hunt\u0065r2"}"#.into() }], files.into()].concat())
}

/// Fails in one of several ways.
#[tool]
fn fails(how: u8) -> Result<(), Failure> {
    Err(match how {
        0 => Failure::new("no user hunter2").retryable(),
        1 => Failure::hidden("the cause is hunter2"),
        2 => {
            let mut report = Report::rejected("not hunter2");
            report.choices = Choices::Allowed(vec![json!("hunter2"), json!({ "deep": ["hunter2"] })]);
            Rejection::from_message("no").report("how", report).instruct("Ask hunter2.").into()
        }
        _ => panic!("hunter2"),
    })
}

#[tokio::test]
async fn contents_and_failures_are_searched_and_causes_go_to_the_log() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&log);
    let all = tool_runtime::toolset!(shown, content, fails);
    let refusing = all.clone().layer(SecretFilter::new(["hunter2"]));
    let redacting = all.layer(SecretFilter::new(["hunter2"]).redact("***")).layer(CallLog::new(move |entry| {
        sink.lock().unwrap().push(entry.result.as_ref().err().map(CallError::for_log));
    }));
    for (name, arguments, redacted) in [
        ("shown", r#"{"in_model":true}"#, "***"),
        ("shown", r#"{"in_model":false}"#, "public"),
        ("content", "{}", "{\"p\":\"***\"}\npublic\n***"),
        ("fails", r#"{"how":0}"#, "no user ***"),
        (
            "fails",
            r#"{"how":2}"#,
            concat!(
                "The call was rejected. Correct these problems and call again:\ncall: no\n",
                r#"how: not ***; choose from "***", {"deep":["***"]}"#,
                "\ndo: Ask ***.\n",
                r#"Call it like this: {"name": "fails", "arguments": {"how": <integer>}}"#
            ),
        ),
    ] {
        assert_eq!(model_text(&refusing, name, arguments).await, REFUSED, "{name} {arguments}");
        assert_eq!(model_text(&redacting, name, arguments).await, redacted, "{name} {arguments}");
    }
    let cx = Context::new("c");
    let value = redacting.call("shown", r#"{"in_model":false}"#, &cx).await.unwrap();
    assert_eq!(value.as_json(), Some(r#""***""#), "the value for the application is redacted, too");
    let failed = redacting.call("fails", r#"{"how":0}"#, &cx).await.unwrap_err();
    assert!(matches!(&failed, CallError::Failed(failure) if failure.is_retryable()) && !failed.did_not_run());
    log.lock().unwrap().clear();
    for how in [1, 3] {
        let arguments = format!(r#"{{"how":{how}}}"#);
        assert_eq!(model_text(&redacting, "fails", &arguments).await, model_text(&refusing, "fails", &arguments).await);
    }
    assert!(log.lock().unwrap().iter().all_and_some(|line| line.as_ref().unwrap().contains("hunter2")), "{log:?}");
}

#[tokio::test]
async fn feedback_and_external_answers_are_searched() {
    let schema = json!({ "type": "object", "properties": { "who": { "enum": ["ann", "hunter2"] } } });
    let external = RuntimeTool::new("out", "Outside.").input(schema).external().unwrap();
    let tools = Toolset::new().with(external).unwrap();
    assert!(model_text(&tools, "out", r#"{"who":"x"}"#).await.contains("hunter2"));
    let tools = tools.layer(SecretFilter::new(["hunter2"]));
    let cx = Context::new("c");
    let refused = tools.call("out", r#"{"who":"x"}"#, &cx).await.unwrap_err();
    assert!(refused.did_not_run() && refused.for_model().as_text() == Some(REFUSED), "{refused:?}");
    let output = tools.read_external_output("out", r#"["hunter2"]"#).unwrap_err();
    assert_eq!(output.to_string(), "the output contains a secret which is not allowed");
    assert_eq!(tools.read_external_output("out", r#"["ann"]"#).unwrap().as_json(), Some(r#"["ann"]"#));
}

#[test]
fn secrets_stay_out_of_logs_and_patterns_are_validated() {
    let secrets = SecretFilter::new(["hunter2"]).pattern("hunter[0-9]").unwrap();
    assert!(!format!("{secrets:?}").contains("hunter"), "{secrets:?}");
    let error = SecretFilter::new([""; 0]).pattern("(").unwrap_err();
    assert!(error.to_string().contains("not a regular expression"), "{error}");
}

fn value() -> impl Strategy<Value = Value> {
    let leaf =
        prop_oneof!["[a-c\\\\\"é]{0,5}".prop_map(Value::from), (0..1000_u32).prop_map(Value::from), Just(Value::Null)];
    leaf.prop_recursive(4, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c\"]{0,3}", inner, 0..4)
                .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

fn holds(value: &Value, secret: &str) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| holds(item, secret)),
        Value::Object(map) => map.iter().any(|(name, value)| name.contains(secret) || holds(value, secret)),
        Value::String(text) => text.contains(secret),
        other => other.to_string().contains(secret),
    }
}

/// Returns whether the secret is only in texts, unescaped, so that it can be replaced.
fn is_in_texts_only(value: &Value, secret: &str) -> bool {
    if secret.contains(['"', '\\']) {
        return false;
    }
    match value {
        Value::Array(items) => items.iter().all(|item| is_in_texts_only(item, secret)),
        Value::Object(map) => map.iter().all(|(name, value)| !name.contains(secret) && is_in_texts_only(value, secret)),
        Value::String(_) => true,
        other => !other.to_string().contains(secret),
    }
}

proptest! {
    /// Compares the layer with a walk over the tree: no output with the secret passes, and outputs without it pass unchanged.
    #[test]
    fn no_secret_reaches_the_model(output in value(), secret in "[a-c1-3\"\\\\]{1,2}") {
        let run = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let call = |secrets| run.block_on(async {
            tools_returning(output.clone()).layer(secrets).call("give", "{}", &Context::new("c")).await
        });
        let (refusing, redacting) = (call(SecretFilter::new([&*secret])), call(SecretFilter::new([&*secret]).redact("#")));
        if holds(&output, &secret) {
            prop_assert!(refusing.is_err());
            let clean: Option<Value> = redacting.ok().map(|output| output.decode().unwrap());
            prop_assert!(clean.is_some() || !is_in_texts_only(&output, &secret), "{} can be redacted", output);
            prop_assert!(clean.is_none_or(|clean| !holds(&clean, &secret)));
        } else if !output.to_string().contains(&secret) {
            prop_assert_eq!(refusing.unwrap().decode::<Value>().unwrap(), output.clone());
            prop_assert_eq!(redacting.unwrap().decode::<Value>().unwrap(), output);
        }
    }
}

/// Sends a text with a key of the application.
#[tool]
fn post(text: String, #[arg(secret)] key: String, #[arg(secret)] port: Option<u16>) -> String {
    format!("{text} {} {port:?}", key.len())
}

/// Sends a text after an approval.
#[tool(approval = always)]
fn post_approved(text: String, #[arg(secret)] key: String) -> String {
    format!("{text} {}", key.len())
}

/// Panics while it is checked.
#[tool(check = rules)]
fn ask(text: String) -> String {
    text
}

fn rules(_: &ask, _: AskCheck<'_>) -> Result<(), Rejection> {
    panic!("the rules of `ask` are missing")
}

/// Returns what the observer and the model receive about a call of `name`.
async fn ended(name: &str, cx: Context) -> (Option<String>, String) {
    let events = Events::new();
    let model = ScriptedModel::new([Turn::call(name, json!({ "text": "hi" })), Turn::say("ok")]);
    let tools = toolset!(post, post_approved, ask);
    let mut session = Agent::new(model).tools(tools).context(cx).observer(events.clone()).session();
    session.send("go").await.unwrap();
    let detail = events.all().into_iter().find_map(|event| match event {
        EventKind::CallEnded { detail, .. } => Some(detail),
        _ => None,
    });
    let messages = serde_json::to_string(session.messages()).unwrap();
    (detail.unwrap(), messages)
}

#[tokio::test]
async fn the_observer_learns_why_a_tool_is_not_configured_and_the_model_does_not() {
    let key = || Context::new("").with_secret("key", "k-123");
    for (name, cx, cause) in [
        ("post", Context::new(""), "the tool is not configured: the context has no secret `key`"),
        ("post_approved", Context::new(""), "the context has no secret `key`"),
        ("post", key().with_secret("port", "no"), "the secret `port` does not fit its type"),
        ("ask", key(), "the rules of `ask` are missing"),
    ] {
        let (detail, messages) = ended(name, cx).await;
        assert!(detail.as_ref().is_some_and(|detail| detail.contains(cause)), "{detail:?}");
        assert!(!detail.unwrap().contains("k-123"), "a value is never part of a cause");
        for hidden in ["secret", "`key`", "`port`", "k-123", "rules"] {
            assert!(!messages.contains(hidden), "{messages}");
        }
    }
    assert_eq!(ended("post", key()).await.0, None);
}

/// A person's edit is read by a process that lacks the secret.
#[tokio::test]
async fn the_application_learns_why_an_edit_cannot_be_read() {
    let model = ScriptedModel::new([Turn::call("post_approved", json!({ "text": "hi" }))]);
    let agent = Agent::new(model).tools(toolset!(post_approved)).operator(tool_runtime::agent::Suspend);
    let mut session = agent.context(Context::new("").with_secret("key", "k-123")).session();
    session.send("go").await.unwrap();
    let open = session.interrupts().next().unwrap().id.clone();
    session.change_agent(|agent| agent.context(Context::new("")));
    let edit = Decision::Edit { arguments: json!({ "text": "ho" }) };
    let refusal = session.decide(&open, edit, "").await.unwrap_err();
    let tool_runtime::AgentError::Refused(tool_runtime::run::Refusal::Invalid { feedback }) = refusal else { panic!() };
    assert_eq!(feedback.to_string(), "the tool is not configured");
    assert!(feedback.causes()[0].contains("no secret `key`"), "{:?}", feedback.causes());
}
