//! Assertions about all items of a list that must not be empty.

/// Adds [`all_and_some`](Self::all_and_some) to iterators.
pub trait AllAndSome: Iterator + Sized {
    /// Returns whether `holds` is true for all items, and there is at least one. `all` is also true for no items.
    fn all_and_some(mut self, mut holds: impl FnMut(Self::Item) -> bool) -> bool {
        self.next().is_some_and(&mut holds) && self.all(holds)
    }
}

impl<I: Iterator> AllAndSome for I {}
