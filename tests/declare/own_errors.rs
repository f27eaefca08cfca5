//! Tests of the errors of a user's own types: the model and people read them as they are.

use std::{collections::BTreeMap, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::{Value, json};
use tool_runtime::{
    Agent, AgentError, CallError, Context, DynamicInput, Rejection, Toolset, Validation,
    agent::Suspend,
    model::{ScriptedModel, Turn},
    run::{Decision, Refusal},
    tool, toolset,
};

/// A range whose ends are in order.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "RawRange")]
struct Range {
    from: i64,
    to: i64,
}

#[derive(Deserialize, JsonSchema)]
struct RawRange {
    from: i64,
    to: i64,
}

struct OutOfOrder;

impl fmt::Display for OutOfOrder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("`from` is above `to`")
    }
}

impl TryFrom<RawRange> for Range {
    type Error = OutOfOrder;

    fn try_from(RawRange { from, to }: RawRange) -> Result<Self, OutOfOrder> {
        if from <= to { Ok(Self { from, to }) } else { Err(OutOfOrder) }
    }
}

/// A field that is read by a function.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Even {
    #[serde(deserialize_with = "even")]
    n: u8,
}

fn even<'de, D: Deserializer<'de>>(from: D) -> Result<u8, D::Error> {
    let n = u8::deserialize(from)?;
    if n % 2 == 0 { Ok(n) } else { Err(de::Error::custom(format!("{n} at line 3 is odd, expected a pair at line 4"))) }
}

/// A word, whose own reader uses the words of serde, too.
#[derive(Debug, JsonSchema)]
#[schemars(transparent)]
struct Word(#[allow(dead_code, reason = "only its reading is tested")] String);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match String::deserialize(from)?.as_str() {
            "" => Err(de::Error::custom("say\nsomething")),
            "no" => Err(de::Error::invalid_value(de::Unexpected::Str("no"), &"another word")),
            "x" => Err(de::Error::invalid_value(de::Unexpected::Other("x"), &"y")),
            "silence" => Err(de::Error::custom("")),
            word => Ok(Self(word.to_owned())),
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(dead_code, reason = "only its reading is tested")]
enum Shape {
    Dot,
    Line(Range),
    Area { across: Range },
}

/// Accepts own types in every place.
#[tool]
fn draw(
    range: Option<Range>,
    even: Option<Even>,
    word: Option<Word>,
    #[arg(default)] list: Vec<Range>,
    #[arg(default)] map: BTreeMap<String, Even>,
    shape: Option<Shape>,
) -> String {
    format!("{range:?} {even:?} {word:?} {list:?} {map:?} {shape:?}")
}

async fn rejection(tools: &Toolset, name: &str, arguments: &Value) -> Rejection {
    match tools.call(name, &arguments.to_string(), &Context::new("c")).await {
        Err(CallError::Rejected(rejection)) => rejection,
        other => panic!("{arguments}: {other:?}"),
    }
}

