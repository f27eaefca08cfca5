//! Tests of questions: answers with a check, from the application's tools, as JSON text, and of runs that go on elsewhere.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use schemars::JsonSchema;
use serde::Deserialize;
use tool_runtime::{
    Agent, AgentError, Toolset,
    agent::{AnswerProblem, StopWhen, Suspend},
    feedback::{Problem, ProblemKind, Rejection},
    message::{Media, Message, Part},
    model::{FunctionModel, ScriptedModel, ToolChoice, Turn},
    run::{Decision, Phase, StopReason},
    store::{MemoryStore, Store},
    tool, toolset,
};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Trip {
    city: String,
    days: u8,
}

fn answer(city: &str, days: u32) -> Turn {
    Turn::call("final_answer", serde_json::json!({ "city": city, "days": days }))
}

fn refused_texts(messages: &[Message]) -> Vec<String> {
    let texts = messages.iter().filter_map(|message| match message {
        Message::Tool(answer) if answer.is_error => answer.content[0].as_text().map(str::to_owned),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn a_check_sends_the_model_back_with_its_problems() {
    let agent = Agent::new(ScriptedModel::new([answer("Rome", 9), answer("Oslo", 2)]));
    let mut session = agent.session();
    let asked = session.ask("Where to?").typed::<Trip>().check(async |trip, _| {
        if trip.days < 5 {
            return Ok(());
        }
        let problem = Problem::new("/days", ProblemKind::Invalid, "at most 4 days").got(trip.days.to_string());
        Err(Rejection::one(problem).into())
    });
    let answered = asked.await.unwrap();
    assert_eq!(answered.value, Trip { city: "Oslo".into(), days: 2 });
    assert_eq!((answered.reply.steps, answered.reply.phase), (2, Phase::Finished));
    let texts = refused_texts(session.messages());
    assert!(matches!(&texts[..], [text] if text.contains("days: expected at most 4 days, got 9")), "{texts:?}");
}

#[tokio::test]
async fn a_check_never_accepts_more_often_than_the_retries_allow() {
    let asked = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&asked);
    let agent = Agent::new(FunctionModel::new(|_| answer("Rome", 1))).answer_retries(2);
    let question = agent.ask("Where to?").typed::<Trip>().check(move |_, _| {
        counted.fetch_add(1, SeqCst);
        async { Err("not there".into()) }
    });
    let error = question.await.unwrap_err().to_string();
    assert!(error.contains("after 3 wrong answers") && error.contains("refused: not there"), "{error}");
    assert_eq!(asked.load(SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn a_check_that_refuses_panics_or_hangs_blocks_the_run() {
    async fn ask_with<R>(check: impl Fn(Trip, tool_runtime::Context) -> R + Send + Sync + 'static) -> AgentError
    where
        R: Future<Output = Result<(), AnswerProblem>> + Send + 'static,
    {
        let mut session = Agent::new(ScriptedModel::new([answer("Rome", 1), answer("Oslo", 1)])).session();
        let error = session.ask("Where to?").typed::<Trip>().check(check).await.unwrap_err();
        let AgentError::Blocked { by, reason } = &error else { panic!("{error:?}") };
        let stopped = StopReason::Blocked { by: by.clone(), reason: reason.clone() };
        assert_eq!((session.run().phase(), session.run().calls().len()), (Phase::Stopped(stopped), 1));
        error
    }
    let refused = ask_with(async |_, _| Err(AnswerProblem::refuse("Rome is full"))).await;
    assert_eq!(refused.to_string(), "the check of the answer blocked the run: Rome is full");
    let panicked = ask_with(async |_, _| -> Result<(), AnswerProblem> { panic!("a test") }).await;
    assert!(panicked.to_string().ends_with("the check panicked"), "{panicked}");
    let hangs = ask_with(async |_, _| std::future::pending::<Result<(), AnswerProblem>>().await).await;
    assert!(hangs.to_string().ends_with("no answer within 30 s"), "{hangs}");
}

/// A check of a text is that of [`Agent::check_answer`], for one question.
#[tokio::test]
async fn a_text_is_checked_like_a_value() {
    let agent = Agent::new(ScriptedModel::new([Turn::say("six"), Turn::say("7")]));
    let mut session = agent.session();
    let question = session
        .ask("How much?")
        .check(async |text, _| if text == "7" { Ok(()) } else { Err(format!("{text} is no digit").into()) });
    assert_eq!(question.await.unwrap().value, "7");
    let Message::User { content } = &session.messages()[2] else { panic!("{:?}", session.messages()) };
    let text = content[0].as_text().unwrap();
    assert_eq!(text, "Your answer was not accepted by the check of the answer: six is no digit");
}

#[tokio::test]
async fn json_text_that_fits_is_an_answer() {
    let texts = [
        r#"{"city": "Rome", "days": 2}"#,
        "```json\n{\"city\": \"Rome\", \"days\": 2}\n```",
        "  ```\n{\"city\":\"Rome\",\"days\":2}```  ",
    ];
    for text in texts {
        let model = ScriptedModel::new([Turn::say(text)]);
        let answered = Agent::new(model).ask("Where to?").typed::<Trip>().await.unwrap();
        assert_eq!(answered.value, Trip { city: "Rome".into(), days: 2 }, "{text}");
    }
    for text in ["[1, 2]", r#"{"answer": [1, 2]}"#, "```json\n[1,2]\n```"] {
        let model = ScriptedModel::new([Turn::say(text)]);
        assert_eq!(Agent::new(model).ask("Which?").typed::<Vec<u8>>().await.unwrap().value, [1, 2], "{text}");
    }
    // Anything else is answered with one reminder.
    for text in ["Rome", r#"{"city": "Rome"}"#, r#"{"city": "Rome", "days": 300}"#, r#"{"city":"Rome","days":2} or so"#]
    {
        let mut session = Agent::new(ScriptedModel::new([Turn::say(text), answer("Oslo", 1)])).session();
        assert_eq!(session.ask("Where to?").typed::<Trip>().await.unwrap().value.city, "Oslo", "{text}");
        let Message::User { content } = &session.messages()[2] else { panic!("{:?}", session.messages()) };
        // JSON goes back with its problems.
        let expected = match text {
            r#"{"city": "Rome"}"# => {
                "Your answer was not accepted: `days`: missing: expected a whole number from 0 to 255"
            }
            r#"{"city": "Rome", "days": 300}"# => {
                "Your answer was not accepted: `days`: expected a whole number from 0 to 255, got 300"
            }
            _ => "Give the answer by calling `final_answer`.",
        };
        assert_eq!(content[0].as_text(), Some(expected));
    }
}

/// The check of an answer as JSON text sends the model back, and may refuse.
#[tokio::test]
async fn a_check_reads_json_text_too() {
    let model = ScriptedModel::new([Turn::say(r#"{"city": "Rome", "days": 2}"#), answer("Oslo", 1)]);
    let mut session = Agent::new(model).session();
    let question = session
        .ask("Where to?")
        .typed::<Trip>()
        .check(async |trip, _| if trip.city == "Oslo" { Ok(()) } else { Err("only Oslo".into()) });
    assert_eq!(question.await.unwrap().value.city, "Oslo");
    let Message::User { content } = &session.messages()[2] else { panic!("{:?}", session.messages()) };
    let text = content[0].as_text().unwrap();
    assert_eq!(text, "Your answer was not accepted by the check of the answer: only Oslo");
    let model = ScriptedModel::new([Turn::say(r#"{"city": "Rome", "days": 2}"#), answer("Oslo", 1)]);
    let mut session = Agent::new(model).session();
    let question = session.ask("Where to?").typed::<Trip>().check(async |_, _| Err(AnswerProblem::refuse("no trips")));
    assert!(matches!(question.await, Err(AgentError::Blocked { reason, .. }) if reason == "no trips"));
    assert!(matches!(session.run().phase(), Phase::Stopped(StopReason::Blocked { .. })));
}

/// A refusal is final: no repair, no second answer of the turn and no limit of retries takes its place.
#[tokio::test]
async fn a_refusal_is_final() {
    let twice = || {
        Turn::call("final_answer", r#"{"city":"Rome","days":1}"#)
            .then_call("final_answer", r#"{"city":"Oslo","days":1}"#)
    };
    let refuse = async |trip: Trip, _| if trip.city == "Rome" { Err(AnswerProblem::refuse("full")) } else { Ok(()) };
    for retries in [0, 1, 5] {
        let agent =
            Agent::new(ScriptedModel::new([twice(), answer("Oslo", 1)])).answer_retries(retries).repair_by_model();
        let mut session = agent.session();
        let asked = session.ask("Where to?").typed::<Trip>().check(refuse).await;
        assert!(matches!(asked, Err(AgentError::Blocked { reason, .. }) if reason == "full"), "{retries}");
        assert!(matches!(session.run().phase(), Phase::Stopped(StopReason::Blocked { .. })), "{retries}");
    }
}

/// A text that another process has accepted without the check is checked when the question goes on.
#[tokio::test]
async fn a_text_of_another_process_is_checked_again() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let turns = || ScriptedModel::new([Turn::say("six"), Turn::say("7")]);
    let mut session = Agent::new(turns()).store(Arc::clone(&store)).session();
    session.send("How much?").await.unwrap();
    let id = session.id().clone();
    let second = Agent::new(ScriptedModel::new([Turn::say("7")])).store(store);
    let mut session = second.open(&id).await.unwrap();
    let question = session.resume_ask().check(async |text, _| if text == "7" { Ok(()) } else { Err("a digit".into()) });
    assert_eq!(question.await.unwrap().value, "7");
}

/// Books a seat.
#[tool]
fn book(
    /** The row. */
    row: u32,
) -> Result<String, tool_runtime::Failure> {
    if row > 9 { Err(tool_runtime::Failure::new("there are 9 rows")) } else { Ok(format!("{row}A")) }
}

/// Gives up.
#[tool(effect = read_only)]
fn give_up(
    /** Why. */
    why: String,
) -> String {
    why
}

/// Looks at the plane.
#[tool(effect = read_only)]
fn look() -> u8 {
    9
}

fn tools() -> Toolset {
    toolset!(book, give_up, look)
}

#[tokio::test]
async fn the_output_of_a_tool_is_the_answer() {
    let turns = [Turn::call("look", "{}"), Turn::call("book", r#"{"row": 12}"#), Turn::call("book", r#"{"row": 7}"#)];
    let mut session = Agent::new(ScriptedModel::new(turns)).tools(tools()).session();
    let answered = session.ask("A seat, please.").final_tools(["book", "give_up"]).await.unwrap();
    assert_eq!(answered.value.decode::<String>().unwrap(), "7A");
    assert_eq!((answered.reply.phase.clone(), answered.reply.steps), (Phase::Finished, 3));
    // A later prompt is not ended by these tools.
    session.change_agent(|agent| agent.tools(tools()).tool_choice(ToolChoice::Auto));
    // Unions: whichever succeeds.
    let turns = [Turn::call("give_up", r#"{"why": "no seat"}"#)];
    let answered =
        Agent::new(ScriptedModel::new(turns)).tools(tools()).ask("A seat?").final_tools(["book", "give_up"]).await;
    assert_eq!(answered.unwrap().value.decode::<String>().unwrap(), "no seat");
    // A model that only talks is reminded once.
    let turns = [Turn::say("Seat 7?"), Turn::say("Seat 7.")];
    let error = Agent::new(ScriptedModel::new(turns)).tools(tools()).ask("A seat?").final_tools(["book"]).await;
    assert!(error.unwrap_err().to_string().contains("its last text is: Seat 7."));
}

#[tokio::test]
async fn wrong_calls_of_final_tools_are_limited() {
    let agent = Agent::new(FunctionModel::new(|_| Turn::call("book", r#"{"row": 12}"#))).tools(tools());
    let error = agent.ask("A seat?").final_tools(["book"]).await.unwrap_err().to_string();
    assert!(error.contains("after 2 wrong answers") && error.contains("there are 9 rows"), "{error}");
}

/// An agent's own final tools end each of its runs, in a server and inside of another agent, too.
#[tokio::test]
async fn final_tools_of_an_agent_end_every_run() {
    let booking =
        || Agent::new(ScriptedModel::new([Turn::call("book", r#"{"row": 7}"#)])).tools(tools()).final_tools(["book"]);
    let reply = booking().run("A seat?").await.unwrap();
    assert_eq!(reply.output().unwrap().decode::<String>().unwrap(), "7A");
    assert_eq!(reply.phase, Phase::Finished);
    let answered = booking().ask("A seat?").final_tools::<&str>([]).await.unwrap();
    assert_eq!(answered.value.decode::<String>().unwrap(), "7A");
    let outer = ScriptedModel::new([Turn::call("clerk", r#"{"task": "a seat"}"#), Turn::say("You have 7A.")]);
    let tools = Toolset::new().with(booking().as_tool("clerk", "Books.")).unwrap();
    let mut session = Agent::new(outer).tools(tools).session();
    session.send("x").await.unwrap();
    let output = session.run().calls()[0].result().unwrap().output().unwrap();
    assert_eq!(output.as_json(), Some("\"7A\""));
}

/// If only the answer can be called, the model must call it.
#[tokio::test]
async fn the_only_tool_is_required() {
    let choices = Arc::<Mutex<Vec<ToolChoice>>>::default();
    let ask = async |agent: fn(Agent) -> Agent| {
        let noted = Arc::clone(&choices);
        let model = FunctionModel::new(move |request| {
            noted.lock().unwrap().push(request.tool_choice.clone());
            Turn::call("final_answer", r#"{"answer": 7}"#)
        });
        agent(Agent::new(model)).ask("x").typed::<u8>().await.unwrap();
        choices.lock().unwrap().pop().unwrap()
    };
    assert_eq!(ask(|agent| agent).await, ToolChoice::Required);
    assert_eq!(ask(|agent| agent.prune(tool_runtime::message::Pruning::new())).await, ToolChoice::Required);
    assert_eq!(ask(|agent| agent.tools(tools())).await, ToolChoice::Auto);
    assert_eq!(ask(|agent| agent.tools(tools()).active_tools(Vec::<String>::new())).await, ToolChoice::Required);
    let own = ToolChoice::Tool("final_answer".into());
    assert_eq!(ask(|agent| agent.tool_choice(ToolChoice::Tool("final_answer".into()))).await, own);
}

#[tokio::test]
async fn parts_are_questions_too() {
    let picture = Part::Image(Media::bytes("image/png", b"hi"));
    let model = FunctionModel::new(|request| {
        let Some(Message::User { content }) = request.messages.last() else { panic!("no prompt") };
        assert!(matches!(&content[..], [Part::Text { .. }, Part::Image(_)]));
        answer("Rome", 3)
    });
    let question = Agent::new(model).ask_parts(vec![Part::text("Read it."), picture]);
    assert_eq!(question.typed::<Trip>().await.unwrap().value.days, 3);
}

/// A check is repeated for an answer that another process has accepted without it.
#[tokio::test]
async fn an_answer_of_another_process_is_checked_again() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let turns = [Turn::call("pay", "{}")];
    let first = Agent::new(ScriptedModel::new(turns)).tools(toolset!(pay)).store(Arc::clone(&store)).operator(Suspend);
    let mut session = first.session();
    let waits = session.ask("Where to?").typed::<Trip>().await.unwrap_err();
    assert!(waits.to_string().contains("it waits for a decision"), "{waits}");
    let (id, open) = (session.id().clone(), session.interrupts().next().unwrap().id.clone());
    drop(session);
    first.decide(&id, &open, Decision::Approve, "").await.unwrap();
    // A worker drives the run, and knows neither the type nor the check.
    let worker = Agent::new(ScriptedModel::new([answer("Rome", 9)])).tools(toolset!(pay)).store(Arc::clone(&store));
    assert!(worker.resume_run(&id).await.unwrap());
    let reads = || Agent::new(ScriptedModel::new([answer("Oslo", 1)])).tools(toolset!(pay)).store(Arc::clone(&store));
    let mut session = reads().open(&id).await.unwrap();
    assert_eq!(session.resume_ask().typed::<Trip>().await.unwrap().value.days, 9);
    let question = session.resume_ask().typed::<Trip>();
    let checked = question.check(async |trip, _| if trip.days < 5 { Ok(()) } else { Err("at most 4 days".into()) });
    assert_eq!(checked.await.unwrap().value.city, "Oslo", "the reminder is the problem");
}

/// Pays.
#[tool(approval = always)]
fn pay() {}

/// A run that stopped goes on with another question than its prompt had, for example after a handover.
#[tokio::test]
async fn a_stopped_run_can_be_asked_for_something_else() {
    let turns = [Turn::call("look", "{}"), answer("Rome", 3)];
    let agent = Agent::new(ScriptedModel::new(turns)).tools(tools()).stop_when(StopWhen::succeeded("look"));
    let mut session = agent.session();
    assert!(matches!(session.send("Look.").await.unwrap().phase, Phase::Stopped(StopReason::Condition(_))));
    assert_eq!(session.resume_ask().typed::<Trip>().await.unwrap().value.city, "Rome");
    // The log has the question, so another process can answer it.
    let thawed = tool_runtime::run::Run::thaw(&session.run().freeze()).unwrap();
    assert_eq!(thawed.final_tools()[0].as_ref(), "final_answer");
    assert_eq!(session.resume_ask().typed::<Trip>().await.unwrap().value.days, 3);
}

/// A wrong name of a final tool is an error before a model is asked.
#[tokio::test]
async fn an_unknown_final_tool_is_an_error() {
    let model = ScriptedModel::new([Turn::say("Hello.")]);
    let error = Agent::new(model.clone()).tools(tools()).ask("?").final_tools(["bok"]).await.unwrap_err();
    assert!(error.to_string().ends_with("the agent has no tool `bok`; did you mean `book`?"), "{error}");
    assert!(model.requests().is_empty());
}
