//! Tests of a server that does not answer any more, although it resets no connection.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{sleep, timeout};
use tool_restate::RestateStore;
use tool_runtime::{
    Agent,
    model::{ScriptedModel, Turn},
    store::{Store as _, WaitingFilter},
};
use tool_test_kit::black_hole::{BlackHole, END, check_unavailable};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operations_on_a_silent_server_end_as_unavailable() {
    let (ingress, ingress_url) = BlackHole::of_http(&crate::service::address("ENGINE_INGRESS")).await;
    let (admin, admin_url) = BlackHole::of_http(&crate::service::address("ENGINE_ADMIN")).await;
    let store = RestateStore::new(&ingress_url, &admin_url).unwrap();
    ingress.silence();
    admin.silence();
    let (run, owner, filter) = ("silent".into(), "anna".into(), WaitingFilter::new());
    let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")])).store(store.clone());
    let mut session = agent.session_with_id("silent", Vec::new());
    let began = async move {
        match session.send("Hi.").await {
            Err(tool_runtime::AgentError::Store(error)) => Err::<(), _>(error),
            other => panic!("{other:?}"),
        }
    };
    let outcomes = join_all([
        check_unavailable("append", began),
        check_unavailable("load", store.load(&run)),
        check_unavailable("read", store.read(&run, 3)),
        check_unavailable("waiting", store.waiting(&filter)),
        check_unavailable("list", store.list(&owner, 0..10)),
        check_unavailable("delete", store.delete(&run)),
        check_unavailable("register", store.register("http://127.0.0.1:9")),
    ]);
    let failed: Vec<_> = outcomes.await.into_iter().filter_map(Result::err).collect();
    assert!(failed.is_empty(), "{failed:?}");
    // Another server takes over. Nobody resets the silent connections.
    ingress.fail_over();
    admin.fail_over();
    let recovered = async {
        while store.list(&owner, 0..10).await.is_err() {
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(END, recovered).await.expect("requests work again");
}
