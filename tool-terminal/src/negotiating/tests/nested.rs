//! Objects, lists and other values that take more than one answer.

use serde_json::json;

use super::{check, tool};
use tool_runtime::toolset::ToolList;

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
fn what_has_no_shape_is_asked_for_as_json() {
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
