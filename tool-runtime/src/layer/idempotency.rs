//! Idempotency: repeated calls run once.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use event_listener::{Event, EventListener};
use tokio::time::Instant;

use crate::feedback::Rejection;
use crate::sync::lock;
use crate::tool::{CallError, CallFuture, Context, Effect, Failure, Output};
use crate::toolset::{Invocation, Layer, Next};
use tool_run::run::Digest;
use tool_schema::json::canonical_text;

/// A layer that runs a call once, however often it is made. The call is reserved in one step before it runs, so one of several
/// simultaneous calls runs. Clones share their memory.
///
/// | | default | or |
/// |---|---|---|
/// | a call that was made before | gets the output of the first; waits for it while the first runs | [`reject`](Self::reject): is rejected at once |
/// | a call that failed | is forgotten, and can be made again | [`keep_failures`](Self::keep_failures): is not made again |
/// | a call that was dropped before its end (a cancellation, a time limit further outside) | is refused with the reason: its effects are unknown. Only a tool declared `idempotent` runs again | [`release_dropped`](Self::release_dropped): is forgotten, like one that failed |
/// | how long | until `capacity` other calls were made since | [`forget_after`](Self::forget_after): also a time |
/// | which calls are equal | those with the same tool, principal and arguments, in any order of keys; read-only tools always run, as their answer may have changed | [`key`](Self::key): those with the same key of the application |
///
/// The memory of a call is a digest and its output, or only the digest if repeated calls are refused.
///
/// # Deviations from tool2agent's `idempotency()`
///
/// [`compatible`](Self::compatible) behaves like that function, with three exceptions. Of two equal simultaneous calls only one
/// runs; there, both do. The memory is bounded. You cannot supply a set of your own, because it could not reserve in one step.
///
/// In JSON, a key that is present without a value is `null`.
#[derive(Clone)]
pub struct Idempotency {
    memory: Arc<Memory>,
    key: Arc<KeyFn>,
    refuse: Option<Arc<RefuseFn>>,
    keep_failures: bool,
    release_dropped: bool,
    keep: Option<Duration>,
    on_duplicate: Option<Arc<HookFn>>,
}

