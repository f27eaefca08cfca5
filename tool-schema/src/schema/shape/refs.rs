//! The treatment of references and of combined schemas.

/// The treatment of references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refs {
    /// References stay, even cyclic ones. A target replaces a reference with constraints beside it, or with notes and no cycle.
    Keep,
    /// References stay if they have no siblings and no cycle. A cycle ends after one turn with an inexpressible placeholder.
    KeepAcyclic,
    /// Targets replace their references. A cycle ends after two turns.
    Inline,
    /// Targets without a cycle, with at most so many schemas in place of all their references, replace their references. Other
    /// references stay.
    InlineSmall(usize),
}

/// The treatment of keywords that a shape cannot hold beside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combining {
    /// Conditions such as `anyOf: [{required: [a]}, …]` are left out. Each branch of another union gets all that stands beside
    /// the union. A schema without `type` gets the kinds that its keywords constrain.
    Typed,
    /// Each branch of a union gets all that stands beside the union. A schema without `type` accepts other kinds of values.
    Complete,
    /// As `Complete`, but a union with constraints beside it, and constraints beside a reference, are left out. So the work is
    /// linear.
    Linear,
}

impl Refs {
    /// Returns whether a reference stays. `size` is the number of schemas of its target with all references replaced.
    pub fn stays(self, is_cyclic: bool, has_no_notes: bool, size: impl FnOnce() -> usize) -> bool {
        match self {
            Self::Keep => has_no_notes || is_cyclic,
            Self::KeepAcyclic => has_no_notes && !is_cyclic,
            Self::Inline => false,
            Self::InlineSmall(max) => is_cyclic || size() > max,
        }
    }

    /// Returns whether a reference inside its own target stays.
    pub fn keeps_cycles(self) -> bool {
        matches!(self, Self::Keep | Self::InlineSmall(_))
    }
}
