//! The queue of calls that wait for a place, in which principals take turns.

use std::{
    collections::{BTreeMap, HashMap},
    future::pending,
    sync::{Arc, Mutex},
};

use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use crate::sync::lock;
use tool_run::run::Digest;

/// The places that calls wait for.
pub trait Places: Send {
    /// Takes a place for the call `ticket`. Fails without a free place, with the time at which one may be free; `None` if only a
    /// call can free one.
    fn take(&mut self, ticket: u64) -> Result<(), Option<Instant>>;

    /// Frees the place of the call `ticket`.
    fn give_back(&mut self, ticket: u64);
}

/// Places, and the calls that wait for one. The principal that waits longest gets the next place, for its first call, and then
/// waits behind the other principals.
pub struct Queue<P: Places>(Mutex<State<P>>);

struct State<P> {
    places: P,
    next: u64,
    waiting: HashMap<Owner, Line>,
    /// The principals that wait, in the order of their turns.
    turns: BTreeMap<u64, Owner>,
    /// The call that waits for the time at which a place is free. The others wait until they are woken.
    timer: Option<u64>,
}

/// A principal, or `None` for calls without one.
type Owner = Option<Digest>;

/// The waiting calls of a principal.
struct Line {
    turn: u64,
    calls: BTreeMap<u64, Arc<Notify>>,
}

impl<P: Places> State<P> {
    fn new_number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn join(&mut self, owner: Owner, ticket: u64) -> Arc<Notify> {
        let woken = Arc::<Notify>::default();
        let turn = self.new_number();
        let line = self.waiting.entry(owner).or_insert_with(|| {
            self.turns.insert(turn, owner);
            Line { turn, calls: BTreeMap::new() }
        });
        line.calls.insert(ticket, Arc::clone(&woken));
        woken
    }

    /// Removes a call from its line. Returns its waker, or `None` if the call does not wait.
    fn leave(&mut self, owner: Owner, ticket: u64) -> Option<Arc<Notify>> {
        let line = self.waiting.get_mut(&owner)?;
        let woken = line.calls.remove(&ticket)?;
        if line.calls.is_empty() {
            self.turns.remove(&line.turn);
            self.waiting.remove(&owner);
        }
        if self.timer == Some(ticket) {
            self.timer = None;
        }
        Some(woken)
    }

    /// Returns the call whose turn is next.
    fn first(&self) -> Option<(Owner, u64, &Arc<Notify>)> {
        let owner = *self.turns.values().next()?;
        let (ticket, woken) = self.waiting.get(&owner)?.calls.iter().next()?;
        Some((owner, *ticket, woken))
    }

    /// Gives the free places to the calls whose turn it is, and wakes them. Returns the time at which the next place may be
    /// free.
    fn advance(&mut self) -> Option<Instant> {
        while let Some((owner, ticket, _)) = self.first() {
            if let Err(free) = self.places.take(ticket) {
                if self.timer.is_none()
                    && free.is_some()
                    && let Some((_, _, woken)) = self.first()
                {
                    woken.notify_one();
                }
                return free;
            }
            let last = self.new_number();
            if let Some(woken) = self.leave(owner, ticket) {
                woken.notify_one();
            }
            if let Some(line) = self.waiting.get_mut(&owner) {
                self.turns.remove(&line.turn);
                self.turns.insert(last, owner);
                line.turn = last;
            }
        }
        None
    }
}

impl<P: Places> Queue<P> {
    pub fn new(places: P) -> Self {
        let (waiting, turns) = (HashMap::new(), BTreeMap::new());
        Self(Mutex::new(State { places, next: 0, waiting, turns, timer: None }))
    }

    /// Returns what `look` finds in the places.
    pub fn look<T>(&self, look: impl FnOnce(&P) -> T) -> T {
        look(&lock(&self.0).places)
    }

    /// Takes a place if one is free and no other call waits.
    pub fn try_enter(self: &Arc<Self>) -> Option<Place<P>> {
        let mut state = lock(&self.0);
        let ticket = state.new_number();
        (state.turns.is_empty() && state.places.take(ticket).is_ok()).then(|| Place {
            queue: Arc::clone(self),
            ticket,
            is_used: false,
        })
    }

    /// Waits for a place on behalf of `principal`. If the future is dropped, the call leaves the queue, or frees the place that
    /// it was given.
    pub async fn enter(self: &Arc<Self>, principal: Option<&str>) -> Place<P> {
        if let Some(place) = self.try_enter() {
            return place;
        }
        let owner = principal.map(Digest::of);
        let (ticket, woken) = {
            let mut state = lock(&self.0);
            let ticket = state.new_number();
            (ticket, state.join(owner, ticket))
        };
        let mut waiting = WaitingCall { queue: self, owner, ticket, has_entered: false };
        loop {
            let until = {
                let mut state = lock(&self.0);
                let free = state.advance();
                if !state.waiting.get(&owner).is_some_and(|line| line.calls.contains_key(&ticket)) {
                    break;
                }
                free.filter(|_| *state.timer.get_or_insert(ticket) == ticket)
            };
            let timer = async {
                match until {
                    Some(until) => sleep_until(until).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                () = woken.notified() => {}
                () = timer => {}
            }
        }
        waiting.has_entered = true;
        Place { queue: Arc::clone(self), ticket, is_used: false }
    }
}

/// A call that waits, or was given a place and does not know it yet.
struct WaitingCall<'a, P: Places> {
    queue: &'a Queue<P>,
    owner: Owner,
    ticket: u64,
    has_entered: bool,
}

impl<P: Places> Drop for WaitingCall<'_, P> {
    fn drop(&mut self) {
        if self.has_entered {
            return;
        }
        let mut state = lock(&self.queue.0);
        if state.leave(self.owner, self.ticket).is_none() {
            state.places.give_back(self.ticket);
        }
        state.advance();
    }
}

/// A place of a call. Dropping it frees the place, unless it is used up.
pub struct Place<P: Places> {
    queue: Arc<Queue<P>>,
    ticket: u64,
    is_used: bool,
}

impl<P: Places> Place<P> {
    /// Uses the place up.
    pub fn use_up(mut self) {
        self.is_used = true;
    }
}

impl<P: Places> Drop for Place<P> {
    fn drop(&mut self) {
        if !self.is_used {
            let mut state = lock(&self.queue.0);
            state.places.give_back(self.ticket);
            state.advance();
        }
    }
}
