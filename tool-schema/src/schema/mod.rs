//! JSON Schemas of inputs and outputs: one neutral schema per type, lowered to the form that each reader accepts.
//!
//! The neutral schema is JSON Schema 2020-12 from schemars, made exact ([`Schema::from_schemars`]): it accepts the values that
//! the decoder accepts. [`Schema::lowered`] returns the form for one [`Dialect`], with a list of the constraints that it cannot
//! express. The decoder still checks those constraints.
//!
//! For the two complete dialects, a schema is rewritten keyword by keyword (`lower::rewrite`). The subsets of the providers are
//! small. For them, the schema is first read into its constraints by kind of value (`shape`: `$ref` resolved, `allOf` merged,
//! unions expanded). A writer with a table of [the provider's features](Dialect) then writes these (`lower::write`).

pub mod answer;
mod compiled;
mod data;
mod dialect;
mod draft;
mod evaluate;
mod exact;
mod explain;
mod format;
mod graph;
mod lower;
mod pattern;
pub mod places;
pub mod pointer;
mod raise;
mod shape;
#[cfg(test)]
mod testing;

use std::sync::OnceLock;

use serde_json::Value;

pub use compiled::{CompileError, CompiledSchema};
pub use data::canonical_value;
pub use dialect::{Dialect, Loss, LoweredSchema, Severity};
pub use exact::needs_check;
pub use places::without_texts;

/// A JSON Schema and its lowered forms. Each form is created at its first use.
#[derive(Debug)]
pub struct Schema {
    neutral: Value,
    lowered: [OnceLock<LoweredSchema>; Dialect::ALL.len()],
    needs_feature: OnceLock<Option<CompileError>>,
}

impl Schema {
    /// Creates a schema without changes. Its draft is the one in its `$schema`, or 2020-12.
    pub fn new(neutral: Value) -> Self {
        Self { neutral, lowered: Default::default(), needs_feature: OnceLock::new() }
    }

    /// Creates an exact schema from the one that schemars made of a type. It accepts the values that serde's decoding of that
    /// type accepts, and contains only what a model needs. The argument is a `schemars::Schema` or its JSON.
    ///
    /// - Integers get the `minimum` and `maximum` of their type (tighter ones stay). The formats `int32`, `uint8`, `double`, …
    ///   are removed, because they do not help a model.
    /// - `$schema` is removed, and so is a `title` that repeats the type's name.
    /// - An enumeration of documented constants becomes one `enum`, its documentation a list in the description.
    /// - `anyOf` of a plain type and null becomes a list of types.
    /// - A wrapper of one `allOf` is removed.
    /// - A struct without fields gets empty `properties`, to distinguish it from a free-form object.
    /// - `$defs`, descriptions, `default` and `examples` stay.
    ///
    /// JSON Schema cannot express everything: `5.0` is an integer in JSON Schema, but not for serde.
    ///
    /// ```
    /// # use tool_schema::schema::Schema;
    /// let schema = Schema::from_schemars(schemars::schema_for!(Option<u8>));
    /// assert_eq!(*schema.neutral(), serde_json::json!({"type": ["integer", "null"], "minimum": 0, "maximum": 255}));
    /// ```
    pub fn from_schemars(schema: impl Into<Value>) -> Self {
        Self::new(exact::make_exact(schema.into()))
    }

    /// Returns the neutral schema.
    pub fn neutral(&self) -> &Value {
        &self.neutral
    }

    /// Returns the reason why the schema cannot be compiled without the feature `jsonschema`, if there is one (see
    /// [`CompiledSchema::needs_feature`]).
    pub fn needs_feature(&self) -> Option<&CompileError> {
        self.needs_feature.get_or_init(|| CompiledSchema::needs_feature(&self.neutral)).as_ref()
    }

    /// Returns the schema in the form that `dialect` accepts, with the losses.
    pub fn lowered(&self, dialect: Dialect) -> &LoweredSchema {
        self.lowered[dialect as usize].get_or_init(|| lower::lower(&self.neutral, dialect))
    }
}
