//! Tests of typed answers that a model gives as JSON text because its provider has a format for them.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use schemars::JsonSchema;
use serde::Deserialize;
use tool_runtime::{
    Agent, AgentError, Toolset,
    agent::{Event, Suspend},
    message::Message,
    model::{FunctionModel, ModelError, ModelErrorKind, ScriptedModel, ToolChoice, Turn},
    store::{MemoryStore, Store},
    tool, toolset,
};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Trip {
    city: String,
    days: u8,
}

const OSLO: &str = r#"{"city": "Oslo", "days": 2}"#;
const TOO_LONG: &str = r#"{"city": "Oslo", "days": 300}"#;

/// Look something up.
#[tool(effect = read_only)]
fn look() -> u8 {
    7
}

fn tools() -> Toolset {
    toolset!(look)
}

/// Returns a model that answers with `texts`, and fails if a request does not mark the tool of the answer.
fn structured(texts: &'static [&'static str]) -> (FunctionModel, Arc<AtomicUsize>) {
    let requests = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&requests);
    let model = FunctionModel::new(move |request| {
        assert_eq!(request.answer_tool, Some("final_answer"));
        assert!(request.tools.get("final_answer").is_some(), "{:?}", request.tools);
        Turn::say(texts[counted.fetch_add(1, SeqCst)])
    });
    (model, requests)
}

fn prompts(messages: &[Message]) -> Vec<&str> {
    let texts = messages.iter().filter_map(|message| match message {
        Message::User { content } => content[0].as_text(),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn only_a_typed_answer_has_a_tool_that_a_model_may_replace() {
    let model = FunctionModel::new(|request| {
        assert_eq!(request.answer_tool, None);
        Turn::call("look", "{}")
    });
    let agent = Agent::new(model).tools(tools());
    assert_eq!(agent.ask("x").final_tools(["look"]).await.unwrap().value.decode::<u8>().unwrap(), 7);
    let model = FunctionModel::new(|request| {
        assert_eq!(request.answer_tool, None);
        Turn::say("Hello.")
    });
    assert_eq!(Agent::new(model).ask("x").await.unwrap().value, "Hello.");
}

#[tokio::test]
async fn a_refused_text_goes_back_with_its_problems() {
    let (model, requests) = structured(&[TOO_LONG, r#"{"city": "Oslo"}"#, OSLO]);
    let mut session = Agent::new(model).answer_retries(2).session();
    let value = session.ask("Where to?").typed::<Trip>().await.unwrap().value;
    assert_eq!(value, Trip { city: "Oslo".into(), days: 2 });
    assert_eq!(requests.load(SeqCst), 3);
    let prompts = prompts(session.messages());
    assert_eq!(prompts.len(), 3, "{prompts:?}");
    assert!(prompts[1].contains("days") && prompts[1].contains("300"), "{prompts:?}");
    assert!(prompts[2].contains("`days`: missing"), "{prompts:?}");
}

#[tokio::test]
async fn a_refused_text_counts_as_a_try() {
    for (retries, expected) in [(None, 2), (Some(0), 2), (Some(2), 3)] {
        let (model, requests) = structured(&[TOO_LONG; 4]);
        let agent = Agent::new(model);
        let agent = if let Some(retries) = retries { agent.answer_retries(retries) } else { agent };
        let error = agent.ask("Where to?").typed::<Trip>().await.unwrap_err();
        let AgentError::NoAnswer { reason } = &error else { panic!("{error:?}") };
        assert!(reason.contains("the last answer was refused") && reason.contains("300"), "{reason}");
        assert_eq!(requests.load(SeqCst), expected, "{retries:?}");
    }
}

/// A list is the field `answer` of an object, in the schema that a provider gets, too.
#[tokio::test]
async fn an_answer_that_is_no_object_is_wrapped() {
    let (model, _) = structured(&[r#"{"answer": [1, "x"]}"#, r#"{"answer": [1, 2]}"#]);
    let mut session = Agent::new(model).session();
    assert_eq!(session.ask("Which?").typed::<Vec<u8>>().await.unwrap().value, [1, 2]);
    let prompts = prompts(session.messages());
    assert!(prompts[1].contains("answer") && prompts[1].contains("\"x\""), "{prompts:?}");
}

/// A text in place of a required call is no ignored choice if it is a typed answer.
#[tokio::test]
async fn a_text_that_answers_ignores_no_choice() {
    for (text, expected) in [(OSLO, 0), ("Oslo", 1)] {
        let ignored = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&ignored);
        let model = ScriptedModel::new([Turn::say(text), Turn::call("final_answer", OSLO)]);
        let agent = Agent::new(model).hook(move |event| {
            if let Event::ChoiceIgnored(choice) = event {
                assert_eq!(**choice, ToolChoice::Required);
                counted.fetch_add(1, SeqCst);
            }
        });
        agent.ask("Where to?").typed::<Trip>().await.unwrap();
        assert_eq!(ignored.load(SeqCst), expected, "{text}");
    }
}

#[tokio::test]
async fn other_tools_are_called_before_the_answer() {
    let model = ScriptedModel::new([Turn::call("look", "{}"), Turn::say(OSLO)]);
    let answered = Agent::new(model).tools(tools()).ask("Where to?").typed::<Trip>().await.unwrap();
    assert_eq!((answered.value.days, answered.reply.steps), (2, 2));
}

/// The log has the text, so another process reads the answer, and asks for it again.
#[tokio::test]
async fn another_process_reads_the_text() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let down = ScriptedModel::new([ModelError::new(ModelErrorKind::Refused, "down")]);
    let first = Agent::new(down).store(Arc::clone(&store)).operator(Suspend);
    let mut session = first.session();
    session.ask("Where to?").typed::<Trip>().await.unwrap_err();
    let id = session.id().clone();
    drop(session);
    let (model, requests) = structured(&[TOO_LONG, OSLO]);
    let second = Agent::new(model).store(store);
    for _ in 0..2 {
        let mut session = second.open(&id).await.unwrap();
        assert_eq!(session.resume_ask().typed::<Trip>().await.unwrap().value.days, 2);
    }
    assert_eq!(requests.load(SeqCst), 2);
}

/// An agent as a tool sends its model back in the same way.
#[tokio::test]
async fn an_inner_agent_gets_the_problems_too() {
    // As often as the inner agent allows, like a question of the application.
    let (model, requests) = structured(&[TOO_LONG, TOO_LONG, OSLO]);
    let inner = Agent::new(model).answer_retries(2).as_tool("plan", "Plans a trip.").output::<Trip>().unwrap();
    let outer = ScriptedModel::new([Turn::call("plan", r#"{"task": "Where to?"}"#), Turn::say("Done.")]);
    let mut session = Agent::new(outer).tools(Toolset::new().with(inner).unwrap()).session();
    session.send("Plan.").await.unwrap();
    assert_eq!(requests.load(SeqCst), 3);
    let result = session.messages().iter().find_map(|message| match message {
        Message::Tool(result) => result.content[0].as_text(),
        _ => None,
    });
    assert!(result.is_some_and(|text| text.contains("Oslo")), "{result:?}");
}
