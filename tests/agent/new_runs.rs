//! Tests of the beginning of runs: their ids in a store, and branches of other runs.

use std::time::Duration;

use tool_runtime::{
    Agent, AgentError, Message,
    agent::Suspend,
    message::{AssistantPart, Part},
    model::{ScriptedModel, Turn},
    run::{Phase, Refusal, RunId},
    store::MemoryStore,
    test::TestClock,
    tool, toolset,
};

/// Play a song.
#[tool(approval = always)]
fn play(
    /// The song.
    song: String,
) -> String {
    format!("playing {song}")
}

/// Returns an agent whose model answers, with the runs of a store.
fn chat(store: &MemoryStore) -> Agent {
    Agent::new(ScriptedModel::new(["one", "two", "three"].map(Turn::say))).store(store.clone())
}

#[tokio::test]
async fn a_new_run_does_not_take_over_one_with_its_id() {
    let (store, clock) = (MemoryStore::new(), TestClock::new());
    let ann = chat(&store).principal("ann").clock(&clock);
    let mut first = ann.session_with_id("chat", Vec::new());
    first.send("My PIN is 1234.").await.unwrap();
    clock.advance(Duration::from_secs(1));
    let id = RunId::from("chat");
    let of_others = [
        ann.session_with_id("chat", Vec::new()),
        ann.session_with_id("chat", vec![Message::user("Something else.")]),
        ann.branch("chat", first.run(), 0),
        chat(&store).principal("bob").session_with_id("chat", Vec::new()),
    ];
    for mut session in of_others {
        let before = session.messages().to_vec();
        for _ in 0..2 {
            let refused = session.send("What is my PIN?").await;
            assert!(matches!(&refused, Err(AgentError::Refused(Refusal::Exists { run })) if *run == id), "{refused:?}");
            assert_eq!(session.messages(), before, "nothing of the other run is shown");
        }
    }
    assert_eq!(ann.open(&id).await.unwrap().messages(), first.messages());
    // An owner's copy of the same request joins the run, and no other principal's does.
    let mut copy = ann.session_with_id("chat", Vec::new());
    copy.send_once(None, vec![Part::text("What is my PIN?")], "key").await.unwrap();
    assert_eq!(copy.messages().len(), 4);
    // Other messages, or a branch, are no copy.
    let others =
        [ann.session_with_id("chat", vec![Message::user("Something else.")]), ann.branch("chat", first.run(), 99)];
    for mut session in others {
        let refused = session.send_once(None, vec![Part::text("What?")], "other key").await;
        assert!(matches!(refused, Err(AgentError::Refused(Refusal::Exists { .. }))), "{refused:?}");
    }
    let mut bob = chat(&store).principal("bob").session_with_id("chat", Vec::new());
    assert!(bob.send_once(None, vec![Part::text("What is my PIN?")], "key").await.is_err());
    assert!(bob.messages().is_empty());
}

#[tokio::test]
async fn a_branch_of_a_waiting_run_has_a_result_for_each_call() {
    for is_stored in [false, true] {
        let turn = Turn::call("play", r#"{"song": "A"}"#);
        let mut first = Agent::new(ScriptedModel::new([turn])).tools(toolset!(play)).operator(Suspend).session();
        assert_eq!(first.send("Play.").await.unwrap().phase, Phase::Suspended);
        let model = ScriptedModel::new(["In the branch."].map(Turn::say));
        let mut agent = Agent::new(model.clone()).tools(toolset!(play)).operator(Suspend);
        if is_stored {
            agent = agent.store(MemoryStore::new());
        }
        let mut branch = agent.branch("branch", first.run(), 99);
        assert_eq!(branch.send("Go on.").await.unwrap().text, "In the branch.");
        let asked = &model.requests()[0].messages;
        assert!(matches!(&asked[1], Message::Assistant { content } if matches!(content[..], [AssistantPart::Call(_)])));
        assert!(matches!(&asked[2], Message::Tool(answer) if answer.is_error), "{asked:?}");
        assert_eq!(asked[3], Message::user("Go on."));
        // The first run still waits, and a branch before its prompt has no call.
        assert_eq!(first.run().phase(), Phase::Suspended);
        assert!(agent.branch("early", first.run(), 0).messages().is_empty());
    }
}
