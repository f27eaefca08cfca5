//! Tests of tools that ask while they run, and of steps that are not repeated.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tool_runtime::{
    Agent, Context, Failure,
    agent::{Decision, Operator, QuestionRequest},
    model::{ScriptedModel, Turn},
    run::{InterruptKind, Phase, Refusal, RunId},
    store::{MemoryStore, Store},
    tool, toolset,
};

use tool_test_kit::every_kind;

use crate::kit::{
    Effects, Events, OnBackend as _, Person, agent, open_interrupts, refusal, resume, send_and_resume, store, stores,
    tool_results,
};

/// Books a trip.
#[tool]
async fn book(#[state] effects: &Effects, #[context] cx: &Context) -> Result<String, Failure> {
    let seat = async {
        effects.record("hold a seat");
        Ok::<_, Failure>(17)
    };
    let seat: i64 = cx.step("hold", seat).await?;
    let meal: String = cx.ask("What will you eat?").await?;
    cx.request_approval(format!("Pay for seat {seat} with {meal}?")).await?;
    effects.record(format!("booked {seat} with {meal}"));
    Ok(format!("seat {seat}, {meal}"))
}

/// Asks for an approval of its own, after the one that its declaration wants.
#[tool(approval = always, effect = destructive)]
async fn twice(#[state] effects: &Effects, #[context] cx: &Context) -> Result<(), Failure> {
    cx.request_approval("Really?").await?;
    effects.record("twice");
    Ok(())
}

/// Asks another question each time.
#[tool]
async fn fickle(#[state] count: &AtomicUsize, #[context] cx: &Context) -> Result<i64, Failure> {
    let count = count.fetch_add(1, Ordering::SeqCst);
    let number: i64 = cx.ask(format!("question {count}")).await?;
    Ok(number)
}

/// Asks for anything.
#[tool]
async fn ask_any(#[context] cx: &Context) -> Result<Value, Failure> {
    Ok(json!([cx.ask::<Value>("What?").await?]))
}

/// Asks, and goes on without an answer after a while.
#[tool(effect = write)]
async fn hasty(#[state] effects: &Effects, #[context] cx: &Context) -> &'static str {
    effects.record("hasty");
    let _ = tokio::time::timeout(Duration::from_mins(1), cx.ask::<u32>("How many?")).await;
    "one"
}

/// Executes outside.
#[tool(external, output = Value)]
struct Outside {}

/// Returns its argument.
#[tool(approval = always)]
fn keep(
    /// Anything.
    value: Value,
) -> Value {
    json!([value])
}

fn answer(value: &str) -> Decision {
    Decision::Answer { value: json!(value) }
}

fn booking_agent(store: &Arc<dyn Store>, effects: &Arc<Effects>) -> Agent {
    agent(store, toolset!(Arc::clone(effects); book, twice), [Turn::call("book", json!({})), Turn::say("booked")])
}

#[tokio::test]
async fn an_operator_answers_and_the_tool_continues() {
    let effects = Effects::new();
    let person =
        Person::deciding([Decision::Answer { value: json!(5) }, Decision::Approve, answer("soup"), Decision::Approve]);
    let model = ScriptedModel::new([Turn::call("book", json!({})), Turn::say("booked")]);
    let agent = Agent::new(model)
        .tools(toolset!(Arc::clone(&effects); book))
        .observer(Events::new())
        .operator(person.clone())
        .anywhere();
    let mut session = agent.session();
    send_and_resume(&mut session, "go").await;
    assert_eq!(effects.all(), ["hold a seat", "booked 17 with soup"]);
    let questions = person.questions();
    let texts: Vec<&str> = questions.iter().map(|asked| asked.question.text.as_str()).collect();
    let meal = "What will you eat?";
    assert_eq!(
        texts,
        [meal, meal, meal, "Pay for seat 17 with soup?"],
        "the question is repeated after an answer of another type"
    );
    assert!(questions[1].feedback.is_some() && questions[2].feedback.is_some());
}

