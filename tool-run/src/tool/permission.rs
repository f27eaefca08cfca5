//! The permission that tools and policies give a call.

/// The permission of a call. The later, the stricter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// It may run.
    Allow,
    /// A person must approve it.
    Ask,
    /// It must not run.
    Deny {
        /// Why; the model is told.
        reason: Option<String>,
    },
}

impl Permission {
    /// A denial with a reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: Some(reason.into()) }
    }

    /// The stricter of the two. Policies are combined this way, so that none can weaken another.
    pub fn and(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::Deny { .. }, _) | (_, Self::Allow) => self,
            _ => other,
        }
    }
}
