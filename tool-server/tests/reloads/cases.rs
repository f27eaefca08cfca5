//! Pages that are loaded again: in every state of a call, at every interrupt, and in the middle of a text, arguments or an
//! output.

use std::collections::BTreeSet;

use super::{
    Counts, KINDS, Kind, Protocol,
    page::{Open, Page, Says},
    world::World,
};
use crate::{
    ai_sdk::reload::{HOLD, call},
    model::Step,
};

/// The turns of a case, by its name.
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

/// The states in which the AI SDK shows a call.
const UI: [&str; 7] = [
    "approval-requested",
    "approval-responded",
    "input-available",
    "input-streaming",
    "output-available",
    "output-denied",
    "output-error",
];

const AG_UI: [&str; 5] = ["arguments", "asked", "pending", "result", "runs"];

/// Plays a case to its end. At each point at which it stops, a page is loaded, and goes on in place of the one before.
async fn play(kind: Kind, name: &str, turn: &[Step], says: Says, seen: &mut BTreeSet<String>, counts: &mut Counts) {
    let world = World::new(kind);
    let mut page = Page::new();
    assert_eq!(page.say(&world, "m1", &[turn.to_vec()]).await, 200);
    page.settle(&world).await;
    for point in 0.. {
        assert!(point < 12, "{kind:?}, {name}, {says:?} has no end: {}", page.view(&world));
        let mut loaded = Page::load(&world, Some(&page)).await;
        counts.add("reloads");
        page.catch_up(&world);
        let at = format!("{kind:?}, {name}, {says:?}, point {point}");
        assert_eq!(loaded.view(&world), page.view(&world), "{at}: the page that was loaded is the first");
        assert_eq!(loaded.is_answered(), page.is_answered(), "{at}");
        assert_eq!(page.shown.error, None, "{at}");
        seen.extend(loaded.states(&world));
        let open = loaded.open(&world);
        if loaded.is_answered() {
            // Both pages read the rest.
            world.release().await;
            loaded.catch_up(&world);
            page.catch_up(&world);
            assert_eq!(loaded.view(&world), page.view(&world), "{at}: and it goes on like it");
            continue;
        }
        let Some(open) = open.first() else { break };
        counts.add("decisions");
        assert_eq!(loaded.answer(&world, open, says).await, 200, "{at}: {open:?}");
        loaded.settle(&world).await;
        page = loaded;
    }
    let removed = page.view(&world).matches("removed").count();
    assert_eq!(removed, world.ran(), "{kind:?}, {name}: {}", page.view(&world));
}

#[tokio::test(start_paused = true)]
async fn a_page_shows_at_every_point_what_it_showed_and_goes_on() {
    let mut counts = Counts::default();
    for kind in KINDS {
        let mut seen = BTreeSet::new();
        for (name, turn) in cases() {
            for says in [Says::Yes, Says::No] {
                play(kind, name, &turn, says, &mut seen, &mut counts).await;
                counts.add("cases");
            }
        }
        seen.remove("waits for another");
        let all: &[&str] = if kind.protocol == Protocol::AiSdk { &UI } else { &AG_UI };
        assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), all, "{kind:?}");
    }
    println!("reloads, each point once: {}", counts.line());
}

/// Two pages have loaded a request, and both answer it at once.
#[tokio::test(start_paused = true)]
async fn a_decision_counts_once_and_the_other_page_shows_who_decided() {
    for kind in KINDS {
        for (first, second) in [(Says::Yes, Says::No), (Says::No, Says::Yes), (Says::Yes, Says::Yes)] {
            let world = World::new(kind);
            let mut page = Page::new();
            page.say(&world, "m1", &[call("carefully", r#"{"what":"it"}"#)]).await;
            page.settle(&world).await;
            let mut other = Page::load(&world, Some(&page)).await;
            let open = page.open(&world);
            assert!(matches!(open[..], [Open::Approval(_)]), "{kind:?}: {open:?}");
            assert_eq!(page.answer(&world, &open[0], first).await, 200, "{kind:?}");
            let second_status = other.answer(&world, &open[0], second).await;
            world.settle().await;
            assert_eq!(world.ran(), usize::from(first == Says::Yes), "{kind:?}: {first:?}, then {second:?}");
            // AG-UI lets the second join the answer of the first, with a warning; nothing of it counts.
            assert!([200, 409].contains(&second_status), "{kind:?}: {second_status}");
            page.catch_up(&world);
            let third = Page::load(&world, Some(&page)).await;
            page.catch_up(&world);
            assert_eq!(third.view(&world), page.view(&world), "{kind:?}: {first:?}, then {second:?}");
            let by: Vec<_> = third.shown.decided.values().collect();
            // A page of AG-UI whose server keeps nothing learns of decisions from the stream, which sealed runs do not have.
            if !(kind.is_sealed && (kind.protocol == Protocol::AgUi || first == Says::No)) {
                assert_eq!(by, [&["anna".to_owned()]], "{kind:?}: {first:?}, then {second:?}: it shows who decided");
            }
            world.release().await;
            page.catch_up(&world);
            let done = if first == Says::Yes { "removed it carefully" } else { "denied" };
            assert!(page.view(&world).contains(done), "{kind:?}: {}", page.view(&world));
        }
    }
}
