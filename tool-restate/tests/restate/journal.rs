//! A test of how a run looks in the server's own API.

use serde_json::{Value, json};
use tool_runtime::{
    agent::Decision,
    model::Turn,
    run::{Phase, RunId},
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
        kinds
            .extend(entries.iter().map(|entry| entry["event"].as_str().or(entry["kind"].as_str()).unwrap().to_owned()));
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
    for (kind, count) in [("turn_started", 2), ("turn_ended", 2), ("decided", 1), ("started", 1), ("ended", 1)] {
        assert_eq!(kinds.iter().filter(|known| *known == kind).count(), count, "{kind}: {kinds:?}");
    }
    // The driver's journal has one `run` and one call for each of its appends, and nothing else.
    let driver = format!("target_service_name = 'ToolDriver' AND target_service_key = '{}'", id.as_str());
    let journal = query(&format!(
        "SELECT j.entry_type, j.name FROM sys_journal j JOIN sys_invocation i ON j.id = i.id WHERE i.{}",
        driver.replace(" AND ", " AND i.")
    ))
    .await;
    let count = |kind: &str| journal.iter().filter(|row| row["entry_type"].as_str().unwrap() == kind).count();
    assert!(count("Command: Run") >= 4, "{journal:?}");
    assert_eq!(count("Command: Run"), count("Notification: Run"), "{journal:?}");
}
