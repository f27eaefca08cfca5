//! JSON Schemas of inputs and outputs: one neutral schema per type, lowered to the form that each client or provider accepts.
//!
//! The neutral schema is JSON Schema 2020-12 from schemars, made exact ([`Schema::from_schemars`]): it accepts the values that
//! serde decodes. [`Schema::lowered`] returns the form for one [`Dialect`], with a list of the constraints that the dialect
//! cannot express. The decoder of the arguments still checks these constraints.
//!
//! For the two complete dialects, `lower::rewrite` changes a schema of another draft keyword by keyword. The subsets of the
//! providers are small. For these, `shape` first reads the constraints of each kind of value: it resolves `$ref`, merges
//! `allOf` and expands unions. Then `lower::write` writes them by a table of the provider's features (`lower::rules`).

pub mod answer;
mod close;
mod compiled;
mod data;
mod dialect;
mod draft;
mod evaluate;
mod explain;
mod format;
mod from_schemars;
mod graph;
mod invalid;
mod keywords;
#[cfg(any(test, feature = "jsonschema"))]
mod library;
mod losses;
mod lost_limits;
mod lower;
mod number_keys;
mod pattern;
pub mod places;
pub mod pointer;
mod raise;
mod reading;
mod sample;
mod shape;
#[cfg(test)]
mod testing;

use std::sync::OnceLock;

use serde_json::Value;

pub use close::close_objects;
pub use compiled::{CompiledSchema, error::CompileError};
pub use data::canonical_value;
pub use dialect::{Dialect, LoweredSchema};
pub use invalid::{InvalidKeyword, remove_invalid_keywords};
pub use losses::{Loss, Severity};
pub use lost_limits::restore_limits;
pub use number_keys::{Key, mark_number_keys};
pub use pattern::Pattern;
pub use places::without_texts;
pub use reading::{ReadText, read_values};
pub use sample::{NearMiss, Sampler, near_misses};

/// A JSON Schema and its lowered forms. Each form is created at its first use.
#[derive(Debug)]
pub struct Schema {
    neutral: Value,
    /// Set for the schema of a declared type.
    is_declared: bool,
    /// The schema as earlier versions of this crate made it, if it differs.
    earlier: Option<Value>,
    /// The keywords that were removed from the schema.
    removed: Vec<InvalidKeyword>,
    lowered: [OnceLock<LoweredSchema>; Dialect::ALL.len()],
    needs_feature: OnceLock<Option<CompileError>>,
}

impl Schema {
    /// Creates a schema from `neutral`, without changes. `$schema` names its draft; the default is 2020-12.
    pub fn new(neutral: Value) -> Self {
        Self {
            neutral,
            is_declared: false,
            earlier: None,
            removed: Vec::new(),
            lowered: Default::default(),
            needs_feature: OnceLock::new(),
        }
    }

    /// Creates an exact schema from the schema that schemars made of a type. The exact schema accepts the values that serde
    /// decodes as that type, and contains only what a model needs. The argument is a `schemars::Schema` or its JSON.
    ///
    /// - Integers get the `minimum` and `maximum` of their type (tighter ones stay). The formats `int32`, `uint8`, `double`, …
    ///   are removed, because they do not help a model.
    /// - `$schema` is removed. So are a root `title` of letters, digits and `_`, and a definition's `title` that is its name.
    /// - A union of documented string constants becomes one `enum`. Their documentation becomes a list in the description.
    /// - `anyOf` of a plain type and null becomes a list of types.
    /// - A wrapper of one schema (`allOf`, `anyOf` or `oneOf`) is removed.
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
        Self { is_declared: true, ..Self::new(from_schemars::make_exact(schema.into())) }
    }

    /// Sets the form that earlier versions of this crate gave to the schema of a declared type: `schema` as schemars made it.
    /// Stored runs identify tools by it.
    #[doc(hidden)]
    pub fn with_earlier(mut self, schema: Value) -> Self {
        self.earlier = Some(from_schemars::make_exact(schema)).filter(|earlier| *earlier != self.neutral);
        self
    }

    /// Returns the form that earlier versions of this crate gave to the schema, if it differs.
    #[doc(hidden)]
    pub fn earlier(&self) -> Option<&Value> {
        self.earlier.as_ref()
    }

    /// Sets the keywords that were removed from the schema, because they are invalid.
    #[doc(hidden)]
    pub fn with_removed(mut self, removed: Vec<InvalidKeyword>) -> Self {
        self.removed = removed;
        self
    }

    /// Returns the keywords that were removed from the schema.
    #[doc(hidden)]
    pub fn removed(&self) -> &[InvalidKeyword] {
        &self.removed
    }

    /// Returns whether this is the schema of a declared type.
    #[doc(hidden)]
    pub fn is_declared(&self) -> bool {
        self.is_declared
    }

    /// Returns the neutral schema.
    pub fn neutral(&self) -> &Value {
        &self.neutral
    }

    /// Returns the schema in [`Dialect::JsonSchema2020`] with a root of one object, for clients that take no other root or pass it on
    /// to a provider. Returns `None` if its root is an object without a union.
    ///
    /// - A union of objects becomes one with the properties of all branches. Its description says which of them belong together.
    ///   Nothing but the root changes.
    /// - If some arguments are no objects, the result is the schema in [`Dialect::Portable`], which
    ///   [wraps](LoweredSchema::wraps) them.
    pub fn with_one_object(&self) -> Option<Value> {
        lower::one_object(self)
    }

    /// Returns the reason why the schema cannot be compiled without the feature `jsonschema`, if there is one (see
    /// [`CompiledSchema::needs_feature`]).
    pub fn needs_feature(&self) -> Option<&CompileError> {
        self.needs_feature.get_or_init(|| CompiledSchema::needs_feature(&self.neutral)).as_ref()
    }

    /// Returns the schema in the form that `dialect` accepts, with the losses.
    pub fn lowered(&self, dialect: Dialect) -> &LoweredSchema {
        self.lowered[dialect as usize].get_or_init(|| lower::lower(&self.neutral, dialect, self.is_declared))
    }
}
