//! Tests of run-time tools whose validators accept `null`.

use futures_util::FutureExt;
use serde_json::{Value, json};
use tool_runtime::{
    Agent, Context, Toolset, Validation,
    model::{ScriptedModel, Turn},
    run::CallResult,
    test::{Events, Person},
    toolset::{DynamicField, RuntimeTool},
};

use crate::runtime_dynamic::tools::{begin, call, finish, given, trip};

#[test]
fn a_value_can_be_normalized_to_null() {
    for schema in [json!({ "type": ["string", "null"] }), json!({}), json!({ "type": "string" })] {
        let schema = json!({ "type": "object", "properties": { "seat": schema }, "required": ["seat"] });
        let seat = DynamicField::new("seat").validate(|_, _| Validation::accept(Value::Null));
        let tools = Toolset::new().with(finish(begin(schema.clone()).field(seat))).unwrap();
        for given in [r#"{"seat":"any"}"#, "{}"] {
            let cx = Context::new("call");
            let started = tools.prepare("trip", given, &cx).now_or_never().unwrap().expect(given);
            assert_eq!(started.normalized.as_deref(), Some(r#"{"seat":null}"#), "{schema} {given}");
            let output = started.work.now_or_never().unwrap().unwrap();
            assert_eq!(output.decode::<Value>().unwrap(), json!({ "seat": null }), "{schema} {given}");
        }
    }
}

#[test]
fn a_model_cannot_give_null_where_the_schema_refuses_it() {
    let feedback = call(finish(begin(trip()).field(given("from"))), r#"{"from":null,"to":"Rome","class":"first"}"#);
    let problem = feedback.unwrap_err()["validationResults"]["from"]["problems"][0].clone();
    assert!(problem.as_str().unwrap().contains("got null"), "{problem}");
    // A validator may accept null for the parameter, but not inside of it.
    let schema = json!({ "type": "object", "properties": { "seat": { "items": { "type": "string" } } } });
    let seat = DynamicField::new("seat").validate(|_, _| Validation::accept(json!([null])));
    let feedback = call(finish(begin(schema).field(seat)), "{}").unwrap_err();
    let problem = &feedback["validationResults"]["seat"]["problems"][0];
    assert_eq!(problem, "the value could not be checked; try again later");
}

#[tokio::test]
async fn a_run_starts_a_call_with_the_null_that_was_approved() {
    let schema = json!({ "type": "object", "properties": { "seat": { "type": "string" } }, "required": ["seat"] });
    let seat = DynamicField::new("seat").validate(|value, _| match value {
        Some(Value::String(text)) if text != "any" => Validation::accept(Value::String(text)),
        Some(_) => Validation::accept(Value::Null),
        None => Validation::reject("which seat?"),
    });
    let tool = RuntimeTool::new("trip", "").input(schema).require_approval().dynamic().field(seat);
    let tools = Toolset::new().with(finish(tool)).unwrap();
    let turns = [Turn::call("trip", json!({ "seat": "any" })), Turn::say("done")];
    let person = Person::approving();
    let mut session =
        Agent::new(ScriptedModel::new(turns)).tools(tools).observer(Events::new()).operator(person.clone()).session();
    session.send("go").await.unwrap();
    assert_eq!(person.approvals()[0].interrupt.shown.arguments, json!({ "seat": null }));
    let Some(CallResult::Succeeded { output, .. }) = session.run().calls().first().unwrap().result() else {
        panic!("{:?}", session.run().calls().first());
    };
    assert_eq!(output.as_json(), Some(r#"{"seat":null}"#));
}
