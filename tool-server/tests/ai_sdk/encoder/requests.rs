//! Tests of arbitrary requests: nothing panics, and the server accepts only decisions and outputs that the run waits for.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::run_of;
use tool_run::run::LogEntry;
use tool_run::run::{CallView, ToolRef};
use tool_runtime::run::{Decision, GrantedBy, Interrupt, InterruptKind, Run, RunId, Timestamp};
use tool_runtime::tool::ToolSpec;
use tool_server::protocol::ai_sdk::{ChatRequest, ClaimKind, Trigger, approval_id, match_claims};

fn read(body: &Value) -> ChatRequest {
    ChatRequest::read(body.to_string().as_bytes()).unwrap()
}

/// Returns a run in which the call `a` waits for an approval, and `b` for its output.
fn waiting_run() -> (Run, String) {
    waiting_run_with(r#"{"n": 1.0, "path": "x"}"#)
}

fn waiting_run_with(arguments: &str) -> (Run, String) {
    let mut run = run_of(&[("a", "work", arguments), ("b", "client", "{}")]);
    let tools = super::tools();
    for (name, id, kind) in
        [("work", "a", InterruptKind::Approval { offer: None }), ("client", "b", InterruptKind::External)]
    {
        let spec: &ToolSpec = tools.get(name).unwrap().spec();
        let call = run.call(&id.into()).unwrap();
        let arguments = call.arguments().digest;
        let shown = CallView::new(spec, &call.arguments().text, &[]).unwrap();
        let tool = std::sync::Arc::new(ToolRef::new(spec, spec.fingerprint()));
        run.apply(&LogEntry::CallAccepted { call: id.into(), tool, arguments, touches: None }).unwrap();
        if kind == InterruptKind::External {
            let (tool, by) = (spec.fingerprint(), GrantedBy::Policy);
            run.apply(&LogEntry::CallGranted { call: id.into(), tool, arguments, shown: None, by, expires: None })
                .unwrap();
        }
        let id_of = format!("{id}.1").parse().unwrap();
        let open = Interrupt::new(id_of, kind, shown, Timestamp(5));
        run.apply(&LogEntry::Opened { call: id.into(), interrupt: Box::new(open) }).unwrap();
    }
    let asked = approval_id(run.id(), run.interrupts().next().unwrap());
    (run, asked)
}

fn answer_body(approval: &str, approved: bool, input: &Value) -> Value {
    let part = json!({
        "type": "tool-work", "toolCallId": "a", "state": "approval-responded", "input": input,
        "approval": { "id": approval, "approved": approved, "reason": "so" },
    });
    json!({ "id": "chat", "messages": [{ "id": "m", "role": "assistant", "parts": [part] }] })
}

#[test]
fn an_approval_of_the_shown_arguments_is_accepted() {
    let (run, asked) = waiting_run();
    let matched = match_claims(&run, &read(&answer_body(&asked, true, &json!({ "path": "x", "n": 1 }))));
    assert_eq!(matched.decisions, [("a.1".parse().unwrap(), Decision::Approve)]);
    // A client that could not read the arguments has them as a text.
    let matched = match_claims(&run, &read(&answer_body(&asked, true, &json!(r#"{"n": 1, "path": "x"}"#))));
    assert_eq!(matched.decisions.len(), 1);
    let matched = match_claims(&run, &read(&answer_body(&asked, false, &json!(null))));
    assert_eq!(matched.decisions, [("a.1".parse().unwrap(), Decision::deny("so"))]);
    let mut beside = answer_body(&asked, true, &json!({ "path": "y" }));
    beside["decisions"] = json!({ (&asked): { "decision": "edit", "arguments": { "path": "y" } }, "other": 1 });
    let arguments = json!({ "path": "y" });
    assert_eq!(match_claims(&run, &read(&beside)).decisions, [("a.1".parse().unwrap(), Decision::Edit { arguments })]);
}

#[test]
fn forged_moved_and_changed_approvals_are_refused() {
    let (run, asked) = waiting_run();
    let input = json!({ "path": "x", "n": 1 });
    let open = run.interrupts().next().unwrap();
    let elsewhere = approval_id(&RunId::from("other"), open);
    let mut asked_later = open.clone();
    asked_later.opened_at = Timestamp(6);
    let later = approval_id(run.id(), &asked_later);
    for approval in ["a.1", "", "a", &elsewhere, &later, &format!("{asked}0")] {
        let matched = match_claims(&run, &read(&answer_body(approval, true, &input)));
        assert_eq!((matched.decisions.len(), matched.unasked), (0, 1), "{approval}");
    }
    for input in [
        json!({ "path": "/etc", "n": 1 }),
        json!(r#"{"path":"/etc","n":1}"#),
        json!({}),
        json!(null),
        json!({ "path": "x", "n": 1, "m": 2 }),
    ] {
        let matched = match_claims(&run, &read(&answer_body(&asked, true, &input)));
        assert_eq!((matched.decisions.len(), matched.tampered.len()), (0, 1), "{input}");
    }
    // An output of a call that waits for an approval has no effect.
    let mut body = answer_body(&asked, true, &input);
    body["messages"][0]["parts"][0]["state"] = "output-available".into();
    body["messages"][0]["parts"][0]["output"] = json!("made up");
    assert_eq!(match_claims(&run, &read(&body)).decisions, []);
}

#[test]
fn every_digit_of_the_shown_arguments_counts() {
    let (run, asked) = waiting_run_with(r#"{"n":18446744073709551617,"path":"x"}"#);
    let decided = |number: &str| {
        let body = answer_body(&asked, true, &json!({ "n": "N", "path": "x" })).to_string().replace(r#""N""#, number);
        let matched = match_claims(&run, &ChatRequest::read(body.as_bytes()).unwrap());
        assert_eq!(matched.decisions.len() + matched.tampered.len(), 1);
        !matched.decisions.is_empty()
    };
    assert!(decided("18446744073709551617"));
    // The number as JavaScript writes it.
    assert!(decided("18446744073709552000"));
    assert!(!decided("18446744073709551999") && !decided("18446744073709551616"));
}

#[test]
fn outputs_of_external_calls_are_accepted() {
    let (run, _) = waiting_run();
    let of = |part: Value| {
        let body = json!({ "id": "c", "message": { "role": "assistant", "parts": [part] } });
        match_claims(&run, &read(&body)).decisions.pop().map(|(_, decision)| decision)
    };
    let part = |state: &str| json!({ "type": "dynamic-tool", "toolCallId": "b", "state": state, "output": [1], "errorText": "no" });
    assert_eq!(of(part("output-available")), Some(Decision::Respond { output: json!([1]) }));
    assert_eq!(of(part("output-error")), Some(Decision::Fail { error: "no".to_owned() }));
    assert_eq!(of(part("input-available")), None);
    let mut early = part("output-available");
    early["preliminary"] = true.into();
    assert_eq!(of(early), None);
}

#[test]
fn unknown_parts_are_ignored() {
    let body = json!({
        "id": "c", "trigger": "from-the-future", "messageId": 7, "resumable": "yes", "decisions": [1], "extra": {},
        "messages": [
            null, 7, [], {}, { "role": "system", "parts": [{ "type": "text", "text": "obey" }] },
            { "role": "user", "id": 3, "parts": [{ "type": "text" }, { "type": "text", "text": "hi" }, { "type": 3 }, "x"] },
            { "role": "assistant", "parts": "none", "content": "old" },
            { "role": "user", "id": "u", "content": "older" },
        ],
    });
    let request = read(&body);
    assert_eq!((request.trigger, request.message_id.clone(), request.resumable), (Trigger::Submit, None, false));
    let message: Vec<_> =
        request.messages.iter().map(|message| (message.is_from_user, message.content.len())).collect();
    assert_eq!(message, [(true, 1), (false, 1), (true, 1)]);
    assert_eq!(request.prompt().unwrap().id.as_deref(), Some("u"));
    for (body, expected) in [
        ("", "not JSON"),
        ("[]", "not a JSON object"),
        ("{}", "`id`"),
        (r#"{"id": "c", "messages": {}}"#, "`messages`"),
    ] {
        let error = ChatRequest::read(body.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Generates JSON that resembles the bodies of clients.
fn client_like_json() -> impl Strategy<Value = Value> {
    let (_, asked) = waiting_run();
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop::sample::select(vec![
            "a",
            "b",
            "user",
            "assistant",
            "tool-work",
            "dynamic-tool",
            "approval-responded",
            "output-available",
            "output-error",
            "text",
            "file",
            "data:image/png;base64,AA",
            "",
            "__proto__"
        ])
        .prop_map(Value::from),
        Just(Value::from(asked)),
    ];
    let key = prop::sample::select(vec![
        "id",
        "role",
        "parts",
        "type",
        "state",
        "toolCallId",
        "approval",
        "approved",
        "reason",
        "output",
        "input",
        "errorText",
        "text",
        "url",
        "metadata",
        "toolRun",
        "preliminary",
        "messages",
        "message",
        "decisions",
        "decision",
        "arguments",
        "constructor",
    ]);
    leaf.prop_recursive(6, 96, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..7)
                .prop_map(|all| Value::Object(all.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())),
        ]
    })
}

proptest! {
    #[test]
    fn nothing_panics_and_nothing_is_approved_that_was_not(messages in prop::collection::vec(client_like_json(), 0..6), decisions in client_like_json()) {
        let (run, asked) = waiting_run();
        let request = read(&json!({ "id": "c", "messages": messages, "decisions": decisions }));
        for (interrupt, decision) in match_claims(&run, &request).decisions {
            let named = request.claims.iter().any(|claim| match &claim.kind {
                ClaimKind::Answered { approval, .. } => *approval == asked,
                _ => claim.call == "b",
            });
            let beside = request.decisions.iter().any(|(id, _)| *id == asked);
            prop_assert!(named || beside, "{interrupt} {decision:?}");
        }
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = ChatRequest::read(&bytes);
    }
}

#[test]
fn files_of_a_message() {
    use tool_runtime::{Media, Part};

    let file = |url: &str, media_type: &str, name: &str| json!({ "type": "file", "url": url, "mediaType": media_type, "filename": name });
    let parts = json!([
        file("data:application/octet-stream;base64,iVBORw0KGgo=", "", "a.png"),
        file("data:;base64,YQ==", "text/csv", "a.csv"),
        file("https://a/b.mp3", "audio/mpeg", ""),
        file("http://localhost/admin", "image/png", "b.png"),
        file("data:image/png;base64,A", "image/png", ""),
        { "type": "file", "mediaType": "image/png", "url": 7 },
        { "type": "file" },
        { "type": "data-note", "data": {} },
    ]);
    let request = read(&json!({ "id": "c", "messages": [{ "id": "m", "role": "user", "parts": parts }] }));
    let image = |media: Media| Part::Image(media.with_media_type("image/png"));
    let expected = [
        Part::Image(Media::base64("application/octet-stream", "iVBORw0KGgo=").with_name("a.png")),
        Part::Document(Media::base64("text/csv", "YQ==").with_name("a.csv")),
        Part::Audio(Media::url("https://a/b.mp3").with_media_type("audio/mpeg")),
        image(Media::url("http://localhost/admin").with_name("b.png")),
        image(Media::base64("image/png", "A")),
        image(Media::url("about:blank")),
        Part::Document(Media::url("about:blank")),
    ];
    assert_eq!(request.messages[0].content, expected);
}
