//! Tests that events in any order, of calls in any state, give a stream that clients accept.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::{assert_legal, chunks, run_of, tools};
use tool_run::run::CallView;
use tool_runtime::agent::{AgentError, Event, PartialArguments};
use tool_runtime::message::{FinishReason, Part, ProviderPart, ProviderPartKind, Usage};
use tool_runtime::tool::{Output, Progress};
use tool_runtime::{
    run::{CallResult, Decision, Interrupt, InterruptKind, Phase, Prompt, Run, Timestamp},
    tool::Question,
};
use tool_server::protocol::ai_sdk::{AiSdkEncoder, ErrorDetail, SdkVersion, StreamSettings};
use tool_server::protocol::{Encoder, End};

/// An event to send to an encoder. A number is the index of a call.
#[derive(Clone, Debug)]
enum TestEvent {
    Step,
    Text(String),
    Reasoning(String),
    Announced(usize),
    Arguments(usize, String),
    TurnEnds,
    Accepted(usize),
    Opened(usize, u8),
    Decided(usize, bool),
    Preliminary(usize),
    Progress(usize),
    Ends(usize, u8),
    Flush,
    Fails(bool),
    Steered,
    Provided(usize, u8),
    Inside(usize),
}

const CALLS: [(&str, &str, &str); 4] = [
    ("a", "work", "{\"x\":\n1}"),
    ("b", "client", "{}"),
    ("c", "secret", "{\"token\":\"hush\"}"),
    ("d", "nothing", "{\"broken"),
];

fn any_event() -> impl Strategy<Value = TestEvent> {
    let call = 0..CALLS.len();
    prop_oneof![
        1 => Just(TestEvent::Step),
        1 => "[a-z\"\\\\\n\u{1F600}]{0,40}".prop_map(TestEvent::Text),
        1 => "[a-z]{0,9}".prop_map(TestEvent::Reasoning),
        3 => call.clone().prop_map(TestEvent::Announced),
        3 => (call.clone(), "[a-z{}\":]{0,30}").prop_map(|(at, text)| TestEvent::Arguments(at, text)),
        1 => Just(TestEvent::TurnEnds),
        2 => call.clone().prop_map(TestEvent::Accepted),
        2 => (call.clone(), 0..5u8).prop_map(|(at, kind)| TestEvent::Opened(at, kind)),
        2 => (call.clone(), any::<bool>()).prop_map(|(at, yes)| TestEvent::Decided(at, yes)),
        1 => call.clone().prop_map(TestEvent::Preliminary),
        1 => call.clone().prop_map(TestEvent::Progress),
        2 => (call, 0..7u8).prop_map(|(at, how)| TestEvent::Ends(at, how)),
        1 => Just(TestEvent::Flush),
        1 => any::<bool>().prop_map(TestEvent::Fails),
        1 => Just(TestEvent::Steered),
        1 => (0..3usize, 0..3u8).prop_map(|(at, kind)| TestEvent::Provided(at, kind)),
        1 => (0..CALLS.len() - 1).prop_map(TestEvent::Inside),
    ]
}

fn interrupt(run: &Run, at: usize, kind: u8) -> Interrupt {
    let kind = match kind {
        0 => InterruptKind::Approval { offer: None },
        1 => InterruptKind::External,
        2 => InterruptKind::Reconcile,
        3 => InterruptKind::Question { question: Question::ask("How many?", json!({ "type": "integer" })) },
        _ => InterruptKind::Question { question: Question::approval("May I?") },
    };
    let id = format!("{}.1", run.calls()[at].id).parse().unwrap();
    let tools = tools();
    let shown = CallView::new(tools.get("work").unwrap().spec(), "{}", &[]).unwrap();
    Interrupt::new(id, kind, shown, Timestamp(0))
}

