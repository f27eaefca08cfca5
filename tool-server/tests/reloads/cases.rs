//! Tests of pages that are loaded again: in every state of a call, at every interrupt, and in the middle of a text, arguments
//! or an output.

use std::collections::BTreeSet;

use super::{
    Counts, KINDS, Kind, Protocol,
    page::{Answer, Open, Page},
    world::World,
};
use crate::{
    ai_sdk::reload::{HOLD, call},
    model::Step,
};

/// Returns the cases: a name, and the steps of a turn.
fn cases() -> Vec<(&'static str, Vec<Step>)> {
    let text = |text: &str| Step::Text(text.to_owned());
    let mut arguments = call("asks", r#"{"what":"#);
    arguments.splice(2..2, [text(HOLD), Step::Arguments(0, r#""it"}"#.to_owned())]);
    let mut both = call("work", "{}");
    both.extend([Step::Call("carefully".to_owned()), Step::Arguments(1, r#"{"what":"b"}"#.to_owned()), Step::End(1)]);
    vec![
        ("a text", vec![Step::Reasoning("Hm".to_owned()), text("Once"), text(HOLD), text(" upon")]),
        ("arguments", arguments),
        ("a call that runs", call("work", "{}")),
        ("an output that grows", call("halves", "{}")),
        ("an approval", call("asks", r#"{"what":"it"}"#)),
        ("an approved call that runs", call("carefully", r#"{"what":"it"}"#)),
        ("a failure", call("fails", "{}")),
        ("wrong arguments", call("asks", r#"{"what":7}"#)),
        ("a question, and an approval within", call("asks_within", "{}")),
        ("a call of the client", call("locate", "{}")),
        ("a call of the client after an approval", call("share", r#"{"window":"left"}"#)),
        ("a call within an agent", call("guide", r#"{"task":"home"}"#)),
        ("two calls at once", both),
    ]
}

/// The states in which a page of the AI SDK shows a call.
const AI_SDK_STATES: [&str; 7] = [
    "approval-requested",
    "approval-responded",
    "input-available",
    "input-streaming",
    "output-available",
    "output-denied",
    "output-error",
];

/// The states in which a page of AG-UI shows a call.
const AG_UI_STATES: [&str; 5] = ["arguments", "asked", "pending", "result", "runs"];

/// Plays a case to its end. At each point at which it stops, a new page is loaded, and replaces the earlier one.
async fn play(kind: Kind, name: &str, turn: &[Step], answer: Answer, seen: &mut BTreeSet<String>, counts: &mut Counts) {
    let world = World::new(kind);
    let mut page = Page::new();
    assert_eq!(page.say(&world, "m1", &[turn.to_vec()]).await, 200);
    page.settle(&world).await;
    for point in 0.. {
        assert!(point < 12, "{kind:?}, {name}, {answer:?} has no end: {}", page.view(&world));
        let mut loaded = Page::load(&world, Some(&page)).await;
        counts.add("reloads");
        page.catch_up(&world);
        let at = format!("{kind:?}, {name}, {answer:?}, point {point}");
        assert_eq!(loaded.view(&world), page.view(&world), "{at}: the loaded page shows the same as the first");
        assert_eq!(loaded.is_reading(), page.is_reading(), "{at}");
        assert_eq!(page.shown.error, None, "{at}");
        seen.extend(loaded.states(&world));
        let open = loaded.open_requests(&world);
        if loaded.is_reading() {
            // Both pages read the rest.
            world.release().await;
            loaded.catch_up(&world);
            page.catch_up(&world);
            assert_eq!(loaded.view(&world), page.view(&world), "{at}: the loaded page goes on like the first");
            continue;
        }
        let Some(open) = open.first() else { break };
        counts.add("decisions");
        assert_eq!(loaded.answer(&world, open, answer).await, 200, "{at}: {open:?}");
        loaded.settle(&world).await;
        page = loaded;
    }
    let removed = page.view(&world).matches("removed").count();
    assert_eq!(removed, world.ran(), "{kind:?}, {name}: {}", page.view(&world));
}

#[tokio::test(start_paused = true)]
async fn a_page_loaded_at_any_point_shows_the_same_and_goes_on() {
    let mut counts = Counts::default();
    for kind in KINDS {
        let mut seen = BTreeSet::new();
        for (name, turn) in cases() {
            for answer in [Answer::Yes, Answer::No] {
                play(kind, name, &turn, answer, &mut seen, &mut counts).await;
                counts.add("cases");
            }
        }
        seen.remove("waits for another");
        let all: &[&str] = if kind.protocol == Protocol::AiSdk { &AI_SDK_STATES } else { &AG_UI_STATES };
        assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), all, "{kind:?}");
    }
    println!("reloads, each point once: {}", counts.to_line());
}

/// Two pages have loaded a request, and both answer it at once.
#[tokio::test(start_paused = true)]
async fn a_decision_counts_once_and_the_other_page_shows_who_decided() {
    for kind in KINDS {
        for (first, second) in [(Answer::Yes, Answer::No), (Answer::No, Answer::Yes), (Answer::Yes, Answer::Yes)] {
            let world = World::new(kind);
            let mut page = Page::new();
            page.say(&world, "m1", &[call("carefully", r#"{"what":"it"}"#)]).await;
            page.settle(&world).await;
            let mut other = Page::load(&world, Some(&page)).await;
            let open = page.open_requests(&world);
            assert!(matches!(open[..], [Open::Approval(_)]), "{kind:?}: {open:?}");
            assert_eq!(page.answer(&world, &open[0], first).await, 200, "{kind:?}");
            let second_status = other.answer(&world, &open[0], second).await;
            world.settle().await;
            assert_eq!(world.ran(), usize::from(first == Answer::Yes), "{kind:?}: {first:?}, then {second:?}");
            // In AG-UI, the second request may join the response to the first, with a warning. Its decision never counts.
            assert!([200, 409].contains(&second_status), "{kind:?}: {second_status}");
            page.catch_up(&world);
            let third = Page::load(&world, Some(&page)).await;
            page.catch_up(&world);
            assert_eq!(third.view(&world), page.view(&world), "{kind:?}: {first:?}, then {second:?}");
            let by: Vec<_> = third.shown.decided.values().collect();
            // A page of AG-UI gets decisions from the stream. The streams of a stateless server do not repeat them.
            if !(kind.is_sealed && (kind.protocol == Protocol::AgUi || first == Answer::No)) {
                assert_eq!(
                    by,
                    [&["anna".to_owned()]],
                    "{kind:?}: {first:?}, then {second:?}: the page shows who decided"
                );
            }
            world.release().await;
            page.catch_up(&world);
            let done = if first == Answer::Yes { "removed it carefully" } else { "denied" };
            assert!(page.view(&world).contains(done), "{kind:?}: {}", page.view(&world));
        }
    }
}
