//! A test of how a run looks in the server's own API.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::sync::Notify;
use tool_runtime::{
    agent::Decision,
    model::Turn,
    run::{Phase, RunId},
    tool, toolset,
};

use crate::{
    kit::{Effects, payments, tools},
    service::session,
};

/// Returns the rows of a query over the tables of the server.
async fn query(sql: &str) -> Vec<Value> {
    let url = format!("{}/query", std::env::var("ENGINE_ADMIN").unwrap());
    // The whole workspace builds reqwest without a provider of its own. Another test may have set one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let request = reqwest::Client::new().post(url).header("content-type", "application/json");
    let request = request.header("accept", "application/json").body(json!({ "query": sql }).to_string());
    let response = request.send().await.unwrap().text().await.unwrap();
    let response: Value = serde_json::from_str(&response).unwrap_or_else(|error| panic!("{error}: {response}"));
    response["rows"].as_array().unwrap_or_else(|| panic!("{response}")).clone()
}

/// Returns the kinds of a run's log entries, as the server has them, in order.
async fn stored_kinds(id: &RunId) -> Vec<String> {
    let of_run = format!("service_name = 'ToolRun' AND service_key = '{}'", id.as_str());
    let mut rows = query(&format!("SELECT key, value_utf8 FROM state WHERE {of_run} AND key <> 'head'")).await;
    rows.sort_by_key(|row| row["key"].as_str().unwrap().split('/').nth(1).unwrap().parse::<u64>().unwrap());
    let mut kinds = Vec::new();
    for row in rows {
        let text: String = serde_json::from_str(row["value_utf8"].as_str().unwrap()).unwrap();
        let entries: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let entries = entries.as_array().cloned().unwrap_or_else(|| entries["data"].as_array().unwrap().clone());
        kinds.extend(entries.iter().map(|entry| entry["entry"].as_str().unwrap().to_owned()));
    }
    kinds
}

#[tokio::test]
async fn turns_starts_and_decisions_are_entries_of_the_engine() {
    let effects = Effects::new();
    let mut session = session(tools(&effects), [payments(&[5]), Turn::say("paid it")]);
    session.send("go").await.unwrap();
    let open = session.interrupts().next().unwrap().id.clone();
    session.decide(&open, Decision::Approve, "").await.unwrap();
    assert_eq!(session.resume().await.unwrap().phase, Phase::Finished);
    let id = session.id().clone();
    let kinds = stored_kinds(&id).await;
    for (kind, count) in
        [("turn_started", 2), ("turn_ended", 2), ("decided", 1), ("call_started", 1), ("call_ended", 1)]
    {
        assert_eq!(kinds.iter().filter(|known| *known == kind).count(), count, "{kind}: {kinds:?}");
    }
}

/// Waits until the test has looked.
#[tool]
async fn wait(#[state] looked: &Notify) {
    looked.notified().await;
}

#[tokio::test]
async fn a_journal_has_each_append_and_is_gone_with_its_invocation() {
    let looked = Arc::new(Notify::new());
    let mut session = session(toolset!(Arc::clone(&looked); wait), [Turn::call("wait", "{}"), Turn::say("done")]);
    let id = session.id().clone();
    let sent = tokio::spawn(async move { session.send("go").await });
    let of_run = format!("WHERE i.target_service_key = '{}'", id.as_str());
    let entries = format!("SELECT j.entry_type FROM sys_journal j JOIN sys_invocation i ON j.id = i.id {of_run}");
    let count =
        |journal: &[Value], kind: &str| journal.iter().filter(|row| row["entry_type"].as_str() == Some(kind)).count();
    // The driver's journal has one `run` and one call for each of its appends, and a `run` that waits for the call of the tool.
    let has_all = |journal: &[Value]| {
        let calls = count(journal, "Command: Call");
        calls > 0 && count(journal, "Command: Run") == calls + 1 && count(journal, "Notification: Run") == calls
    };
    while !has_all(&query(&entries).await) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    looked.notify_one();
    assert_eq!(sent.await.unwrap().unwrap().text, "done");
    while !query(&format!("SELECT i.id FROM sys_invocation i {of_run}")).await.is_empty() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
