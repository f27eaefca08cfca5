//! Suspended runs in the hands of a client.

use std::sync::Arc;

use serde_json::json;
use tool_runtime::{
    Agent,
    agent::{Decision, Later, Stopped},
    model::{ScriptedModel, Turn},
    run::{Principal, Run, Time},
    sealed::{Key, Keyring, MemoryNonces, Replay, SealError, Sealer},
    tool, toolset,
};

/// Deletes a file.
#[tool(approval = always, effect = destructive)]
fn delete(
    /// The file.
    path: String,
) -> String {
    format!("deleted {path}")
}

fn agent() -> Agent {
    let turns = [Turn::call("delete", json!({"path": "a"})), Turn::say("Deleted.")];
    Agent::new(ScriptedModel::new(turns)).tools(toolset!(delete)).front(Later).with_principal("anna")
}

fn ring() -> Keyring {
    Keyring::new("k2", Key::from_bytes([2; 32]))
}

fn sealer() -> Sealer {
    Sealer::new(ring(), "desk", Replay::AllowReplay)
}

fn anna() -> Principal {
    Principal::from("anna")
}

async fn suspended(agent: &Agent) -> String {
    let mut session = agent.session();
    let reply = session.send("Delete a.").await.unwrap();
    assert_eq!(reply.stopped, Stopped::Suspended);
    sealer().seal(session.run(), &anna(), Time(1_000)).unwrap()
}

#[tokio::test]
async fn a_suspended_run_goes_on_from_its_sealed_text() {
    let agent = agent();
    let text = suspended(&agent).await;
    assert!(!text.contains("delete"), "the holder cannot read it");
    let mut session = agent.session_of(sealer().open(&text, &anna(), Time(2_000)).await.unwrap());
    let open = session.obligations().next().unwrap().id.clone();
    session.decide(&open, Decision::Approve, "anna").await.unwrap();
    let reply = session.resume().await.unwrap();
    assert_eq!((reply.text.as_str(), reply.stopped), ("Deleted.", Stopped::Done));
}

#[tokio::test]
async fn a_sealed_text_is_for_one_principal_one_audience_and_some_time() {
    let text = suspended(&agent()).await;
    let open = async |sealer: Sealer, who: &str, at| sealer.open(&text, &Principal::from(who), Time(at)).await;
    assert!(matches!(open(sealer(), "bert", 2_000).await, Err(SealError::Forbidden)));
    let elsewhere = Sealer::new(ring(), "other", Replay::AllowReplay);
    assert!(matches!(open(elsewhere, "anna", 2_000).await, Err(SealError::Audience)));
    let week = tool_runtime::sealed::DEFAULT_LIFETIME;
    assert!(open(sealer(), "anna", 999 + week).await.is_ok());
    assert!(matches!(open(sealer(), "anna", 1_000 + week).await, Err(SealError::Expired { .. })));
}

#[tokio::test]
async fn keys_can_be_changed() {
    let text = suspended(&agent()).await;
    let newer = || Keyring::new("k3", Key::from_bytes([3; 32]));
    let both = Sealer::new(newer().with_older("k2", Key::from_bytes([2; 32])), "desk", Replay::AllowReplay);
    let run = both.open(&text, &anna(), Time(2_000)).await.unwrap();
    let again = both.seal(&run, &anna(), Time(2_000)).unwrap();
    let alone = Sealer::new(newer(), "desk", Replay::AllowReplay);
    assert!(alone.open(&again, &anna(), Time(3_000)).await.is_ok());
    assert!(matches!(alone.open(&text, &anna(), Time(3_000)).await, Err(SealError::UnknownKey)));
    let other = Sealer::new(Keyring::new("k2", Key::from_bytes([9; 32])), "desk", Replay::AllowReplay);
    assert!(matches!(other.open(&text, &anna(), Time(3_000)).await, Err(SealError::Forged)));
    let made = Key::generate();
    assert!(Key::from_base64(&made).is_ok());
    assert!(Key::from_base64(&made[1..]).is_err());
}

#[tokio::test]
async fn no_changed_text_is_opened() {
    let text = suspended(&agent()).await;
    for at in (0..text.len()).step_by(7).chain(text.len() - 3..text.len()) {
        let mut changed = text.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        assert!(sealer().open(&changed, &anna(), Time(2_000)).await.is_err(), "at {at}");
        assert!(sealer().open(&text[..at], &anna(), Time(2_000)).await.is_err(), "cut at {at}");
    }
}

#[tokio::test]
async fn the_version_and_the_size_come_first() {
    let text = suspended(&agent()).await;
    let newer = text.replacen("tool-run-1", "tool-run-2", 1);
    let error = sealer().open(&newer, &anna(), Time(2_000)).await.unwrap_err();
    assert!(matches!(&error, SealError::Version(version) if version == "tool-run-2"), "{error}");
    let small = sealer().max_bytes(100);
    assert!(matches!(small.open(&text, &anna(), Time(2_000)).await, Err(SealError::TooLarge { limit: 100 })));
    let run = sealer().open(&text, &anna(), Time(2_000)).await.unwrap();
    assert!(matches!(small.seal(&run, &anna(), Time(1)), Err(SealError::TooLarge { .. })));
    let newer_run = run.freeze().replacen("\"v\":1", "\"v\":99", 1);
    let told = Run::thaw(&newer_run).unwrap_err().to_string();
    assert!(told.contains("version 99") && told.contains("update"), "{told}");
}

#[tokio::test]
async fn a_text_is_opened_once_where_that_matters() {
    let text = suspended(&agent()).await;
    let nonces = Arc::new(MemoryNonces::new());
    let sealer = Sealer::new(ring(), "desk", Replay::Refuse(nonces));
    let mut opened = 0;
    for _ in 0..50 {
        match sealer.open(&text, &anna(), Time(2_000)).await {
            Ok(_) => opened += 1,
            Err(error) => assert!(matches!(error, SealError::Replayed), "{error}"),
        }
    }
    assert_eq!(opened, 1);
}