#[tokio::test]
async fn answers_and_steps_survive_a_restart() {
    for store in stores().await {
        let effects = Effects::new();
        let first = booking_agent(&store, &effects);
        let mut session = first.session();
        assert_eq!(session.send("go").await.unwrap().phase, Phase::Suspended);
        let id = session.id().clone();
        drop(session);

        let second = booking_agent(&store, &effects);
        let interrupts = open_interrupts(&second, &id).await;
        assert!(
            matches!(&interrupts[0].kind, InterruptKind::Question { question } if question.text == "What will you eat?")
        );
        let wrong = second.decide(&id, &interrupts[0].id, Decision::Answer { value: json!(5) }, "").await;
        assert!(matches!(refusal(wrong), Refusal::Invalid { .. }));
        assert!(matches!(
            refusal(second.decide(&id, &interrupts[0].id, Decision::Approve, "").await),
            Refusal::NotOffered { .. }
        ));
        second.decide(&id, &interrupts[0].id, answer("soup"), "").await.unwrap();
        let again = resume(&second, &id).await;
        let interrupt = again.interrupts().next().unwrap();
        assert!(matches!(&interrupt.kind, InterruptKind::Question { question } if question.text.contains("with soup")));
        assert_eq!(effects.all(), ["hold a seat"]);

        let third = agent(&store, toolset!(Arc::clone(&effects); book, twice), [Turn::say("booked")]);
        third.decide(&id, &interrupt.id, Decision::Approve, "").await.unwrap();
        let session = resume(&third, &id).await;
        assert_eq!(effects.all(), ["hold a seat", "booked 17 with soup"], "the step did not run again");
        assert_eq!(tool_results(&session), ["seat 17, soup"]);
        assert_eq!(session.run().calls()[0].attempts, 3);
    }
}

/// Each decision is stored, and another agent reads it.
#[tokio::test]
async fn every_value_can_be_an_answer_an_output_and_an_edit() {
    for store in stores().await {
        for value in every_kind() {
            let turn = Turn::call("ask_any", json!({})).then_call("Outside", json!({}));
            let turns = [turn.then_call("keep", json!({ "value": "other" })), Turn::say("ok")];
            let tools = || toolset!(ask_any, Outside, keep);
            let mut session = agent(&store, tools(), turns).session();
            assert_eq!(session.send("go").await.unwrap().phase, Phase::Suspended);
            let id = session.id().clone();
            drop(session);
            let second = agent(&store, tools(), [Turn::say("ok")]);
            for open in open_interrupts(&second, &id).await {
                let decision = match &open.kind {
                    InterruptKind::Question { .. } => Decision::Answer { value: value.clone() },
                    InterruptKind::External => Decision::Respond { output: value.clone() },
                    _ => Decision::Edit { arguments: json!({ "value": value }) },
                };
                second.decide(&id, &open.id, decision, "").await.unwrap();
            }
            let results = tool_results(&resume(&second, &id).await);
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let within = json!([value]).to_string();
            assert_eq!((&results[0], &results[1]), (&within, &shown));
            assert!(results[2].ends_with(&within), "{}", results[2]);
        }
    }
}

#[tokio::test]
async fn a_tool_can_return_after_a_denied_question() {
    for store in stores().await {
        let effects = Effects::new();
        let agent = booking_agent(&store, &effects);
        let mut session = agent.session();
        session.send("go").await.unwrap();
        let interrupt = session.interrupts().next().unwrap().id.clone();
        session.decide(&interrupt, Decision::deny("not hungry"), "").await.unwrap();
        session.resume().await.unwrap();
        assert_eq!(tool_results(&session), ["the person did not answer: not hungry"]);
    }
}

/// The question is closed with the call: a late answer would start the tool again.
#[tokio::test(start_paused = true)]
async fn a_tool_that_returns_without_its_answer_has_ended() {
    let model = ScriptedModel::new([Turn::call("hasty", json!({})), Turn::say("done")]);
    let effects = Effects::new();
    let agent =
        Agent::new(model).tools(toolset!(Arc::clone(&effects); hasty)).operator(Absent).store(MemoryStore::new());
    let mut session = agent.session();
    assert_eq!(session.send("go").await.unwrap().text, "done");
    assert_eq!(tool_results(&session), ["one"]);
    assert_eq!(effects.all(), ["hasty"]);
    let id = session.run().calls()[0].interrupt_ids().next().expect("a question");
    let late = agent.decide(session.id(), &id, Decision::Answer { value: json!(3) }, "").await;
    assert!(matches!(refusal(late), Refusal::Closed { .. }));
}

/// An operator who never answers.
struct Absent;

