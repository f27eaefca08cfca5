//! Checks what the run's guarantees say about a run that has ended, after any kills.

use std::path::Path;

use serde_json::Value;
use tool_run::run::{LogEntry, record};
use tool_runtime::{
    Message,
    message::AssistantPart,
    run::{Call, CallResult, Decision, InterruptKind, Run},
    store::Record,
};

use crate::kills::{
    child,
    effects::{Effects, Person, SCRIPTS},
    parent::Case,
};

/// Checks `run`, which was loaded with its snapshot, if there is one; `records` are its whole log.
pub(crate) fn check(case: &Case, run: &Run, records: &[Record], dir: &Path) {
    let log: Vec<LogEntry> = records.iter().flat_map(|record| record::decode(&record.text).unwrap()).collect();
    assert_eq!(Run::fold(log.clone()).unwrap().freeze(), run.freeze(), "{case:?}");
    let recorded = Effects::of(dir);
    let person = child::people()[case.person];
    let called: Vec<&str> = run.calls().iter().map(|call| call.name.as_str()).collect();
    let wanted: Vec<&str> = SCRIPTS[case.script].iter().flat_map(|turn| turn.iter().copied()).collect();
    assert_eq!(called, wanted, "{case:?}: a call is missing, or was requested twice");
    for call in run.calls() {
        check_call(case, person, call, &log, &recorded);
    }
    let is_known = |effect: &String| run.calls().iter().any(|call| effect.ends_with(&format!(" {}", call.id)));
    assert!(recorded.all().iter().all(is_known), "{case:?}: {:?}", recorded.all());
    check_answers(case, run);
}

fn check_call(case: &Case, person: Person, call: &Call, log: &[LogEntry], recorded: &Effects) {
    let arguments: Value = serde_json::from_str(&call.arguments().text).unwrap();
    let effects = recorded.count(&call.name, &arguments["n"], call.id.as_str());
    let result = call.result().unwrap();
    let shown = format!("{case:?}: {} {}: {effects} effects, {result:?}", call.name, arguments["n"]);
    // An effect with other arguments had no permission.
    let all = recorded.all().iter().filter(|effect| effect.ends_with(&format!(" {}", call.id))).count();
    let steps = recorded.count("step", &arguments["n"], call.id.as_str());
    assert_eq!(all, effects + steps, "{shown}");

    let (mut grants, mut starts, mut starts_before_step, mut kept, mut ends) = (0, 0, 0, 0, 0);
    let (mut reconciles, mut repetitions) = (Vec::new(), 0);
    for event in log {
        match event {
            LogEntry::CallGranted { call: id, .. } if *id == call.id => grants += 1,
            LogEntry::CallStarted { call: id, .. } if *id == call.id => starts += 1,
            LogEntry::Opened { call: id, interrupt } if *id == call.id => {
                reconciles.extend((interrupt.kind == InterruptKind::Reconcile).then_some(&interrupt.id));
            }
            LogEntry::Decided { interrupt, decision: Decision::Approve, .. } if reconciles.contains(&interrupt) => {
                repetitions += 1;
            }
            LogEntry::DurableStepEnded { call: id, name, .. } if *id == call.id && name == "first" => {
                (kept, starts_before_step) = (kept + 1, starts);
            }
            LogEntry::CallEnded { call: id, .. } if *id == call.id => ends += 1,
            _ => {}
        }
    }
    assert_eq!(ends, 1, "{shown}");
    assert!(effects <= starts && starts <= grants, "{starts} starts, {grants} grants; {shown}");
    assert!(kept <= 1, "{kept} steps recorded; {shown}");
    if kept == 1 {
        assert!(steps <= starts_before_step, "a recorded step was repeated; {shown}");
    }
    if call.name == "keeps" {
        // Only a person allows a step to be repeated.
        assert!(steps <= 1 + repetitions, "a person allowed {repetitions} repetitions; {shown}");
        assert!(effects <= steps, "{shown}");
    }
    let once = matches!(call.name.as_str(), "pay" | "add" | "ask" | "keeps");
    if once {
        assert!(effects <= 1, "{shown}");
    }
    match (call.name.as_str(), result) {
        ("Elsewhere", CallResult::Succeeded { output }) => {
            assert_eq!((effects, output.as_json()), (0, Some(&*arguments["n"].to_string())), "{shown}");
        }
        // The person saw that a lost call had its effect.
        (_, CallResult::Responded { .. }) => assert!(once && effects == 1 && person != Person::Lazy, "{shown}"),
        (_, CallResult::Succeeded { .. }) => assert!(effects >= 1, "{shown}"),
        ("pay", CallResult::Denied { .. }) if person == Person::Picky => assert_eq!(effects, 0, "{shown}"),
        // The person denied a lost call without a check.
        (_, _) => assert!(once && person == Person::Lazy && starts >= 1 && !case.kills.is_empty(), "{shown}"),
    }
}

/// Checks that each call was answered once, and in order.
fn check_answers(case: &Case, run: &Run) {
    let mut due: Vec<&str> = Vec::new();
    let (mut prompts, mut turns) = (0, 0);
    for message in run.messages() {
        match message {
            Message::Assistant { content } => {
                assert_eq!(due, [""; 0], "{case:?}");
                turns += 1;
                due.extend(content.iter().rev().filter_map(|part| match part {
                    AssistantPart::Call(call) => Some(call.id.as_str()),
                    _ => None,
                }));
            }
            Message::Tool(answer) => assert_eq!(due.pop(), Some(answer.call_id.as_str()), "{case:?}"),
            _ => prompts += 1,
        }
    }
    assert_eq!((due.len(), prompts, turns), (0, 1, SCRIPTS[case.script].len() + 1), "{case:?}");
}
