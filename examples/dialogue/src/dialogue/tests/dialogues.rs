//! Whole dialogues about weather, flights and files, with single tools, and with values that take several answers.

use serde_json::json;

use super::super::Reply;
use super::{check, reply, tool};
use tool_runtime::message::Message;
use tool_runtime::toolset::ToolList;

pub fn tools() -> ToolList {
    let weather = json!({"type": "object", "required": ["city"],
        "$defs": {"Unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}},
        "properties": {
            "city": {"type": "string", "description": "The city name."},
            "unit": {"$ref": "#/$defs/Unit", "description": "Temperature unit.", "default": "celsius"}}});
    let flights = json!({"type": "object", "required": ["from", "to", "date", "passengers"], "properties": {
        "from": {"type": "string", "description": "Airport of departure."},
        "to": {"type": "string", "description": "Airport of arrival."},
        "date": {"type": "string", "format": "date", "description": "The day of the flight."},
        "passengers": {"type": "integer", "minimum": 1, "maximum": 9, "description": "How many people travel."}}});
    let delete = json!({"type": "object", "required": ["path"], "properties": {
        "path": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "Path relative to the root."}}});
    ToolList::new(vec![
        tool("get_weather", "Get the current weather for a city. Never guesses.", weather),
        tool("search_flights", "Search flights between two airports.", flights),
        tool("delete_file", "Delete a file below the workspace root.", delete),
    ])
}

#[test]
fn from_a_greeting_to_a_result_and_on() {
    check(
        &tools(),
        r#"
        > hi
        This is what I can do:
        1. Get weather – Get the current weather for a city
        2. Search flights – Search flights between two airports
        3. Delete file – Delete a file below the workspace root
        Tell me what you need, or give a number.
        > 1
        Get weather. What is the city name?
        > Paris
        ! get_weather {"city":"Paris"}
        < {"city":"Paris","temperature":21.5}
        city:        Paris
        temperature: 21.5

        Anything else?
        > and in New York?
        ! get_weather {"city":"New York"}
        < {"ok":true,"value":"Rain."}
        Rain.

        Anything else?
        > again
        ! get_weather {"city":"New York"}
        < "Still rain."
        Still rain.

        Anything else?
        > thanks!
        You are welcome."#,
    );
}

#[test]
fn one_sentence_can_contain_everything() {
    check(
        &tools(),
        r#"
        > What's the weather in Rio de Janeiro in Fahrenheit, please?
        ! get_weather {"city":"Rio de Janeiro","unit":"fahrenheit"}
        <! connection refused
        That did not work: connection refused.
        Shall I try again? (yes or no, or change something, such as “city: …”)
        > city: Lima
        ! get_weather {"city":"Lima","unit":"fahrenheit"}
        <! connection refused
        That did not work: connection refused.
        Shall I try again? (yes or no, or change something, such as “city: …”)
        > no
        All right, I did not do it."#,
    );
}

#[test]
fn one_question_at_a_time() {
    check(
        &tools(),
        r#"
        > find flights from paris to Rome
        Search flights – from: paris, to: Rome. What is the day of the flight? (a date such as 2026-10-01)
        > tomorrow
        I have no calendar at hand, so please give a date such as 2026-10-01.
        What is the day of the flight? (a date such as 2026-10-01)
        > 1 October 2026
        Date: 2026-10-01. How many people travel? (from 1 to 9)
        > twelve
        That must be from 1 to 9. How many people travel? (from 1 to 9)
        > back
        What is the day of the flight? (a date such as 2026-10-01)
        > 2026-10-02 for two passengers
        ! search_flights {"from":"paris","to":"Rome","date":"2026-10-02","passengers":2}
        < [{"no":"AF1","price":120.5},{"no":"AZ33","price":99}]
        no    price
        -----------
        AF1   120.5
        AZ33     99

        Anything else?"#,
    );
}

