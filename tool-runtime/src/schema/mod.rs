//! JSON Schemas of inputs and outputs: one neutral schema per type, lowered to what each reader accepts.
//!
//! The neutral schema is JSON Schema 2020-12 as schemars makes it, made exact ([`Schema::from_schemars`]): it accepts
//! what our decoder accepts. [`Schema::lowered`] gives the form for one [`Dialect`], with a list of what that form cannot
//! say; what lowering lost is still checked by the decoder.

mod dialect;
mod lowered;
mod validator;

use std::sync::OnceLock;

use serde_json::Value;

pub use dialect::Dialect;
pub use lowered::{Loss, Lowered};
pub use validator::{Uncompilable, Validator};

/// A JSON Schema and its lowered forms, each made once, when it is first asked for.
#[derive(Debug)]
pub struct Schema {
    neutral: Value,
    lowered: [OnceLock<Lowered>; Dialect::ALL.len()],
}

impl Schema {
    /// A schema as it is: 2020-12, or (for tools defined at run time) whatever its `$schema` says.
    pub fn new(neutral: Value) -> Self {
        Self { neutral, lowered: Default::default() }
    }

    /// The neutral schema.
    pub fn neutral(&self) -> &Value {
        &self.neutral
    }

    /// The schema in the form that `dialect` accepts, and what that form could not express.
    pub fn lowered(&self, dialect: Dialect) -> &Lowered {
        self.lowered[dialect as usize].get_or_init(|| Lowered::new(&self.neutral, dialect))
    }
}

impl Schema {
    /// stub
    pub fn from_schemars(value: Value) -> Self {
        Self::new(value)
    }
}

/// stub
pub fn needs_check(_schema: &Value) -> bool {
    false
}
