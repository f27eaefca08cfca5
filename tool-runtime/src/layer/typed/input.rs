//! Other parameters.

use std::{borrow::Cow, marker::PhantomData, sync::Arc};

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::feedback::Rejection;
use crate::schema::{Schema, Validator};
use crate::tool::{CallError, Failure, ToolSpec, read_as};
use crate::toolset::{Invocation, Layer};

pub(super) struct MapInput<F, B, New> {
    into: F,
    back: B,
    schema: Arc<Schema>,
    /// `None` if a type's own schema cannot be compiled; then only its decoder checks.
    validator: Option<Validator>,
    of: PhantomData<fn() -> New>,
}

impl<F, B: Fn(&str) -> Option<String>, New: JsonSchema> MapInput<F, B, New> {
    pub(super) fn new(into: F, back: B) -> Self {
        let mut schema = Value::from(SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<New>());
        if let Some(schema) = schema.as_object_mut() {
            let is_closed =
                ["additionalProperties", "allOf", "anyOf", "oneOf", "$ref"].iter().any(|key| schema.contains_key(*key));
            // Providers want to hear that arguments are an object, and a name that is unknown is told.
            schema.entry("type").or_insert_with(|| "object".into());
            if schema.contains_key("properties") && !is_closed {
                schema.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
        }
        let schema = Arc::new(Schema::from_schemars(schema));
        let validator = Validator::compile(schema.neutral()).ok();
        Self { into, back, schema, validator, of: PhantomData }
    }
}

impl<New, Old, F, B> Layer for MapInput<F, B, New>
where
    New: DeserializeOwned + 'static,
    Old: Serialize,
    F: Fn(New) -> Result<Old, Rejection> + Send + Sync + 'static,
    B: Fn(&str) -> Option<String> + Send + Sync + 'static,
{
    fn spec(&self, spec: &Arc<ToolSpec>) -> Arc<ToolSpec> {
        let mut spec = ToolSpec::clone(spec);
        spec.input = Arc::clone(&self.schema);
        spec.traits.unvalidated = self.validator.is_none();
        // They are of the parameters inside.
        spec.traits.examples.clear();
        Arc::new(spec)
    }

    fn arguments<'a>(&self, call: Invocation<'a>, _: &ToolSpec) -> Result<Cow<'a, str>, CallError> {
        let given: New = read_as(call.arguments, self.validator.as_ref())?;
        let meant = serde_json::to_string(&(self.into)(given)?);
        let unwritten = |error| Failure::hidden(format_args!("the arguments cannot be written as JSON: {error}"));
        Ok(Cow::Owned(meant.map_err(unwritten)?))
    }

    fn restore(&self, call: Invocation<'_>, meant: &str, changed: &str) -> Option<String> {
        (self.back)(changed).or_else(|| crate::toolset::carried_over(call.arguments, meant, changed))
    }
}
