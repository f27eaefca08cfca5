//! Tests that records stay readable forever: `tests/data/records` has runs in the form of each version. A file there never
//! changes, and a new version of the stored form adds its own. The words of version 1 are those of 29 November 2026.

use std::{collections::BTreeSet, fs, path::PathBuf};

use tool_run::run::{Author, CallState, LogEntry, Stage, record};
use tool_runtime::message::{AssistantPart, Message};
use tool_runtime::run::{Call, CallResult, Phase, Principal, Run, StopReason, Timestamp};
use tool_stores::sealed::{Key, Keyring, ReplayPolicy, Sealer};

fn read_lines(name: &str) -> Vec<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data/records").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(str::to_owned).collect()
}

/// Returns the runs of a file whose lines are records of several runs in sequence.
fn read_runs(name: &str) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (number, line) in read_lines(name).iter().enumerate() {
        let events = record::decode(line).unwrap_or_else(|error| panic!("{name}, line {}: {error}", number + 1));
        for event in events {
            match event {
                LogEntry::Created { .. } => runs.push(Run::fold([event]).unwrap()),
                event => runs.last_mut().unwrap().apply(&event).unwrap(),
            }
        }
    }
    runs
}

#[test]
fn version_1_is_read() {
    let runs = read_runs("v1.jsonl");
    let [a, b, c] = &runs[..] else { panic!("{} runs", runs.len()) };

    assert_eq!(a.phase(), Phase::Finished);
    assert_eq!(a.last_text(), "Nothing more.");
    assert_eq!(a.calls().len(), 4);
    assert_eq!(a.calls()[0].arguments().text.as_ref(), r#"{"note":"rent ü\u0000"}"#);
    assert_eq!(a.run_approvals().len(), 1);
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
    assert_eq!(open.id.to_string(), "s.2", "the tool changed while the call waited");
}

#[test]
fn snapshots_of_version_1_are_read() {
    let snapshots = read_lines("v1.snapshots.jsonl");
    let runs = read_runs("v1.jsonl");
    assert_eq!(snapshots.len(), runs.len());
    for (snapshot, run) in snapshots.iter().zip(runs) {
        assert_eq!(without_later_parts(&Run::thaw(snapshot).unwrap()), without_later_parts(&run));
    }
}

/// Returns a run without the parts that early snapshots lack, although the log always had them.
fn without_later_parts(run: &Run) -> serde_json::Value {
    let mut frozen: serde_json::Value = serde_json::from_str(&run.freeze()).unwrap();
    let data = frozen["data"].as_object_mut().unwrap();
    data.retain(|name, _| !["prompts", "turns", "earlier_usage"].contains(&name.as_str()));
    // Early snapshots name no author of arguments other than the model and people.
    for call in data.get_mut("calls").and_then(|calls| calls.as_array_mut()).into_iter().flatten() {
        call["arguments"].as_object_mut().unwrap().remove("author");
        // Nor do they say which decisions are of a check that was forgotten.
        call.get_mut("past").and_then(|past| past.as_object_mut()?.remove("forgotten"));
        let revisions = call.pointer_mut("/past/revisions").and_then(|past| past.as_array_mut());
        for revision in revisions.into_iter().flatten() {
            revision.as_object_mut().unwrap().remove("author");
        }
    }
    frozen
}

/// Runs with every kind of entry, result, decision and reason, as version 1 writes them now, are read and written unchanged.
#[test]
fn every_kind_of_entry_of_version_1_is_read_and_written() {
    for line in read_lines("v1.kinds.jsonl") {
        assert_eq!(record::encode(&record::decode(&line).unwrap()), line);
    }
    let (runs, snapshots) = (read_runs("v1.kinds.jsonl"), read_lines("v1.kinds.snapshots.jsonl"));
    assert_eq!((runs.len(), snapshots.len()), (14, 14));
    for (run, snapshot) in runs.iter().zip(snapshots) {
        // Early snapshots do not say of a call that waits for another first check that one had accepted it.
        assert_eq!(run.freeze().replace(r#""was_accepted":true,"#, ""), snapshot);
        assert_eq!(Run::thaw(&snapshot).unwrap().freeze(), snapshot);
    }
    let stages: BTreeSet<Stage> = runs.iter().flat_map(Run::calls).map(Call::stage).collect();
    assert_eq!(stages.len(), 6, "a call in every stage: {stages:?}");
}

/// Titles were added to version 1 later.
#[test]
fn titles_of_version_1_are_read_and_written() {
    for line in read_lines("v1.titles.jsonl") {
        assert_eq!(record::encode(&record::decode(&line).unwrap()), line);
    }
    let (runs, snapshots) = (read_runs("v1.titles.jsonl"), read_lines("v1.titles.snapshots.jsonl"));
    let frozen: Vec<_> = runs.iter().map(Run::freeze).collect();
    assert_eq!((frozen.len(), &frozen), (2, &snapshots));
    for (run, snapshot) in runs.iter().zip(snapshots) {
        assert_eq!(run.title(), Some("Geography ü\u{0}"));
        assert_eq!(Run::thaw(&snapshot).unwrap().title(), run.title());
    }
    // A run without a title has that of its prompt.
    let prompt = record::decode(&read_lines("v1.titles.jsonl")[0]).unwrap();
    assert_eq!(Run::fold(prompt).unwrap().title(), Some("Where is Oslo?"));
}

/// Withdrawn starts were added to version 1 later.
#[test]
fn withdrawn_starts_of_version_1_are_read_and_written() {
    for line in read_lines("v1.withdrawn.jsonl") {
        assert_eq!(record::encode(&record::decode(&line).unwrap()), line);
    }
    let (runs, snapshots) = (read_runs("v1.withdrawn.jsonl"), read_lines("v1.withdrawn.snapshots.jsonl"));
    assert_eq!(runs.iter().map(Run::freeze).collect::<Vec<_>>(), snapshots);
    let may_have_run: Vec<_> = Run::thaw(&snapshots[0]).unwrap().calls().iter().map(Call::may_have_run).collect();
    assert_eq!(may_have_run, [true, false]);
}

/// A call whose start was withdrawn waits for another first check, and is not read in another form then.
#[test]
fn an_accepted_call_is_never_read_in_another_form() {
    let lines = read_lines("v1.withdrawn.jsonl");
    let mut entries = lines.iter().flat_map(|line| record::decode(line).unwrap());
    let mut run = Run::fold(entries.next()).unwrap();
    let withdrawn = entries.find_map(|entry| {
        run.apply(&entry).unwrap();
        if let LogEntry::CallWithdrawn { call } = entry { Some(call) } else { None }
    });
    let call = withdrawn.unwrap();
    let thawed = Run::thaw(&run.freeze()).unwrap();
    for mut run in [run, thawed] {
        assert!(run.call(&call).is_some_and(|call| call.stage() == Stage::Proposed && !call.may_be_read()));
        let (by, readings) = (Author::Reading, vec!["n: read \"5\" as 5".to_owned()]);
        assert!(run.apply(&LogEntry::Normalized { call: call.clone(), arguments: "{}".into(), by, readings }).is_err());
    }
}

/// Readings were added to version 1 later.
#[test]
fn readings_of_version_1_are_read_and_written() {
    for line in read_lines("v1.readings.jsonl") {
        assert_eq!(record::encode(&record::decode(&line).unwrap()), line);
    }
    let (runs, snapshots) = (read_runs("v1.readings.jsonl"), read_lines("v1.readings.snapshots.jsonl"));
    assert_eq!(runs.iter().map(Run::freeze).collect::<Vec<_>>(), snapshots);
    let thawed = Run::thaw(&snapshots[0]).unwrap();
    let call = &thawed.calls()[0];
    assert_eq!(call.revisions()[0].text.as_ref(), r#"{"to":"3"}"#);
    assert_eq!((call.arguments().author, call.readings()), (Author::Reading, &["to: read \"3\" as 3".to_owned()][..]));
}

/// The text of a turn that ended early, and the keys of prompts, were added to version 1 later.
#[test]
fn texts_of_cut_turns_of_version_1_are_read_and_written() {
    for line in read_lines("v1.written.jsonl") {
        assert_eq!(record::encode(&record::decode(&line).unwrap()), line);
    }
    let run = read_runs("v1.written.jsonl").remove(0);
    // The first text came before the end of its turn, and the second after it.
    let half = Message::Assistant { content: vec![AssistantPart::Text { text: "Half of it".to_owned() }] };
    let texts = run.messages().iter().filter(|message| **message == half);
    assert_eq!((texts.count(), run.messages().len()), (2, 4));
    assert_eq!(run.prompts()[1].key.as_deref(), Some("m2"));
    assert_eq!(Run::thaw(&run.freeze()).unwrap().freeze(), run.freeze());
}

/// Media by address, documents, names of files, and the origins of signatures were added to version 1 later.
#[test]
fn parts_of_version_1_are_read_and_written() {
    for line in read_lines("v1.parts.jsonl") {
        assert_eq!(record::encode(&record::decode(&line).unwrap()), line);
    }
    let run = read_runs("v1.parts.jsonl").remove(0);
    assert_eq!(run.last_text(), "Seen.");
    assert_eq!(Run::thaw(&run.freeze()).unwrap().freeze(), run.freeze());
}

/// The names of the agents that made the runs were added to version 1 later.
#[test]
fn names_of_version_1_are_read_and_written() {
    for line in read_lines("v1.names.jsonl") {
        assert_eq!(record::encode(&record::decode(&line).unwrap()), line);
    }
    let (runs, snapshots) = (read_runs("v1.names.jsonl"), read_lines("v1.names.snapshots.jsonl"));
    assert_eq!(runs.iter().map(Run::freeze).collect::<Vec<_>>(), snapshots);
    assert_eq!(runs[0].made_by(), Some("travel ü"));
    assert_eq!(Run::thaw(&snapshots[0]).unwrap().made_by(), Some("travel ü"));
    // Earlier runs have no name.
    assert!(read_runs("v1.kinds.jsonl").iter().all(|run| run.made_by().is_none()));
}

/// Messages of the application, summaries, other answers, corrections and blocked runs were added to version 1 later.
#[test]
fn histories_of_version_1_are_read_and_written() {
    for line in read_lines("v1.history.jsonl") {
        assert_eq!(record::encode(&record::decode(&line).unwrap()), line);
    }
    let (runs, snapshots) = (read_runs("v1.history.jsonl"), read_lines("v1.history.snapshots.jsonl"));
    assert_eq!(runs.iter().map(Run::freeze).collect::<Vec<_>>(), snapshots);
    let [run, branch] = &runs[..] else { panic!("{} runs", runs.len()) };
    assert_eq!(run.phase(), Phase::Stopped(StopReason::Blocked { by: "digits ü".into(), reason: "no 7".into() }));
    assert_eq!((run.summary().unwrap().messages, run.refused_answers()), (2, 1));
    assert_eq!(branch.summary(), run.summary());
    assert_eq!(branch.final_tools().len(), 2);
    for snapshot in &snapshots {
        assert_eq!(Run::thaw(snapshot).unwrap().freeze(), *snapshot);
    }
}

#[test]
fn sealed_texts_of_version_1_are_opened() {
    let ring = Keyring::new("k1", Key::from_bytes([7; 32]));
    let sealer = Sealer::new(ring, "tests", ReplayPolicy::Allow);
    let (texts, snapshots) = (read_lines("v1.sealed.txt"), read_lines("v1.kinds.snapshots.jsonl"));
    assert_eq!(texts.len(), snapshots.len());
    for (text, snapshot) in texts.iter().zip(snapshots) {
        let (run, _) = sealer.peek(text, &Principal::from("ann"), Timestamp(1)).unwrap();
        assert_eq!(run.freeze(), snapshot);
    }
}

/// Returns the kinds of entries in a file of records.
fn read_kinds(name: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in read_lines(name) {
        let record: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(record["v"], 1);
        found
            .extend(record["data"].as_array().unwrap().iter().map(|entry| entry["entry"].as_str().unwrap().to_owned()));
    }
    found
}

/// The kinds of entries in the first program of version 1.
const FIRST: [&str; 21] = [
    "answered",
    "call_accepted",
    "call_ended",
    "call_granted",
    "call_lost",
    "call_started",
    "called",
    "created",
    "decided",
    "durable_step_ended",
    "edited",
    "finished",
    "migrated",
    "opened",
    "prompted",
    "queued",
    "run_approved",
    "stopped",
    "turn_ended",
    "turn_failed",
    "turn_started",
];

/// The kinds of entries that were added to version 1 later.
const ADDED: [&str; 6] = ["branched", "durable_step_started", "normalized", "offered", "repaired", "stop_requested"];

#[test]
fn the_corpora_are_complete() {
    assert!(read_kinds("v1.jsonl").iter().map(String::as_str).eq(FIRST));
    let all: BTreeSet<&str> = FIRST.into_iter().chain(ADDED).collect();
    assert!(read_kinds("v1.kinds.jsonl").iter().map(String::as_str).eq(all));
    assert!(read_kinds("v1.titles.jsonl").contains("titled"));
    assert!(read_kinds("v1.withdrawn.jsonl").contains("call_withdrawn"));
    assert!(read_kinds("v1.written.jsonl").contains("written"));
    let history = read_kinds("v1.history.jsonl");
    let added = ["answer_wanted", "message_added", "summarized", "summary_failed"];
    assert!(added.iter().all(|kind| history.contains(*kind)));
}
