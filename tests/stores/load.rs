//! Checks of loading a run.

use tool_runtime::{
    Agent, AgentError,
    model::{ScriptedModel, Turn},
    run::Run,
    store::{Append, StoreError},
};
use tool_test_kit::stores::Stores;

use crate::sample_appends::{append, append_many, create, created, error_kind, id, texts};

async fn append_five(stores: &Stores) {
    create(&*stores.one, "r").await;
    stores.one.append(&id("r"), append_many(1, 3, "two to four")).await.unwrap();
    stores.one.append(&id("r"), append(4, "five")).await.unwrap();
}

pub(crate) async fn load_returns_the_records_after_the_snapshot(stores: &Stores) {
    append_five(stores).await;
    stores.one.save_snapshot(&id("r"), 4, "at four".into()).await.unwrap();
    let stored = stores.other.load(&id("r")).await.unwrap().unwrap();
    assert_eq!(stored.snapshot.as_deref(), Some("at four"));
    assert_eq!(texts(&stored.records), [(4, 1, "five")]);
    stores.other.save_snapshot(&id("r"), 5, "at five".into()).await.unwrap();
    let stored = stores.one.load(&id("r")).await.unwrap().unwrap();
    assert_eq!((stored.snapshot.as_deref(), stored.records.len()), (Some("at five"), 0));
    // The log itself stays.
    assert_eq!(stores.one.read(&id("r"), 0).await.unwrap().len(), 3);
}

pub(crate) async fn a_snapshot_moves_only_forward(stores: &Stores) {
    append_five(stores).await;
    stores.one.save_snapshot(&id("r"), 4, "at four".into()).await.unwrap();
    stores.other.save_snapshot(&id("r"), 1, "at one".into()).await.unwrap();
    stores.other.save_snapshot(&id("r"), 4, "at four again".into()).await.unwrap();
    let stored = stores.one.load(&id("r")).await.unwrap().unwrap();
    assert_eq!(stored.snapshot.as_deref(), Some("at four"));
}

pub(crate) async fn a_snapshot_in_the_middle_of_a_record_keeps_the_record(stores: &Stores) {
    append_five(stores).await;
    stores.one.save_snapshot(&id("r"), 2, "at two".into()).await.unwrap();
    let stored = stores.one.load(&id("r")).await.unwrap().unwrap();
    assert_eq!(texts(&stored.records), [(1, 3, "two to four"), (4, 1, "five")]);
}

pub(crate) async fn read_returns_the_records_after_a_revision(stores: &Stores) {
    append_five(stores).await;
    let after = async |rev| stores.other.read(&id("r"), rev).await.unwrap();
    assert_eq!(texts(&after(0).await), [(0, 1, "first"), (1, 3, "two to four"), (4, 1, "five")]);
    assert_eq!(texts(&after(1).await), [(1, 3, "two to four"), (4, 1, "five")]);
    assert_eq!(texts(&after(3).await), [(1, 3, "two to four"), (4, 1, "five")]);
    assert_eq!(texts(&after(4).await), [(4, 1, "five")]);
    assert_eq!(texts(&after(5).await), []);
    assert_eq!(texts(&after(u64::MAX).await), []);
}

pub(crate) async fn an_unknown_run_is_not_found(stores: &Stores) {
    assert!(stores.one.load(&id("r")).await.unwrap().is_none());
    assert_eq!(error_kind(stores.one.read(&id("r"), 0).await), "not found");
    assert!(!stores.one.delete(&id("r")).await.unwrap());
    stores.one.save_snapshot(&id("r"), 1, "of nothing".into()).await.unwrap();
    create(&*stores.one, "r").await;
    assert_eq!(stores.one.load(&id("r")).await.unwrap().unwrap().snapshot, None);
}

/// A row may have moved, as in a database that was put together from two backups.
pub(crate) async fn the_log_of_another_run_is_refused(stores: &Stores) {
    let entries = created("r", "ann");
    let append = Append::new(0, &entries, &Run::fold(entries.clone()).unwrap(), None);
    stores.one.append(&id("r"), append.clone()).await.unwrap();
    stores.one.append(&id("s"), append).await.unwrap();
    let agent = Agent::new(ScriptedModel::new([Turn::say("Well.")])).store(std::sync::Arc::clone(&stores.other));
    assert_eq!(agent.open(&id("r")).await.unwrap().id(), &id("r"));
    let refused = agent.open(&id("s")).await;
    assert!(matches!(&refused, Err(AgentError::Store(StoreError::Record(_)))), "{refused:?}");
}
