//! States of layers for each principal, or for each key of an application.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex},
};

use crate::sync::lock;
use crate::toolset::Invocation;
use tool_run::run::Digest;

/// The states of a layer that counts the calls of each key by themselves, such as those of each principal.
///
/// The memory is bounded: at most `max` keys are known. If a new key comes then, the keys that were used longest ago are
/// forgotten. A state is kept while a call holds it, or while [`keep_while`](Self::keep_while) says so. If all states are kept,
/// new keys share one state, which also counts the calls without a key. So a flood of new keys resets no state in use.
///
/// ```
/// use tool_runtime::{CallFuture, layer::ByKey, toolset::{Invocation, Layer, Next}};
///
/// /// Lets each principal make one call at a time.
/// struct OneAtATime(ByKey<tokio::sync::Mutex<()>>);
///
/// impl Layer for OneAtATime {
///     fn call<'a>(&'a self, call: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
///         Box::pin(async move {
///             let place = self.0.get(call.cx.principal());
///             let _place = place.lock().await;
///             next.run().await
///         })
///     }
/// }
///
/// let layer = OneAtATime(ByKey::new(10_000, Default::default));
/// # let _ = layer;
/// ```
pub struct ByKey<S> {
    known: Mutex<Known<S>>,
    max: usize,
    create: Box<dyn Fn() -> S + Send + Sync>,
    keep: Box<dyn Fn(&S) -> bool + Send + Sync>,
    /// The state of calls without a key, and of keys that find no room.
    shared: Arc<S>,
}

struct Known<S> {
    /// The states, with the number of the last use.
    states: HashMap<Digest, (Arc<S>, u64)>,
    uses: u64,
    /// The number of the use at which room is searched again, after a search that found none.
    next_search: u64,
}

impl<S> ByKey<S> {
    /// Creates states for at most `max` keys (at least one). `create` returns the state of a new key.
    pub fn new(max: usize, create: impl Fn() -> S + Send + Sync + 'static) -> Self {
        let shared = Arc::new(create());
        let known = Known { states: HashMap::new(), uses: 0, next_search: 0 };
        Self { known: Mutex::new(known), max: max.max(1), create: Box::new(create), keep: Box::new(|_| false), shared }
    }

    /// Sets a function that returns whether a state that no call holds must be kept. The function must be quick.
    pub fn keep_while(mut self, keep: impl Fn(&S) -> bool + Send + Sync + 'static) -> Self {
        self.keep = Box::new(keep);
        self
    }

    /// Returns the state of `key`. A call holds it as long as it counts.
    pub fn get(&self, key: Option<&str>) -> Arc<S> {
        let Some(key) = key else { return Arc::clone(&self.shared) };
        // A digest, so that long keys need no more memory.
        let key = Digest::of(key);
        let mut known = lock(&self.known);
        known.uses += 1;
        let now = known.uses;
        if let Some((state, used)) = known.states.get_mut(&key) {
            *used = now;
            return Arc::clone(state);
        }
        if known.states.len() >= self.max && !self.forget(&mut known) {
            return Arc::clone(&self.shared);
        }
        let state = Arc::new((self.create)());
        known.states.insert(key, (Arc::clone(&state), now));
        state
    }

    /// Forgets half of the states that need not be kept: those that were used longest ago. Returns whether there were any.
    fn forget(&self, known: &mut Known<S>) -> bool {
        if known.uses < known.next_search {
            return false;
        }
        // Only `get` shares a state with calls, and it holds the lock. So no call can get a state that is forgotten here.
        let is_kept = |state: &Arc<S>| Arc::strong_count(state) > 1 || (self.keep)(state);
        let free = known.states.iter().filter(|(_, (state, _))| !is_kept(state));
        let mut free: Vec<(u64, Digest)> = free.map(|(key, (_, used))| (*used, *key)).collect();
        if free.is_empty() {
            // Each search costs as much as there are states, so a flood of new keys must not cause one for each key.
            known.next_search = known.uses + self.max as u64 / 8;
            return false;
        }
        free.sort_unstable();
        for (_, key) in &free[..free.len().div_ceil(2)] {
            known.states.remove(key);
        }
        true
    }
}