fn result(how: u8) -> CallResult {
    let by = "anna".into();
    match how {
        0 => CallResult::Succeeded { output: Output::json(&json!({ "n": 1 })).unwrap() },
        1 => CallResult::Failed { error: "boom\nbang".to_owned(), feedback: None },
        2 => CallResult::PolicyDenied { reason: Some("never".to_owned()) },
        3 => CallResult::Denied { reason: None, by },
        4 => CallResult::NotAvailable { suggestion: None },
        5 => CallResult::Succeeded { output: Output::content(Vec::new()) },
        _ => CallResult::Cancelled,
    }
}

fn send(encoder: &mut AiSdkEncoder, run: &Run, event: &TestEvent, now: Duration, out: &mut Vec<u8>) {
    let call = |at: &usize| &run.calls()[*at];
    let progress = |at: &usize, preliminary| {
        let mut progress = Progress::new(call(at).id.to_string(), 0.5, None);
        progress.message = Some("so far".to_owned());
        progress.preliminary = preliminary;
        progress
    };
    // The arguments of the last call are not JSON, so no tool accepts them and no policy sees them.
    if let TestEvent::Accepted(3) | TestEvent::Opened(3, _) | TestEvent::Ends(3, 2) = event {
        return;
    }
    match event {
        TestEvent::Step => encoder.event(Event::StepStarted { step: 1 }, now, out),
        TestEvent::Text(text) => encoder.event(Event::Text(text), now, out),
        TestEvent::Reasoning(text) => encoder.event(Event::Reasoning(text), now, out),
        TestEvent::Announced(at) => {
            encoder.event(Event::CallAnnounced { id: &call(at).id, name: &call(at).name }, now, out);
        }
        TestEvent::Arguments(at, text) => {
            encoder.event(Event::CallArguments { id: &call(at).id, text, so_far: PartialArguments::EMPTY }, now, out);
        }
        TestEvent::TurnEnds => {
            let finished = Event::TurnEnded { reason: &FinishReason::Stop, usage: Usage::default() };
            encoder.event(finished, now, out);
        }
        TestEvent::Accepted(at) => encoder.event(Event::CallAccepted(call(at)), now, out),
        TestEvent::Opened(at, kind) => {
            let interrupt = interrupt(run, *at, *kind);
            encoder.event(Event::InterruptOpened { call: call(at), interrupt: &interrupt }, now, out);
        }
        TestEvent::Decided(at, yes) => {
            let interrupt = interrupt(run, *at, 0).id;
            let decision = if *yes { Decision::Approve } else { Decision::deny("no") };
            let by = "anna".into();
            let decided = Event::CallDecided { call: call(at), interrupt: &interrupt, decision: &decision, by: &by };
            encoder.event(decided, now, out);
        }
        TestEvent::Preliminary(at) => {
            encoder.event(Event::CallProgress(&progress(at, Some(json!(1)))), now, out);
        }
        TestEvent::Progress(at) => encoder.event(Event::CallProgress(&progress(at, None)), now, out),
        TestEvent::Ends(at, how) => {
            let result = result(*how);
            encoder.event(Event::CallEnded { call: call(at), result: &result, detail: None }, now, out);
        }
        TestEvent::Flush => encoder.flush(now, out),
        TestEvent::Fails(again) => encoder.event(Event::TurnFailed { error: "s3cret", again: *again }, now, out),
        TestEvent::Steered => {
            let mut prompt = Prompt::new(vec![Part::text("no, this")], "anna".into(), Timestamp(0));
            prompt.steers = true;
            encoder.event(Event::Prompted(&prompt), now, out);
        }
        TestEvent::Provided(at, kind) => {
            // The second of these ids is that of a call, and the third is empty.
            let kinds = [ProviderPartKind::Call, ProviderPartKind::Result, ProviderPartKind::Failure];
            let part =
                ProviderPart::new("p", ["s1", "a", ""][*at], "search", kinds[usize::from(*kind)], "{\"url\":\"x\"}");
            encoder.event(Event::ProviderPart(&part), now, out);
        }
        TestEvent::Inside(at) => {
            let inner = interrupt(run, *at, 1);
            let mut open = interrupt(run, *at, 0);
            open.kind = InterruptKind::Inner { tool: "work".to_owned(), interrupt: Box::new(inner), feedback: None };
            encoder.event(Event::InterruptOpened { call: call(at), interrupt: &open }, now, out);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_order_of_events_is_readable(
        all in prop::collection::vec((any_event(), 0..60u64), 0..60),
        version in prop_oneof![Just(SdkVersion::V6), Just(SdkVersion::V7)],
        reported in any::<bool>(),
        ending in 0..4u8,
    ) {
        let run = run_of(&CALLS);
        let mut settings = StreamSettings::new(tools()).client_version(version);
        settings.tool_errors = if reported { ErrorDetail::Full } else { ErrorDetail::Masked };
        let mut encoder = AiSdkEncoder::new("m", run.id(), settings);
        let (mut out, mut now) = (Vec::new(), Duration::ZERO);
        encoder.begin(&mut out);
        for (event, millis) in &all {
            now += Duration::from_millis(*millis);
            send(&mut encoder, &run, event, now, &mut out);
        }
        let failure = match ending {
            0 => Some(AgentError::Cancelled),
            1 => Some(AgentError::NoAnswer { reason: "s3cret".to_owned() }),
            _ => None,
        };
        encoder.end(End::new((ending == 2).then_some(&run), failure.as_ref()), &mut out);
        encoder.event(Event::Text("too late"), now, &mut out);
        encoder.end(End::new(None, None), &mut out);
        let chunks = chunks(&out);
        assert_legal(&chunks, &[], if version == SdkVersion::V6 { 6 } else { 7 });
        let text = String::from_utf8(out).unwrap();
        let is_asked = |(event, _): &(TestEvent, u64)| matches!(event, TestEvent::Opened(2, _) | TestEvent::Inside(2));
        let is_seen = text.contains("hush") || text.contains("\"toolCallId\":\"c\"");
        prop_assert!(!is_seen || all.iter().any(is_asked), "a hidden tool is seen, and nobody is asked: {text}");
        prop_assert!(!text.contains("s3cret"), "a failure is visible: {text}");
        prop_assert!(matches!(run.phase(), Phase::Acting | Phase::Suspended));
    }

    #[test]
    fn no_text_is_lost(texts in prop::collection::vec(("[a-z\"\\\\\u{1F600}]{1,60}", 0..40u64), 1..80)) {
        let run = run_of(&[("a", "work", "{}")]);
        let mut encoder = AiSdkEncoder::new("m", run.id(), StreamSettings::new(tools()));
        let (mut out, mut now) = (Vec::new(), Duration::ZERO);
        encoder.begin(&mut out);
        let call = &run.calls()[0];
        encoder.event(Event::StepStarted { step: 1 }, now, &mut out);
        encoder.event(Event::CallAnnounced { id: &call.id, name: &call.name }, now, &mut out);
        for (text, millis) in &texts {
            now += Duration::from_millis(*millis);
            encoder.event(Event::CallArguments { id: &call.id, text, so_far: PartialArguments::EMPTY }, now, &mut out);
        }
        for (text, millis) in &texts {
            now += Duration::from_millis(*millis);
            encoder.event(Event::Text(text), now, &mut out);
        }
        encoder.event(Event::CallAccepted(call), now, &mut out);
        encoder.end(End::new(None, None), &mut out);
        let chunks = chunks(&out);
        let all: String = texts.iter().map(|(text, _)| text.as_str()).collect();
        let of = |key: &str| chunks.iter().filter_map(|chunk| chunk[key].as_str()).collect::<String>();
        prop_assert_eq!(of("inputTextDelta"), all.clone());
        prop_assert_eq!(of("delta"), all);
    }
}
