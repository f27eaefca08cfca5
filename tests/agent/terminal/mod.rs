//! Tests of a person at a terminal: the screen, the questions, and the effects of the answers.

mod edits;
mod values;

use std::{
    io::{self, Cursor},
    sync::{Arc, Mutex},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tool_runtime::{
    Agent, Context, Toolset,
    feedback::escape,
    message::Message,
    model::{Model, ScriptedModel, Turn},
    tool, toolset,
    toolset::RuntimeTool,
};
use tool_terminal::{NegotiatingModel, Terminal};

#[derive(Clone, Default)]
struct Screen(Arc<Mutex<Vec<u8>>>);

impl io::Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Removes a file.
#[tool(approval = always, effect = destructive, title = "Remove a file")]
fn remove(
    /// The path.
    #[arg(length(1..=200))]
    path: String,
    /// The number of attempts.
    #[arg(default = 3, range(1..=5))]
    tries: u8,
    #[arg(default)] force: bool,
    #[state] removed: &Mutex<Vec<String>>,
) -> String {
    removed.lock().unwrap().push(format!("{path} {tries} {force}"));
    "removed".into()
}

/// Doubles a number.
#[tool(effect = read_only)]
async fn double(
    /// The number.
    n: i64,
    #[context] cx: &Context,
) -> i64 {
    cx.report_progress(1.0, Some(2.0), "half\u{202e}\nway");
    n * 2
}

/// Asks the person to rate it.
#[tool(external, output = Rating)]
struct Rate {
    /// The thing to rate.
    what: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Rating {
    /// From 1 to 5.
    #[schemars(range(min = 1, max = 5))]
    stars: u8,
    #[serde(default)]
    again: bool,
}

struct Seen {
    screen: String,
    removed: Vec<String>,
    outputs: Vec<String>,
}

fn results(messages: &[Message]) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::Tool(answer) => Some(answer.content.iter().filter_map(|part| part.as_text()).collect()),
        _ => None,
    };
    messages.iter().filter_map(text).collect()
}

/// Types `lines` during these turns of the model. Returns the screen and the effects.
async fn type_lines(lines: &str, tools: Toolset, turns: Vec<Turn>) -> Seen {
    let model = Arc::new(ScriptedModel::new(turns));
    let (screen, removed) = chat(lines.as_bytes(), tools, Arc::clone(&model)).await;
    let outputs = model.requests().last().map(|asked| results(&asked.messages)).unwrap_or_default();
    Seen { screen, removed, outputs }
}

async fn chat(lines: &[u8], tools: Toolset, model: impl Model + 'static) -> (String, Vec<String>) {
    let screen = Screen::default();
    let removed = Arc::new(Mutex::new(Vec::new()));
    let tools = toolset!(Arc::clone(&removed); remove, double, Rate).merge(tools).unwrap();
    let terminal = Terminal::with(Cursor::new(lines.to_vec()), screen.clone());
    terminal.chat(Agent::new(model).tools(tools), "Hello.").await.unwrap();
    let shown = String::from_utf8(screen.0.lock().unwrap().clone()).unwrap();
    let removed = removed.lock().unwrap().clone();
    (shown, removed)
}

fn remove_then_done(arguments: Value) -> Vec<Turn> {
    vec![Turn::call("remove", arguments), Turn::say("Done.")]
}

#[tokio::test]
async fn text_and_calls_are_shown() {
    let turns = vec![Turn::say("One moment.").then_call("double", json!({"n": 21})), Turn::say("It is 42.")];
    let seen = type_lines("double 21\n\nexit\nnever read\n", Toolset::new(), turns).await;
    let expected = "Hello.\n\n> One moment.\n· double {\"n\":21}\n  1 of 2 half\\u{202e}";
    assert!(seen.screen.starts_with(expected), "{}", seen.screen);
    assert!(seen.screen.contains("It is 42.\n\n> \n> "), "an empty line repeats the prompt: {}", seen.screen);
    assert_eq!(seen.outputs, ["42"]);
}

#[tokio::test]
async fn a_call_runs_with_the_arguments_that_are_shown() {
    let seen = type_lines("go\nperhaps\ny\n", Toolset::new(), remove_then_done(json!({"path": "a b"}))).await;
    let shown =
        "\nRemove a file (remove; DESTROYS something)\n  path   \"a b\"\n  tries  3\n  force  false\nAllow it? ";
    assert!(seen.screen.contains(shown), "{}", seen.screen);
    assert!(seen.screen.contains("Please answer with one of the letters in brackets."));
    assert_eq!(seen.removed, ["a b 3 false"]);
    assert_eq!(seen.outputs, ["removed"]);
}

#[tokio::test]
async fn a_call_is_denied_with_a_reason_or_without() {
    let seen = type_lines("go\nno\nnot that one\n", Toolset::new(), remove_then_done(json!({"path": "a"}))).await;
    assert_eq!(seen.outputs, ["the call was denied, and did not run: not that one"]);
    let seen = type_lines("go\nN\n\n", Toolset::new(), remove_then_done(json!({"path": "a"}))).await;
    assert_eq!((seen.outputs, seen.removed.len()), (vec!["the call was denied, and did not run".to_owned()], 0));
}

