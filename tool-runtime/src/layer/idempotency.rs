//! Repeated calls, done once.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use event_listener::{Event, EventListener};
use tokio::time::Instant;

use crate::feedback::Rejection;
use crate::tool::{CallError, CallFuture, Effect, Failure, Output};
use crate::toolset::{Invocation, Layer, Next};
use tool_run::run::Digest;
use tool_schema::json::canonical_text;

/// Makes a call once, however often it comes: it is reserved before it runs, in one step, so of calls that come at the same
/// time one runs. Clones share what they remember.
///
/// | | default | or |
/// |---|---|---|
/// | a call that was made before | gets the output of the first; waits for it, while that runs | [`refuse`](Self::refuse): is refused at once |
/// | a call that failed | is forgotten, and can be made again | [`keep_failures`](Self::keep_failures): is not made again |
/// | a call that was dropped on the way (a cancellation, a time limit further outside) | is refused, and the model is told why: nobody knows what it has done. Only a tool declared `idempotent` runs again | [`release_dropped`](Self::release_dropped): is forgotten, like one that failed |
/// | how long | until so many others were asked for since | [`forget_after`](Self::forget_after): a time, too |
/// | what is the same | tool, principal and arguments, whatever the order of their keys; read-only tools are left alone, as their answer may have changed | [`by`](Self::by): what the application says |
///
/// What is remembered of a call is a digest and its output, or nothing but the digest where calls are refused.
///
/// # Deviations from tool2agent's `idempotency()`
///
/// [`compatible`](Self::compatible) does what that does, call by call, but for three things: two equal calls at the same
/// time run once, where both ran; the memory has a bound; and there are no sets of one's own, which could not reserve in one
/// step. A key that is there without a value is `null`, in JSON.
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
    /// Remembers `capacity` calls (at least one), and those that still run.
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

    /// Works as tool2agent's `idempotency()` does: a call with the arguments of an earlier one is refused, whatever came of that,
    /// whoever makes it, and for all tools that the layer is around.
    pub fn compatible(capacity: usize) -> Self {
        Self::new(capacity).refuse().keep_failures().by(|call| Some(canonical_text(call.arguments).into_owned()))
    }

    /// Calls are the same when `key` gives the same text for them; a call for which it gives none always runs.
    pub fn by(mut self, key: impl Fn(&Invocation<'_>) -> Option<String> + Send + Sync + 'static) -> Self {
        self.key = Arc::new(key);
        self
    }

    /// Refuses a call that was made before, also while the first still runs. The model is told that it was, and to avoid it.
    pub fn refuse(self) -> Self {
        self.refuse_with(|_| Rejection::from_message(SKIPPED).instruct(AVOID))
    }

    /// Refuses a call that was made before, in words of one's own.
    pub fn refuse_with(mut self, told: impl Fn(&Invocation<'_>) -> Rejection + Send + Sync + 'static) -> Self {
        self.refuse = Some(Arc::new(told));
        self
    }

    /// Does not make a call again that failed.
    pub fn keep_failures(mut self) -> Self {
        self.keep_failures = true;
        self
    }

    /// Makes a call again that was dropped before its end, although it may have had effects.
    pub fn release_dropped(mut self) -> Self {
        self.release_dropped = true;
        self
    }

    /// Forgets calls that ended so long ago.
    pub fn forget_after(mut self, time: Duration) -> Self {
        self.keep = Some(time);
        self
    }

    /// Tells `hook` of every call that is not made because it was before. It must not block.
    pub fn on_duplicate(mut self, hook: impl Fn(&Invocation<'_>) + Send + Sync + 'static) -> Self {
        self.on_duplicate = Some(Arc::new(hook));
        self
    }

    /// The reservation of the call at `place`, or the answer to it.
    async fn reserve(&self, place: &Place, call: &Invocation<'_>) -> Option<Result<Output, CallError>> {
        let again = self.release_dropped || call.spec.traits.idempotent;
        let came = loop {
            match (place.claim(again), &self.refuse) {
                (Claim::Run, _) => return None,
                (Claim::Wait(changed), None) => changed.await,
                (Claim::Wait(_), Some(_)) => break Came::Done(None),
                (Claim::Came(came), _) => break came,
            }
        };
        if let Some(hook) = &self.on_duplicate {
            hook(call);
        }
        Some(match (came, &self.refuse) {
            (Came::Lost, _) => Err(Failure::new(UNKNOWN).into()),
            (_, Some(told)) => Err(told(call).into()),
            (Came::Done(Some(output)), None) => Ok(output),
            (Came::Done(None), None) => Err(Rejection::from_message(SKIPPED).instruct(AVOID).into()),
            (Came::Failed, None) => Err(Rejection::from_message(FAILED).into()),
        })
    }
}

fn same_call(call: &Invocation<'_>) -> Option<String> {
    if call.spec.traits.effect == Effect::ReadOnly {
        return None;
    }
    // Written out and with a length, so that no principal can look like nobody, or like the start of another tool's name.
    let (principal, name) = (call.cx.principal(), &call.spec.name);
    Some(format!("{principal:?}{}:{name}{}", name.len(), canonical_text(call.arguments)))
}

/// A call that is reserved. Dropped before its end, it is lost.
struct Reserved<'a> {
    layer: &'a Idempotency,
    key: Digest,
    place: Option<Arc<Place>>,
}

impl Reserved<'_> {
    fn end(mut self, result: &Result<Output, CallError>) {
        self.settle(match result {
            Ok(output) => Some(Came::Done(self.layer.refuse.is_none().then(|| output.clone()))),
            Err(_) => self.layer.keep_failures.then_some(Came::Failed),
        });
    }

    fn settle(&mut self, came: Option<Came>) {
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
        self.settle(if self.layer.release_dropped { None } else { Some(Came::Lost) });
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
            let reserved = Reserved { layer: self, key, place: Some(place) };
            let result = next.run().await;
            reserved.end(&result);
            result
        })
    }
}