#[test]
fn answers_can_be_corrected_at_any_time() {
    check(
        &tools(),
        r#"
        > flights to London for 2 passengers
        Search flights – passengers: 2, to: London. What is the airport of departure?
        > from berlin
        From: berlin. What is the day of the flight? (a date such as 2026-10-01)
        > change from to Munich
        From: Munich. What is the day of the flight? (a date such as 2026-10-01)
        > help
        Search flights – Search flights between two airports.
        So far: passengers: 2, to: London, from: Munich.
        Say “back” to take the last answer back, “cancel” to drop it, “name: value” to set something.
        What is the day of the flight? (a date such as 2026-10-01)
        > passengers: 4, date: 2026-10-01
        ! search_flights {"from":"Munich","to":"London","date":"2026-10-01","passengers":4}"#,
    );
}

#[test]
fn forms_can_be_dropped_and_changed_for_another() {
    check(
        &tools(),
        r#"
        > back
        There is nothing to take back.
        > delete a file
        Delete file. What is the path relative to the root?
        > back
        This is the first question; say “cancel” to drop it. What is the path relative to the root?
        > weather in Oslo
        Shall I drop “Delete file” and go to “Get weather”? (yes or no)
        > yes
        ! get_weather {"city":"Oslo"}
        < {}
        Done.

        Anything else?
        > delete a file
        Delete file. What is the path relative to the root?
        > weather in Oslo
        Shall I drop “Delete file” and go to “Get weather”? (yes or no)
        > no
        ! delete_file {"path":"weather in Oslo"}
        <! the call was denied, and did not run
        All right, I did not do it.
        Anything else? (or change something, such as “path: …”)
        > delete a file
        Delete file. What is the path relative to the root?
        > never mind
        I have dropped “Delete file”. What else can I do for you?
        > delete a file
        Delete file. What is the path relative to the root?
        > yes
        Did you mean “yes” as path? (yes or no)
        > no
        All right. What is the path relative to the root?
        > "cancel"
        ! delete_file {"path":"cancel"}"#,
    );
}

#[test]
fn unclear_requests_lead_to_questions() {
    check(
        &tools(),
        r#"
        > play some jazz
        I am not sure what you mean.
        This is what I can do:
        1. Get weather – Get the current weather for a city
        2. Search flights – Search flights between two airports
        3. Delete file – Delete a file below the workspace root
        Tell me what you need, or give a number.
        > jazz
        I am not sure what you mean. Give a number, or say “help” for all I can do.
        > 7
        Which one? Please give a number from 1 to 3.
        > the third one
        Delete file. What is the path relative to the root?
        > cancel
        I have dropped “Delete file”. What else can I do for you?
        > what's the temperature in New York
        ! get_weather {"city":"New York"}
        < 12
        12

        Anything else?
        > remove the moon
        Do you mean this: Delete file – Delete a file below the workspace root? (yes or no)
        > no
        All right. What would you like instead?
        > get_weather: Berlin
        ! get_weather {"city":"Berlin"}"#,
    );
}

#[test]
fn a_failed_call_can_be_corrected_in_a_few_words() {
    check(
        &tools(),
        r#"
        > search flights from Rome to Oslo on 2026-10-01 for 3 passengers
        ! search_flights {"from":"Rome","to":"Oslo","date":"2026-10-01","passengers":3}
        <! {"ok":false,"problems":["The server is busy."]}
        The server is busy.
        Shall I try again? (yes or no, or change something, such as “from: …”)
        > passengers 12
        Passengers must be from 1 to 9. Shall I try again? (yes or no, or change something, such as “from: …”)
        > 4 passengers
        ! search_flights {"from":"Rome","to":"Oslo","date":"2026-10-01","passengers":4}
        <! {"ok":false,"problems":["The server is busy."]}
        The server is busy.
        Shall I try again? (yes or no, or change something, such as “from: …”)
        > the date
        What is the day of the flight? (a date such as 2026-10-01)
        > 2026-10-02
        ! search_flights {"from":"Rome","to":"Oslo","date":"2026-10-02","passengers":4}
        <! timed out
        That did not work: timed out.
        Shall I try again? (yes or no, or change something, such as “from: …”)
        > to Bergen
        ! search_flights {"from":"Rome","to":"Bergen","date":"2026-10-02","passengers":4}
        <! timed out
        That did not work: timed out.
        Shall I try again? (yes or no, or change something, such as “from: …”)
        > weather in Rome
        ! get_weather {"city":"Rome"}"#,
    );
}