impl Operator for Absent {
    fn answer<'a>(&'a self, _: &'a QuestionRequest) -> BoxFuture<'a, Decision> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_tool_that_asks_another_question_when_it_runs_again_fails() {
    for store in stores().await {
        let count = Arc::new(AtomicUsize::new(0));
        let turns = [Turn::call("fickle", json!({})), Turn::say("ok")];
        let agent = agent(&store, toolset!(Arc::clone(&count); fickle), turns);
        let mut session = agent.session();
        session.send("go").await.unwrap();
        let interrupt = session.interrupts().next().unwrap().id.clone();
        session.decide(&interrupt, Decision::Answer { value: json!(5) }, "").await.unwrap();
        assert_eq!(session.resume().await.unwrap().phase, Phase::Finished);
        assert_eq!(tool_results(&session), ["the tool failed"]);
        assert_eq!(count.load(Ordering::SeqCst), 2);
    }
}

#[tokio::test]
async fn two_challenges_in_a_row_need_two_decisions() {
    for has_operator in [false, true] {
        let (store, effects) = (store(), Effects::new());
        let turns = [Turn::call("twice", json!({})), Turn::say("ok")];
        let later = agent(&store, toolset!(Arc::clone(&effects); book, twice), turns);
        let person = Person::deciding([Decision::Approve, Decision::Approve]);
        let agent =
            if has_operator { later.observer(Events::new()).operator(person.clone()).on(&store) } else { later };
        let mut session = agent.session();
        session.send("go").await.unwrap();
        if !has_operator {
            for number in 1..=2 {
                assert_eq!(effects.all(), [""; 0]);
                let interrupt = session.interrupts().next().unwrap().id.clone();
                assert!(interrupt.to_string().ends_with(&format!(".{number}")));
                session.decide(&interrupt, Decision::Approve, "").await.unwrap();
                session.resume().await.unwrap();
            }
        }
        assert_eq!(effects.all(), ["twice"]);
    }
}

/// Asks, with a time limit that ends before the answer.
#[tool(timeout = "5s")]
async fn patient(#[context] cx: &Context) -> Result<String, Failure> {
    cx.ask("How long?").await
}

struct Slow(AtomicBool);

impl tool_runtime::agent::Operator for Slow {
    fn answer<'a>(
        &'a self,
        _: &'a tool_runtime::agent::QuestionRequest,
    ) -> futures_util::future::BoxFuture<'a, Decision> {
        self.0.store(true, Ordering::SeqCst);
        Box::pin(async {
            crate::kit::sleep_millis(5500).await;
            answer("long")
        })
    }
}

#[tokio::test]
async fn the_time_limit_of_a_tool_pauses_during_its_question() {
    let model = ScriptedModel::new([Turn::call("patient", json!({})), Turn::say("ok")]);
    let mut session =
        Agent::new(model).tools(toolset!(patient)).operator(Slow(AtomicBool::new(false))).anywhere().session();
    send_and_resume(&mut session, "go").await;
    assert_eq!(tool_results(&session), ["long"]);
}

/// Asks two questions at once, and records a step.
#[tool]
async fn several(#[state] effects: &Effects, #[context] cx: &Context) -> Result<String, Failure> {
    let step = async {
        effects.record("step");
        Ok::<_, Failure>(7)
    };
    let (meal, drink, step) = tokio::try_join!(
        cx.ask::<String>("What will you eat?"),
        cx.ask::<String>("And drink?"),
        cx.step("work", step)
    )?;
    Ok(format!("{meal}, {drink}, {step}"))
}

/// Waits until the step of the run's only call is stored. The driver of an engine may store it after the question.
async fn wait_for_stored_step(agent: &Agent, id: &RunId) {
    for _ in 0..1000 {
        if agent.open(id).await.unwrap().run().calls()[0].steps().len() == 1 {
            return;
        }
        crate::kit::sleep_millis(10).await;
    }
    panic!("the step is not stored while the question is open");
}

#[tokio::test]
async fn simultaneous_questions_are_asked_one_by_one_and_a_step_is_stored_meanwhile() {
    for has_operator in [false, true] {
        for store in stores().await {
            let effects = Effects::new();
            let turns = [Turn::call("several", json!({})), Turn::say("ok")];
            let tools = || toolset!(Arc::clone(&effects); several);
            let mut first = agent(&store, tools(), turns);
            if has_operator {
                first = first
                    .observer(Events::new())
                    .operator(Person::deciding([answer("soup"), answer("tea")]))
                    .on(&store);
            }
            let mut session = first.session();
            if has_operator {
                send_and_resume(&mut session, "go").await;
            } else {
                session.send("go").await.unwrap();
            }
            let id = session.id().clone();
            for (question, reply) in
                [("What will you eat?", "soup"), ("And drink?", "tea")].iter().filter(|_| !has_operator)
            {
                let again = agent(&store, tools(), [Turn::say("ok")]);
                wait_for_stored_step(&again, &id).await;
                let interrupts = open_interrupts(&again, &id).await;
                assert!(matches!(&interrupts[..], [one] if one.innermost() == one));
                assert!(
                    matches!(&interrupts[0].kind, InterruptKind::Question { question: asked } if asked.text == *question)
                );
                again.decide(&id, &interrupts[0].id, answer(reply), "").await.unwrap();
                session = resume(&again, &id).await;
            }
            assert_eq!((tool_results(&session), effects.count("step")), (vec!["soup, tea, 7".to_owned()], 1));
        }
    }
}
