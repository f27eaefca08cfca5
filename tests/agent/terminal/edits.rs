//! Tests of arguments and answers that a person edits.

use std::io::Cursor;

use serde_json::json;
use tool_runtime::{
    Agent, Toolset, Validation,
    model::{ScriptedModel, Turn},
    run::ArgumentPattern,
    tool, toolset,
    toolset::RuntimeTool,
};
use tool_terminal::Terminal;

use super::{Screen, remove_then_done, type_lines};

#[tokio::test]
async fn a_wrong_edit_is_refused_and_asked_again() {
    // The person edits: the old path, 9 tries (too many), the old force. After y and e, 2 tries and y for force.
    let lines = "go\ne\n\n9\n\ny\ne\n\n2\ny\ny\n";
    let seen = type_lines(lines, Toolset::new(), remove_then_done(json!({"path": "a"}))).await;
    assert!(seen.screen.contains("  path [a]:   tries [3]:   force [false]: "), "{}", seen.screen);
    assert!(seen.screen.contains("  ! `tries`: expected a whole number from 1 to 5"), "{}", seen.screen);
    assert!(
        seen.screen.contains("from 1 to 5, got 9\n  Your edit is kept. Answer e to continue it.\n"),
        "{}",
        seen.screen
    );
    let kept = "  Your edit is kept. With it, the call is:\n\nRemove a file (remove; DESTROYS something)\n  path   \"a\"\n  tries  2\n";
    assert!(seen.screen.contains(kept), "{}", seen.screen);
    assert_eq!(seen.removed, ["a 2 true"], "{}", seen.screen);
}

/// Accepts the attic and the cellar.
fn place(value: Option<String>, _: MoveFilePlace<'_>) -> Validation<String> {
    match value.as_deref().map(str::trim) {
        Some("attic" | "cellar") => Validation::accept(value.unwrap_or_default().trim().to_owned()),
        Some("top") => Validation::accept("attic".to_owned()),
        _ => Validation::reject("there is no such place").allowed(["attic".to_owned(), "cellar".to_owned()]),
    }
}

/// Moves a file.
#[tool(approval = always)]
async fn move_file(
    /// The file.
    #[dynamic(validate = file)]
    file: String,
    /// The destination.
    #[dynamic(validate = place)]
    place: String,
) -> String {
    format!("{file} is in the {place}")
}

fn file(value: Option<String>, _: MoveFileFile<'_>) -> Validation<String> {
    value.map_or_else(|| Validation::reject("which?"), Validation::accept)
}

#[tokio::test]
async fn an_edit_is_kept_and_its_normalized_form_is_shown() {
    let turns = vec![Turn::call("move_file", json!({"file": "a", "place": "cellar"})), Turn::say("ok")];
    // A new name and an invalid place: the name is kept, and the person corrects the place.
    let seen = type_lines("go\ne\nb\nmoon\ny\ne\n\ntop\ny\n", toolset!(move_file), turns).await;
    assert!(
        seen.screen.contains("  file [a]:   place [cellar]:   ! `place`: there is no such place"),
        "{}",
        seen.screen
    );
    assert!(
        seen.screen.contains("The tool rejects these arguments. Answer e to edit them again, or n to deny the call."),
        "{}",
        seen.screen
    );
    assert!(
        seen.screen.contains("  file [b]:   place [moon]:   The tool has changed your arguments. The changed call is:"),
        "{}",
        seen.screen
    );
    assert!(seen.screen.contains("\n  file   \"b\"\n  place  \"attic\"\nAllow it?"), "{}", seen.screen);
    assert!(seen.outputs[0].contains("b is in the attic"), "{:?}", seen.outputs);
}

#[tokio::test]
async fn earlier_answers_are_offered_again() {
    let turns = vec![Turn::call("Rate", json!({"what": "the soup"})), Turn::say("Thanks.")];
    let seen = type_lines("go\n9\ny\n4\n\n", Toolset::new(), turns).await;
    assert!(seen.screen.contains("  stars [9]:   again [true]: "), "{}", seen.screen);
    assert_eq!(seen.outputs, [r#"{"stars":4,"again":true}"#]);
}

#[tokio::test]
async fn a_recursive_schema_asks_a_limited_number_of_questions() {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}, "child": {"$ref": "#"}}});
    let late =
        RuntimeTool::new("late", "").input(schema).require_approval().handler(|arguments, _| async { Ok(arguments) });
    let lines = format!("go\ne\n{}y\n", "\n".repeat(200));
    let turns = vec![Turn::call("late", json!({"name": "a"})), Turn::say("ok")];
    let seen = type_lines(&lines, Toolset::new().with(late.unwrap()).unwrap(), turns).await;
    assert!(seen.screen.matches("child").count() < 40, "{}", seen.screen);
    assert!(seen.screen.contains("  name [a]: "), "{}", seen.screen);

    let late = RuntimeTool::new("late", "").output(json!({"properties": {"a": {"$ref": "#"}}})).external();
    let turns = vec![Turn::call("late", json!({})), Turn::say("ok")];
    let lines = format!("go\n{}", "\n".repeat(200));
    type_lines(&lines, Toolset::new().with(late.unwrap()).unwrap(), turns).await;
}

#[tokio::test]
async fn an_edit_that_changes_nothing_is_the_same_call() {
    let schema = json!({"properties": {
        "name": {"type": "string"},
        "place": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    }});
    let late =
        RuntimeTool::new("late", "").input(schema).require_approval().handler(|arguments, _| async { Ok(arguments) });
    let turns = vec![Turn::call("late", json!({"name": "a\nb"})), Turn::say("ok")];
    let seen = type_lines("go\ne\n\n\ny\n", Toolset::new().with(late.unwrap()).unwrap(), turns).await;
    assert_eq!(seen.outputs, [r#"{"name":"a\nb"}"#], "{}", seen.screen);
    assert!(seen.screen.contains("name [a\\u{a}b]"), "the value is on one line: {}", seen.screen);
    assert!(seen.screen.contains("  The arguments are unchanged:\n"), "{}", seen.screen);
}

#[tokio::test]
async fn edited_arguments_have_no_approval_for_the_run() {
    let turns = [Turn::call("move_file", json!({"file": "a", "place": "cellar"})), Turn::say("ok")];
    let agent = Agent::new(ScriptedModel::new(turns)).tools(toolset!(move_file)).offer_run_approval(|_, arguments| {
        Some(ArgumentPattern([("place".to_owned(), arguments["place"].clone())].into_iter().collect()))
    });
    let screen = Screen::default();
    let terminal = Terminal::with(Cursor::new("go\ne\n\nattic\na\ny\n"), screen.clone());
    terminal.chat(agent, "Hello.").await.unwrap();
    let shown = String::from_utf8(screen.0.lock().unwrap().clone()).unwrap();
    let offered = "Allow it? [y]es, [a]lways in this run with place \"cellar\", [n]o, [e]dit: ";
    assert_eq!(shown.matches(offered).count(), 1, "{shown}");
    let not_offered = "Allow it? [y]es, [n]o, [e]dit: Please answer with one of the letters in brackets.";
    assert!(shown.contains(not_offered), "{shown}");
}
