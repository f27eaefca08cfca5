//! Tools that ask while they run, and steps that are not repeated.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use serde_json::json;
use tool_runtime::{
    Agent, Context, Failure,
    agent::Decision,
    model::{ScriptedModel, Turn},
    run::{InterruptKind, Phase, Refusal, RunId},
    store::Store,
    tool, toolset,
};

use crate::kit::{
    Effects, Events, Person, Placed as _, agent, answered, open, refusal, resumed, store, stores, tool_results,
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

/// Asks something else each time.
#[tool]
async fn fickle(#[state] count: &AtomicUsize, #[context] cx: &Context) -> Result<i64, Failure> {
    let count = count.fetch_add(1, Ordering::SeqCst);
    let number: i64 = cx.ask(format!("question {count}")).await?;
    Ok(number)
}

fn answer(value: &str) -> Decision {
    Decision::Answer { value: json!(value) }
}

fn booking(store: &Arc<dyn Store>, effects: &Arc<Effects>) -> Agent {
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
    answered(&mut session, "go").await;
    assert_eq!(effects.all(), ["hold a seat", "booked 17 with soup"]);
    let questions = person.questions();
    let texts: Vec<&str> = questions.iter().map(|asked| asked.question.text.as_str()).collect();
    let meal = "What will you eat?";
    assert_eq!(texts, [meal, meal, meal, "Pay for seat 17 with soup?"], "what does not fit is asked again");
    assert!(questions[1].feedback.is_some() && questions[2].feedback.is_some());
}

#[tokio::test]
async fn answers_and_steps_survive_the_program() {
    for store in stores().await {
        let effects = Effects::new();
        let first = booking(&store, &effects);
        let mut session = first.session();
        assert_eq!(session.send("go").await.unwrap().phase, Phase::Suspended);
        let id = session.id().clone();
        drop(session);

        let second = booking(&store, &effects);
        let waits = open(&second, &id).await;
        assert!(
            matches!(&waits[0].kind, InterruptKind::Question { question } if question.text == "What will you eat?")
        );
        let wrong = second.decide(&id, &waits[0].id, Decision::Answer { value: json!(5) }, "").await;
        assert!(matches!(refusal(wrong), Refusal::Invalid { .. }));
        assert!(matches!(
            refusal(second.decide(&id, &waits[0].id, Decision::Approve, "").await),
            Refusal::NotOffered { .. }
        ));
        second.decide(&id, &waits[0].id, answer("soup"), "").await.unwrap();
        let again = resumed(&second, &id).await;
        let waits = again.interrupts().next().unwrap();
        assert!(matches!(&waits.kind, InterruptKind::Question { question } if question.text.contains("with soup")));
        assert_eq!(effects.all(), ["hold a seat"]);

        let third = agent(&store, toolset!(Arc::clone(&effects); book, twice), [Turn::say("booked")]);
        third.decide(&id, &waits.id, Decision::Approve, "").await.unwrap();
        let session = resumed(&third, &id).await;
        assert_eq!(effects.all(), ["hold a seat", "booked 17 with soup"], "the step was not taken again");
        assert_eq!(tool_results(&session), ["seat 17, soup"]);
        assert_eq!(session.run().calls()[0].attempts, 3);
    }
}

#[tokio::test]
async fn a_tool_can_return_after_a_denied_question() {
    for store in stores().await {
        let effects = Effects::new();
        let agent = booking(&store, &effects);
        let mut session = agent.session();
        session.send("go").await.unwrap();
        let waits = session.interrupts().next().unwrap().id.clone();
        session.decide(&waits, Decision::deny("not hungry"), "").await.unwrap();
        session.resume().await.unwrap();
        assert_eq!(tool_results(&session), ["the person did not answer: not hungry"]);
    }
}

#[tokio::test]
async fn a_tool_that_asks_something_else_than_before_fails() {
    for store in stores().await {
        let count = Arc::new(AtomicUsize::new(0));
        let turns = [Turn::call("fickle", json!({})), Turn::say("ok")];
        let agent = agent(&store, toolset!(Arc::clone(&count); fickle), turns);
        let mut session = agent.session();
        session.send("go").await.unwrap();
        let waits = session.interrupts().next().unwrap().id.clone();
        session.decide(&waits, Decision::Answer { value: json!(5) }, "").await.unwrap();
        assert_eq!(session.resume().await.unwrap().phase, Phase::Finished);
        assert_eq!(tool_results(&session), ["the tool failed"]);
        assert_eq!(count.load(Ordering::SeqCst), 2);
    }
}

#[tokio::test]
async fn two_challenges_in_a_row_are_two_decisions() {
    for is_there in [false, true] {
        let (store, effects) = (store(), Effects::new());
        let turns = [Turn::call("twice", json!({})), Turn::say("ok")];
        let later = agent(&store, toolset!(Arc::clone(&effects); book, twice), turns);
        let person = Person::deciding([Decision::Approve, Decision::Approve]);
        let agent = if is_there { later.observer(Events::new()).operator(person.clone()).on(&store) } else { later };
        let mut session = agent.session();
        session.send("go").await.unwrap();
        if !is_there {
            for number in 1..=2 {
                assert_eq!(effects.all(), [""; 0]);
                let waits = session.interrupts().next().unwrap().id.clone();
                assert!(waits.to_string().ends_with(&format!(".{number}")));
                session.decide(&waits, Decision::Approve, "").await.unwrap();
                session.resume().await.unwrap();
            }
        }
        assert_eq!(effects.all(), ["twice"]);
    }
}

/// Asks, and checks whether its clock stopped meanwhile.
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
            crate::kit::millis(5500).await;
            answer("long")
        })
    }
}

