//! Dialogues, written as transcripts.
//!
//! In a script, `> ` begins the person's text, `< ` the result of the previous call, and `<! ` its failure. All other lines are
//! the model's replies, where `! name arguments` is a call. The model must reproduce its lines.

use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::{Value, json};

use super::{Reply, reply};
use tool_runtime::message::{AssistantPart, Message, Part, ToolCall, ToolMessage};
use tool_runtime::model::{ModelErrorKind, Request, ToolChoice};
use tool_runtime::schema::Schema;
use tool_runtime::tool::{CallError, Context, ToolSpec, Validation};
use tool_runtime::toolset::{DynamicField, RuntimeTool, ToolList, Toolset};

fn tool(name: &str, description: &str, input: Value) -> Arc<ToolSpec> {
    Arc::new(ToolSpec::new(name, description, Schema::new(input)))
}

fn assistant(reply: &Reply) -> Message {
    match reply {
        Reply::Say(text) => Message::assistant(text),
        Reply::Call(call) => Message::Assistant { content: vec![AssistantPart::Call(call.clone())] },
    }
}

fn tool_result(call: &ToolCall, text: &str, is_error: bool) -> Message {
    let content = match serde_json::from_str::<Value>(text) {
        Ok(_) => vec![Part::Json { json: text.to_owned() }],
        Err(_) => vec![Part::text(text)],
    };
    Message::Tool(ToolMessage { call_id: call.id.clone(), tool: call.name.clone(), content, is_error })
}

#[track_caller]
fn check(tools: &ToolList, script: &str) {
    check_with(tools, script, None);
}

/// Runs a script, in which `respond`, if given, returns the results of the calls.
#[track_caller]
fn check_with(tools: &ToolList, script: &str, respond: Option<&dyn Fn(&ToolCall) -> Message>) {
    let written: Vec<&str> = script.trim().lines().map(str::trim).collect();
    let (mut messages, mut out, mut waiting) = (Vec::new(), Vec::new(), None);
    for &line in &written {
        if let Some(text) = line.strip_prefix("> ") {
            messages.push(Message::user(text));
        } else if let Some(call) = waiting.take_if(|_| line.starts_with('<')) {
            messages.push(tool_result(&call, line.trim_start_matches(['<', '!']).trim(), line.starts_with("<!")));
        } else {
            continue;
        }
        out.push(line.to_owned());
        loop {
            let reply = reply(&Request::new(&messages, tools)).expect("no tool is forced");
            messages.push(assistant(&reply));
            match reply {
                Reply::Say(text) => break out.extend(text.lines().map(|line| line.trim().to_owned())),
                Reply::Call(made) => {
                    out.push(format!("! {} {}", made.name, made.arguments));
                    match respond {
                        Some(respond) => messages.push(respond(&made)),
                        None => break waiting = Some(made),
                    }
                }
            }
        }
    }
    let (run, written) = (out.join("\n"), written.join("\n"));
    assert!(run == written, "\n--- the dialogue ran as\n{run}\n--- the script is\n{written}\n");
}

