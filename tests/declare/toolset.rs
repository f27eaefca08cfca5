//! Tests of toolsets: combining, renaming, filtering, offering and calling tools.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};
use tool_runtime::{
    Agent, CallError, Context, Output, Part, Toolset,
    model::{ScriptedModel, Turn},
    tool, toolset,
    toolset::{DEFAULT_MAX_ARGUMENT_BYTES, ListFormat, RuntimeTool, ToolsetError, check_name},
};

/// Finds a book.
#[tool(effect = read_only)]
fn find_book(
    /// Words of the title.
    #[arg(length(1..=40))]
    title: String,
    /// The year.
    year: Option<u16>,
) -> String {
    format!("{title} {year:?}")
}

/// Lends a book.
#[tool(strict)]
fn lend_book(
    /// Its number.
    number: u32,
    /// For how long.
    #[arg(default = 14)]
    days: u8,
    #[state] lent: &AtomicUsize,
) -> u32 {
    lent.fetch_add(1, Ordering::SeqCst);
    number + u32::from(days)
}

/// Says hello.
#[tool]
fn hello() -> &'static str {
    "hello"
}

fn library() -> (Toolset, Arc<AtomicUsize>) {
    let lent = Arc::new(AtomicUsize::new(0));
    (toolset!(Arc::clone(&lent); find_book, lend_book), lent)
}

fn names(tools: &Toolset) -> Vec<&str> {
    tools.names().collect()
}

async fn call(tools: &Toolset, name: &str, arguments: &str) -> Result<Output, CallError> {
    tools.call(name, arguments, &Context::new("c")).await
}

fn suggestion(result: Result<Output, CallError>) -> Option<String> {
    match result {
        Err(CallError::NotAvailable { suggestion, .. }) => suggestion,
        other => panic!("{other:?}"),
    }
}

#[test]
fn sets_are_merged_in_order() {
    let tools = toolset!(hello).merge(library().0).unwrap();
    assert_eq!(names(&tools), ["hello", "find_book", "lend_book"]);
    assert_eq!((tools.len(), tools.is_empty(), Toolset::new().is_empty()), (3, false, true));
    let tools = library().0.merge(toolset!(hello)).unwrap();
    assert_eq!(names(&tools), ["find_book", "lend_book", "hello"]);
    let shout = RuntimeTool::new("shout", "").external().unwrap();
    assert_eq!(names(&tools.with(shout).unwrap()).last(), Some(&"shout"));
}

#[test]
fn a_name_must_not_be_repeated() {
    let duplicate = |name: &str| ToolsetError::DuplicateName { name: name.to_owned() };
    assert_eq!(library().0.merge(library().0).unwrap_err(), duplicate("find_book"));
    let other = RuntimeTool::new("hello", "").external().unwrap();
    assert_eq!(toolset!(hello).with(other).unwrap_err(), duplicate("hello"));
    let (tools, _) = library();
    let twice = tools.iter().chain(tools.iter()).cloned().collect();
    assert_eq!(Toolset::of(twice).unwrap_err(), duplicate("find_book"));
    let message = duplicate("hello").to_string();
    assert!(message.contains("`hello`") && message.contains("rename or prefix"), "{message}");
}