#[tokio::test]
async fn the_time_limit_of_a_tool_pauses_during_its_question() {
    let model = ScriptedModel::new([Turn::call("patient", json!({})), Turn::say("ok")]);
    let mut session =
        Agent::new(model).tools(toolset!(patient)).operator(Slow(AtomicBool::new(false))).anywhere().session();
    answered(&mut session, "go").await;
    assert_eq!(tool_results(&session), ["long"]);
}

/// Asks two things at once, and works beside.
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
async fn until_step_is_kept(agent: &Agent, id: &RunId) {
    for _ in 0..1000 {
        if agent.open(id).await.unwrap().run().calls()[0].steps().len() == 1 {
            return;
        }
        crate::kit::millis(10).await;
    }
    panic!("the step is not stored while the question is open");
}

#[tokio::test]
async fn questions_at_once_are_asked_one_after_the_other_and_a_step_is_kept_meanwhile() {
    for is_there in [false, true] {
        for store in stores().await {
            let effects = Effects::new();
            let turns = [Turn::call("several", json!({})), Turn::say("ok")];
            let tools = || toolset!(Arc::clone(&effects); several);
            let mut first = agent(&store, tools(), turns);
            if is_there {
                first = first
                    .observer(Events::new())
                    .operator(Person::deciding([answer("soup"), answer("tea")]))
                    .on(&store);
            }
            let mut session = first.session();
            if is_there {
                answered(&mut session, "go").await;
            } else {
                session.send("go").await.unwrap();
            }
            let id = session.id().clone();
            for (question, reply) in
                [("What will you eat?", "soup"), ("And drink?", "tea")].iter().filter(|_| !is_there)
            {
                let again = agent(&store, tools(), [Turn::say("ok")]);
                until_step_is_kept(&again, &id).await;
                let waits = open(&again, &id).await;
                assert!(matches!(&waits[..], [one] if one.innermost() == one));
                assert!(
                    matches!(&waits[0].kind, InterruptKind::Question { question: asked } if asked.text == *question)
                );
                again.decide(&id, &waits[0].id, answer(reply), "").await.unwrap();
                session = resumed(&again, &id).await;
            }
            assert_eq!((tool_results(&session), effects.count("step")), (vec!["soup, tea, 7".to_owned()], 1));
        }
    }
}
