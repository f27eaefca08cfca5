//! Tests of suspended runs that a client keeps.

use std::{
    collections::HashSet,
    future::ready,
    sync::{Arc, Mutex},
};

use futures_util::future::BoxFuture;
use serde_json::json;
use tool_runtime::{
    Agent,
    agent::{Decision, Suspend},
    model::{ScriptedModel, Turn},
    run::{Phase, Principal, Run, Timestamp},
    store::StoreError,
    tool, toolset,
};
use tool_stores::{
    SqliteStore,
    sealed::{Key, Keyring, MemoryNonces, NonceStore, ReplayPolicy, SealError, Sealer},
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
    Agent::new(ScriptedModel::new(turns)).tools(toolset!(delete)).operator(Suspend).principal("anna")
}

fn ring() -> Keyring {
    Keyring::new("k2", Key::from_bytes([2; 32]))
}

fn sealer() -> Sealer {
    Sealer::new(ring(), "desk", ReplayPolicy::Allow)
}

fn anna() -> Principal {
    Principal::from("anna")
}

async fn suspend(agent: &Agent) -> String {
    let mut session = agent.session();
    let reply = session.send("Delete a.").await.unwrap();
    assert_eq!(reply.phase, Phase::Suspended);
    sealer().seal(session.run(), &anna(), Timestamp(1_000)).unwrap()
}

#[tokio::test]
async fn a_suspended_run_continues_from_its_sealed_text() {
    let agent = agent();
    let text = suspend(&agent).await;
    assert!(!text.contains("delete"), "the holder cannot read the text");
    let mut session = agent.session_from_run(sealer().open(&text, &anna(), Timestamp(2_000)).await.unwrap());
    let open = session.interrupts().next().unwrap().id.clone();
    session.decide(&open, Decision::Approve, "anna").await.unwrap();
    let reply = session.resume().await.unwrap();
    assert_eq!((reply.text.as_str(), reply.phase), ("Deleted.", Phase::Finished));
}

#[tokio::test]
async fn a_sealed_text_is_for_one_principal_one_audience_and_some_time() {
    let text = suspend(&agent()).await;
    let open = async |sealer: Sealer, who: &str, at| sealer.open(&text, &Principal::from(who), at).await;
    assert!(matches!(open(sealer(), "bert", Timestamp(2_000)).await, Err(SealError::Forbidden)));
    let elsewhere = Sealer::new(ring(), "other", ReplayPolicy::Allow);
    assert!(matches!(open(elsewhere, "anna", Timestamp(2_000)).await, Err(SealError::Audience)));
    let week = tool_stores::sealed::DEFAULT_LIFETIME;
    assert!(open(sealer(), "anna", Timestamp(999).saturating_add(week)).await.is_ok());
    assert!(matches!(
        open(sealer(), "anna", Timestamp(1_000).saturating_add(week)).await,
        Err(SealError::Expired { .. })
    ));
}

#[tokio::test]
async fn a_text_opens_with_its_key_while_the_keyring_has_it() {
    let text = suspend(&agent()).await;
    let newer = || Keyring::new("k3", Key::from_bytes([3; 32]));
    let both = Sealer::new(newer().with_older("k2", Key::from_bytes([2; 32])), "desk", ReplayPolicy::Allow);
    let run = both.open(&text, &anna(), Timestamp(2_000)).await.unwrap();
    let again = both.seal(&run, &anna(), Timestamp(2_000)).unwrap();
    let alone = Sealer::new(newer(), "desk", ReplayPolicy::Allow);
    assert!(alone.open(&again, &anna(), Timestamp(3_000)).await.is_ok());
    assert!(matches!(alone.open(&text, &anna(), Timestamp(3_000)).await, Err(SealError::UnknownKey)));
    let other = Sealer::new(Keyring::new("k2", Key::from_bytes([9; 32])), "desk", ReplayPolicy::Allow);
    assert!(matches!(other.open(&text, &anna(), Timestamp(3_000)).await, Err(SealError::Forged)));
    let made = Key::generate_base64();
    assert!(Key::from_base64(&made).is_ok());
    assert!(Key::from_base64(&made[1..]).is_err());
}

#[tokio::test]
async fn no_changed_text_is_opened() {
    let text = suspend(&agent()).await;
    for at in (0..text.len()).step_by(7).chain(text.len() - 3..text.len()) {
        let mut changed = text.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        assert!(sealer().open(&changed, &anna(), Timestamp(2_000)).await.is_err(), "at {at}");
        assert!(sealer().open(&text[..at], &anna(), Timestamp(2_000)).await.is_err(), "cut at {at}");
    }
}

#[tokio::test]
async fn texts_of_other_versions_and_too_large_texts_are_refused() {
    let text = suspend(&agent()).await;
    let newer = text.replacen("tool-run-1", "tool-run-2", 1);
    let error = sealer().open(&newer, &anna(), Timestamp(2_000)).await.unwrap_err();
    assert!(matches!(&error, SealError::Version(version) if version == "tool-run-2"), "{error}");
    let small = sealer().max_bytes(100);
    assert!(matches!(small.open(&text, &anna(), Timestamp(2_000)).await, Err(SealError::TooLarge { limit: 100 })));
    let run = sealer().open(&text, &anna(), Timestamp(2_000)).await.unwrap();
    assert!(matches!(small.seal(&run, &anna(), Timestamp(1)), Err(SealError::TooLarge { .. })));
    let newer_run = run.freeze().replacen("\"v\":1", "\"v\":99", 1);
    let message = Run::thaw(&newer_run).unwrap_err().to_string();
    assert!(message.contains("version 99") && message.contains("update"), "{message}");
}

