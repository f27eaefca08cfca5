//! Tests of several functions that change one step, and of other settings of an agent that are added.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::json;
use tool_runtime::{
    Agent, AgentError, Context, Failure, Message, Part,
    agent::{Event, NextStep},
    message::{AssistantPart, Pruning},
    model::{Model, ModelSettings, ScriptedModel, ToolChoice, Turn},
    tool::InputHooks,
};

use crate::model::kit::{Runs, call, count, tools, unavailable};

fn model(turns: impl IntoIterator<Item = Turn>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(turns))
}

/// Hides phone numbers from the model.
fn redact(step: &mut NextStep) {
    let hide = |message: &Message| match message {
        Message::User { .. } => Message::user("my number is ***"),
        other => other.clone(),
    };
    let redacted = step.messages().iter().map(hide).collect();
    step.set_messages(redacted, "no numbers");
}

#[tokio::test]
async fn a_later_change_of_the_messages_keeps_the_earlier_one() {
    let asked = model([Turn::say("ok")]);
    let agent = Agent::new(Arc::clone(&asked)).prepare_step(|step| {
        redact(step);
        assert_eq!(step.new_prompts().collect::<Vec<_>>(), [[Part::text("my number is ***")]]);
        let mut now = step.messages().to_vec();
        now.insert(0, Message::user("a summary"));
        step.set_messages(now, "a summary");
        assert_eq!(step.original_messages(), [Message::user("my number is 555")]);
    });
    let reasons = Arc::<Mutex<Vec<String>>>::default();
    let noted = Arc::clone(&reasons);
    let agent = agent.hook(move |event| {
        if let Event::HistoryChanged { reasons } = event {
            noted.lock().unwrap().extend_from_slice(reasons);
        }
    });
    let mut session = agent.session();
    session.send("my number is 555").await.unwrap();
    assert_eq!(*reasons.lock().unwrap(), ["no numbers", "a summary"]);
    // A message list is repaired, which joins texts of a person.
    let content = vec![Part::text("a summary"), Part::text("my number is ***")];
    assert_eq!(asked.requests()[0].messages, [Message::User { content }]);
    assert_eq!(session.messages()[0], Message::user("my number is 555"), "the run keeps its conversation");
}

/// A library's agent redacts, and the application adds functions of its own.
#[tokio::test]
async fn functions_run_in_the_order_in_which_they_were_added() {
    let asked = model([Turn::say("ok")]);
    let of_library = Agent::new(Arc::clone(&asked)).instructions("Be kind.").prepare_step(redact);
    let agent = of_library
        .prepare_step_async(|mut step| async move {
            let text = format!("{} Be brief.", step.instructions().unwrap_or_default());
            step.set_instructions(text);
            Ok(step)
        })
        .prepare_step(|step| {
            let count = step.messages().len();
            step.more_instructions(format!("It is {count} o'clock."));
        });
    agent.run("my number is 555").await.unwrap();
    let expected = [Message::system("Be kind. Be brief.\n\nIt is 1 o'clock."), Message::user("my number is ***")];
    assert_eq!(asked.requests()[0].messages, expected);
}

#[tokio::test]
async fn the_first_failure_ends_the_preparation() {
    let asked = model([Turn::say("never")]);
    let agent = Agent::new(Arc::clone(&asked))
        .prepare_step(|_| {})
        .prepare_step_async(|_| async { Err(Failure::new("no plan")) })
        .prepare_step(|_| panic!("a function after a failure does not run"));
    let Err(AgentError::Model(error)) = agent.run("go").await else { panic!("the preparation failed") };
    assert_eq!(error.to_string(), "the step could not be prepared: no plan");
    assert!(asked.requests().is_empty());
}

