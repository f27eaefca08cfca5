//! The same call twice, done once.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::OnceCell;

use crate::tool::{CallError, CallFuture, Effect, Failure, Output};
use crate::toolset::{Invocation, Layer, Next};

/// Answers a repeated call with the output of the first one. Two that come at the same time run once: the second waits.
/// A call that failed is forgotten, so that it can be made again. Clones share what they remember.
///
/// Of a call whose work was dropped on the way (a cancellation, a time limit further outside) nobody knows what it has
/// done. The same call is refused from then on, and the model is told why, until it is forgotten among the others. Only a
/// tool declared `idempotent` runs again.
///
/// Calls are the same when tool, principal and argument text are; [`Idempotency::by`] looks at something else. Read-only
/// tools are left alone: their answer may have changed.
#[derive(Clone)]
pub struct Idempotency {
    memory: Arc<Mutex<Memory>>,
    key: Arc<KeyFn>,
}

type KeyFn = dyn Fn(&Invocation<'_>) -> Option<String> + Send + Sync;
type Place = Arc<Done>;

/// What came of a call.
#[derive(Default)]
struct Done {
    output: OnceCell<Output>,
    /// Whether it was begun, and dropped before its end.
    lost: AtomicBool,
}

impl Done {
    /// Runs the call, unless nobody knows what an earlier run has done.
    async fn run(&self, mut next: Next<'_>, harmless: bool) -> Result<Output, CallError> {
        if self.lost.load(Ordering::Acquire) && !harmless {
            return Err(Failure::told(UNKNOWN).into());
        }
        let mut end = End { done: self, reached: false };
        let result = next.run().await;
        end.reached = true;
        result
    }
}

const UNKNOWN: &str = "the same call was made before and interrupted on the way; it may have had effects, so it was not \
                       made again. Find out what it has done";

/// Notes a run that is dropped before its end.
struct End<'a> {
    done: &'a Done,
    reached: bool,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        if !self.reached {
            self.done.lost.store(true, Ordering::Release);
        }
    }
}

struct Memory {
    places: HashMap<String, Place>,
    oldest: VecDeque<String>,
    capacity: usize,
}

impl Memory {
    /// Forgets the oldest calls that nobody waits for. A call that runs is never forgotten, or it could run twice.
    fn make_room(&mut self) {
        for _ in 0..self.oldest.len() {
            if self.places.len() < self.capacity {
                return;
            }
            let Some(oldest) = self.oldest.pop_front() else { return };
            match self.places.get(&oldest) {
                Some(place) if Arc::strong_count(place) > 1 => self.oldest.push_back(oldest),
                _ => drop(self.places.remove(&oldest)),
            }
        }
    }
}

impl Idempotency {
    /// Remembers the last `capacity` calls (at least one), and those that still run.
    pub fn new(capacity: usize) -> Self {
        let memory = Memory { places: HashMap::new(), oldest: VecDeque::new(), capacity: capacity.max(1) };
        Self { memory: Arc::new(Mutex::new(memory)), key: Arc::new(same_arguments) }
    }

    /// Calls are the same when `key` gives the same text for them; a call for which it gives none always runs.
    pub fn by(mut self, key: impl Fn(&Invocation<'_>) -> Option<String> + Send + Sync + 'static) -> Self {
        self.key = Arc::new(key);
        self
    }

    fn place(&self, key: String) -> Place {
        let mut memory = self.lock();
        if let Some(place) = memory.places.get(&key) {
            return Arc::clone(place);
        }
        memory.make_room();
        let place = Place::default();
        memory.oldest.push_back(key.clone());
        memory.places.insert(key, Arc::clone(&place));
        place
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn same_arguments(call: &Invocation<'_>) -> Option<String> {
    if call.spec.traits.effect == Effect::ReadOnly {
        return None;
    }
    // Written out and with a length, so that no principal can look like nobody, or like the start of another tool's name.
    let (principal, name) = (call.cx.principal(), &call.spec.name);
    Some(format!("{principal:?}{}:{name}{}", name.len(), call.arguments))
}

impl Layer for Idempotency {
    fn call<'a>(&'a self, call: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        let place = (self.key)(&call).map(|key| self.place(key));
        let harmless = call.spec.traits.idempotent;
        Box::pin(async move {
            match place {
                Some(place) => place.output.get_or_try_init(|| place.run(next, harmless)).await.cloned(),
                None => next.run().await,
            }
        })
    }
}

impl std::fmt::Debug for Idempotency {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Idempotency").field("remembered", &self.lock().places.len()).finish_non_exhaustive()
    }
}