type KeyFn = dyn Fn(&Invocation<'_>) -> Option<String> + Send + Sync;
type RefuseFn = dyn Fn(&Invocation<'_>) -> Rejection + Send + Sync;
type HookFn = dyn Fn(&Invocation<'_>) + Send + Sync;

const SKIPPED: &str = "Tool call processing skipped: the tool has been called with this payload already.";
const AVOID: &str = "This tool is idempotent. Avoid issuing duplicate tool calls in the future.";
const FAILED: &str = "the same call was made before and failed, so it was not made again";
const UNKNOWN: &str = "the same call was made before and interrupted on the way; it may have had effects, so it was not \
                       made again. Find out what it has done";

impl Idempotency {
    /// Creates a layer that remembers `capacity` calls (at least one), besides those that still run.
    pub fn new(capacity: usize) -> Self {
        Self {
            memory: Arc::new(Memory { known: Mutex::default(), capacity: capacity.max(1) }),
            key: Arc::new(same_call),
            refuse: None,
            keep_failures: false,
            release_dropped: false,
            keep: None,
            on_duplicate: None,
        }
    }

    /// Creates a layer that works like tool2agent's `idempotency()`. It refuses a call with the arguments of an earlier one,
    /// whatever its outcome, its caller and its tool.
    pub fn compatible(capacity: usize) -> Self {
        Self::new(capacity).reject().keep_failures().key(|call| Some(canonical_text(call.arguments).into_owned()))
    }

    /// Sets the key of calls: calls with the same key are equal. A call without a key always runs.
    pub fn key(mut self, key: impl Fn(&Invocation<'_>) -> Option<String> + Send + Sync + 'static) -> Self {
        self.key = Arc::new(key);
        self
    }

    /// Rejects a call that was made before, even while the first still runs. The rejection tells the model to avoid repeated
    /// calls.
    pub fn reject(self) -> Self {
        self.reject_with(|_| Rejection::from_message(SKIPPED).instruct(AVOID))
    }

    /// Rejects a call that was made before, with a rejection of your own.
    pub fn reject_with(mut self, refuse: impl Fn(&Invocation<'_>) -> Rejection + Send + Sync + 'static) -> Self {
        self.refuse = Some(Arc::new(refuse));
        self
    }

    /// Does not run a failed call again.
    pub fn keep_failures(mut self) -> Self {
        self.keep_failures = true;
        self
    }

    /// Runs a call again that was dropped before its end, although it may have had effects.
    pub fn release_dropped(mut self) -> Self {
        self.release_dropped = true;
        self
    }

    /// Forgets calls that ended at least `time` ago.
    pub fn forget_after(mut self, time: Duration) -> Self {
        self.keep = Some(time);
        self
    }

    /// Calls `hook` for every call that does not run because it was made before. The hook must not block.
    pub fn on_duplicate(mut self, hook: impl Fn(&Invocation<'_>) + Send + Sync + 'static) -> Self {
        self.on_duplicate = Some(Arc::new(hook));
        self
    }

    /// Reserves the call at `place`, or returns the answer to it.
    async fn reserve(&self, place: &Place, call: &Invocation<'_>) -> Option<Result<Output, CallError>> {
        let again = self.release_dropped || call.spec.options.idempotent;
        let came = loop {
            match (place.claim(again), &self.refuse) {
                (Claim::Run, _) => return None,
                (Claim::Wait(changed), None) => changed.await,
                (Claim::Wait(_), Some(_)) => break CallOutcome::Done(None),
                (Claim::CallOutcome(came), _) => break came,
            }
        };
        if let Some(hook) = &self.on_duplicate {
            hook(call);
        }
        Some(match (came, &self.refuse) {
            (CallOutcome::Lost, _) => Err(Failure::new(UNKNOWN).into()),
            (_, Some(refuse)) => Err(refuse(call).into()),
            (CallOutcome::Done(Some(output)), None) => Ok(output),
            (CallOutcome::Done(None), None) => Err(Rejection::from_message(SKIPPED).instruct(AVOID).into()),
            (CallOutcome::Failed, None) => Err(Rejection::from_message(FAILED).into()),
        })
    }
}

fn same_call(call: &Invocation<'_>) -> Option<String> {
    if call.spec.options.effect == Effect::ReadOnly {
        return None;
    }
    // Written in full and with a length, so that no principal looks like an absent one, or like the start of another tool's name.
    let (principal, name) = (call.cx.principal(), &call.spec.name);
    Some(format!("{principal:?}{}:{name}{}", name.len(), canonical_text(call.arguments)))
}

/// A reserved call. If it is dropped before its end, it is lost.
struct Reserved<'a> {
    layer: &'a Idempotency,
    cx: &'a Context,
    key: Digest,
    place: Option<Arc<Place>>,
}

impl Reserved<'_> {
    fn end(mut self, result: &Result<Output, CallError>) {
        self.settle(match result {
            Ok(output) => Some(CallOutcome::Done(self.layer.refuse.is_none().then(|| output.clone()))),
            Err(_) => (self.layer.keep_failures && self.cx.may_have_begun()).then_some(CallOutcome::Failed),
        });
    }

    fn settle(&mut self, came: Option<CallOutcome>) {
        let Some(place) = self.place.take() else { return };
        let free = came.is_none();
        place.end(came);
        if free {
            self.layer.memory.release(self.key, place);
        }
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        // A call that waited in a queue inside has had no effects.
        let is_free = self.layer.release_dropped || !self.cx.may_have_begun();
        self.settle((!is_free).then_some(CallOutcome::Lost));
    }
}

impl Layer for Idempotency {
    fn call<'a>(&'a self, call: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            let Some(key) = (self.key)(&call).map(Digest::of) else { return next.run().await };
            let place = self.memory.place(key, self.keep);
            if let Some(answer) = self.reserve(&place, &call).await {
                return answer;
            }
            let reserved = Reserved { layer: self, cx: call.cx, key, place: Some(place) };
            let result = next.run().await;
            reserved.end(&result);
            result
        })
    }
}

impl fmt::Debug for Idempotency {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Idempotency")
            .field("remembered", &lock(&self.memory.known).places.len())
            .finish_non_exhaustive()
    }
}

/// The remembered calls, limited in number and time.
#[derive(Debug)]
struct Memory {
    known: Mutex<KnownCalls>,
    capacity: usize,
}

#[derive(Debug, Default)]
struct KnownCalls {
    places: HashMap<Digest, KnownCall>,
    /// The calls, by the number of the last request for them.
    order: BTreeMap<u64, Digest>,
    asked: u64,
}

#[derive(Debug)]
struct KnownCall {
    place: Arc<Place>,
    last: u64,
}

