//! JSON Schemas of inputs and outputs: one neutral schema per type, lowered to what each reader accepts.
//!
//! The neutral schema is JSON Schema 2020-12 as schemars makes it, made exact ([`Schema::from_schemars`]): it accepts
//! what our decoder accepts. [`Schema::lowered`] gives the form for one [`Dialect`], with a list of what that form cannot
//! say; what lowering lost is still checked by the decoder.
//!
//! How a schema is lowered: the two whole dialects are rewritten keyword by keyword (`lower::rewrite`). The subsets of
//! the providers are so small that a schema is first read into what it says about each kind of value (`shape`: `$ref`
//! resolved, `allOf` merged, unions spread out), which a writer driven by a table of [what the provider takes](Dialect)
//! then writes down (`lower::write`).

pub mod answer;
mod data;
mod dialect;
mod draft;
mod exact;
mod explain;
mod format;
mod graph;
mod judge;
mod lower;
mod pattern;
pub mod places;
pub mod pointer;
mod raise;
mod shape;
#[cfg(test)]
mod testing;
mod validator;

use std::sync::OnceLock;

use serde_json::Value;

pub use data::canonical;
pub use dialect::{Dialect, Loss, Lowered, Severity};
pub use exact::needs_check;
pub use places::without_texts;
pub use validator::{Uncompilable, Validator};

/// A JSON Schema and its lowered forms, each made once, when it is first asked for.
#[derive(Debug)]
pub struct Schema {
    neutral: Value,
    lowered: [OnceLock<Lowered>; Dialect::ALL.len()],
    needs_feature: OnceLock<Option<Uncompilable>>,
}

impl Schema {
    /// Returns a schema as it is: 2020-12, or (for tools defined at run time) whatever its `$schema` says.
    pub fn new(neutral: Value) -> Self {
        Self { neutral, lowered: Default::default(), needs_feature: OnceLock::new() }
    }

    /// Returns the schema that schemars made from a type, exact and quiet: it accepts what serde's decoding of that type
    /// accepts, and says no more than a model needs. Takes a `schemars::Schema` or its JSON.
    ///
    /// - Integers get the `minimum` and `maximum` of their type (tighter ones stay), and the formats `int32`, `uint8`,
    ///   `double`, … go: they say nothing to a model.
    /// - `$schema` goes, and so does a `title` that repeats the type's name.
    /// - An enumeration of documented constants becomes one `enum`, its documentation a list in the description;
    ///   `anyOf` of a plain type and null becomes a list of types; a wrapper of one `allOf` is removed; a struct
    ///   without fields gets empty `properties`, which tells it from a free-form object.
    /// - `$defs`, descriptions, `default` and `examples` stay.
    ///
    /// JSON Schema cannot express all of it: it calls `5.0` an integer, serde does not.
    ///
    /// ```
    /// # use tool_schema::schema::Schema;
    /// let schema = Schema::from_schemars(schemars::schema_for!(Option<u8>));
    /// assert_eq!(*schema.neutral(), serde_json::json!({"type": ["integer", "null"], "minimum": 0, "maximum": 255}));
    /// ```
    pub fn from_schemars(schema: impl Into<Value>) -> Self {
        Self::new(exact::exact(schema.into()))
    }

    /// Returns the neutral schema.
    pub fn neutral(&self) -> &Value {
        &self.neutral
    }

    /// Returns why the schema cannot be compiled without the feature `jsonschema`, as [`Validator::needs_feature`] says.
    pub fn needs_feature(&self) -> Option<&Uncompilable> {
        self.needs_feature.get_or_init(|| Validator::needs_feature(&self.neutral)).as_ref()
    }

    /// Returns the schema in the form that `dialect` accepts, and what that form could not express.
    pub fn lowered(&self, dialect: Dialect) -> &Lowered {
        self.lowered[dialect as usize].get_or_init(|| lower::lower(&self.neutral, dialect))
    }
}
