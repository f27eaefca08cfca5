//! Tests of the results of tools: values, content, failures and panics, with the texts for the model and for the log.

use std::{
    collections::{BTreeMap, HashMap},
    fmt, io,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tool_runtime::{
    CallError, Content, Context, Failure, Image, Media, Output, OutputWithContent, Part, Text, Toolset, tool, toolset,
    toolset::RuntimeTool,
};

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Row {
    id: u32,
    name: String,
}

#[derive(Debug)]
enum ReadError {
    Missing { path: String, source: io::Error },
}

impl fmt::Display for ReadError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Missing { path, .. } = self;
        write!(out, "there is no `{path}`")
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let Self::Missing { source, .. } = self;
        Some(source)
    }
}

type Answer<T> = Result<T, ReadError>;
type Plain = Vec<Row>;

/// Returns a value.
#[tool]
fn value() -> Plain {
    vec![Row { id: 1, name: "a\"b".into() }]
}
/// Returns a text as a value.
#[tool]
fn sentence() -> String {
    "it is \"so\"".into()
}
/// Returns text.
#[tool]
fn text() -> Text {
    Text("plain".into())
}
/// Returns an image.
#[tool]
fn image() -> Image {
    Image { media_type: "image/png".into(), data: "AAAA".into() }
}
/// Returns content of several kinds.
#[tool]
fn mixed() -> Content {
    let image = Part::Image(Media::base64("image/png", "AAAA"));
    Content(vec![Part::text("one"), Part::Json { json: "[1]".into() }, image])
}
/// Returns a value, and another text for the model.
#[tool]
async fn shown() -> Result<OutputWithContent<Vec<u8>>, Failure> {
    Ok(OutputWithContent { value: vec![1, 2], model: vec![Part::text("two bytes")] })
}
/// Returns nothing.
#[tool]
fn nothing() {}
/// Returns a `Result` by an alias of its type.
#[tool]
async fn alias(#[arg(default)] fails: bool) -> Answer<u8> {
    let source = io::Error::other("disk 7 is on fire");
    if fails { Err(ReadError::Missing { path: "a".into(), source }) } else { Ok(7) }
}
/// Returns an `io::Result`.
#[tool]
fn input_output(fails: bool) -> io::Result<u8> {
    if fails { Err(io::Error::new(io::ErrorKind::NotFound, "not here")) } else { Ok(1) }
}
/// Fails in one of several ways.
#[tool]
fn failing(how: u8) -> Result<(), Failure> {
    let error = || ReadError::Missing { path: "a".into(), source: io::Error::other("disk 7 is on fire") };
    match how {
        0 => Err(Failure::new("try later")),
        1 => Err(Failure::hidden("token=123")),
        2 => Err(Failure::new("not today").source("token=123")),
        3 => Err(error())?,
        _ => Ok(()),
    }
}
/// Returns a map whose keys JSON cannot express.
#[tool]
fn unwritable() -> Result<Value, Failure> {
    let map: HashMap<Vec<u8>, u8> = HashMap::from([(vec![1], 2)]);
    Output::json(&map).map(|_| Value::Null)
}
/// Panics.
#[tool]
async fn panics(how: u8) -> u8 {
    match how {
        0 => panic!("token=123"),
        1 => panic!("token={}", 123),
        2 => std::panic::panic_any(vec![1]),
        _ => 0,
    }
}
/// Panics while it is decoded.
#[tool]
fn picky(value: Picky) {
    let _ = value;
}

#[derive(JsonSchema)]
struct Picky {
    #[allow(dead_code, reason = "only its schema counts")]
    text: String,
}

impl<'de> Deserialize<'de> for Picky {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = HashMap::<String, String>::deserialize(deserializer)?.remove("text").unwrap_or_default();
        assert!(text != "panic", "token=123");
        Err(serde::de::Error::custom(format!("I do not like `{text}`")))
    }
}

fn tools() -> Toolset {
    toolset!(
        value,
        sentence,
        text,
        image,
        mixed,
        shown,
        nothing,
        alias,
        input_output,
        failing,
        unwritable,
        panics,
        picky
    )
}

async fn call(name: &str, arguments: Value) -> Result<Output, CallError> {
    tools().call(name, &arguments.to_string(), &Context::new("c")).await
}

async fn call_and_show(name: &str) -> (Option<String>, Vec<Part>) {
    let output = call(name, json!({})).await.unwrap();
    (output.as_json().map(str::to_owned), output.for_model())
}

