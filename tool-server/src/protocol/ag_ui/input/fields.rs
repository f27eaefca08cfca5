//! The members of an object of a client.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, value::RawValue};

use super::Malformed;
use crate::protocol::members::{self, Members};
use tool_runtime::feedback;

/// An object whose members are removed one by one.
pub(super) struct Fields<'a, 'p> {
    path: &'p str,
    members: Members<'a>,
}

impl<'a, 'p> Fields<'a, 'p> {
    /// The whole input.
    pub(super) fn whole(members: Members<'a>) -> Self {
        Self { path: "", members }
    }

    /// Fails when `value`, which stands at `path`, is no object.
    pub(super) fn of(value: &'a RawValue, path: &'p str) -> Result<Self, Malformed> {
        match Members::of(value) {
            Some(members) => Ok(Self { path, members }),
            None => Err(Malformed::new(path, "an object").got(value)),
        }
    }

    /// The JSON text of a member; `None` where it is missing or `null`.
    pub(super) fn raw(&mut self, name: &str) -> Option<&'a RawValue> {
        self.members.take(name).filter(|value| !members::is(value, b'n'))
    }

    /// A member that may be missing.
    ///
    /// Fails when it is nested too deep, or is no `T`.
    pub(super) fn any<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, Malformed> {
        let Some(value) = self.raw(name) else { return Ok(None) };
        let read = serde_json::from_str(value.get());
        read.map(Some).map_err(|error| Malformed::new(self.at(name), format!("JSON that can be read ({error})")))
    }

    pub(super) fn text(&mut self, name: &str) -> Result<String, Malformed> {
        self.maybe_text(name)?.ok_or_else(|| Malformed::new(self.at(name), "a text"))
    }

    pub(super) fn maybe_text(&mut self, name: &str) -> Result<Option<String>, Malformed> {
        let Some(value) = self.raw(name) else { return Ok(None) };
        match members::text(value) {
            Some(text) => Ok(Some(text)),
            None => Err(Malformed::new(self.at(name), "a text").got(value)),
        }
    }

    pub(super) fn object(&mut self, name: &str) -> Result<Option<Map<String, Value>>, Malformed> {
        let Some(value) = self.raw_object(name)? else { return Ok(None) };
        let read = serde_json::from_str(value.get());
        read.map(Some).map_err(|error| Malformed::new(self.at(name), format!("JSON that can be read ({error})")))
    }

    /// The JSON text of a member that is an object, however deep it is nested.
    pub(super) fn raw_object(&mut self, name: &str) -> Result<Option<&'a RawValue>, Malformed> {
        match self.raw(name) {
            Some(value) if !members::is(value, b'{') => Err(Malformed::new(self.at(name), "an object").got(value)),
            value => Ok(value),
        }
    }

    /// The items of a list, each with its place.
    pub(super) fn list(&mut self, name: &str) -> Result<Option<Vec<(String, &'a RawValue)>>, Malformed> {
        let Some(value) = self.raw(name) else { return Ok(None) };
        let at = self.at(name);
        match members::list(value) {
            Some(items) => {
                let place = |(number, item)| (format!("{at}[{number}]"), item);
                Ok(Some(items.into_iter().enumerate().map(place).collect()))
            }
            None => Err(Malformed::new(at, "a list").got(value)),
        }
    }

    /// The items of a list, read; none where there is no list.
    pub(super) fn items<T>(
        &mut self,
        name: &str,
        read: fn(Fields<'_, '_>) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let items = self.list(name)?.unwrap_or_default();
        items.into_iter().map(|(path, value)| read(Fields::of(value, &path)?)).collect()
    }

    /// The place of a member.
    pub(super) fn at(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// The names of the members that are left.
    pub(super) fn unknown(&self) -> impl Iterator<Item = String> {
        self.members.names().map(feedback::name)
    }
}