impl fmt::Debug for Idempotency {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Idempotency").field("remembered", &self.memory.lock().places.len()).finish_non_exhaustive()
    }
}

/// The calls that are remembered: so many, and for so long.
#[derive(Debug)]
struct Memory {
    known: Mutex<Known>,
    capacity: usize,
}

#[derive(Debug, Default)]
struct Known {
    places: HashMap<Digest, Kept>,
    /// By when they were last asked for.
    order: BTreeMap<u64, Digest>,
    asked: u64,
}

#[derive(Debug)]
struct Kept {
    place: Arc<Place>,
    last: u64,
}

impl Kept {
    /// Returns whether somebody runs this call or waits for it. Then it is never forgotten, or it could run twice. Places are only
    /// shared under the lock, so nobody can come to hold it meanwhile.
    fn is_held(&self) -> bool {
        Arc::strong_count(&self.place) > 1
    }

    fn is_over(&self, keep: Option<Duration>) -> bool {
        let over = |keep| self.place.ended().is_some_and(|ended| ended.elapsed() >= keep);
        !self.is_held() && keep.is_some_and(over)
    }
}

impl Memory {
    /// The place of the call `key`. What ended longer than `keep` ago is forgotten, and so are the calls that nobody has
    /// asked for in the longest time, where there are too many.
    fn place(&self, key: Digest, keep: Option<Duration>) -> Arc<Place> {
        let mut known = self.lock();
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
        known.places.insert(key, Kept { place: Arc::clone(&place), last: now });
        known.order.insert(now, key);
        place
    }

    /// Forgets a call that may run again, unless somebody waits for just that.
    fn release(&self, key: Digest, place: Arc<Place>) {
        let mut known = self.lock();
        drop(place);
        if known.places.get(&key).is_some_and(|kept| !kept.is_held() && kept.place.ended().is_none()) {
            known.forget(key);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
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

/// The place of a call: reserved while it runs, then its outcome.
#[derive(Debug, Default)]
struct Place {
    state: Mutex<State>,
    changed: Event,
}

#[derive(Debug, Default)]
enum State {
    /// It may run.
    #[default]
    Free,
    Running,
    Ended(Came, Instant),
}

/// The outcome of a call.
#[derive(Clone, Debug)]
enum Came {
    /// It gave an output; `None` where nobody will want it again.
    Done(Option<Output>),
    /// It failed, and that is kept.
    Failed,
    /// It was dropped on the way: nobody knows what it has done.
    Lost,
}

/// The answer to a call that comes.
#[derive(Debug)]
enum Claim {
    /// The call is yours: run it.
    Run,
    /// It runs already; the listener wakes when that changes.
    Wait(EventListener),
    /// It was made before.
    Came(Came),
}

impl Place {
    /// Reserves the call, if it may run. One that was lost may, if `again`.
    fn claim(&self, again: bool) -> Claim {
        let mut state = self.lock();
        match &*state {
            State::Running => return Claim::Wait(self.changed.listen()),
            State::Ended(Came::Lost, _) if again => {}
            State::Ended(came, _) => return Claim::Came(came.clone()),
            State::Free => {}
        }
        *state = State::Running;
        Claim::Run
    }

    /// Ends the reservation: with what came of it, or so that the call may run again.
    fn end(&self, came: Option<Came>) {
        *self.lock() = came.map_or(State::Free, |came| State::Ended(came, Instant::now()));
        self.changed.notify(usize::MAX);
    }

    /// When the call ended, if it did.
    fn ended(&self) -> Option<Instant> {
        match &*self.lock() {
            State::Ended(_, at) => Some(*at),
            _ => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
