//! How dynamic parameters depend on each other.

/// A dynamic parameter among the others. The nodes of a tool stand in the order in which their validators are asked, and
/// what they say is told.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// Which of the tool's parameters it is.
    pub field: usize,
    /// The parameters that must be accepted before the validator is asked.
    pub requires: &'static [usize],
    /// The parameters that are judged before, whatever comes of it.
    pub after: &'static [usize],
}
