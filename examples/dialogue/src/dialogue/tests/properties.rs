//! Properties that hold for all messages and schemas: no panic, no empty turn, and no call with invalid arguments.

use std::ops::Bound;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::form::FieldQuestion;
use super::super::scalar;
use super::super::shape::{Kind, Shape};
use super::super::{DialogueState, Reply, read_dialogue};
use super::{assistant, reply, tool, tool_result};
use tool_runtime::message::{AssistantPart, Message, Part, ToolCall};
use tool_runtime::model::Request;
use tool_runtime::toolset::ToolList;

/// Prompts, some of which answer a question.
const PROMPTS: &[&str] = &[
    "",
    "yes",
    "no",
    "help",
    "?",
    "cancel",
    "back",
    "skip",
    "default",
    "done",
    "again",
    "thanks",
    "1",
    "2",
    "0",
    "-7",
    "1.5",
    "two",
    "a",
    "a, b",
    "a,",
    "none",
    "[1]",
    "[]",
    "{}",
    "{\"a\":1}",
    "\"",
    "\"x\"",
    "name: 1",
    "p0: 1, p1: a",
    "p0=",
    "p1 = x with p2 2",
    "change p0 to 5",
    "from A to B",
    "in Paris",
    "2026-10-01",
    "a@b.org",
    "ABC",
    "fill p0",
    "fill it in",
    "alpha",
    "Be",
    "gama",
    "😀 \u{0}\u{202e}",
    ":",
    "=:=",
    "for",
    "to to to from",
    "p0",
    "İ: ß",
    "999999999999999999999",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => prop::sample::select(PROMPTS).prop_map(str::to_owned),
        2 => prop::collection::vec(prop::sample::select(PROMPTS), 1..4).prop_map(|parts| parts.join(" ")),
        1 => "\\PC{0,20}",
        1 => any::<String>(),
    ]
}

