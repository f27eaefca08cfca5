//! Checks of the list of an owner's runs.

use tool_runtime::{
    Agent,
    model::{ScriptedModel, Turn},
    run::Timestamp,
    store::{Append, Store},
};
use tool_test_kit::stores::Stores;

use crate::sample_appends::{append_of, id};

/// Returns an append that sets `changed` and the title in the owner's list.
fn listed_append(owner: &str, expected: u64, changed: u64, title: Option<&str>) -> Append {
    let mut append = append_of(owner, expected, "entry");
    (append.head.changed, append.head.title) = (Some(Timestamp(changed)), title.map(str::to_owned));
    append
}

async fn list(store: &dyn Store, owner: &str, offset: usize, limit: usize) -> Vec<String> {
    let listed = store.list(&owner.into(), offset..offset.saturating_add(limit)).await.unwrap();
    let line = |title: Option<String>| title.unwrap_or_else(|| "-".to_owned());
    listed.into_iter().map(|item| format!("{} {} {}", item.run, item.changed.0, line(item.title))).collect()
}

pub(crate) async fn runs_are_listed_by_owner_in_order_and_in_pages(stores: &Stores) {
    for (run, changed) in [("a", 5), ("b", 7), ("B", 5), ("ä", 5), ("c", 9), ("d", u64::MAX)] {
        stores.one.append(&id(run), listed_append("ann", 0, changed, Some(run))).await.unwrap();
    }
    stores.one.append(&id("e"), listed_append("Ann", 0, 8, None)).await.unwrap();
    let all: Vec<_> = [("d", u64::MAX), ("c", 9), ("b", 7), ("ä", 5), ("a", 5), ("B", 5)]
        .map(|(run, at)| format!("{run} {at} {run}"))
        .into();
    for (offset, limit) in [(0, 100), (0, 1), (1, 3), (5, 100), (6, 1), (0, 0), (usize::MAX, usize::MAX)] {
        let wanted: Vec<_> = all.iter().skip(offset).take(limit).cloned().collect();
        assert_eq!(list(&*stores.other, "ann", offset, limit).await, wanted, "{offset} {limit}");
    }
    assert_eq!(list(&*stores.other, "Ann", 0, 9).await, ["e 8 -"]);
    assert_eq!(list(&*stores.other, "an", 0, 9).await, [""; 0]);
    stores.other.delete(&id("c")).await.unwrap();
    assert_eq!(list(&*stores.one, "ann", 1, 1).await, ["b 7 b"]);
}

pub(crate) async fn changes_and_titles_are_listed(stores: &Stores) {
    stores.one.append(&id("r"), listed_append("ann", 0, 3, None)).await.unwrap();
    assert_eq!(list(&*stores.other, "ann", 0, 9).await, ["r 3 -"]);
    let odd = "a\u{0}b\\0 ü 漢";
    stores.other.append(&id("r"), listed_append("ann", 1, 4, Some(odd))).await.unwrap();
    assert_eq!(list(&*stores.one, "ann", 0, 9).await, [format!("r 4 {odd}")]);
    // An append that leaves the list unchanged, and one without a title.
    let mut unseen = append_of("ann", 2, "entry");
    (unseen.head.changed, unseen.head.title) = (None, None);
    stores.one.append(&id("r"), unseen).await.unwrap();
    assert_eq!(list(&*stores.one, "ann", 0, 9).await, [format!("r 4 {odd}")]);
    stores.one.append(&id("r"), listed_append("ann", 3, 6, None)).await.unwrap();
    assert_eq!(list(&*stores.other, "ann", 0, 9).await, [format!("r 6 {odd}")]);
    // A refused append changes nothing.
    assert!(stores.one.append(&id("r"), listed_append("ann", 9, 7, Some("new"))).await.is_err());
    assert_eq!(list(&*stores.other, "ann", 0, 9).await, [format!("r 6 {odd}")]);
}

pub(crate) async fn real_runs_are_listed(stores: &Stores) {
    let agent = |store| {
        let agent = Agent::new(ScriptedModel::new([Turn::say("Well."), Turn::say("Well.")])).store(store);
        agent.edit_context(|cx| cx.with_principal("ann"))
    };
    let (one, other) = (agent(stores.nth(0)), agent(stores.nth(1)));
    let mut session = one.session_with_id("r", Vec::new());
    session.send("Where is Oslo?\nAnd why?").await.unwrap();
    let titles = async || {
        let listed = stores.other.list(&"ann".into(), 0..9).await.unwrap();
        listed.into_iter().map(|item| item.title.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(titles().await, ["Where is Oslo?"]);
    assert!(other.rename(&id("r"), "mine", "bob").await.is_err());
    other.rename(&id("r"), "Geography", "ann").await.unwrap();
    assert_eq!(titles().await, ["Geography"]);
    other.rename(&id("r"), "Geo\u{202e}gra\u{200b}phy", "ann").await.unwrap();
    assert_eq!(titles().await, ["Geography"]);
    let mut hidden = one.session_with_id("t", Vec::new());
    hidden.send("\u{200b}.\u{202e}").await.unwrap();
    assert!(titles().await.contains(&".".to_owned()));
    stores.one.delete(&id("t")).await.unwrap();
    other.rename(&id("r"), "Geography", "ann").await.unwrap();
    let run = other.open(&id("r")).await.unwrap();
    assert_eq!(run.run().title(), Some("Geography"));
    // A branch inherits the title.
    let mut branch = other.branch("s", run.run(), 0);
    branch.send("Where is Bergen?").await.unwrap();
    assert_eq!(titles().await, ["Geography", "Geography"]);
}