impl<S> fmt::Debug for ByKey<S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = lock(&self.known).states.len();
        out.debug_struct("ByKey").field("known", &known).field("max", &self.max).finish_non_exhaustive()
    }
}

/// The maximum number of keys that a stock layer knows.
pub const MAX_KEYS: usize = 10_000;

/// The key by which a layer counts a call.
#[derive(Clone)]
pub enum CallKey {
    /// No key: all calls count together.
    All,
    Principal,
    Custom(Arc<KeyFn>),
}

type KeyFn = dyn Fn(&Invocation<'_>) -> Option<String> + Send + Sync;

impl CallKey {
    /// Returns the state of the key of `call`.
    pub fn state<S>(&self, call: &Invocation<'_>, states: &ByKey<S>) -> Arc<S> {
        match self {
            Self::All => states.get(None),
            Self::Principal => states.get(call.cx.principal()),
            Self::Custom(key) => states.get(key(call).as_deref()),
        }
    }
}

/// Adds the settings of the field `key` to a layer.
macro_rules! key_settings {
    ($layer:ty: $does:literal, $share:literal $(, $by_principal:ident)?) => {
        impl $layer {
            $(
                #[doc = concat!($does, " the calls of each principal by themselves. Calls without a principal ", $share, ".")]
                ///
                /// The layer knows at most 10,000 principals ([`ByKey`](crate::layer::ByKey)).
                pub fn $by_principal(mut self) -> Self {
                    self.key = CallKey::Principal;
                    self
                }
            )?

            #[doc = concat!($does, " the calls with the same key by themselves. Calls without a key ", $share, ".")]
            ///
            /// The layer knows at most 10,000 keys ([`ByKey`](crate::layer::ByKey)).
            pub fn key(mut self, key: impl Fn(&Invocation<'_>) -> Option<String> + Send + Sync + 'static) -> Self {
                self.key = CallKey::Custom(Arc::new(key));
                self
            }
        }
    };
}
pub(super) use key_settings;

impl fmt::Debug for CallKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::All => "All",
            Self::Principal => "Principal",
            Self::Custom(_) => "Custom",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;

    fn count(state: &AtomicUsize) -> usize {
        state.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn flood(states: &ByKey<impl Sized>, keys: usize) {
        (0..keys).for_each(|key| drop(states.get(Some(&format!("new {key}")))));
    }

    #[test]
    fn each_key_has_a_state_and_calls_without_a_key_share_one() {
        let states = ByKey::new(3, AtomicUsize::default);
        assert_eq!([Some("ann"), Some("bob"), None, Some("")].map(|key| count(&states.get(key))), [1; 4]);
        assert_eq!([Some("ann"), Some("bob"), None].map(|key| count(&states.get(key))), [2; 3]);
    }

    #[test]
    fn a_flood_of_keys_needs_bounded_memory_and_forgets_no_state_in_use() {
        let states = ByKey::new(100, AtomicUsize::default).keep_while(|state| state.load(Ordering::SeqCst) >= 5);
        let held = states.get(Some("held"));
        count(&held);
        (0..5).for_each(|_| _ = count(&states.get(Some("kept"))));
        count(&states.get(Some("idle")));
        flood(&states, 10_000);
        assert!(lock(&states.known).states.len() <= 100);
        assert_eq!(["held", "kept", "idle"].map(|key| count(&states.get(Some(key)))), [2, 6, 1]);
    }

    #[test]
    fn the_keys_used_last_are_forgotten_last() {
        let states = ByKey::new(100, AtomicUsize::default);
        for _ in 0..50 {
            count(&states.get(Some("busy")));
            flood(&states, 40);
        }
        assert_eq!(count(&states.get(Some("busy"))), 51);
    }

    #[test]
    fn keys_without_room_share_a_state_until_there_is_room() {
        let keeps = Arc::new(AtomicBool::new(true));
        let kept = Arc::clone(&keeps);
        let states = ByKey::new(8, AtomicUsize::default).keep_while(move |_| kept.load(Ordering::SeqCst));
        flood(&states, 8);
        assert!(Arc::ptr_eq(&states.get(Some("ann")), &states.get(None)));
        keeps.store(false, Ordering::SeqCst);
        flood(&states, 16);
        assert!(!Arc::ptr_eq(&states.get(Some("ann")), &states.get(None)));
    }
}
