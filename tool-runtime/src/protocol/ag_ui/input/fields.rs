//! The members of an object of a stranger.

use serde_json::{Map, Value};

use super::Malformed;
use crate::feedback;

/// An object, whose members are taken out of it one by one.
pub(super) struct Fields<'a> {
    path: &'a str,
    members: Map<String, Value>,
}

impl<'a> Fields<'a> {
    /// Fails when `value`, which stands at `path`, is no object.
    pub(super) fn of(value: Value, path: &'a str) -> Result<Self, Malformed> {
        match value {
            Value::Object(members) => Ok(Self { path, members }),
            other => Err(Malformed::new(path, "an object").got(&other)),
        }
    }

    /// A member that may be missing, or be `null`.
    pub(super) fn any(&mut self, name: &str) -> Option<Value> {
        self.members.remove(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&mut self, name: &str) -> Result<String, Malformed> {
        self.maybe_text(name)?.ok_or_else(|| Malformed::new(self.at(name), "a text"))
    }

    pub(super) fn maybe_text(&mut self, name: &str) -> Result<Option<String>, Malformed> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(Malformed::new(self.at(name), "a text").got(&other)),
        }
    }

    pub(super) fn object(&mut self, name: &str) -> Result<Option<Map<String, Value>>, Malformed> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object)),
            Some(other) => Err(Malformed::new(self.at(name), "an object").got(&other)),
        }
    }

    /// The items of a list, each with its place.
    pub(super) fn list(&mut self, name: &str) -> Result<Option<Vec<(String, Value)>>, Malformed> {
        let at = self.at(name);
        match self.any(name) {
            None => Ok(None),
            Some(Value::Array(items)) => {
                let place = |(number, item)| (format!("{at}[{number}]"), item);
                Ok(Some(items.into_iter().enumerate().map(place).collect()))
            }
            Some(other) => Err(Malformed::new(at, "a list").got(&other)),
        }
    }

    /// The items of a list, read; none where there is no list.
    pub(super) fn items<T>(
        &mut self,
        name: &str,
        read: fn(Fields<'_>) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let items = self.list(name)?.unwrap_or_default();
        items.into_iter().map(|(path, value)| read(Fields::of(value, &path)?)).collect()
    }

    /// The place of a member.
    pub(super) fn at(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// The names of the members that nobody took.
    pub(super) fn unknown(&self) -> impl Iterator<Item = String> {
        self.members.keys().map(|name| feedback::name(name))
    }
}