fn sealer_with_nonces() -> Sealer {
    Sealer::new(ring(), "desk", ReplayPolicy::Refuse(Arc::new(MemoryNonces::new())))
}

async fn seal_with(sealer: &Sealer) -> String {
    let run = read(&suspend(&agent()).await);
    sealer.seal(&run, &anna(), Timestamp(1_000)).unwrap()
}

fn read(text: &str) -> Run {
    sealer().peek(text, &anna(), Timestamp(2_000)).unwrap().0
}

#[tokio::test]
async fn a_text_opens_once_with_a_nonce_store() {
    let sealer = sealer_with_nonces();
    let text = seal_with(&sealer).await;
    let mut opened = 0;
    for _ in 0..50 {
        match sealer.open(&text, &anna(), Timestamp(2_000)).await {
            Ok(_) => opened += 1,
            Err(error) => assert!(matches!(error, SealError::Replayed), "{error}"),
        }
    }
    assert_eq!(opened, 1);
}

#[tokio::test]
async fn a_text_for_another_nonce_store_is_refused() {
    let (before, after) = (sealer_with_nonces(), sealer_with_nonces());
    let text = seal_with(&before).await;
    let refused = after.open(&text, &anna(), Timestamp(2_000)).await.unwrap_err();
    assert!(matches!(refused, SealError::Forgotten));
    assert!(refused.to_string().contains("begin again"), "{refused}");
    assert!(matches!(after.peek(&text, &anna(), Timestamp(2_000)), Err(SealError::Forgotten)));
    before.open(&text, &anna(), Timestamp(2_000)).await.expect("the refusal spent no nonce");
    // This text has no nonce store, like all texts of older versions.
    let text = suspend(&agent()).await;
    assert!(matches!(after.open(&text, &anna(), Timestamp(2_000)).await, Err(SealError::Forgotten)));
    // A sealer that allows replays opens a text for any nonce store.
    let free = sealer();
    assert!(free.open(&seal_with(&before).await, &anna(), Timestamp(2_000)).await.is_ok());
}

#[tokio::test]
async fn of_a_text_and_its_resealed_copies_one_opens() {
    for opens_old in [false, true] {
        let sealer = sealer_with_nonces();
        let old = seal_with(&sealer).await;
        let (run, opening) = sealer.peek(&old, &anna(), Timestamp(2_000)).unwrap();
        let new = sealer.seal_again(&run, &anna(), &opening).unwrap();
        let newest = {
            let (run, opening) = sealer.peek(&new, &anna(), Timestamp(3_000)).unwrap();
            sealer.seal_again(&run, &anna(), &opening).unwrap()
        };
        let (first, others) = if opens_old { (&old, [&new, &newest]) } else { (&newest, [&old, &new]) };
        sealer.open(first, &anna(), Timestamp(4_000)).await.unwrap();
        for other in others {
            assert!(matches!(sealer.open(other, &anna(), Timestamp(4_000)).await, Err(SealError::Replayed)));
        }
        let week = tool_stores::sealed::DEFAULT_LIFETIME;
        let expired = sealer.open(&newest, &anna(), Timestamp(1_000).saturating_add(week)).await;
        assert!(matches!(expired, Err(SealError::Expired { .. })), "the new text expires with the old one");
    }
}

/// An application's store without an id.
#[derive(Default)]
struct Own(Mutex<HashSet<String>>);

impl NonceStore for Own {
    fn spend<'a>(&'a self, nonce: &'a str, _: Timestamp, _: Timestamp) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(ready(Ok(self.0.lock().unwrap().insert(nonce.to_owned()))))
    }
}

#[tokio::test]
async fn a_text_of_an_earlier_version_opens_only_with_a_store_without_an_id() {
    let text = include_str!("../slow/fuzz/corpus/sealed-1.txt");
    let sealer = |replay| Sealer::new(Keyring::new("fuzz", Key::from_bytes([7; 32])), "fuzz", replay);
    let open = async |sealer: &Sealer| sealer.open(text, &anna(), Timestamp(5)).await.map(drop);
    open(&sealer(ReplayPolicy::Allow)).await.unwrap();
    let own = sealer(ReplayPolicy::Refuse(Arc::<Own>::default()));
    open(&own).await.unwrap();
    assert!(matches!(open(&own).await, Err(SealError::Replayed)));
    // Its nonce may be spent in the memory of the process that sealed it.
    let stores: [Arc<dyn NonceStore>; 2] = [Arc::new(MemoryNonces::new()), Arc::new(SqliteStore::in_memory().unwrap())];
    for nonces in stores {
        assert!(matches!(open(&sealer(ReplayPolicy::Refuse(nonces))).await, Err(SealError::Forgotten)));
    }
}
