//! Replays: the extract always, the whole recording where it is at hand.

use std::path::Path;
use std::sync::Arc;

use super::{package, wait};
use crate::{data, replay};

fn replayed(folder: &Path) -> (usize, String) {
    let mut report = Vec::new();
    let failed = wait(replay(folder, &mut report)).unwrap();
    (failed, String::from_utf8(report).unwrap())
}

#[test]
fn the_extract_replays() {
    let (failed, report) = replayed(&package("src/bin/retail/extract"));
    assert_eq!(failed, 0, "{report}");
    assert!(report.ends_with("ok  test-46\n14 passed, 0 failed\n"), "{report}");
}

#[test]
#[ignore = "needs ../shared, which is not part of the repository"]
fn the_whole_recording_replays() {
    let (failed, report) = replayed(&package("../../shared/data/tau-bench"));
    assert_eq!(failed, 0, "{report}");
}

#[test]
fn a_difference_is_told_with_its_place() {
    let tasks = std::fs::read_to_string(package("src/bin/retail/extract/retail.tasks.jsonl")).unwrap();
    let task = |text: &str| serde_json::from_str::<replay::Task>(text).unwrap();
    let database = Arc::new(data::embedded().unwrap());
    let line = tasks.lines().find(|line| line.contains("retail-train-145")).unwrap();

    let price = line.replacen("exchange_price_difference\\\": 0.0", "exchange_price_difference\\\": 0", 1);
    let told = wait(task(&price).replay(&database)).unwrap_err().to_string();
    assert!(told.contains("exchange_delivered_order_items: expected …"), "{told}");
    assert!(told.contains("0}, got …") && told.ends_with("0.0}"), "{told}");

    let (actions, changed) = line.split_once("\"changed\"").unwrap();
    let by_value = format!(
        "{actions}\"changed\"{}",
        changed.replace("\"exchange_price_difference\": 0.0", "\"exchange_price_difference\": 0")
    );
    assert_ne!(by_value, line);
    wait(task(&by_value).replay(&database)).unwrap();
    let unchanged = format!("{actions}\"changed\": {{}}}}");
    let told = wait(task(&unchanged).replay(&database)).unwrap_err().to_string();
    assert!(told.starts_with("changed records: expected {}, got {\"orders\""), "{told}");
}

#[test]
fn refused_arguments_are_a_difference() {
    let line = r##"{"id": "retail-x", "actions": [{"name": "get_order_details", "arguments": {"order": "#W0"}, "result": "Error: order not found"}], "changed": {}}"##;
    let task: replay::Task = serde_json::from_str(line).unwrap();
    let told = wait(task.replay(&Arc::new(data::embedded().unwrap()))).unwrap_err().to_string();
    assert!(
        told.starts_with("action 0 get_order_details: expected Error: order not found, got {\"ok\": false"),
        "{told}"
    );
}
