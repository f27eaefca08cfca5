//! Checks of the list of open interrupts.

use tool_runtime::store::{Store, WaitingFilter};

use tool_test_kit::stores::Stores;

use crate::sample_appends::{append, append_of, id, interrupt};

async fn list_names(store: &dyn Store, filter: &WaitingFilter) -> Vec<String> {
    let items = store.waiting(filter).await.unwrap();
    items.iter().map(|item| format!("{} {}", item.run, item.interrupt.id)).collect()
}

async fn open_interrupts(store: &dyn Store, run: &str, owner: &str, opened: &[(&str, u64, &[&str])]) {
    let mut append = append_of(owner, 0, run);
    append.head.opened = opened.iter().map(|(id, since, who)| interrupt(id, *since, who)).collect();
    store.append(&id(run), append).await.unwrap();
}

pub(crate) async fn interrupts_are_listed_by_principal(stores: &Stores) {
    open_interrupts(&*stores.one, "r", "ann", &[("call_1.1", 10, &[]), ("call_2.1", 20, &["bob", "eve", "bob"])]).await;
    open_interrupts(&*stores.one, "s", "bob", &[("call_1.1", 15, &[]), ("call_2.1", 16, &["ann"])]).await;
    let store = &*stores.other;
    let by = |who: &str| WaitingFilter::new().for_principal(who);
    assert_eq!(list_names(store, &by("ann")).await, ["r call_1.1", "s call_2.1"]);
    assert_eq!(list_names(store, &by("bob")).await, ["s call_1.1", "r call_2.1"]);
    assert_eq!(list_names(store, &by("eve")).await, ["r call_2.1"]);
    assert_eq!(list_names(store, &by("Ann")).await, [""; 0]);
    assert_eq!(list_names(store, &by("ann").in_run(id("r"))).await, ["r call_1.1"]);
    assert_eq!(list_names(store, &WaitingFilter::new().in_run(id("s"))).await, ["s call_1.1", "s call_2.1"]);
    let item = &store.waiting(&by("eve")).await.unwrap()[0];
    assert_eq!((item.owner.as_str(), &item.interrupt), ("ann", &interrupt("call_2.1", 20, &["bob", "eve", "bob"])));
}

pub(crate) async fn interrupts_are_listed_in_order_and_in_pages(stores: &Stores) {
    // Interrupts of the same time are in the order of the run ids' bytes, then in the order of opening.
    open_interrupts(&*stores.one, "b", "ann", &[("z.1", 5, &[]), ("a.1", 5, &[])]).await;
    open_interrupts(&*stores.one, "B", "ann", &[("y.1", 5, &[])]).await;
    open_interrupts(&*stores.one, "ä", "ann", &[("x.1", 5, &[]), ("w.1", 4, &[])]).await;
    open_interrupts(&*stores.one, "a", "ann", &[("v.1", 5, &[]), ("u.1", u64::MAX, &[])]).await;
    let all = ["ä w.1", "B y.1", "a v.1", "b z.1", "b a.1", "ä x.1", "a u.1"];
    for filter in [WaitingFilter::new(), WaitingFilter::new().for_principal("ann")] {
        assert_eq!(list_names(&*stores.other, &filter).await, all);
        for (offset, limit) in [(0, 1), (1, 3), (5, 100), (7, 1), (usize::MAX, usize::MAX)] {
            let mut page = filter.clone();
            (page.offset, page.limit) = (offset, limit);
            let wanted: Vec<_> = all.into_iter().skip(offset).take(limit).collect();
            assert_eq!(list_names(&*stores.other, &page).await, wanted, "{offset} {limit}");
        }
    }
    let crowd: Vec<_> = (0..120).map(|number| interrupt(&format!("c.{number}"), 6, &[])).collect();
    let mut append = append(0, "crowd");
    append.head.opened = crowd;
    stores.one.append(&id("crowd"), append).await.unwrap();
    assert_eq!(list_names(&*stores.one, &WaitingFilter::new().in_run(id("crowd"))).await.len(), 100);
}

pub(crate) async fn closed_interrupts_leave_the_list_until_they_open_again(stores: &Stores) {
    open_interrupts(&*stores.one, "r", "ann", &[("c.1", 1, &["bob"]), ("d.1", 2, &[])]).await;
    let mut next = append(1, "next");
    next.head.closed = ["c.1", "unknown.7"].iter().map(|id| id.parse().unwrap()).collect();
    next.head.opened = vec![interrupt("c.2", 3, &["eve"])];
    stores.other.append(&id("r"), next).await.unwrap();
    assert_eq!(list_names(&*stores.one, &WaitingFilter::new()).await, ["r d.1", "r c.2"]);
    assert_eq!(list_names(&*stores.one, &WaitingFilter::new().for_principal("bob")).await, [""; 0]);
    assert_eq!(list_names(&*stores.one, &WaitingFilter::new().for_principal("eve")).await, ["r c.2"]);
    // Both entries are in one append.
    let mut last = append(2, "last");
    last.head.closed = vec!["c.2".parse().unwrap()];
    last.head.opened = vec![interrupt("c.2", 4, &["eve"])];
    stores.one.append(&id("r"), last).await.unwrap();
    let items = stores.one.waiting(&WaitingFilter::new().for_principal("eve")).await.unwrap();
    assert_eq!(items.len(), 1);
    assert_eq!(items[0].interrupt.opened_at.0, 4);
}