impl KnownCall {
    /// Returns whether a caller runs this call or waits for it. Such a call is never forgotten, because it could run twice.
    /// Places are shared under the lock only, so a false answer stays false while the lock is held.
    fn is_held(&self) -> bool {
        Arc::strong_count(&self.place) > 1
    }

    fn is_over(&self, keep: Option<Duration>) -> bool {
        let over = |keep| self.place.ended().is_some_and(|ended| ended.elapsed() >= keep);
        !self.is_held() && keep.is_some_and(over)
    }
}

impl Memory {
    /// Returns the place of the call `key`. Forgets calls that ended longer than `keep` ago and, if there are too many, those
    /// that were not requested for the longest time.
    fn place(&self, key: Digest, keep: Option<Duration>) -> Arc<Place> {
        let mut known = lock(&self.known);
        known.asked += 1;
        let now = known.asked;
        if known.places.get(&key).is_some_and(|kept| kept.is_over(keep)) {
            known.forget(key);
        }
        if let Some(kept) = known.places.get_mut(&key) {
            let before = std::mem::replace(&mut kept.last, now);
            let place = Arc::clone(&kept.place);
            known.order.remove(&before);
            known.order.insert(now, key);
            return place;
        }
        known.make_room(self.capacity, keep);
        let place = Arc::<Place>::default();
        known.places.insert(key, KnownCall { place: Arc::clone(&place), last: now });
        known.order.insert(now, key);
        place
    }

    /// Forgets a call that may run again, unless another caller waits for it.
    fn release(&self, key: Digest, place: Arc<Place>) {
        let mut known = lock(&self.known);
        drop(place);
        if known.places.get(&key).is_some_and(|kept| !kept.is_held() && kept.place.ended().is_none()) {
            known.forget(key);
        }
    }
}

impl KnownCalls {
    fn make_room(&mut self, capacity: usize, keep: Option<Duration>) {
        while let Some(key) = self.order.first_key_value().map(|(_, key)| *key)
            && self.places.get(&key).is_some_and(|kept| kept.is_over(keep))
        {
            self.forget(key);
        }
        while self.places.len() >= capacity {
            let free = self.order.values().find(|key| self.places.get(key).is_some_and(|kept| !kept.is_held()));
            let Some(key) = free.copied() else { return };
            self.forget(key);
        }
    }

    fn forget(&mut self, key: Digest) {
        if let Some(kept) = self.places.remove(&key) {
            self.order.remove(&kept.last);
        }
    }
}

/// The place of a call: reserved while the call runs, then its outcome.
#[derive(Debug, Default)]
struct Place {
    state: Mutex<State>,
    changed: Event,
}

#[derive(Debug, Default)]
enum State {
    /// The call may run.
    #[default]
    Free,
    Running,
    Ended(CallOutcome, Instant),
}

/// The outcome of a call.
#[derive(Clone, Debug)]
enum CallOutcome {
    /// It returned an output; `None` if that is not needed again.
    Done(Option<Output>),
    /// It failed, and the failure is kept.
    Failed,
    /// It was dropped before its end: its effects are unknown.
    Lost,
}

/// The answer to a claim on a call.
#[derive(Debug)]
enum Claim {
    /// The call is reserved for the caller, who runs it.
    Run,
    /// It is running; the listener wakes when that changes.
    Wait(EventListener),
    /// It was made before.
    CallOutcome(CallOutcome),
}

impl Place {
    /// Reserves the call, if it may run. A lost call may, if `again`.
    fn claim(&self, again: bool) -> Claim {
        let mut state = lock(&self.state);
        match &*state {
            State::Running => return Claim::Wait(self.changed.listen()),
            State::Ended(CallOutcome::Lost, _) if again => {}
            State::Ended(came, _) => return Claim::CallOutcome(came.clone()),
            State::Free => {}
        }
        *state = State::Running;
        Claim::Run
    }

    /// Ends the reservation, with the outcome, or so that the call may run again.
    fn end(&self, came: Option<CallOutcome>) {
        *lock(&self.state) = came.map_or(State::Free, |came| State::Ended(came, Instant::now()));
        self.changed.notify(usize::MAX);
    }

    /// Returns the time at which the call ended, if it did.
    fn ended(&self) -> Option<Instant> {
        match &*lock(&self.state) {
            State::Ended(_, at) => Some(*at),
            _ => None,
        }
    }
}
