//! A worker in this process for all tests.

use std::{
    env, process,
    sync::{Arc, OnceLock, mpsc},
    thread,
    time::Duration,
};

use tokio::runtime::Builder;
use tool_runtime::store::Store;
use tool_temporal::TemporalStore;

use crate::backends;

pub(crate) fn address() -> String {
    env::var("TEMPORAL_ADDRESS").unwrap_or_else(|_| {
        panic!("this test needs a Temporal server: `scripts/engine temporal cargo test …` starts one and sets TEMPORAL_ADDRESS")
    })
}

/// Returns the store on Temporal, whose runs this process drives.
pub(crate) fn engine() -> Arc<dyn Store> {
    Arc::new(runs())
}

/// Returns the store of these tests. Starts its worker, once.
pub(crate) fn runs() -> TemporalStore {
    static SERVED: OnceLock<TemporalStore> = OnceLock::new();
    let serve = || {
        let (address, queue) = (address(), format!("suite-{}", process::id()));
        let (ready, is_ready) = mpsc::channel();
        thread::spawn(move || {
            Builder::new_multi_thread().enable_all().build().unwrap().block_on(async move {
                let runs = TemporalStore::connect(&address, queue).await.unwrap();
                ready.send(runs.clone()).unwrap();
                runs.serve(backends::driver).await.unwrap();
            });
        });
        is_ready.recv_timeout(Duration::from_secs(30)).expect("the worker did not start")
    };
    SERVED.get_or_init(serve).clone()
}