#[test]
fn optional_parameters_are_asked_when_they_are_named() {
    check(
        &tools(),
        r#"
        > weather with unit
        Get weather.
        Which temperature unit? (say “default” for celsius; or “skip”)
        1. celsius
        2. fahrenheit
        > kelvin
        “kelvin” is not on the list.
        Which temperature unit? (say “default” for celsius; or “skip”)
        1. celsius
        2. fahrenheit
        > celcius
        Did you mean “celsius” as unit? (yes or no)
        > f
        Unit: fahrenheit. What is the city name?
        > Paris with unit celsius
        ! get_weather {"city":"Paris","unit":"celsius"}"#,
    );
}

#[test]
fn the_only_tool_needs_no_name() {
    let climate = json!({"type": "object", "required": ["city", "month"], "properties": {
        "city": {"type": "string", "description": "The city's English name.", "examples": ["Oslo"]},
        "month": {"type": "integer", "minimum": 1, "maximum": 12, "description": "The month, 1 for January."}}});
    check(
        &ToolList::new(vec![tool("get_climate", "Get the usual temperature of a city in a month.", climate)]),
        r#"
        > How warm is Oslo in July?
        ! get_climate {"city":"Oslo","month":7}
        < 17
        17

        Anything else?
        > and in August?
        ! get_climate {"city":"Oslo","month":8}
        < 16
        16

        Anything else?
        > what about Rome?
        ! get_climate {"city":"Rome","month":8}
        < 27
        27

        Anything else?
        > how warm is Madrid
        Get climate – city: Madrid. What is the month? (from 1 to 12)
        > in may
        ! get_climate {"city":"Madrid","month":5}"#,
    );
}

#[test]
fn an_object_is_asked_for_field_by_field() {
    let input = json!({"type": "object", "required": ["name", "address", "tags"], "properties": {
        "name": {"type": "string"},
        "address": {"type": "object", "required": ["street", "city"], "properties": {
            "street": {"type": "string"}, "city": {"type": "string", "description": "The city"}, "zip": {"type": "string"}}},
        "email": {"type": "string", "format": "email"},
        "tags": {"type": "array", "items": {"type": "string"}, "description": "Labels for the contact"},
        "favourite": {"type": "boolean", "default": false}}});
    let tools = ToolList::new(vec![tool("create_contact", "Create a contact in the address book.", input)]);
    check(
        &tools,
        r#"
        > create a contact called Ann with favourite
        Create contact – favourite: yes, name: Ann. Address: what is the street?
        > 1 Main St
        Address street: 1 Main St. Address: what is the city?
        > address.zip: 75001
        Address zip: 75001. Address: what is the city?
        > Paris
        Address city: Paris. What are the labels for the contact? (one, or several with commas; end with a comma to go on)
        > friend,
        Tags: friend. What else for tags? (“done” when that is all)
        > work and home, family
        ! create_contact {"name":"Ann","address":{"street":"1 Main St","city":"Paris","zip":"75001"},"tags":["friend","work","home","family"],"favourite":true}"#,
    );
}

#[test]
fn a_list_with_too_few_items_is_not_done() {
    let input = json!({"type": "object", "required": ["codes"], "properties": {
        "codes": {"type": "array", "minItems": 2, "maxItems": 3, "items": {"enum": ["alpha", "beta", "gamma"]}}}});
    check(
        &ToolList::new(vec![tool("unlock", "Unlock the vault.", input)]),
        r#"
        > unlock
        Unlock.
        Which codes? (one, or several with commas; end with a comma to go on)
        1. alpha
        2. beta
        3. gamma
        > alpha,
        Codes: alpha.
        More are needed. Which codes? (one, or several with commas; end with a comma to go on)
        1. alpha
        2. beta
        3. gamma
        > done
        “done”: “done” is not on the list.
        More are needed. Which codes? (one, or several with commas; end with a comma to go on)
        1. alpha
        2. beta
        3. gamma
        > beta,
        Codes: alpha, beta. What else for codes? (“done” when that is all)
        > done
        ! unlock {"codes":["alpha","beta"]}"#,
    );
}

