//! Checks of appends, also by several writers.

use tool_runtime::{
    run::{InterruptId, Timestamp},
    store::{StoreError, WaitingFilter},
};

use tool_test_kit::stores::Stores;

use crate::sample_appends::{append, append_many, append_of, create, error_kind, id, interrupt, texts, with_lease};

pub(crate) async fn appends_create_a_run_and_add_to_it(stores: &Stores) {
    let run = id("r");
    stores.one.append(&run, append(0, "a")).await.unwrap();
    stores.other.append(&run, append_many(1, 3, "b")).await.unwrap();
    stores.one.append(&run, append(4, "c")).await.unwrap();
    let stored = stores.other.load(&run).await.unwrap().unwrap();
    assert_eq!(stored.snapshot, None);
    assert_eq!(texts(&stored.records), [(0, 1, "a"), (1, 3, "b"), (4, 1, "c")]);
}

pub(crate) async fn one_of_fifty_wins(stores: &Stores) {
    create(&*stores.one, "r").await;
    race(stores, 1).await;
}

pub(crate) async fn one_of_fifty_writers_creates_the_run(stores: &Stores) {
    race(stores, 0).await;
}

async fn race(stores: &Stores, expected: u64) {
    let tasks: Vec<_> = (0..50)
        .map(|number| {
            let store = stores.nth(number);
            tokio::spawn(async move { store.append(&id("r"), append(expected, &number.to_string())).await })
        })
        .collect();
    let mut won = Vec::new();
    for (number, task) in tasks.into_iter().enumerate() {
        match task.await.unwrap() {
            Ok(()) => won.push(number.to_string()),
            Err(StoreError::Conflict) => {}
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(won.len(), 1);
    let records = stores.one.read(&id("r"), expected).await.unwrap();
    assert_eq!(texts(&records), [(expected, 1, won[0].as_str())]);
}

pub(crate) async fn a_refused_append_changes_nothing(stores: &Stores) {
    let (store, run) = (&stores.one, id("r"));
    assert_eq!(error_kind(store.append(&run, append(1, "x")).await), "not found");
    assert!(store.load(&run).await.unwrap().is_none());
    create(&**store, "r").await;
    let lease = store.lease(&run, "w", Timestamp(0), std::time::Duration::from_secs(1)).await.unwrap();
    assert_eq!(error_kind(store.append(&id("other"), with_lease(&lease, append(0, "x"))).await), "fenced");
    assert!(store.load(&id("other")).await.unwrap().is_none(), "a refused append creates nothing");
    for wrong in [0, 2, u64::MAX] {
        let mut wrong = append(wrong, "x");
        wrong.head.opened.push(interrupt("call_1.1", 1, &[]));
        wrong.head.is_active = true;
        assert_eq!(error_kind(store.append(&run, wrong).await), "conflict");
    }
    assert_eq!(texts(&store.load(&run).await.unwrap().unwrap().records), [(0, 1, "first")]);
    assert_eq!(store.waiting(&WaitingFilter::new()).await.unwrap(), []);
    assert_eq!(store.due(Timestamp(u64::MAX), 10).await.unwrap(), []);
}

pub(crate) async fn ten_megabytes_are_kept(stores: &Stores) {
    // Random letters, because a database compresses repetitions.
    let mut state = 1_u64;
    let text: String = (0..10 * 1024 * 1024)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b' ' + u8::try_from(state >> 33 & 63).unwrap())
        })
        .collect();
    let run = id("r");
    stores.one.append(&run, append(0, &text)).await.unwrap();
    stores.one.append(&run, append(1, "after")).await.unwrap();
    let stored = stores.other.load(&run).await.unwrap().unwrap();
    assert!(stored.records[0].text == text && stored.records[1].text == "after");
    stores.one.save_snapshot(&run, 2, text.clone()).await.unwrap();
    assert!(stores.other.load(&run).await.unwrap().unwrap().snapshot == Some(text));
}