/// Generates schemas that our own shapes can read.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string"})),
        (0_u32..4, 4_u32..9).prop_map(|(least, most)| json!({"type": "string", "minLength": least, "maxLength": most})),
        Just(json!({"type": "string", "format": "date", "description": "The day."})),
        Just(json!({"type": "string", "format": "email"})),
        Just(json!({"type": "string", "pattern": "^[A-Z]{2,4}$"})),
        Just(json!({"$ref": "#/$defs/Letter", "description": "Which letter."})),
        Just(json!({"oneOf": [{"const": "x", "title": "Ex"}, {"const": "y"}]})),
        Just(json!({"enum": [1, 2, "two", null]})),
        Just(json!({"const": 7})),
        (-5_i64..5, 5_i64..20).prop_map(|(min, max)| json!({"type": "integer", "minimum": min, "maximum": max})),
        Just(json!({"type": "number", "exclusiveMinimum": 0.5, "multipleOf": 0.5})),
        Just(json!({"type": "boolean", "default": true})),
        Just(json!({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": null})),
        Just(json!({"type": ["string", "number"]})),
        Just(json!({"type": "object", "additionalProperties": true})),
        Just(json!({})),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            (inner.clone(), 0_u32..3, 3_u32..5).prop_map(
                |(item, least, most)| json!({"type": "array", "items": item, "minItems": least, "maxItems": most})
            ),
            object(inner.clone()),
            object(inner).prop_map(|base| json!({"allOf": [base]})),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::vec((inner, any::<bool>()), 0..4).prop_map(|fields| {
        let name = |at: usize| format!("p{at}");
        let required: Vec<String> = (0..fields.len()).filter(|at| fields[*at].1).map(name).collect();
        let properties: serde_json::Map<_, _> =
            fields.iter().enumerate().map(|(at, field)| (name(at), field.0.clone())).collect();
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    })
}

fn root() -> impl Strategy<Value = Value> {
    object(schema()).prop_map(|mut root| {
        root["$defs"] = json!({"Letter": {"type": "string", "enum": ["alpha", "beta", "gamma"]}});
        root
    })
}

fn feedback() -> impl Strategy<Value = String> {
    let validation = prop_oneof![
        Just(json!({"valid": true})),
        Just(json!({"valid": true, "normalizedValue": "n"})),
        Just(json!({"valid": false, "problems": ["no"], "allowedValues": ["alpha", 2]})),
        Just(json!({"valid": false, "problems": ["`p0.p1`: no", "`p0/0`"], "allowedValues": []})),
        Just(json!({"valid": false, "requiresValidParameters": ["p0", "p2", "zz"]})),
        Just(json!({"valid": false, "suggestedValues": [1], "dynamicParameterSchema": {"type": "boolean"}})),
        Just(json!(3)),
    ];
    let results = prop::collection::vec(("p[0-3]|zz|", validation), 0..4);
    let results = results.prop_map(|fields| fields.into_iter().collect::<serde_json::Map<_, _>>());
    prop_oneof![
        results.prop_map(|results| json!({"ok": false, "validationResults": results}).to_string()),
        Just(json!({"ok": false, "problems": ["closed"], "feedback": [1]}).to_string()),
        Just(json!([{"a": 1, "b": [{}]}, {"a": {"c": null}}]).to_string()),
        any::<String>(),
    ]
}

/// Generates messages in any order, also calls without results and results without calls.
fn message() -> impl Strategy<Value = Message> {
    let call = ("call_[1-3]", "fill|gone", prop_oneof![Just("{\"p0\":[{}],\"p1\":{}}".to_owned()), text()]);
    let call = call.prop_map(|(id, name, arguments)| ToolCall { id, name, arguments });
    prop_oneof![
        4 => text().prop_map(Message::user),
        1 => text().prop_map(Message::assistant),
        1 => call.clone().prop_map(|call| Message::Assistant { content: vec![AssistantPart::Call(call)] }),
        2 => (call, feedback(), any::<bool>()).prop_map(|(call, text, error)| tool_result(&call, &text, error)),
        1 => Just(Message::system("x")),
        1 => Just(Message::User { content: vec![Part::Json { json: "{".into() }] }),
    ]
}

/// Returns an answer that fits a question.
fn fitting_answer(question: &FieldQuestion) -> String {
    if let Some(choice) = question.choices.first() {
        return scalar::to_plain_text(&choice.value);
    }
    text_of(&question.shape)
}

fn text_of(shape: &Shape) -> String {
    if let Some(choice) = shape.allowed.first() {
        return scalar::to_plain_text(&choice.value);
    }
    match &shape.kind {
        Kind::Text(text) => match (text.format.as_deref(), &text.pattern) {
            (Some("date"), _) => "2026-10-01".into(),
            (Some(_), _) => "a@b.org".into(),
            (_, Some(_)) => "ABC".into(),
            _ => "x".repeat(text.least.max(1)),
        },
        Kind::Number(number) => match number.range.0 {
            Bound::Included(least) => least.to_string(),
            _ => "1".into(),
        },
        Kind::Bool => "yes".into(),
        Kind::List { item, least, .. } if item.is_form() => least.to_string(),
        Kind::List { item, least, .. } => match (&item.kind, *least) {
            (_, 0) => "none".into(),
            (Kind::Text(_) | Kind::Number(_) | Kind::Bool | Kind::Either(_), least) => {
                vec![text_of(item); least].join(", ")
            }
            (_, least) if !item.allowed.is_empty() => vec![text_of(item); least].join(", "),
            (_, least) => json!(vec![value_of(item); least]).to_string(),
        },
        Kind::Either(shapes) => text_of(&shapes[0]),
        Kind::Object { .. } | Kind::Anything => "{}".into(),
    }
}

fn value_of(shape: &Shape) -> Value {
    match &shape.kind {
        Kind::List { item, least, .. } => vec![value_of(item); *least].into(),
        Kind::Object { fields, .. } => {
            let required = fields.iter().filter(|field| field.is_required);
            Value::Object(required.map(|field| (field.name.clone(), value_of(&field.shape))).collect())
        }
        Kind::Text(_) => text_of(shape).into(),
        Kind::Number(_) => scalar::parse_number(&text_of(shape)).map_or(Value::Null, Value::Number),
        Kind::Bool => true.into(),
        Kind::Either(shapes) => value_of(&shapes[0]),
        Kind::Anything => shape.only_value().cloned().unwrap_or(json!({})),
    }
}

fn fits(schema: &Value, arguments: &str) -> Result<(), String> {
    let validator =
        jsonschema::options().should_validate_formats(true).build(schema).map_err(|error| error.to_string())?;
    let arguments = serde_json::from_str(arguments).map_err(|error| error.to_string())?;
    validator.validate(&arguments).map_err(|error| format!("{error} at {}", error.instance_path()))
}

proptest! {
    #[test]
    fn any_history_has_a_reply(root in root(), messages in prop::collection::vec(message(), 0..12)) {
        let tools = ToolList::new(vec![tool("fill", "Fill p0 in.", root), tool("other", "", json!(true))]);
        let first = reply(&tools, &messages);
        match &first {
            Reply::Say(text) => prop_assert!(!text.trim().is_empty()),
            Reply::Call(_) => {
                let asked = matches!(messages.last(), Some(Message::User { .. }));
                prop_assert!(asked);
            }
        }
        prop_assert_eq!(first, reply(&tools, &messages));
    }

    #[test]
    fn a_call_fits_its_schema(root in root(), chatter in prop::collection::vec((any::<bool>(), text()), 0..40)) {
        let tools = ToolList::new(vec![tool("fill", "Fill it in.", root.clone())]);
        let mut messages = vec![Message::user("fill")];
        let mut chatter = chatter.into_iter();
        for turn in 0..120 {
            let reply = reply(&tools, &messages);
            if let Reply::Call(call) = &reply {
                prop_assert_eq!(fits(&root, &call.arguments), Ok(()), "{} of {}", call.arguments, root);
                return Ok(());
            }
            let dialogue = read_dialogue(Request::new(&messages, &tools)).expect("nothing is forced");
            let sensible = match &dialogue.state {
                DialogueState::Filling(form) if form.clarification.is_none() => match form.next_question(dialogue.shape(0)) {
                    Some(question) if form.open_list.is_some() && form.is_complete(&question) => "done".to_owned(),
                    Some(question) => fitting_answer(&question),
                    None => "yes".to_owned(),
                },
                DialogueState::Filling(_) => "no".to_owned(),
                DialogueState::Confirming { .. } => "yes".to_owned(),
                _ => "fill".to_owned(),
            };
            messages.push(assistant(&reply));
            // After some stray messages, the person answers the questions.
            let next = chatter.next().filter(|(stray, _)| *stray && turn < 40).map_or(sensible, |(_, text)| text);
            messages.push(Message::user(next));
        }
        prop_assert!(false, "the dialogue made no call: {root} {:?}", messages.last_chunk::<4>());
    }
}
