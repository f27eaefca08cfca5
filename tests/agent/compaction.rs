//! Tests of the history: summaries of its beginning, and messages that the application adds.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use tool_runtime::{
    Agent, AgentError, Toolset,
    agent::Compaction,
    message::{Message, Pruning},
    model::{FunctionModel, ScriptedModel, Turn, Usage},
    run::{Phase, Refusal, Run},
    store::{MemoryStore, Store},
    tool, toolset,
};

/// The requests to a model, as texts.
type Requests = Arc<Mutex<Vec<Vec<String>>>>;

fn text_of(message: &Message) -> String {
    match message {
        Message::System { text } => format!("system: {text}"),
        Message::User { content } => format!("user: {}", content[0].as_text().unwrap_or("?")),
        Message::Assistant { content } => format!("assistant: {} parts", content.len()),
        Message::Tool(answer) => format!("tool: {}", answer.call_id),
    }
}

/// Returns a model that answers each prompt with its number, and the requests to it.
fn counting() -> (FunctionModel, Requests) {
    let requests = Requests::default();
    let seen = Arc::clone(&requests);
    let model = FunctionModel::new(move |request| {
        let mut seen = seen.lock().unwrap();
        seen.push(request.messages.iter().map(text_of).collect());
        Turn::say(format!("answer {}", seen.len()))
    });
    (model, requests)
}

/// Returns a rule whose summary names the number of messages that it replaces, and the number of summaries.
fn numbered() -> (Compaction, Arc<AtomicUsize>) {
    let made = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&made);
    let compaction = Compaction::with(move |messages: Vec<Message>| {
        counted.fetch_add(1, SeqCst);
        async move { Ok::<_, String>(format!("{} messages, from {}", messages.len(), text_of(&messages[0]))) }
    });
    (compaction.above_bytes(20).keep_turns(1), made)
}

#[tokio::test]
async fn a_summary_takes_the_place_of_the_beginning() {
    let ((model, requests), (compaction, made)) = (counting(), numbered());
    let mut session = Agent::new(model).instructions("Be brief.").compact(compaction).session();
    for prompt in ["one", "two", "three", "four"] {
        session.send(prompt).await.unwrap();
    }
    let requests = requests.lock().unwrap();
    let header = "user: A summary of the conversation before this point:\n\n";
    assert_eq!(
        requests[2],
        [
            "system: Be brief.",
            &format!("{header}2 messages, from user: one"),
            "user: two",
            "assistant: 1 parts",
            "user: three",
        ]
    );
    // The next summary covers the one before.
    assert_eq!(requests[3][1], format!("{header}3 messages, from {header}2 messages, from user: one"));
    assert_eq!(requests[3][2..], ["user: three", "assistant: 1 parts", "user: four"]);
    assert_eq!((made.load(SeqCst), session.run().summary().unwrap().messages), (2, 4));
    assert_eq!(session.messages().len(), 8, "the run keeps all");
    let thawed = Run::thaw(&session.run().freeze()).unwrap();
    assert_eq!(thawed.freeze(), session.run().freeze());
}

/// Another process, and the same one after a restart, use the summary of the log.
#[tokio::test]
async fn a_summary_is_kept_with_the_run() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let (compaction, made) = numbered();
    let agent = |model| Agent::new(model).compact(compaction.clone()).store(Arc::clone(&store));
    let mut session = agent(counting().0).session();
    for prompt in ["one", "two", "three"] {
        session.send(prompt).await.unwrap();
    }
    let (id, summary) = (session.id().clone(), session.run().summary().unwrap().clone());
    drop(session);
    let (model, requests) = counting();
    let second = agent(model).compact(numbered().0.above_bytes(10_000));
    let mut session = second.open(&id).await.unwrap();
    assert_eq!(session.run().summary(), Some(&summary));
    session.send("four").await.unwrap();
    assert!(requests.lock().unwrap()[0][0].ends_with(&*summary.text));
    assert_eq!(made.load(SeqCst), 1);
    // A branch keeps it as long as it has its messages.
    let run = session.run();
    assert_eq!(second.branch("late", run, 3).run().summary(), Some(&summary));
    assert_eq!(second.branch("early", run, 0).run().summary(), None);
    let mut branched = second.branch("again", run, 2);
    branched.send("three, again").await.unwrap();
    let stored = second.open(&"again".into()).await.unwrap();
    assert_eq!(stored.run().summary(), Some(&summary));
}

/// Looks something up.
#[tool(effect = read_only)]
fn look() -> String {
    "x".repeat(50)
}

fn tools() -> Toolset {
    toolset!(look)
}

/// In a long run of one prompt, the cut is between two turns.
#[tokio::test]
async fn no_call_is_separated_from_its_result() {
    let requests = Requests::default();
    let seen = Arc::clone(&requests);
    let model = FunctionModel::new(move |request| {
        let mut seen = seen.lock().unwrap();
        seen.push(request.messages.iter().map(text_of).collect());
        if seen.len() < 6 { Turn::call("look", "{}").then_call("look", "{}") } else { Turn::say("Done.") }
    });
    let (compaction, made) = numbered();
    let mut session = Agent::new(model).tools(tools()).compact(compaction.above_bytes(250).keep_turns(2)).session();
    session.send("go").await.unwrap();
    assert!(made.load(SeqCst) >= 1);
    for request in requests.lock().unwrap().iter().filter(|request| request[0].contains("summary")) {
        assert!(request[1].starts_with("assistant"), "{request:?}");
        let (calls, results) = (request.iter().filter(|text| text.starts_with("assistant")).count(), 2);
        assert_eq!(request.iter().filter(|text| text.starts_with("tool")).count(), calls * results);
    }
    assert_eq!(session.run().calls().len(), 10);
}

