//! Assertions about every item, of which there must be some.

/// Adds [`all_and_some`](Self::all_and_some) to iterators.
pub trait AllAndSome: Iterator + Sized {
    /// Returns `true` if there is an item, and `holds` is true of each: `all` alone is true of nothing.
    fn all_and_some(mut self, mut holds: impl FnMut(Self::Item) -> bool) -> bool {
        self.next().is_some_and(&mut holds) && self.all(holds)
    }
}

impl<I: Iterator> AllAndSome for I {}