#[tokio::test]
async fn an_own_error_is_shown_as_it_is_where_its_value_is() {
    let bad = json!({ "from": 2, "to": 1 });
    let order = "`from` is above `to`";
    let odd = "1 at line 3 is odd, expected a pair at line 4";
    for (name, value, path, expected) in [
        ("range", bad.clone(), "range", order),
        ("list", json!([{ "from": 1, "to": 1 }, bad]), "list.1", order),
        ("shape", json!({ "line": bad }), "shape.line", order),
        ("shape", json!({ "area": { "across": bad } }), "shape.area.across", order),
        ("even", json!({ "n": 1 }), "even.n", odd),
        ("map", json!({ "a": { "n": 2 }, "b": { "n": 1 } }), "map.b.n", odd),
        ("word", json!(""), "word", r"say\nsomething"),
        // The words of serde stay an expectation.
        ("word", json!("no"), "word", r#"expected another word, got "no""#),
        // Other words that begin like these stay as they are.
        ("word", json!("x"), "word", "invalid value: x, expected y"),
        (
            "word",
            json!("silence"),
            "word",
            r#"expected another value: the type of the parameter refuses this one without a reason, got "silence""#,
        ),
    ] {
        let rejection = rejection(&toolset!(draw), "draw", &json!({ name: value })).await;
        assert_eq!(rejection.to_json()["validationResults"][path]["problems"], json!([expected]), "{value}");
        assert_eq!(rejection.lines(), [format!("`{path}`: {expected}")]);
    }
    assert!(toolset!(draw).call("draw", r#"{"shape":"dot","word":"yes"}"#, &Context::new("c")).await.is_ok());
}

#[tokio::test]
async fn all_own_errors_of_a_call_are_reported_at_once() {
    let arguments = json!({ "range": { "from": 2, "to": 1 }, "even": { "n": 1 }, "word": 7 });
    let lines = rejection(&toolset!(draw), "draw", &arguments).await.lines();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!(lines[0], "`range`: `from` is above `to`");
    assert!(lines[2].starts_with("`word`: expected a string or null, got 7"), "{lines:?}");
}

/// A trip, one of whose fields is validated.
#[derive(DynamicInput)]
struct Trip {
    #[dynamic(validate = to)]
    to: String,
    #[arg(default = Range { from: 0, to: 0 })]
    days: Range,
}

fn to(value: Option<String>, _: TripTo<'_>) -> Validation<String> {
    value.map_or_else(|| Validation::reject("where to?"), Validation::accept)
}

/// Travels.
#[tool]
fn travel(
    #[dynamic(nested)] trip: Trip,
    #[dynamic(validate = nights)] nights: Range,
    #[arg(default = Range { from: 0, to: 0 })] budget: Range,
) -> String {
    format!("{} {:?} {nights:?} {budget:?}", trip.to, trip.days)
}

fn nights(value: Option<Range>, _: TravelNights<'_>) -> Validation<Range> {
    value.map_or_else(|| Validation::reject("how long?"), Validation::accept)
}

#[tokio::test]
async fn dynamic_parameters_show_own_errors_as_they_are() {
    let (good, bad) = (json!({ "from": 1, "to": 2 }), json!({ "from": 2, "to": 1 }));
    let trip = |days: &Value| json!({ "to": "Rome", "days": days });
    for (arguments, at) in [
        (json!({ "trip": trip(&good), "nights": bad }), "nights"),
        (json!({ "trip": trip(&good), "nights": good, "budget": bad }), "budget"),
        (json!({ "trip": trip(&bad), "nights": good }), "trip.days"),
    ] {
        let rejection = rejection(&toolset!(travel), "travel", &arguments).await.to_json();
        let text = rejection["validationResults"].to_string();
        assert!(text.contains("`from` is above `to`") && !text.contains("expected"), "{at}: {text}");
    }
    let fine = json!({ "trip": trip(&good), "nights": good }).to_string();
    assert!(toolset!(travel).call("travel", &fine, &Context::new("c")).await.is_ok());
}

/// Reserves a range.
#[tool(approval = always)]
fn reserve(range: Range) -> i64 {
    range.to - range.from
}

/// Measures outside of this program.
#[tool(external, output = Range)]
struct Measure {}

/// Returns the feedback about a decision on the only call of a run.
async fn feedback(tools: Toolset, turn: Turn, decision: Decision) -> Rejection {
    let mut session = Agent::new(ScriptedModel::new([turn])).tools(tools).operator(Suspend).session();
    session.send("go").await.unwrap();
    let open = session.interrupts().next().unwrap().id.clone();
    match session.decide(&open, decision, "").await {
        Err(AgentError::Refused(Refusal::Invalid { feedback })) => feedback,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn people_and_clients_read_own_errors_as_they_are() {
    let (good, bad) = (json!({ "from": 1, "to": 2 }), json!({ "from": 2, "to": 1 }));
    let turn = Turn::call("reserve", json!({ "range": good }));
    let edit = Decision::Edit { arguments: json!({ "range": bad }) };
    let edited = feedback(toolset!(reserve), turn, edit).await;
    assert_eq!(edited.lines(), ["`range`: `from` is above `to`"]);
    let respond = Decision::Respond { output: bad };
    let given = feedback(toolset!(Measure), Turn::call("Measure", "{}"), respond).await;
    assert_eq!(given.lines(), ["`from` is above `to`"]);
}