#[tokio::test]
async fn a_prefix_distinguishes_two_sets() {
    let (tools, lent) = library();
    let both = tools.clone().prefix("a_").unwrap().merge(tools.prefix("b-").unwrap()).unwrap();
    assert_eq!(names(&both), ["a_find_book", "a_lend_book", "b-find_book", "b-lend_book"]);
    let output = call(&both, "b-lend_book", r#"{"number":1}"#).await.unwrap();
    assert_eq!((output.as_json(), lent.load(Ordering::SeqCst)), (Some("15"), 1));
    assert_eq!(suggestion(call(&both, "lend_book", "{}").await).as_deref(), Some("a_lend_book"));
    let spec = both.list().get("b-find_book").unwrap();
    assert_eq!((spec.name.as_str(), spec.description.as_str()), ("b-find_book", "Finds a book."));
}

#[test]
fn a_prefix_must_result_in_valid_names() {
    let prefixed = |prefix: &str| library().0.prefix(prefix);
    assert!(prefixed(&"x".repeat(55)).is_ok());
    assert_eq!(
        prefixed(&"x".repeat(56)).unwrap_err(),
        ToolsetError::InvalidName { name: format!("{}find_book", "x".repeat(56)) }
    );
    for wrong in ["library.", "a b", "ä", "\n", "a/"] {
        let error = prefixed(wrong).unwrap_err();
        assert!(matches!(error, ToolsetError::InvalidName { .. }), "{error}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
    assert!(check_name("").is_err() && check_name(&"n".repeat(64)).is_ok() && check_name(&"n".repeat(65)).is_err());
}

#[tokio::test]
async fn a_tool_can_be_renamed() {
    let tools = library().0.rename("find_book", "search").unwrap();
    assert_eq!(names(&tools), ["search", "lend_book"], "a renamed tool keeps its position");
    assert!(call(&tools, "search", r#"{"title":"Emma"}"#).await.is_ok());
    assert!(matches!(call(&tools, "find_book", "{}").await, Err(CallError::NotAvailable { .. })));
    let again = tools.clone().rename("search", "find_book").unwrap();
    assert!(call(&again, "find_book", r#"{"title":"Emma"}"#).await.is_ok());

    let same = tools.clone().rename("search", "search").unwrap();
    assert_eq!(names(&same), ["search", "lend_book"]);
    let unknown = tools.clone().rename("serach", "x").unwrap_err();
    assert_eq!(unknown, ToolsetError::UnknownTool { name: "serach".into(), suggestion: Some("search".into()) });
    assert!(unknown.to_string().contains("did you mean `search`?"));
    assert_eq!(
        tools.clone().rename("search", "lend_book").unwrap_err(),
        ToolsetError::DuplicateName { name: "lend_book".into() }
    );
    assert!(matches!(tools.rename("search", "two words").unwrap_err(), ToolsetError::InvalidName { .. }));
}

#[tokio::test]
async fn hidden_tools_are_neither_listed_nor_called() {
    let (tools, lent) = library();
    for hidden in [tools.hide("lend_book"), tools.filter(|spec| spec.name != "lend_book")] {
        assert_eq!(names(&hidden), ["find_book"]);
        assert!(hidden.get("lend_book").is_none() && hidden.list().get("lend_book").is_none());
        assert!(!hidden.list().json(ListFormat::OpenAi).get().contains("lend_book"));
        let refused = call(&hidden, "lend_book", r#"{"number":1}"#).await;
        assert_ne!(suggestion(refused).as_deref(), Some("lend_book"), "a hidden tool is not suggested");
        assert!(hidden.prepare("lend_book", r#"{"number":1}"#, &Context::new("c")).now().unwrap().is_err());
    }
    assert_eq!(lent.load(Ordering::SeqCst), 0);
    assert_eq!(names(&tools), ["find_book", "lend_book"], "the original set is unchanged");
    assert_eq!(names(&tools.hide("nothing")), names(&tools));
}

#[tokio::test]
async fn a_selection_holds_for_one_agent_only() {
    let (tools, lent) = library();
    let run = |tools: Toolset| async move {
        let model = Arc::new(ScriptedModel::new([Turn::call("lend_book", json!({"number": 1})), Turn::say("ok")]));
        Agent::new(Arc::clone(&model)).tools(tools).run("x").await.unwrap();
        model.requests()[0].tools.clone()
    };
    assert_eq!(run(tools.filter(|spec| spec.name.starts_with("find"))).await, ["find_book"]);
    assert_eq!(lent.load(Ordering::SeqCst), 0, "a tool that was not offered does not run");
    assert_eq!(run(tools).await, ["find_book", "lend_book"]);
    assert_eq!(lent.load(Ordering::SeqCst), 1);
}

fn list(tools: &Toolset, format: ListFormat) -> Vec<Value> {
    serde_json::from_str(tools.list().json(format).get()).unwrap()
}

#[test]
fn the_list_is_written_for_each_wire_format() {
    let tools = library().0.rename("find_book", "find").unwrap();

    let open_ai = list(&tools, ListFormat::OpenAi);
    assert_eq!(open_ai[0]["type"], "function");
    let (find, lend) = (&open_ai[0]["function"], &open_ai[1]["function"]);
    assert_eq!((&find["name"], &find["description"]), (&json!("find"), &json!("Finds a book.")));
    assert_eq!(find["parameters"]["required"], json!(["title"]));
    assert_eq!(find["parameters"]["properties"]["title"]["description"], "Words of the title.");
    assert_eq!(find.get("strict"), None);
    assert_eq!((&lend["strict"], &lend["parameters"]["required"]), (&json!(true), &json!(["number", "days"])));
    assert_eq!(lend["parameters"]["additionalProperties"], false);

    let anthropic = list(&tools, ListFormat::Anthropic);
    assert_eq!(anthropic[0]["input_schema"]["properties"]["title"]["maxLength"], 40);
    assert_eq!((anthropic[0].get("strict"), &anthropic[1]["strict"]), (None, &json!(true)));
    assert_eq!(anthropic[1]["input_schema"]["required"], json!(["number"]));

    let gemini = list(&tools, ListFormat::Gemini);
    assert_eq!((&gemini[1]["name"], &gemini[1]["description"]), (&json!("lend_book"), &json!("Lends a book.")));
    assert!(gemini[0]["parametersJsonSchema"]["properties"]["year"].is_object());

    let responses = list(&tools, ListFormat::Responses);
    assert_eq!((&responses[0]["type"], &responses[0]["name"]), (&json!("function"), &json!("find")));
    assert_eq!(
        (&responses[0]["strict"], &responses[1]["strict"]),
        (&json!(false), &json!(true)),
        "it is never missing"
    );
    for (at, tool) in responses.iter().enumerate() {
        assert_eq!(
            tool["parameters"], open_ai[at]["function"]["parameters"],
            "the schemas are those of chat completions"
        );
        assert_eq!(tool["description"], open_ai[at]["function"]["description"]);
    }
    let interactions = list(&tools, ListFormat::GeminiInteractions);
    assert_eq!((&interactions[1]["type"], &interactions[1]["name"]), (&json!("function"), &json!("lend_book")));
    assert_eq!(interactions[0]["parameters"], gemini[0]["parametersJsonSchema"]);

    for format in ListFormat::ALL {
        assert_eq!(list(&Toolset::new(), format), [Value::Null; 0]);
        assert!(!tools.list().json(format).get().contains("lent"), "state is not a parameter");
    }
}

#[test]
fn the_list_is_made_once_and_clones_share_it() {
    let (tools, _) = library();
    let clone = tools.clone();
    let (one, two) = (tools.list().json(ListFormat::OpenAi), clone.list().json(ListFormat::OpenAi));
    assert!(std::ptr::eq(one, two));
    assert!(Arc::ptr_eq(tools.get("find_book").unwrap(), clone.get("find_book").unwrap()));
}

#[tokio::test]
async fn arguments_are_limited_in_size() {
    let title = |bytes: usize| json!({"title": "x", "year": null, "pad": "y".repeat(bytes)}).to_string();
    let (tools, _) = library();
    let too_large = |result: Result<Output, CallError>| match result {
        Err(CallError::Rejected(rejection)) => rejection.to_string().contains("bytes of arguments"),
        _ => false,
    };
    assert!(too_large(call(&tools, "find_book", &title(DEFAULT_MAX_ARGUMENT_BYTES)).await));
    assert!(!too_large(call(&tools, "find_book", &title(10)).await));
    let small = tools.clone().max_argument_bytes(24);
    assert!(call(&small, "find_book", r#"{"title":"0123456789ab"}"#).await.is_ok(), "24 bytes are not more than 24");
    assert!(too_large(call(&small, "find_book", r#"{"title":"0123456789abc"}"#).await));
    for kept in
        [small.clone().prefix("p_").unwrap(), small.hide("lend_book"), small.clone().merge(tools).unwrap_or(small)]
    {
        let name = kept.names().next().unwrap().to_owned();
        assert!(too_large(call(&kept, &name, &title(30)).await), "the limit stays with the set: {kept:?}");
    }
}

#[tokio::test]
async fn the_nearest_name_is_suggested() {
    let tools = library().0.merge(toolset!(hello)).unwrap();
    let near = |name: &'static str| {
        let tools = tools.clone();
        async move { suggestion(call(&tools, name, "{}").await) }
    };
    assert_eq!(near("find_bok").await.as_deref(), Some("find_book"));
    assert_eq!(near("book_find").await.as_deref(), Some("find_book"));
    assert_eq!(near("FindBook").await.as_deref(), Some("find_book"));
    assert_eq!(near("delete_everything").await, None);
    assert_eq!(near("").await, None);
    let message = call(&tools, "helo", "{}").await.unwrap_err().for_model();
    assert_eq!(message, Part::text("there is no tool called `helo`; did you mean `hello`?"));
}

#[tokio::test]
async fn a_long_name_from_a_model_is_shortened() {
    let (tools, _) = library();
    let message = call(&tools, &"n\n".repeat(5_000_000), "{}").await.unwrap_err();
    let text = message.for_model().as_text().unwrap().to_owned();
    assert!(text.len() < 400 && !text.contains('\n'), "{} bytes", text.len());
    assert!(message.for_log().len() < 400);
}
