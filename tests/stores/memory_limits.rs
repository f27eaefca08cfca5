//! Tests of the limits on the size of `MemoryStore`.

use tool_runtime::store::{MemoryStore, Store, StoreError};

use crate::sample_appends::{append_of, id};

/// Adds runs of `owner` to `store`, and returns the first error.
async fn fill(store: &MemoryStore, owner: &str, text: &str) -> StoreError {
    let mut number = 0;
    loop {
        if let Err(error) = store.append(&id(&format!("{owner}{number}")), append_of(owner, 0, text)).await {
            return error;
        }
        number += 1;
    }
}

#[tokio::test]
async fn an_owner_fills_its_own_part_and_no_more() {
    let store = MemoryStore::new().max_bytes(30_000).max_owner_bytes(10_000);
    let text = "x".repeat(1000);
    for owner in ["a", "b"] {
        assert!(matches!(fill(&store, owner, &text).await, StoreError::Full { of_owner: true }));
    }
    // Ten owners may have more than all may have together.
    store.append(&id("c"), append_of("c", 0, &text)).await.unwrap();
    for (owner, is_of_owner) in [("c", true), ("d", false), ("e", false)] {
        let error = fill(&store, owner, &text).await;
        assert!(matches!(error, StoreError::Full { of_owner } if of_owner == is_of_owner), "{owner}: {error}");
    }
    // A run that is deleted makes room for its owner.
    assert!(store.delete(&id("a0")).await.unwrap());
    store.append(&id("a"), append_of("a", 0, &text)).await.unwrap();
}