#[tokio::test]
async fn the_end_of_the_input_denies_the_call() {
    for lines in ["go\n", "go\ne\n", "go\ne\n\n2\n", "go\nperhaps"] {
        let seen = type_lines(lines, Toolset::new(), remove_then_done(json!({"path": "a"}))).await;
        assert!(seen.removed.is_empty(), "{lines:?}");
        assert_eq!(
            seen.outputs,
            ["the call was denied, and did not run: somebody would have to decide, and nobody answered"],
            "{lines:?}"
        );
    }
    let seen =
        type_lines("go", Toolset::new(), vec![Turn::call("Rate", json!({"what": "it"})), Turn::say("Pity.")]).await;
    assert_eq!(seen.outputs, ["no client executed the call"]);
}

#[tokio::test]
async fn an_external_call_is_answered_by_the_person() {
    let turns = vec![Turn::call("Rate", json!({"what": "the soup"})), Turn::say("Thanks.")];
    let seen = type_lines("go\n9\n\n4\ny\n", Toolset::new(), turns).await;
    assert!(seen.screen.contains("  what  \"the soup\"\n"), "{}", seen.screen);
    assert!(seen.screen.contains("  ! `stars`: expected"), "{}", seen.screen);
    assert_eq!(seen.outputs, [r#"{"stars":4,"again":true}"#]);
}

const EVIL: &str = "a\u{1b}[2J\u{7}\u{202e}b\u{200b}\u{feff}\r\n  path   \"harmless\"\u{9b}31m\u{e0041}";

#[tokio::test]
async fn misleading_characters_are_escaped() {
    let late = RuntimeTool::new("late", "")
        .title(EVIL)
        .require_approval()
        .handler(|arguments, _| async move { Ok(arguments) })
        .unwrap();
    let turns = vec![
        Turn::call("remove", json!({"path": EVIL})),
        Turn::call("late", json!({EVIL: EVIL})),
        Turn::call(EVIL, json!({"n": 1})),
        Turn::call("double", "{\n\"n\":\n1}"),
        Turn::call("double", json!({EVIL: EVIL})),
        Turn::say(EVIL),
    ];
    let seen = type_lines("go\ny\ne\nn\n\nexit\n", Toolset::new().with(late).unwrap(), turns).await;
    for c in ['\u{1b}', '\u{7}', '\u{202e}', '\u{200b}', '\u{feff}', '\r', '\u{9b}', '\u{e0041}'] {
        assert!(!seen.screen.contains(c), "{c:?}: {:?}", seen.screen);
    }
    let (calls, last_line) = seen.screen.split_at(seen.screen.rfind("a\\u{1b}").unwrap());
    assert!(!calls.contains("\n  path   \"harmless\""), "an argument cannot imitate a line: {calls}");
    assert!(last_line.contains("\\u{202e}"), "{last_line}");
    assert!(calls.contains("double {") && calls.contains("\\u{1b}[2J\\u{7}\\u{202e}b"), "{calls}");
    let whole = serde_json::to_string(EVIL).unwrap();
    assert!(calls.contains(&escape(&whole)), "the text is shown whole");
}

#[tokio::test]
async fn long_arguments_are_shown_whole() {
    let path = "x".repeat(199) + "!";
    let seen = type_lines("go\ny\n", Toolset::new(), remove_then_done(json!({"path": path.clone()}))).await;
    assert!(seen.screen.contains(&format!("  path   \"{path}\"\n")));
    assert_eq!(seen.removed, [format!("{path} 3 false")]);
}

#[tokio::test]
async fn calls_that_cannot_be_shown_do_not_run() {
    let late = RuntimeTool::new("late", "").require_approval().handler(|_, _| async { Ok(json!("ran")) }).unwrap();
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(127), "]".repeat(127));
    let seen =
        type_lines("go\ny\n", Toolset::new().with(late).unwrap(), vec![Turn::call("late", deep), Turn::say("ok")])
            .await;
    assert!(!seen.screen.contains("Allow it?") && !seen.outputs[0].contains("ran"), "{}", seen.screen);
}

#[tokio::test]
async fn a_failing_model_and_invalid_utf8_do_not_end_the_chat() {
    let (screen, removed) =
        chat(b"first\nse\xff\xfecond\nexit\n", Toolset::new(), ScriptedModel::new([Turn::say("Yes?")])).await;
    assert!(screen.contains("Yes?") && screen.contains("! the model failed: the script has no answer"), "{screen}");
    assert!(removed.is_empty());
}

#[tokio::test]
async fn the_negotiating_model_calls_a_tool() {
    let (screen, removed) = chat(b"remove a file\n/tmp/x\ny\nexit\n", Toolset::new(), NegotiatingModel::new()).await;
    assert!(screen.contains("Remove a file (remove; DESTROYS something)"), "{screen}");
    assert_eq!(removed, ["/tmp/x 3 false"], "{screen}");
}
