//! Tests of hooks for the arguments of calls, and of an observer's view of the arguments while they arrive.

mod kinds;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tool_runtime::{
    Context, Toolset,
    model::{Delta, FinishReason, ModelError, ModelErrorKind, ScriptedModel, Turn},
    tool,
    tool::PartialInput,
    toolset,
};

use crate::run_loop::watched;

/// The recorded hook calls, as an extension of the context.
#[derive(Clone, Default)]
struct Recording(Arc<Mutex<Vec<String>>>);

impl Recording {
    fn of(cx: &Context) -> &Self {
        cx.get::<Self>().unwrap()
    }

    fn record(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Writes a mail.
#[tool(on_input_start = begins, on_input_delta = more, on_input_available = written)]
async fn mail(
    /// The address.
    to: String,
    /// The text.
    text: Option<String>,
    #[context] cx: &Context,
) -> usize {
    Recording::of(cx).record(format!("{}: runs", cx.call_id()));
    to.len() + text.map_or(0, |text| text.len())
}

fn begins(cx: &Context) {
    Recording::of(cx).record(format!("{}: begins", cx.call_id()));
}

async fn more(input: PartialInput<'_, mail>, delta: &str, cx: &Context) {
    // The model's stream waits for this hook.
    tokio::time::sleep(Duration::from_millis(1)).await;
    let (to, is_complete) = (input.get::<&str>("to"), input.is_complete("to"));
    Recording::of(cx).record(format!("{}: {delta:?} to {to:?} {is_complete}", cx.call_id()));
}

fn written(input: &mail, cx: &Context) {
    Recording::of(cx).record(format!("{}: to {} {:?}", cx.call_id(), input.to, input.text));
}

fn start(index: usize, id: &str, name: &str) -> Delta {
    Delta::CallStart { index, id: id.into(), name: name.into() }
}

fn piece(index: usize, text: &str) -> Delta {
    Delta::CallArguments { index, text: text.into() }
}

fn end(index: usize) -> Delta {
    Delta::CallEnd { index }
}

/// Plays a turn with these deltas. Returns the calls of hooks.
async fn record_hooks(tools: Toolset, deltas: Vec<Delta>) -> Vec<String> {
    let mut deltas = deltas;
    deltas.push(Delta::Finish(FinishReason::ToolCalls));
    let recorded = Recording::default();
    let model = ScriptedModel::new([deltas]).then(Turn::say("ok"));
    let agent = watched(model).tools(tools).context(Context::new("").with(recorded.clone()));
    assert_eq!(agent.run("go").await.unwrap().text, "ok");
    recorded.all()
}

#[tokio::test]
async fn parallel_calls_have_separate_hooks() {
    let deltas = vec![
        start(0, "a", "mail"),
        piece(0, r#"{"to": "An"#),
        start(1, "b", "mail"),
        piece(1, r#"{"to": "Be"#),
        piece(0, r#"na"}"#),
        piece(1, r#"n"}"#),
        end(0),
        end(1),
    ];
    let mut recorded = record_hooks(toolset!(mail), deltas).await;
    // From here on, both calls run, in any order.
    recorded[8..].sort();
    assert_eq!(
        recorded,
        [
            "a: begins",
            r#"a: "{\"to\": \"An" to Some("An") false"#,
            "b: begins",
            r#"b: "{\"to\": \"Be" to Some("Be") false"#,
            r#"a: "na\"}" to Some("Anna") true"#,
            r#"b: "n\"}" to Some("Ben") true"#,
            "a: to Anna None",
            "b: to Ben None",
            "a: runs",
            "b: runs",
        ]
    );
}

#[tokio::test]
async fn hooks_receive_arguments_once_for_any_chunks() {
    let whole = r#"{"to": "Anna"}"#;
    let line = |delta: &str| format!(r#"a: {delta:?} to Some("Anna") true"#);
    let after = ["a: to Anna None", "a: runs"].map(str::to_owned);
    let begins = || vec!["a: begins".to_owned()];

    // Gemini sends the name and the arguments in one chunk.
    let recorded_whole = record_hooks(toolset!(mail), vec![start(0, "a", "mail"), piece(0, whole), end(0)]).await;
    let expected: Vec<_> = begins().into_iter().chain([line(whole)]).chain(after.clone()).collect();
    assert_eq!(recorded_whole, expected);
    // The arguments are repeated at the end, before and after the end of the call.
    let again = vec![start(0, "a", "mail"), piece(0, whole), piece(0, whole), end(0), piece(0, whole)];
    assert_eq!(record_hooks(toolset!(mail), again).await, expected);
    // The call has no end.
    assert_eq!(record_hooks(toolset!(mail), vec![start(0, "a", "mail"), piece(0, whole)]).await, expected);
}

/// Looks around.
#[tool(effect = read_only, on_input_start = begins, on_input_delta = piece_arrives, on_input_available = looks)]
async fn look(
    /// The place.
    place: Option<String>,
    #[context] cx: &Context,
) -> bool {
    Recording::of(cx).record("looks");
    place.is_none()
}

fn piece_arrives(input: PartialInput<'_, look>, _: &str, cx: &Context) {
    Recording::of(cx).record(format!("piece {:?}", input.value()));
}

#[allow(clippy::unused_async, reason = "a hook may be async")]
async fn looks(input: &look, cx: &Context) {
    Recording::of(cx).record(format!("at {:?}", input.place));
}

#[tokio::test]
async fn missing_arguments_are_an_empty_object() {
    for deltas in [
        vec![start(0, "a", "look"), end(0)],
        vec![start(0, "a", "look"), piece(0, ""), end(0)],
        vec![start(0, "a", "look")],
    ] {
        assert_eq!(record_hooks(toolset!(look), deltas).await, ["a: begins", "at None", "looks"]);
    }
    let empty = record_hooks(toolset!(look), vec![start(0, "a", "look"), piece(0, "{}"), end(0)]).await;
    assert_eq!(empty, ["a: begins", "piece Some(Object {})", "at None", "looks"]);
}

#[tokio::test]
async fn rejected_or_cut_arguments_are_never_available() {
    let wrong = vec![start(0, "a", "mail"), piece(0, r#"{"to": 1}"#), end(0)];
    assert_eq!(record_hooks(toolset!(mail), wrong).await, ["a: begins", r#"a: "{\"to\": 1}" to None true"#]);
    let no_json = vec![start(0, "a", "mail"), piece(0, r#"{"to": x"#), piece(0, "y"), end(0)];
    assert_eq!(record_hooks(toolset!(mail), no_json).await.len(), 3, "arguments that are not JSON arrive as text");

    let recorded = Recording::default();
    let dead = ModelError::new(ModelErrorKind::Unavailable, "dead");
    let model = ScriptedModel::new([vec![Ok(start(0, "a", "mail")), Ok(piece(0, r#"{"to"#)), Err(dead)]]);
    let agent = watched(model).tools(toolset!(mail)).context(Context::new("").with(recorded.clone()));
    agent.run("go").await.unwrap_err();
    assert_eq!(recorded.all(), ["a: begins", r#"a: "{\"to" to None false"#]);
}
