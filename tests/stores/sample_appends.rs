//! Sample appends for the checks of stores.

use serde_json::json;
use tool_run::run::LogEntry;
use tool_runtime::{
    run::{Interrupt, Principal, Run, RunId, Timestamp},
    store::{Append, Lease, Record, Store, StoreError},
};

pub(crate) fn id(name: &str) -> RunId {
    RunId::from(name)
}

/// Returns the first entry of a run of `owner`.
pub(crate) fn created(run: &str, owner: &str) -> Vec<LogEntry> {
    vec![LogEntry::Created {
        run: id(run),
        owner: Principal::from(owner),
        made_by: None,
        options: Box::default(),
        messages: Vec::new(),
        at: Timestamp(1),
    }]
}

/// Returns an append of one entry with this text, for an idle run of `ann`.
pub(crate) fn append(expected: u64, text: &str) -> Append {
    append_of("ann", expected, text)
}

pub(crate) fn append_of(owner: &str, expected: u64, text: &str) -> Append {
    let events = created("any", owner);
    let mut append = Append::new(expected, &events, &Run::fold(events.clone()).unwrap(), None);
    append.text = text.to_owned();
    append
}

pub(crate) fn append_many(expected: u64, count: u64, text: &str) -> Append {
    let mut append = append(expected, text);
    append.count = count;
    append
}

pub(crate) fn with_lease(lease: &Lease, mut append: Append) -> Append {
    append.lease = Some(lease.clone());
    append
}

pub(crate) fn interrupt(name: &str, since: u64, deciders: &[&str]) -> Interrupt {
    let note = "a\u{0}b ü 漢 \u{1f600}";
    let shown = json!({"tool": "pay", "effect": "write", "arguments": {"note": note}, "lines": [["note", note]]});
    let value = json!({
        "id": name, "kind": {"kind": "external"}, "shown": shown, "opened_at": since, "deciders": deciders,
    });
    serde_json::from_value(value).unwrap()
}

pub(crate) async fn create(store: &dyn Store, run: &str) {
    store.append(&id(run), append(0, "first")).await.unwrap();
}

pub(crate) fn texts(records: &[Record]) -> Vec<(u64, u64, &str)> {
    records.iter().map(|record| (record.rev, record.count, record.text.as_str())).collect()
}

/// Returns the kind of an error.
pub(crate) fn error_kind<T: std::fmt::Debug>(result: Result<T, StoreError>) -> &'static str {
    match result.expect_err("the operation succeeded") {
        StoreError::Conflict => "conflict",
        StoreError::Fenced => "fenced",
        StoreError::Leased { .. } => "leased",
        StoreError::NotFound => "not found",
        other => panic!("{other}"),
    }
}
