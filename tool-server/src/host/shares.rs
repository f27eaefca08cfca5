//! The shares of principals in resources that all of them use.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::Hash,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use tool_runtime::run::Principal;

use super::lock;

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
