//! The shares of principals in resources that all of them use.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::Hash,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tool_runtime::run::Principal;

use super::lock;

/// The time for which work waits for a place in a [`Queue`].
const MAX_WAIT: Duration = Duration::from_secs(10);

/// The number of bytes that every body may have, however many others there are.
const MIN_BYTES: usize = 64 * 1024;

/// The numbers of permits that are held, by holder. It is cheap to clone.
pub(crate) struct Shares<K>(Arc<Mutex<HashMap<K, usize>>>);

impl<K> Clone for Shares<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K> Default for Shares<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Clone + Eq + Hash> Shares<K> {
    /// Acquires one of the `most` permits of `holder`. Returns `None` if it holds all of them.
    pub(crate) fn acquire(&self, holder: K, most: usize) -> Option<Permit<K>> {
        let mut held = lock(&self.0);
        let count = held.get(&holder).copied().unwrap_or_default();
        (count < most).then(|| {
            held.insert(holder.clone(), count + 1);
            Permit { shares: self.clone(), holder }
        })
    }
}

/// A permit. Dropping it returns it.
pub(crate) struct Permit<K: Eq + Hash> {
    shares: Shares<K>,
    holder: K,
}

impl<K: Eq + Hash> Drop for Permit<K> {
    fn drop(&mut self) {
        let mut held = lock(&self.shares.0);
        if let Some(count) = held.get_mut(&self.holder) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.holder);
            }
        }
    }
}

/// The places for a kind of work. Each principal has a part of them. Work that finds no place waits in line.
pub(crate) struct Queue {
    all: Arc<Semaphore>,
    /// The number of places that one principal may have.
    each: usize,
    of: Mutex<HashMap<Principal, Weak<Semaphore>>>,
}

/// A place in a queue: one of the principal's, and one of all. Dropping it makes room for other work.
pub(crate) struct Place {
    _own: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Queue {
    pub(crate) fn new(all: usize, each: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(all)), each, of: Mutex::default() }
    }

    /// Waits until `principal` has a place. Returns `None` if it gets none in [`MAX_WAIT`].
    pub(crate) async fn enter(&self, principal: &Principal) -> Option<Place> {
        let own = self.places_of(principal);
        let both = async {
            // In this order: a principal that waits for its own places takes none of the others'.
            let own = own.acquire_owned().await.ok()?;
            Some(Place { _own: own, _of_all: Arc::clone(&self.all).acquire_owned().await.ok()? })
        };
        timeout(MAX_WAIT, both).await.ok()?
    }

    fn places_of(&self, principal: &Principal) -> Arc<Semaphore> {
        let mut of = lock(&self.of);
        if let Some(own) = of.get(principal).and_then(Weak::upgrade) {
            return own;
        }
        of.retain(|_, own| own.strong_count() > 0);
        let own = Arc::new(Semaphore::new(self.each));
        of.insert(principal.clone(), Arc::downgrade(&own));
        own
    }
}

/// The numbers of bytes that principals take up: at most so many in all, and a quarter of them for each principal.
pub(crate) struct ByteShares {
    held: Arc<Mutex<HashMap<Principal, usize>>>,
    all: usize,
}

/// A permit for bytes. Dropping it returns them.
pub(crate) struct BytesPermit {
    held: Arc<Mutex<HashMap<Principal, usize>>>,
    principal: Principal,
    bytes: usize,
}

impl ByteShares {
    pub(crate) fn new(all: usize) -> Self {
        Self { held: Arc::default(), all }
    }

    /// Acquires a permit for `bytes`. Returns `None` if they are too many. What no one else could hold up is never too much:
    /// the first bytes of a principal may exceed its part, and the first of all the whole. Few bytes are never counted.
    pub(crate) fn acquire(&self, principal: &Principal, bytes: usize) -> Option<BytesPermit> {
        let bytes = if bytes <= MIN_BYTES { 0 } else { bytes };
        let mut held = lock(&self.held);
        let own = held.get(principal).copied().unwrap_or_default();
        let all: usize = held.values().sum();
        let has_room = |held: usize, most: usize| held == 0 || held + bytes <= most;
        if bytes > 0 && !(has_room(own, self.all / 4) && has_room(all, self.all)) {
            return None;
        }
        if bytes > 0 {
            held.insert(principal.clone(), own + bytes);
        }
        Some(BytesPermit { held: Arc::clone(&self.held), principal: principal.clone(), bytes })
    }
}

impl Drop for BytesPermit {
    fn drop(&mut self) {
        let mut held = lock(&self.held);
        if let Entry::Occupied(mut own) = held.entry(self.principal.clone()) {
            *own.get_mut() -= self.bytes;
            if *own.get() == 0 {
                own.remove();
            }
        }
    }
}