#[tokio::test]
async fn each_setting_shows_the_changes_of_earlier_functions() {
    let (first, second) = (model([]), model([call(1), Turn::say("ok")]));
    let runs = Arc::<Runs>::default();
    let small = Arc::clone(&second);
    let agent = Agent::new(Arc::clone(&first))
        .tools(tools(&runs))
        .active_tools(["add", "done", "sleep"])
        .tool_order(["sleep"])
        .tool_choice(ToolChoice::Required)
        .model_settings(ModelSettings { temperature: Some(0.5), ..ModelSettings::default() })
        .prepare_step(move |step| {
            assert_eq!(step.tools().unwrap(), ["add", "done", "sleep"]);
            assert_eq!((step.tool_order(), step.provider_tools().len()), (&["sleep".to_owned()][..], 0));
            assert_eq!((step.tool_choice(), step.model().name()), (&ToolChoice::Required, "scripted"));
            assert_eq!(step.model_settings().temperature, Some(0.5));
            step.set_tools(["add", "done"]).set_tool_order(["done"]).set_tool_choice(ToolChoice::Auto);
            step.set_model(Arc::clone(&small) as _).model_settings_mut().max_tokens = Some(9);
        })
        .prepare_step(move |step| {
            let without = step.tools().unwrap().iter().filter(|name| *name != "done").cloned().collect::<Vec<_>>();
            let order = step.tool_order().iter().cloned().chain(["add".to_owned()]).collect::<Vec<_>>();
            assert_eq!((order.len(), step.tool_choice()), (2, &ToolChoice::Auto));
            step.set_tools(without).set_tool_order(order);
            step.model_settings_mut().temperature = Some(0.0);
            assert!(std::ptr::addr_eq(Arc::as_ptr(step.model()), Arc::as_ptr(&second)));
        });
    assert_eq!(agent.run("go").await.unwrap().text, "ok");
    assert_eq!((first.requests().len(), count(&runs)), (0, 1));
}

#[tokio::test]
async fn a_step_shows_the_model_that_is_asked_after_a_failure() {
    let names = Arc::<Mutex<Vec<String>>>::default();
    let seen = Arc::clone(&names);
    let other: Arc<dyn Model> = Arc::new(ScriptedModel::new([unavailable()]));
    let agent = Agent::new(ScriptedModel::new([unavailable()])).fallback(ScriptedModel::new([Turn::say("ok")]));
    let agent = agent.prepare_step(move |step| {
        step.set_model(Arc::clone(&other));
        let is_other = std::ptr::addr_eq(Arc::as_ptr(step.model()), Arc::as_ptr(&other));
        seen.lock().unwrap().push(format!("{} {is_other}", step.failures()));
    });
    assert_eq!(agent.run("go").await.unwrap().text, "ok");
    assert_eq!(*names.lock().unwrap(), ["0 true", "1 false"]);
}

/// Returns the messages that the model received as its second request, of an agent whose steps were changed.
async fn second_request(change: impl FnOnce(Agent) -> Agent) -> Vec<Message> {
    let asked = model([Turn::say("one"), Turn::say("two")]);
    let mut session = change(Agent::new(Arc::clone(&asked)).instructions("Be kind.")).session();
    session.send("1").await.unwrap();
    session.send("2").await.unwrap();
    assert_eq!(session.messages().len(), 4);
    asked.requests()[1].messages.clone()
}

#[tokio::test]
async fn the_instructions_stay_whatever_replaces_the_messages() {
    let last = |agent: Agent, many: usize| {
        agent.prepare_step(move |step| {
            let from = step.messages().len().saturating_sub(many);
            step.set_messages(step.messages()[from..].to_vec(), "a test");
        })
    };
    let (kind, one, two) = (Message::system("Be kind."), Message::user("1"), Message::user("2"));
    let turn = Message::Assistant { content: vec![AssistantPart::Text { text: "one".to_owned() }] };
    assert_eq!(second_request(|agent| last(agent, 1)).await, [kind.clone(), two.clone()]);
    let all = [kind.clone(), one.clone(), turn, two.clone()];
    assert_eq!(second_request(|agent| last(agent, 5)).await, all, "the instructions are not there twice");
    let brief = |agent: Agent| agent.more_instructions("Be brief.");
    let expected = [Message::system("Be kind.\n\nBe brief."), two.clone()];
    assert_eq!(second_request(|agent| last(brief(agent), 1)).await, expected);
    let long = |step: &mut NextStep| {
        step.set_instructions("Be long.");
    };
    let expected = [Message::system("Be long."), two.clone()];
    assert_eq!(second_request(|agent| last(agent, 1).prepare_step(long)).await, expected);
    assert_eq!(second_request(|agent| last(agent.prepare_step(long), 1)).await, expected);
    // A summary as a message of the system does not take the place of the instructions.
    let summary = |agent: Agent| {
        agent.prepare_step(|step| {
            step.set_messages(vec![Message::system("So far: 1."), Message::user("2")], "a test");
        })
    };
    assert_eq!(second_request(summary).await, [kind.clone(), Message::system("So far: 1."), two.clone()]);
    // Pruning, too, leaves them out of its count.
    let pruned = |agent: Agent| agent.prune(Pruning::new().keep_rounds(1));
    assert_eq!(second_request(pruned).await, [kind, two.clone()]);
    assert_eq!(second_request(|agent| pruned(agent).prepare_step(long)).await, expected);
}