#[tokio::test]
async fn the_application_receives_values_and_the_model_their_content() {
    let json = |json: &str| vec![Part::Json { json: json.into() }];
    let rows = r#"[{"id":1,"name":"a\"b"}]"#;
    assert_eq!(call_and_show("value").await, (Some(rows.into()), json(rows)));
    assert_eq!(call("value", json!({})).await.unwrap().decode::<Plain>().unwrap()[0].id, 1);
    assert_eq!(call_and_show("sentence").await, (Some(r#""it is \"so\"""#.into()), vec![Part::text("it is \"so\"")]));
    assert_eq!(call_and_show("text").await, (None, vec![Part::text("plain")]));
    let image = Part::Image(Media::base64("image/png", "AAAA"));
    assert_eq!(call_and_show("image").await, (None, vec![image.clone()]));
    assert_eq!(call_and_show("mixed").await, (None, vec![Part::text("one"), json("[1]").remove(0), image]));
    assert_eq!(call_and_show("shown").await, (Some("[1,2]".into()), vec![Part::text("two bytes")]));
    assert_eq!(call_and_show("nothing").await, (Some("null".into()), json("null")));
    assert_eq!(call_and_show("alias").await, (Some("7".into()), json("7")));
    assert!(call("text", json!({})).await.unwrap().decode::<String>().is_err(), "content is not a value");
}

#[test]
fn outputs_have_schemas_where_they_are_values() {
    let tools = tools();
    let schema = |name: &str| tools.get(name).unwrap().spec().output.as_ref().map(|schema| schema.neutral().clone());
    assert_eq!(schema("value").unwrap()["items"]["$ref"], "#/$defs/Row");
    assert_eq!(
        (schema("alias"), schema("input_output")),
        (schema("alias"), schema("alias")),
        "the schema is that of the `Ok` type"
    );
    assert_eq!(schema("alias").unwrap()["maximum"], 255);
    assert_eq!(schema("shown").unwrap()["type"], "array");
    assert_eq!((schema("text"), schema("image"), schema("mixed")), (None, None, None));
}

/// Calls a tool that fails. Returns the text for the model, and the text for the log.
async fn failure_texts(name: &str, arguments: Value) -> (String, String) {
    let error = call(name, arguments).await.unwrap_err();
    assert!(!error.did_not_run(), "{error}");
    assert_eq!(error.to_string(), error.for_model().as_text().unwrap(), "the model receives the `Display` text");
    (error.to_string(), error.for_log())
}

#[tokio::test]
async fn the_tool_decides_about_the_text_of_its_error() {
    let (model, log) = failure_texts("alias", json!({"fails": true})).await;
    assert_eq!(model, "there is no `a`");
    assert!(log.contains("there is no `a`") && log.contains("disk 7 is on fire"), "{log}");
    let (model, log) = failure_texts("input_output", json!({"fails": true})).await;
    assert!(model == "not here" && log.contains("NotFound"), "{model} / {log}");

    let failing = |how: u8| failure_texts("failing", json!({ "how": how }));
    assert_eq!(failing(0).await, ("try later".into(), "try later".into()));
    assert_eq!(failing(1).await, ("the tool failed".into(), "\"token=123\"".into()));
    assert_eq!(failing(2).await, ("not today".into(), "not today: \"token=123\"".into()));
    assert_eq!(failing(3).await, ("the tool failed".into(), "there is no `a`: disk 7 is on fire".into()));
    assert!(call("failing", json!({"how": 4})).await.is_ok());
}

#[tokio::test]
async fn an_output_without_json_is_a_failure() {
    let (model, log) = failure_texts("unwritable", json!({})).await;
    assert_eq!(model, "the tool failed");
    assert!(log.contains("cannot be written as JSON"), "{log}");
    assert!(Output::json(&BTreeMap::from([(1, 2)])).is_ok(), "numbers as keys become texts");
}

#[tokio::test]
async fn the_text_of_a_panic_reaches_only_the_log() {
    for how in 0..2 {
        let (model, log) = failure_texts("panics", json!({ "how": how })).await;
        let text = "the tool failed; if it has effects, they may have happened";
        assert_eq!((model.as_str(), log.as_str()), (text, "panicked: token=123"));
    }
    assert_eq!(failure_texts("panics", json!({"how": 2})).await.1, "panicked: a panic without a text");
    assert_eq!(failure_texts("picky", json!({"value": {"text": "panic"}})).await.1, "panicked: token=123");
    assert!(call("panics", json!({"how": 3})).await.is_ok(), "the toolset works after a panic");
}

#[tokio::test]
async fn the_error_text_of_a_type_is_shown_and_shortened() {
    let refused = |text: String| async move {
        let error = call("picky", json!({"value": {"text": text}})).await.unwrap_err();
        let CallError::Rejected(rejection) = error else { panic!("{error}") };
        rejection
    };
    let rejection = refused("this".into()).await;
    assert_eq!(rejection.problems()[0].path, "/value");
    assert!(rejection.to_string().contains("I do not like `this`"), "{rejection}");
    assert!(refused("x\n".repeat(1_000_000)).await.to_string().len() < 1000);
}

/// Ask for a number.
#[tool(external, output = Bounded)]
struct Ask {}

#[derive(Debug, Deserialize, JsonSchema)]
struct Bounded {
    #[schemars(range(min = 1, max = 5))]
    stars: u32,
    #[serde(default)]
    words: String,
}

#[test]
fn an_external_output_that_does_not_fit_its_schema_is_refused() {
    let tools = toolset!(Ask);
    let ask = tools.get("Ask").unwrap();
    let output = ask.read_external_output(r#" {"stars":5} "#).unwrap();
    assert_eq!((output.decode::<Bounded>().unwrap().stars, output.as_json()), (5, Some(r#"{"stars":5}"#)));
    let schema = ask.spec().output.as_ref().unwrap().neutral();
    assert_eq!(
        schema["$defs"]["Bounded"]["required"],
        json!(["stars"]),
        "a field with a default is not required: {schema}"
    );
    for wrong in ["", "{}", "5", r#"{"stars":6}"#, r#"{"stars":5,"stars":1}"#, r#"{"stars":5} x"#, "{'stars':5}"] {
        let Err(CallError::Rejected(rejection)) = ask.read_external_output(wrong) else { panic!("{wrong}") };
        assert!(!rejection.to_string().is_empty());
    }
    assert!(
        ask.read_external_output(r#"{"stars":3,"words":"good"}"#).unwrap().decode::<Bounded>().unwrap().words == "good"
    );
    let own = RuntimeTool::new("own", "").handler(|_, _| async { Ok(Value::Null) }).unwrap();
    assert!(matches!(
        Toolset::new().with(own).unwrap().get("own").unwrap().read_external_output("1"),
        Err(CallError::NotExecuted)
    ));
}