/// The principals that have replay buffers. Each has the same part of the bytes that all may keep.
#[derive(Default)]
pub(crate) struct BufferOwners {
    of: Mutex<HashMap<Principal, Weak<BufferOwner>>>,
    count: AtomicUsize,
}

/// A principal with replay buffers. Each of them holds a reference to it.
pub(crate) struct BufferOwner {
    principal: Principal,
    all: Arc<BufferOwners>,
}

impl BufferOwners {
    pub(crate) fn enter(self: &Arc<Self>, principal: &Principal) -> Arc<BufferOwner> {
        let mut of = lock(&self.of);
        if let Some(owner) = of.get(principal).and_then(Weak::upgrade) {
            return owner;
        }
        let owner = Arc::new(BufferOwner { principal: principal.clone(), all: Arc::clone(self) });
        of.insert(principal.clone(), Arc::downgrade(&owner));
        self.count.store(of.len(), Ordering::Relaxed);
        owner
    }
}

impl BufferOwner {
    /// Returns the owner of a buffer that shares its bytes with no other.
    pub(crate) fn alone() -> Arc<Self> {
        Arc::new(BufferOwners::default()).enter(&"".into())
    }

    /// Returns the part of `total` that one buffer of the principal may use.
    pub(crate) fn part_of(self: &Arc<Self>, total: usize) -> usize {
        total / self.all.count.load(Ordering::Relaxed).max(1) / Arc::strong_count(self)
    }
}

impl Drop for BufferOwner {
    fn drop(&mut self) {
        let mut of = lock(&self.all.of);
        if let Entry::Occupied(owner) = of.entry(self.principal.clone())
            // Otherwise the principal has a new buffer already.
            && owner.get().strong_count() == 0
        {
            owner.remove();
        }
        self.all.count.store(of.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_takes_no_permit_of_another() {
        let shares = Shares::default();
        let held: Vec<_> = (0..9).filter_map(|_| shares.acquire("greedy", 3)).collect();
        assert_eq!(held.len(), 3);
        assert!(shares.acquire("other", 3).is_some());
        drop(held);
        assert!(shares.acquire("greedy", 1).is_some());
        assert!(lock(&shares.0).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn one_principal_takes_no_place_of_another() {
        let queue = Queue::new(3, 2);
        let [greedy, other] = ["greedy", "other"].map(Principal::from);
        let held = [queue.enter(&greedy).await, queue.enter(&greedy).await];
        assert!(held.iter().all(Option::is_some));
        assert!(queue.enter(&greedy).await.is_none(), "it waited in vain");
        let place = queue.enter(&other).await;
        assert!(place.is_some());
        assert!(queue.enter(&"third".into()).await.is_none(), "all places are taken");
        drop(held);
        assert!(queue.enter(&"third".into()).await.is_some());
        drop(place);
        assert_eq!(queue.all.available_permits(), 3);
        drop(queue.enter(&"last".into()).await);
        assert_eq!(lock(&queue.of).len(), 1);
    }

    #[test]
    fn one_principal_takes_no_bytes_of_another() {
        const KB: usize = 1024;
        let shares = ByteShares::new(1000 * KB);
        let [greedy, other] = ["greedy", "other"].map(Principal::from);
        // A chat that is longer than the principal's part can still be loaded, alone.
        let long = shares.acquire(&greedy, 800 * KB);
        assert!(long.is_some() && shares.acquire(&greedy, 100 * KB).is_none());
        let held = shares.acquire(&other, 200 * KB);
        assert!(held.is_some() && shares.acquire(&"third".into(), 100 * KB).is_none());
        assert!(shares.acquire(&"third".into(), 64 * KB).is_some(), "a short one");
        drop((long, held));
        assert!(lock(&shares.held).is_empty());
        let held: Vec<_> = (0..9).map_while(|_| shares.acquire(&greedy, 100 * KB)).collect();
        assert_eq!(held.len(), 2);
        assert!(shares.acquire(&other, 2000 * KB).is_none());
        drop(held);
        assert!(shares.acquire(&other, 2000 * KB).is_some(), "alone");
    }

    #[test]
    fn one_principal_takes_no_buffer_space_of_another() {
        let owners = Arc::new(BufferOwners::default());
        let greedy: Vec<_> = (0..99).map(|_| owners.enter(&"greedy".into())).collect();
        let other = owners.enter(&"other".into());
        assert_eq!((greedy[0].part_of(9900), other.part_of(9900)), (50, 4950));
        drop(greedy);
        assert_eq!(other.part_of(9900), 9900);
        drop(other);
        assert!(lock(&owners.of).is_empty());
    }
}