#[tokio::test]
async fn an_agent_without_instructions_sends_only_the_messages() {
    let asked = model([Turn::say("ok"), Turn::say("ok")]);
    let agent = Agent::new(Arc::clone(&asked)).prepare_step(|step| {
        assert_eq!(step.instructions(), None);
        let last = step.messages().last().cloned();
        step.set_messages(last.into_iter().collect(), "a test");
    });
    // The first message of this conversation is its own.
    let history = vec![Message::system("An earlier program's."), Message::user("1")];
    agent.session_from_messages(history).send("2").await.unwrap();
    assert_eq!(asked.requests()[0].messages, [Message::user("2")]);
}

#[tokio::test]
async fn refinements_of_one_tool_run_in_order() {
    let runs = Arc::<Runs>::default();
    let agent = Agent::new(ScriptedModel::new([call(1), Turn::say("ok")])).tools(tools(&runs));
    let agent = agent
        .refine_named("add", |arguments| drop(arguments.insert("n".to_owned(), json!(20))))
        .refine::<crate::model::kit::add>(|input, arguments| {
        arguments.insert("n".to_owned(), json!(input.n + 1));
    });
    let mut session = agent.session();
    session.send("go").await.unwrap();
    let result = session.run().calls()[0].result().unwrap();
    assert_eq!(result.output().unwrap().as_json(), Some("22"));
}

/// Hooks that note each call that begins.
struct Notes(&'static str, Arc<Mutex<Vec<String>>>);

impl InputHooks for Notes {
    fn start<'a>(&'a self, tool: &'a str, _: &'a Context) -> BoxFuture<'a, ()> {
        self.1.lock().unwrap().push(format!("{} {tool}", self.0));
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test]
async fn input_hooks_are_added() {
    let notes = Arc::<Mutex<Vec<String>>>::default();
    let runs = Arc::<Runs>::default();
    let agent = Agent::new(ScriptedModel::new([call(1), Turn::say("ok")])).tools(tools(&runs));
    let agent = agent.input_hooks(Notes("first", Arc::clone(&notes))).input_hooks(Notes("second", Arc::clone(&notes)));
    agent.run("go").await.unwrap();
    assert_eq!(*notes.lock().unwrap(), ["first add", "second add"]);
}

/// Neither the runtime's correction of an answer, nor a message that steers the run, is the prompt.
#[tokio::test]
async fn the_prompt_of_a_step_is_that_of_a_person() {
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let noted = Arc::clone(&seen);
    let check = async |text: String, _| if text == "bad" { Err("try again".into()) } else { Ok(()) };
    let agent = Agent::new(model(["bad", "good", "fine", "bad", "good"].map(Turn::say))).check_answer("taste", check);
    let agent = agent.prepare_step(move |step| {
        let texts = step.prompt().iter().filter_map(Part::as_text).collect::<String>();
        noted.lock().unwrap().push(texts);
        step.more_instructions("Be brief.");
    });
    let mut session = agent.session();
    session.send("first").await.unwrap();
    session.send("second").await.unwrap();
    assert_eq!(*seen.lock().unwrap(), ["first", "first", "second"]);
    // The conversation of another program has no prompts.
    seen.lock().unwrap().clear();
    let mut session = agent.session_from_messages(vec![Message::user("from elsewhere")]);
    assert_eq!(session.resume().await.unwrap().text, "good");
    assert_eq!(*seen.lock().unwrap(), ["from elsewhere", "from elsewhere"]);
}