pub(crate) async fn any_text_and_any_name_are_kept(stores: &Stores) {
    let names = ["", " ", "\u{0}", "\\0", "a\u{0}b", "\\", "'; DROP TABLE runs; --", "ü", "u\u{308}", "漢字\u{1f600}"];
    let text = r#"{"v":1,"data":["NUL \u0000, ü, 漢字, 😀, \ud83d, ' \" \\"]}"#;
    for (number, name) in names.iter().enumerate() {
        let mut append = append_of(name, 0, &format!("{text}{number}"));
        append.head.opened.push(interrupt("call_1.1", number as u64, &[]));
        stores.one.append(&id(name), append).await.unwrap();
    }
    for (number, name) in names.iter().enumerate() {
        let stored = stores.other.load(&id(name)).await.unwrap().unwrap();
        assert_eq!(texts(&stored.records), [(0, 1, format!("{text}{number}").as_str())], "{name:?}");
        let items = stores.other.waiting(&WaitingFilter::new().for_principal(*name)).await.unwrap();
        assert_eq!(items.len(), 1, "{name:?}");
        assert_eq!((items[0].run.as_str(), items[0].owner.as_str()), (*name, *name));
        assert_eq!(items[0].interrupt, interrupt("call_1.1", number as u64, &[]));
        let lease = stores.one.lease(&id(name), name, Timestamp(0), std::time::Duration::from_secs(1)).await.unwrap();
        assert_eq!(lease.worker, *name);
        let again = stores.one.lease(&id(name), name, Timestamp(0), std::time::Duration::from_secs(1)).await.unwrap();
        assert_eq!(again, lease, "the lease of the same worker is renewed: {name:?}");
    }
}

pub(crate) async fn without_entries_only_the_head_changes(stores: &Stores) {
    let run = id("r");
    create(&*stores.one, "r").await;
    let mut empty = append_many(1, 0, "nothing");
    empty.head.wake = Some(Timestamp(5));
    stores.one.append(&run, empty).await.unwrap();
    assert_eq!(stores.one.due(Timestamp(5), 10).await.unwrap(), [id("r")]);
    stores.one.append(&run, append(1, "second")).await.unwrap();
    let stored = stores.one.load(&run).await.unwrap().unwrap();
    assert_eq!(texts(&stored.records), [(0, 1, "first"), (1, 1, "second")]);
}

pub(crate) async fn delete_removes_the_whole_run(stores: &Stores) {
    for run in ["q", "r", "s"] {
        let mut first = append(0, run);
        first.head.opened.push(interrupt("call_1.1", 1, &["bob"]));
        first.head.is_active = true;
        stores.one.append(&id(run), first).await.unwrap();
        stores.one.append(&id(run), append(1, "second")).await.unwrap();
        stores.one.save_snapshot(&id(run), 1, format!("snapshot of {run}")).await.unwrap();
    }
    assert!(stores.one.delete(&id("r")).await.unwrap());
    assert!(!stores.other.delete(&id("r")).await.unwrap());
    assert!(stores.other.load(&id("r")).await.unwrap().is_none());
    let left: Vec<_> = stores.other.waiting(&WaitingFilter::new().for_principal("bob")).await.unwrap();
    assert_eq!(left.iter().map(|item| item.run.as_str()).collect::<Vec<_>>(), ["q", "s"]);
    for run in ["q", "s"] {
        let stored = stores.other.load(&id(run)).await.unwrap().unwrap();
        assert_eq!(stored.snapshot.as_deref(), Some(format!("snapshot of {run}").as_str()));
        assert_eq!(texts(&stored.records), [(1, 1, "second")]);
    }
    // A new run with the same name has nothing of the deleted one.
    stores.one.append(&id("r"), append(0, "new")).await.unwrap();
    let stored = stores.one.load(&id("r")).await.unwrap().unwrap();
    assert_eq!((stored.snapshot, texts(&stored.records)), (None, vec![(0, 1, "new")]));
    assert_eq!(stores.one.waiting(&WaitingFilter::new().in_run(id("r"))).await.unwrap(), []);
    let mut last = append(1, "closes");
    last.head.closed.push("call_1.1".parse::<InterruptId>().unwrap());
    stores.one.append(&id("r"), last).await.unwrap();
}
