//! What was stored once can be read for ever: `tests/records` holds runs as each version wrote them. A file there is never
//! changed; a new version of the stored form adds its own.

use std::{collections::BTreeSet, fs, path::PathBuf};

use tool_runtime::run::{CallResult, CallState, LogEvent, Phase, Run, StopReason, record};

fn corpus(name: &str) -> Vec<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("records").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(str::to_owned).collect()
}

/// The runs of a file whose lines are records, one run after the other.
fn runs(name: &str) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (number, line) in corpus(name).iter().enumerate() {
        let events = record::decode(line).unwrap_or_else(|error| panic!("{name}, line {}: {error}", number + 1));
        for event in events {
            match event {
                LogEvent::Created { .. } => runs.push(Run::fold([event]).unwrap()),
                event => runs.last_mut().unwrap().apply(event).unwrap(),
            }
        }
    }
    runs
}

#[test]
fn version_1_is_read() {
    let runs = runs("v1.jsonl");
    let [a, b, c] = &runs[..] else { panic!("{} runs", runs.len()) };

    assert_eq!(a.phase(), Phase::Finished);
    assert_eq!(a.last_text(), "Nothing more.");
    assert_eq!(a.calls().len(), 4);
    assert_eq!(a.calls()[0].arguments().text.as_ref(), r#"{"note":"rent ü\u0000"}"#);
    assert_eq!(a.allowances().len(), 1);
    let output = a.calls()[0].result().and_then(CallResult::output).unwrap();
    assert_eq!(output.as_json(), Some(r#"{"paid":12.5}"#));
    assert_eq!(a.calls()[1].result().and_then(CallResult::output).unwrap().as_json(), Some("\"b\""));
    assert!(matches!(a.calls()[2].result(), Some(CallResult::NotAvailable { .. })));
    assert!(matches!(a.calls()[3].result(), Some(CallResult::Rejected { .. })));

    assert_eq!(b.phase(), Phase::Stopped(StopReason::ModelFailed("the provider is away".into())));
    assert_eq!(b.calls()[0].revisions().len(), 1);
    assert!(matches!(b.calls()[0].result(), Some(CallResult::Failed { .. })));
    assert!(matches!(b.calls()[1].result(), Some(CallResult::Denied { .. })));
    assert_eq!((b.calls()[2].retries, b.calls()[2].attempts), (1, 3));

    assert_eq!(c.phase(), Phase::Suspended);
    let CallState::Open(open) = &c.calls()[0].state else { panic!("{:?}", c.calls()[0]) };
    assert_eq!(open.id.to_string(), "s.2", "the tool changed while it waited");
}

#[test]
fn snapshots_of_version_1_are_read() {
    let snapshots = corpus("v1.snapshots.jsonl");
    let runs = runs("v1.jsonl");
    assert_eq!(snapshots.len(), runs.len());
    for (snapshot, run) in snapshots.iter().zip(runs) {
        assert_eq!(known_then(&Run::thaw(snapshot).unwrap()), known_then(&run));
    }
}

/// A run without what its log has always told, and its first snapshots did not keep.
fn known_then(run: &Run) -> serde_json::Value {
    let mut frozen: serde_json::Value = serde_json::from_str(&run.freeze()).unwrap();
    let data = frozen["data"].as_object_mut().unwrap();
    data.retain(|name, _| !["prompts", "turns"].contains(&name.as_str()));
    // Who wrote arguments besides the model and people.
    for call in data.get_mut("calls").and_then(|calls| calls.as_array_mut()).into_iter().flatten() {
        call["arguments"].as_object_mut().unwrap().remove("author");
        let revisions = call.pointer_mut("/past/revisions").and_then(|past| past.as_array_mut());
        for revision in revisions.into_iter().flatten() {
            revision.as_object_mut().unwrap().remove("author");
        }
    }
    frozen
}

/// Every kind of entry that version 1 knows is in its file.
#[test]
fn the_corpus_is_complete() {
    let mut found = BTreeSet::new();
    for line in corpus("v1.jsonl") {
        let record: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(record["v"], 1);
        found
            .extend(record["data"].as_array().unwrap().iter().map(|event| event["event"].as_str().unwrap().to_owned()));
    }
    let all = [
        "allowed",
        "answered",
        "called",
        "checked",
        "created",
        "decided",
        "edited",
        "ended",
        "finished",
        "granted",
        "lost",
        "migrated",
        "opened",
        "prompted",
        "queued",
        "started",
        "stepped",
        "stopped",
        "turn_ended",
        "turn_failed",
        "turn_started",
    ];
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), all);
}