#[test]
fn a_list_of_objects_is_counted_and_gone_through() {
    let input = json!({"type": "object", "required": ["passengers"], "properties": {
        "passengers": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"$ref": "#/$defs/Passenger"}}},
        "$defs": {"Passenger": {"type": "object", "required": ["name", "meal"], "properties": {
            "name": {"type": "string", "description": "Full name."},
            "meal": {"oneOf": [{"const": "none"}, {"const": "veg", "description": "Vegetarian. No fish."}]}}}}});
    check(
        &ToolList::new(vec![tool("check_in", "Check in for a flight.", input)]),
        r#"
        > check in
        Check in. How many passengers? I will ask for each.
        > 9
        That must be from 1 to 3. How many passengers? I will ask for each.
        > two
        Passengers 1: what is the full name?
        > Ada
        Passengers 1 name: Ada.
        Passengers 1: which meal?
        1. none
        2. veg – Vegetarian
        > vegetarian
        Passengers 1 meal: veg. Passengers 2: what is the full name?
        > back
        Passengers 1: which meal?
        1. none
        2. veg – Vegetarian
        > none
        Passengers 1 meal: none. Passengers 2: what is the full name?
        > Bob
        Passengers 2 name: Bob.
        Passengers 2: which meal?
        1. none
        2. veg – Vegetarian
        > 2
        ! check_in {"passengers":[{"name":"Ada","meal":"none"},{"name":"Bob","meal":"veg"}]}"#,
    );
}

#[test]
fn values_without_a_shape_are_asked_for_as_json() {
    let input = json!({"type": "object", "required": ["options", "extra", "rows", "force", "size", "mode"], "properties": {
        "options": {"type": "object"}, "extra": {}, "rows": {"type": "array", "items": {"type": "array"}},
        "force": {"type": "boolean", "description": "Whether to overwrite."},
        "size": {"enum": [1, 5, 10]}, "mode": {"enum": ["start", "stop"]}}});
    check(
        &ToolList::new(vec![tool("configure", "Configure the machine.", input)]),
        r#"
        > configure
        Configure. What are the options? (as JSON, or as name: value pairs)
        > depth=2, colour=red
        Options: {"depth":2,"colour":"red"}. What is the extra? (as JSON)
        > hello
        Did you mean “hello” as extra? (yes or no)
        > {"a": [1
        That is not valid JSON (EOF while parsing a list at line 1 column 8).
        What is the extra? (as JSON)
        > {"a": [1]}
        Extra: {"a":[1]}. What are the rows? (a JSON list)
        > [[1], []]
        Rows: [[1],[]]. Force, yes or no? Whether to overwrite.
        > sure
        Force: yes.
        Which size?
        - 1
        - 5
        - 10
        > 2
        “2” is not on the list.
        Which size?
        - 1
        - 5
        - 10
        > five
        Size: 5.
        Which mode?
        1. start
        2. stop
        > stop
        ! configure {"options":{"depth":2,"colour":"red"},"extra":{"a":[1]},"rows":[[1],[]],"force":true,"size":5,"mode":"stop"}"#,
    );
}

#[test]
fn a_pizza_is_ordered_in_many_words() {
    let pizza = json!({"type": "object", "required": ["size"], "properties": {
        "size": {"enum": ["small", "large"]}, "count": {"type": "integer", "minimum": 1, "default": 1}}});
    let track = json!({"type": "object", "required": ["order"], "properties": {"order": {"type": "string", "pattern": "^P[0-9]+$"}}});
    let tools = ToolList::new(vec![
        tool("order_pizza", "Order a pizza.", pizza),
        tool("track_order", "Say where an order is.", track),
    ]);
    let answer = |text: &str| match reply(&tools, &[Message::user(text)]) {
        Reply::Say(answer) => answer,
        Reply::Call(call) => format!("! {} {}", call.name, call.arguments),
    };
    for text in
        ["order a pizza", "I'd like to order a pizza", "pizza please", "I want pizza", "Can I get a pizza?", "a pizza"]
    {
        assert!(answer(text).starts_with("Order pizza."), "{text}: {}", answer(text));
    }
    for text in ["order a large pizza", "a large pizza, please"] {
        assert_eq!(answer(text), r#"! order_pizza {"size":"large"}"#, "{text}");
    }
}
