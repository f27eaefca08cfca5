//! A tool that behaves like tool2agent's `toolBuilder`, including its weak points: it must return the recorded text exactly.
//!
//! The validators run one after the other, in an order that `requires` and the names determine. Each receives its requirements,
//! all static and unknown parameters, and everything accepted before it. Its result is returned unchanged, but without a
//! `normalizedValue` that equals the given value. If one result has `"valid": false`, the answer has all results; otherwise the
//! handler answers. A validator that fails ends the call with its failure.
//!
//! Our own tools, `DynamicTool` and those with `#[dynamic]`, differ on purpose:
//!
//! | name | tool2agent | our own tools |
//! |---|---|---|
//! | `names-at-build` | an unknown name in `requires` makes every call fail | the tool cannot be built, because no call of it could
//! succeed |
//! | `static-name` | a static name in `requires` makes every call fail | the validator waits until the static value fits the schema |
//! | `repeated-name` | a name that is twice in `requires` is reported twice | the tool cannot be built |
//! | `cycle-words` | a cycle is written without its end, `a -> b` | written as `a` -> `b` -> `a`; it also counts `after` |
//! | `no-validator` | a dynamic parameter without a validator is static | the tool cannot be built; a declared one does not compile |
//! | `nonsense` | a result without `valid`, without reasons or with two lists of values is returned | the types exclude it |
//! | `no-value` | a parameter accepted without a value: the handler runs without it, and dependents wait forever | accepting
//! requires a value |
//! | `order-of-keys` | the keys of a result come as the validator wrote them, the arguments as they were validated | one order for all results; arguments stay in the order in which they were given |
//! | `unknown-name` | is passed to contexts and handler | is a problem, unless the schema allows other names |
//! | `schema` | nothing is checked against the schema | a value that does not fit is its parameter's problem; a validator may accept `null`, and nothing else, against the schema |
//! | `failure` | a validator that fails ends the call, and later ones are not called | it refuses its parameter, and does not show the cause |
//! | `context` | shows everything accepted before, which depends on the names | shows the parameters in `requires`, `after` and
//! `hints` |
//! | `inherited-name` | `toString` counts as present | is an ordinary name |
//! | `tie` | equal ranks come in the order of a dictionary of English | in that of their bytes, which is the same for small letters |
//! | `notices` | remarks about accepted parameters are lost if all are accepted | a text after the output has the remarks and the
//! normalized values |
//!
//! Also, our own tools call validators that do not depend on each other at the same time, and can check arguments as a whole.

mod javascript;
mod rules;

use std::sync::Arc;

pub(crate) use rules::{context, cycles, order};
use serde_json::{Map, Value, json};
use tool_runtime::schema::Schema;
use tool_runtime::tool::{AcceptedCall, ErasedTool, PrepareFuture};
use tool_runtime::{CallError, Context, Failure, Output, ToolSpec};

/// The failure of a call whose validators cannot be put in an order.
pub(crate) const NO_ORDER: &str = "Cycle detected or missing nodes during toposort";

type Validator = dyn Fn(Option<Value>, Map<String, Value>) -> Result<Value, Failure> + Send + Sync;
type Handler = dyn Fn(Complete) -> Result<Value, Failure> + Send + Sync;

/// A tool that behaves like tool2agent's `toolBuilder`: see the [module](self).
pub(crate) struct CompatTool {
    spec: Arc<ToolSpec>,
    fields: Vec<CompatField>,
    /// The order in which the fields are validated, if there is one.
    order: Option<Vec<usize>>,
    handler: Box<Handler>,
}

/// A dynamic parameter of a [`CompatTool`].
pub(crate) struct CompatField {
    pub(crate) name: String,
    /// The dynamic parameters that must be valid before this one is judged.
    pub(crate) requires: Vec<String>,
    /// Returns an entry of `validationResults`, given the value, if there is one, and the context.
    pub(crate) validator: Box<Validator>,
}

/// A call of a [`CompatTool`] that no validator refused.
pub(crate) struct Complete {
    /// The static and unknown parameters as they were given, then the accepted values in the order of validation.
    pub(crate) arguments: Map<String, Value>,
    /// The parameters that were accepted without a value.
    pub(crate) absent: Vec<String>,
}

impl CompatTool {
    /// Creates a tool whose answer is the return value of `handler`, unchanged.
    ///
    /// Fails with tool2agent's text if parameters wait for each other. If one requires an unknown or static parameter, every call
    /// fails.
    pub(crate) fn new(
        name: &str,
        mut fields: Vec<CompatField>,
        handler: impl Fn(Complete) -> Result<Value, Failure> + Send + Sync + 'static,
    ) -> Result<Self, String> {
        fields.sort_by_key(|field| javascript::key_rank(&field.name));
        let graph: Vec<(&str, &[String])> = fields.iter().map(|field| (&*field.name, &*field.requires)).collect();
        let cycles: Vec<String> = cycles(&graph).iter().map(|cycle| cycle.join(" -> ")).collect();
        if !cycles.is_empty() {
            return Err(format!("Cycle detected in requires graph: {}", cycles.join("; ")));
        }
        let order = order(&graph);
        let spec = Arc::new(ToolSpec::new(name, "A tool.", Schema::new(json!({ "type": "object" }))));
        Ok(Self { spec, fields, order, handler: Box::new(handler) })
    }

    fn answer(&self, text: &str) -> Result<Output, CallError> {
        let given = javascript::read_arguments(text)?;
        let Some(order) = &self.order else { return Err(Failure::new(NO_ORDER).into()) };
        let is_dynamic = |name: &str| self.fields.iter().any(|field| field.name == name);
        let mut absent = Vec::new();
        let mut valid: Map<String, Value> = given.clone();
        valid.retain(|name, _| !is_dynamic(name));
        let mut results = Map::new();
        for CompatField { name, requires, validator } in order.iter().map(|field| &self.fields[*field]) {
            let result = match context(name, requires, &valid, is_dynamic) {
                Err(missing) => json!({ "valid": false, "requiresValidParameters": missing }),
                Ok(context) => {
                    let value = given.get(name);
                    let mut result = validator(value.cloned(), context)?;
                    javascript::check_properties(&result)?;
                    let normalized = result.get("normalizedValue");
                    if value.zip(normalized).is_some_and(|(value, normalized)| javascript::equal(value, normalized)) {
                        result.as_object_mut().and_then(|result| result.shift_remove("normalizedValue"));
                    }
                    if javascript::is_true(&result["valid"]) {
                        match result.get("normalizedValue").or(value) {
                            Some(value) => drop(valid.insert(name.clone(), value.clone())),
                            None => absent.push(name.clone()),
                        }
                    }
                    result
                }
            };
            results.insert(name.clone(), result);
        }
        if results.values().any(|result| result["valid"] == Value::Bool(false)) {
            let results = javascript::ordered(results);
            return Ok(Output::json(&json!({ "ok": false, "validationResults": results }))?);
        }
        let answer = (self.handler)(Complete { arguments: javascript::ordered(valid), absent })?;
        Ok(Output::json(&answer)?)
    }
}

impl ErasedTool for CompatTool {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn prepare<'a>(&'a self, arguments: &'a str, _: &'a Context) -> PrepareFuture<'a> {
        PrepareFuture::read(Ok(AcceptedCall::new(false, Box::pin(async move { self.answer(arguments) }))))
    }

    fn read_external_output(&self, _: &str) -> Result<Output, CallError> {
        Err(CallError::NotExecuted)
    }
}
