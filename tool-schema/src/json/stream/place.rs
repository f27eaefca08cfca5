//! Values in their places: the current child of an open container.

use serde_json::{Value, map::Entry};

use super::change::Level;

impl Level {
    /// The current child of the container `at`.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "two calls more are a sixth of what a short piece of a text costs")]
    pub(super) fn child<'a>(&self, at: &'a mut Value) -> &'a mut Value {
        let child = match at {
            Value::Array(list) => list.last_mut(),
            Value::Object(map) => {
                if self.again {
                    map.get_mut(&self.name)
                } else {
                    // What was put in last stands last, and finding it there takes no hash of its name.
                    map.values_mut().next_back()
                }
            }
            _ => None,
        };
        child.expect("an open container has a current child once a value was begun in it")
    }

    /// Puts `value` in the container `at`: as its next child or, `instead` of what is there, as its current one.
    #[inline]
    pub(super) fn put<'a>(&mut self, at: &'a mut Value, value: Value, instead: bool) -> &'a mut Value {
        if instead {
            let child = self.child(at);
            *child = value;
            return child;
        }
        match at {
            Value::Object(map) => match map.entry(self.name.as_str()) {
                Entry::Vacant(entry) => {
                    self.again = false;
                    entry.insert(value)
                }
                Entry::Occupied(entry) => {
                    self.again = true;
                    let child = entry.into_mut();
                    *child = value;
                    child
                }
            },
            _ => {
                let Value::Array(list) = &mut *at else { unreachable!("only containers are open") };
                self.item = Some(list.len());
                list.push(value);
                self.child(at)
            }
        }
    }
}
