//! Finding a call of a run by its id.

use super::{Call, CallId, Run};

impl Run {
    /// The call with this id.
    pub fn call(&self, id: &CallId) -> Option<&Call> {
        self.calls.get(self.place(id)?)
    }

    /// The same, for calls that are asked for in their order: `last` is where the last of them was.
    #[cfg(feature = "agent")]
    pub(crate) fn call_behind(&self, last: &mut usize, id: &CallId) -> Option<&Call> {
        let at = self.place_near(id, *last)?;
        *last = at;
        self.calls.get(at)
    }

    /// Where in [`Run::calls`] it is.
    pub(super) fn place(&self, id: &CallId) -> Option<usize> {
        self.place_near(id, self.recent as usize)
    }

    /// Most of what happens, happens several times to one call, and then to the one behind it: these two are tried before
    /// the id is hashed.
    fn place_near(&self, id: &CallId, near: usize) -> Option<usize> {
        let is_it = |at: usize| self.calls.get(at).is_some_and(|call| call.id.is(id));
        let next = near.saturating_add(1);
        if is_it(near) {
            Some(near)
        } else if is_it(next) {
            Some(next)
        } else {
            Some(*self.index.get(id)? as usize)
        }
    }
}