fn tools() -> ToolList {
    let weather = json!({"type": "object", "required": ["city"],
        "$defs": {"Unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}},
        "properties": {
            "city": {"type": "string", "description": "The city's name."},
            "unit": {"$ref": "#/$defs/Unit", "description": "Temperature unit.", "default": "celsius"}}});
    let flights = json!({"type": "object", "required": ["from_city", "date", "passengers", "cabin", "extras"], "properties": {
        "from_city": {"type": "string", "description": "Airport of departure. Or a city."},
        "date": {"type": "string", "format": "date"},
        "passengers": {"type": "integer", "minimum": 1, "maximum": 9, "description": "How many people travel."},
        "cabin": {"oneOf": [{"const": "eco", "description": "Economy. Cheap."}, {"const": "biz"}]},
        "extras": {"type": "array", "items": {"enum": ["bag", "meal"]}}}});
    ToolList::new(vec![
        tool("get_weather", "Get the weather of a city. Never guesses.", weather),
        tool("search_flights", "Search flights.", flights),
    ])
}

#[test]
fn a_tool_is_chosen_and_its_parameters_are_asked_for() {
    check(
        &tools(),
        r#"
        > hi
        This is what I can do:
        1. Get weather – Get the weather of a city
        2. Search flights – Search flights
        Give a name or a number.
        > 2
        Search flights.
        From city? Airport of departure.
        > "cancel"
        Date? (a date such as 2025-01-31)
        > tomorrow
        Expected a date such as 2025-01-31, got "tomorrow".
        Date? (a date such as 2025-01-31)
        > 2026-10-01
        Passengers? How many people travel. (a whole number from 1 to 9)
        > 12
        Expected a whole number from 1 to 9, got 12.
        Passengers? How many people travel. (a whole number from 1 to 9)
        > from city: Oslo
        From city: Oslo.
        Passengers? How many people travel. (a whole number from 1 to 9)
        > 2
        Cabin?
        1. eco – Economy
        2. biz
        > bizz
        “bizz” is not on the list. Did you mean “biz”?
        Cabin?
        1. eco – Economy
        2. biz
        > 2
        Extras? (with commas between)
        1. bag
        2. meal
        > 1, Meal
        ! search_flights {"from_city":"Oslo","date":"2026-10-01","passengers":2,"cabin":"biz","extras":["bag","meal"]}
        < {"ok":true,"flights":[1],"hint":"Two seats."}
        flights: [
        1
        ]
        hint: Two seats.
        > thanks
        This is what I can do:
        1. Get weather – Get the weather of a city
        2. Search flights – Search flights
        Give a name or a number."#,
    );
}

#[test]
fn a_request_may_have_articles_and_be_polite() {
    let size = json!({"type": "object", "required": ["size"], "properties": {"size": {"type": "string"}}});
    let order = json!({"type": "object", "required": ["number"], "properties": {"number": {"type": "integer"}}});
    let tools = ToolList::new(vec![
        tool("order_pizza", "Order a pizza.", size),
        tool("track_the_order", "Say where an order is.", order),
    ]);
    for text in ["order a pizza", "Order pizza please!", "I'd like to order a pizza"] {
        let Reply::Say(written) = reply(&Request::new(&[Message::user(text)], &tools)).unwrap() else {
            panic!("{text}")
        };
        assert!(written.contains("Order pizza.") && written.contains("Size?"), "{text}: {written}");
    }
    let Reply::Say(written) = reply(&Request::new(&[Message::user("track my order")], &tools)).unwrap() else {
        panic!()
    };
    assert!(written.contains("Give a name or a number."), "{written}");
}

#[test]
fn a_text_after_the_name_and_a_colon_is_the_first_answer() {
    check(
        &tools(),
        r#"
        > Get weather: New York
        ! get_weather {"city":"New York"}
        <! connection refused
        That did not work: connection refused
        > get_weather
        Get weather.
        City? The city's name.
        > unit: 2
        Unit: fahrenheit.
        City? The city's name.
        > help
        Get weather – Get the weather of a city
        city:
        unit: fahrenheit
        Say “cancel” to drop it, or “name: value” to set a parameter.
        City? The city's name.
        > cancel
        I have dropped “Get weather”.

        This is what I can do:
        1. Get weather – Get the weather of a city
        2. Search flights – Search flights
        Give a name or a number.
        > 1
        Get weather.
        City? The city's name.
        > 5
        ! get_weather {"city":"5"}
        <! the call was denied, and did not run
        I did not do it."#,
    );
}

#[test]
fn the_only_tool_needs_no_name() {
    let note = json!({"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}});
    check(
        &ToolList::new(vec![tool("note", "Write a note.", note)]),
        r#"
        > help
        This is what I can do: Note – Write a note.
        > Buy milk, and eggs.
        ! note {"text":"Buy milk, and eggs."}"#,
    );
    let refund = json!({"type": "object", "required": ["order", "amount"], "properties": {
        "order": {"type": "string", "pattern": "^A[0-9]{3}$"}, "amount": {"type": "integer"}}});
    check(
        &ToolList::new(vec![tool("refund", "Pay money back.", refund)]),
        r#"
        > I would like my money back
        Refund.
        Order? (a string that matches `^A[0-9]{3}$`)
        > A102
        Amount? (a whole number)
        > 40
        ! refund {"order":"A102","amount":40}"#,
    );
}

#[test]
fn values_of_other_shapes_are_json() {
    let input = json!({"type": "object", "required": ["any", "place", "numbers", "is_new", "maybe"], "properties": {
        "any": {}, "place": {"type": "object", "required": ["x"], "properties": {"x": {"type": "integer"}}},
        "numbers": {"type": "array", "items": {"type": "integer"}}, "is_new": {"type": "boolean"},
        "maybe": {"type": ["string", "null"]}}});
    check(
        &ToolList::new(vec![tool("store", "Store.", input)]),
        r#"
        > store
        Store.
        Any?
        > {"a": 1}
        Place? (an object with `x`)
        > {"y": 1}
        `x`: missing: expected a whole number.
        Place? (an object with `x`)
        > {"x": 1}
        Numbers? (a list of whole numbers; with commas between)
        > 1, x
        `1`: expected a whole number, got "x".
        Numbers? (a list of whole numbers; with commas between)
        > 1, 2
        Is new? (true or false)
        > no
        Maybe?
        > none
        ! store {"any":{"a":1},"place":{"x":1},"numbers":[1,2],"is_new":false,"maybe":null}"#,
    );
    let union = json!({"type": "object", "oneOf": [
        {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "a"}}},
        {"type": "object", "required": ["kind", "n"], "properties": {"kind": {"const": "b"}, "n": {"type": "integer"}}}]});
    check(
        &ToolList::new(vec![tool("either", "Either.", union)]),
        r#"
        > either: {"kind":"b","n":2}
        ! either {"kind":"b","n":2}"#,
    );
}

/// Accepts one of `cities`. The result offers each.
#[allow(clippy::needless_pass_by_value, reason = "as validators get it")]
fn validate_city(value: Option<Value>, cities: &[&str]) -> Validation<Value> {
    let all: Vec<Value> = cities.iter().copied().map(Value::from).collect();
    match value.filter(|value| all.contains(value)) {
        Some(city) => Validation::accept(city).allowed(&all),
        None => Validation::reject("nobody flies there").allowed(&all),
    }
}

#[test]
fn a_rejection_leads_to_the_next_question() {
    let input = json!({"type": "object", "required": ["from", "to"], "properties": {
        "from": {"type": "string", "description": "City of departure."}, "to": {"type": "string"}}});
    let book = RuntimeTool::new("book_flight", "Book a flight.").input(input).dynamic();
    let book = book
        .field(DynamicField::new("from").validate(|value, _| validate_city(value, &["Oslo", "Rome", "Nome"])))
        .field(DynamicField::new("to").requires(["from"]).validate(|value, known| {
            validate_city(value, if known["from"] == "Oslo" { &["Rome", "Paris"] } else { &[] })
        }));
    let book =
        book.handler(|arguments, _| async move { Ok(json!({"to": arguments["to"]})) }).expect("it fits its schema");
    let tools = Toolset::new().with(book).expect("its name is its own");
    let respond = |call: &ToolCall| {
        let cx = Context::new(&call.id);
        match tools.call(&call.name, &call.arguments, &cx).now_or_never().expect("nothing waits") {
            Ok(output) => tool_result(call, &output.text(), false),
            Err(CallError::Rejected(rejection)) => tool_result(call, &rejection.to_json_text(), true),
            Err(other) => tool_result(call, &other.to_string(), true),
        }
    };
    let script = r#"
        > book a flight
        ! book_flight {}
        From? City of departure.
        1. Oslo
        2. Rome
        3. Nome
        > 1
        ! book_flight {"from":"Oslo"}
        To?
        1. Rome
        2. Paris
        > Tokyo
        “Tokyo” is not on the list.
        To?
        1. Rome
        2. Paris
        > from: Rome
        ! book_flight {"from":"Rome"}
        To: nothing is possible. Nobody flies there.
        > book flight
        ! book_flight {}
        From? City of departure.
        1. Oslo
        2. Rome
        3. Nome
        > oslo
        ! book_flight {"from":"Oslo"}
        To?
        1. Rome
        2. Paris
        > paris
        ! book_flight {"from":"Oslo","to":"Paris"}
        to: Paris"#;
    check_with(tools.list(), script, Some(&respond));
}

#[test]
fn mistakes_inside_a_list_lead_to_a_question_about_the_list() {
    let leg = json!({"type": "object", "properties": {"from": {"type": "string"}}});
    let input = json!({"type": "object", "properties": {"legs": {"type": "array", "items": leg}}});
    let script = r#"
        > book
        ! book {}
        <! {"ok":false,"validationResults":{"legs":{"valid":false,"problems":["missing: expected a list"]},"legs.0.from":{"valid":false,"problems":["no such city"],"allowedValues":["Bonn","Rome"]}}}
        `legs.0.from`: no such city
        `legs.0.from`: choose from "Bonn", "Rome"
        Legs? (a list of objects; with commas between)
        > [{"from": "rome"}, {"from": "Oslo"}]
        ! book {"legs":[{"from":"rome"},{"from":"Oslo"}]}
        <! {"ok":false,"validationResults":{"legs.0.from":{"valid":true,"normalizedValue":"Rome"},"legs.1.from":{"valid":false,"problems":["no such city"]}}}
        `legs.1.from`: no such city
        Legs? (a list of objects; with commas between; or “skip”)
        > [{"from": "Rome"}]
        ! book {"legs":[{"from":"Rome"}]}
        < "booked"
        booked
    "#;
    check(&ToolList::new(vec![tool("book", "Book.", input)]), script);
}

#[test]
fn a_demanded_tool_must_be_there() {
    let (messages, tools) = ([Message::user("hi")], tools());
    let mut request = Request::new(&messages, &tools);
    let choice = ToolChoice::Tool("get_weather".to_owned());
    request.tool_choice = &choice;
    assert_eq!(
        reply(&request).unwrap(),
        Reply::Call(ToolCall {
            id: "call_1".to_owned(),
            name: "get_weather".to_owned(),
            arguments: r#"{"city":"hi"}"#.to_owned(),
        })
    );
    let choice = ToolChoice::Tool("other".to_owned());
    request.tool_choice = &choice;
    assert_eq!(reply(&request).unwrap_err().kind(), ModelErrorKind::Refused);
    request.tool_choice = &ToolChoice::None;
    assert!(matches!(reply(&request).unwrap(), Reply::Say(_)));
}

#[test]
fn texts_of_tools_cannot_control_the_terminal() {
    let tools = tools();
    let call = ToolCall { id: "call_1".to_owned(), name: "get_weather".to_owned(), arguments: "{}".to_owned() };
    let messages = [
        Message::user("get weather"),
        assistant(&Reply::Call(call.clone())),
        tool_result(&call, "\u{1b}[2Jrain\u{202e}", false),
    ];
    assert_eq!(reply(&Request::new(&messages, &tools)).unwrap(), Reply::Say("[2Jrain".to_owned()));
}
