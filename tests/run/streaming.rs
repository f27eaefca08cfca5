//! Tests that pieces of the model's turn reach the session before the turn ends, wherever the run is driven.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream};
use tokio::sync::Semaphore;
use tool_runtime::{
    Agent,
    agent::Suspend,
    model::{Delta, FinishReason, FunctionModel},
};

use crate::kit::{Events, OnBackend as _};

#[tokio::test(flavor = "multi_thread")]
async fn pieces_of_a_turn_arrive_before_its_end() {
    let gate = Arc::new(Semaphore::new(0));
    let permits = Arc::clone(&gate);
    let model = FunctionModel::streaming(move |_| {
        let permits = Arc::clone(&permits);
        stream::iter(["Half", " of it"].map(|text| Delta::Text(text.to_owned())))
            .then(move |delta| {
                let permits = Arc::clone(&permits);
                async move {
                    permits.acquire().await.unwrap().forget();
                    Ok(delta)
                }
            })
            .chain(stream::iter([Ok(Delta::Finish(FinishReason::Stop))]))
    });
    let events = Events::new();
    let mut session = Agent::new(model).operator(Suspend).observer(events.clone()).anywhere().session();
    let sent = tokio::spawn(async move { session.send("go").await.map(|reply| reply.text) });
    gate.add_permits(1);
    let begun = async {
        while events.text() != "Half" {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    // The model waits, so this is a piece, and no turn of the log.
    tokio::time::timeout(Duration::from_mins(1), begun).await.expect("no piece arrived");
    gate.add_permits(1);
    assert_eq!(sent.await.unwrap().unwrap(), "Half of it");
    assert_eq!(events.text(), "Half of it");
}