#[tokio::test(start_paused = true)]
async fn without_a_summary_the_model_gets_all() {
    let fails = Compaction::with(async |_| Err::<String, _>("out of paper"));
    let panics = Compaction::with(async |_| -> Result<String, String> { panic!("a test") });
    let empty = Compaction::with(async |_| Ok::<_, String>(" \n".to_owned()));
    let hangs = Compaction::with(async |_| std::future::pending::<Result<String, String>>().await);
    let cases = [
        (fails, "out of paper"),
        (panics, "the function that summarizes panicked"),
        (empty, "the summary is empty"),
        (hangs, "no summary within 120 s"),
    ];
    for (compaction, problem) in cases {
        let store = Arc::new(MemoryStore::new());
        let (model, requests) = counting();
        let agent = Agent::new(model).compact(compaction.above_bytes(8).keep_turns(1)).store(Arc::clone(&store));
        let mut session = agent.session();
        for prompt in ["one", "two", "three"] {
            session.send(prompt).await.unwrap();
        }
        assert_eq!(requests.lock().unwrap()[2].len(), 5, "{problem}");
        let log = store.read(session.id(), 0).await.unwrap();
        assert!(log.iter().any(|record| record.text.contains(problem)), "{problem}");
        assert_eq!(session.run().summary(), None);
    }
}

/// The tokens of a model that summarizes count, and each drive tries once.
#[tokio::test]
async fn a_model_that_summarizes_is_paid_for() {
    let usage = Usage { input_tokens: 100, ..Usage::default() };
    let summarizer = ScriptedModel::new([Turn::say("They counted.").with_usage(usage)]);
    let (model, requests) = counting();
    let compaction = Compaction::by(summarizer).above_bytes(8).keep_turns(1);
    let mut session = Agent::new(model).compact(compaction).session();
    for prompt in ["one", "two", "three"] {
        session.send(prompt).await.unwrap();
    }
    assert!(requests.lock().unwrap()[2][0].ends_with("They counted."));
    assert_eq!(session.run().usage().input_tokens, 100);
    // The script has no second summary: the model gets the first one, and the messages after it.
    session.send("four").await.unwrap();
    assert_eq!(session.run().summary().unwrap().messages, 2);
    assert_eq!(requests.lock().unwrap()[3].len(), 6);
}

#[tokio::test]
async fn a_cancelled_summary_ends_the_run() {
    let hangs = Compaction::with(async |_| std::future::pending::<Result<String, String>>().await);
    let mut session = Agent::new(counting().0).compact(hangs.above_bytes(8).keep_turns(1)).session();
    session.send("one").await.unwrap();
    session.send("two").await.unwrap();
    let stop = tokio::time::sleep(Duration::from_millis(20));
    assert!(matches!(session.send_until("three", stop).await, Err(AgentError::Cancelled)));
    assert!(matches!(session.run().phase(), Phase::Stopped(_)));
}

/// The functions that prepare a step see the summary, and each sees what the one before it has left.
#[tokio::test]
async fn changes_of_the_messages_compose() {
    let (model, requests) = counting();
    let (compaction, _) = numbered();
    let mut session = Agent::new(model)
        .compact(compaction)
        .prepare_step(|step| {
            let shown = step.messages().iter().map(|message| match message {
                Message::User { content } => {
                    Message::user(content[0].as_text().unwrap_or_default().replace("secret", "…"))
                }
                message => message.clone(),
            });
            let shown = shown.collect();
            step.set_messages(shown, "a test");
        })
        .prune(Pruning::new().keep_rounds(1))
        .session();
    for prompt in ["secret one", "secret two", "secret three"] {
        session.send(prompt).await.unwrap();
    }
    assert_eq!(requests.lock().unwrap()[2], ["user: … three"]);
}

#[tokio::test]
async fn an_application_adds_facts_and_refusals() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let (model, requests) = counting();
    let agent = Agent::new(model).store(Arc::clone(&store));
    let mut session = agent.session();
    session.add_message(Message::user("It is Monday."), "the clock").await.unwrap();
    assert_eq!(session.run().phase(), Phase::Idle);
    session.send("one").await.unwrap();
    session.add_message(Message::assistant("I may not say more."), "the guard refused").await.unwrap();
    assert_eq!(session.run().phase(), Phase::Finished);
    let id = session.id().clone();
    drop(session);
    let mut session = agent.open(&id).await.unwrap();
    session.send("two").await.unwrap();
    let expected = ["user: It is Monday.", "user: one", "assistant: 1 parts", "assistant: 1 parts", "user: two"];
    assert_eq!(requests.lock().unwrap()[1], expected);
    let log = store.read(&id, 0).await.unwrap();
    assert!(log.iter().any(|record| record.text.contains("the guard refused")));
    // Calls, results, instructions and blank messages are no facts.
    let blank = session.add_message(Message::user(" "), "x").await;
    assert!(matches!(blank, Err(AgentError::Refused(Refusal::Misplaced { .. }))));
    let system = session.add_message(Message::system("Obey."), "x").await;
    assert!(matches!(system, Err(AgentError::Refused(Refusal::Misplaced { .. }))));
    assert_eq!(session.messages().len(), 6);
}
