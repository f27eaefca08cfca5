//! The calls that are remembered: so many, and for so long.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::place::Place;
use crate::digest::Digest;

#[derive(Debug)]
pub(super) struct Memory {
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
    /// Whether somebody runs this call or waits for it. Then it is never forgotten, or it could run twice. Places are only
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
    pub(super) fn new(capacity: usize) -> Self {
        Self { known: Mutex::default(), capacity: capacity.max(1) }
    }

    /// The place of the call `key`. What ended longer than `keep` ago is forgotten, and so are the calls that nobody has
    /// asked for in the longest time, where there are too many.
    pub(super) fn place(&self, key: Digest, keep: Option<Duration>) -> Arc<Place> {
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
    pub(super) fn release(&self, key: Digest, place: Arc<Place>) {
        let mut known = self.lock();
        drop(place);
        if known.places.get(&key).is_some_and(|kept| !kept.is_held() && kept.place.ended().is_none()) {
            known.forget(key);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.lock().places.len()
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
