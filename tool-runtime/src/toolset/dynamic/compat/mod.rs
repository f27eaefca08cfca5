#![doc = include_str!("../../../docs/compat.md")]

mod javascript;
mod rules;

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;
pub use rules::{context, cycles, order};
use serde_json::{Map, Value, json};

use super::{DynamicError, schema};
use crate::feedback::Rejection;
use crate::schema::Schema;
use crate::tool::{Approval, CallError, Context, DynTool, Failure, Output, Started, Starting, ToolSpec, TouchesOf};
use crate::toolset::RuntimeToolBuilder;

/// What a call is told whose validators cannot be put in an order.
pub const NO_ORDER: &str = "Cycle detected or missing nodes during toposort";

type Validator = dyn Fn(Option<Value>, Map<String, Value>) -> BoxFuture<'static, Result<Value, Failure>> + Send + Sync;
type Handler = dyn Fn(Complete) -> BoxFuture<'static, Result<Value, Failure>> + Send + Sync;

/// A tool that behaves as tool2agent's `toolBuilder` does. [`RuntimeToolBuilder::compat`] begins one; the
/// [module](self) says what is different.
pub struct CompatTool {
    spec: Arc<ToolSpec>,
    fields: Vec<CompatField>,
    /// The order in which the fields are asked, if there is one.
    order: Option<Vec<usize>>,
    touches: Option<TouchesOf>,
    handler: Box<Handler>,
}

/// A [`CompatTool`] that is not finished.
#[must_use = "finish it with `handler`"]
pub struct CompatToolBuilder {
    tool: RuntimeToolBuilder,
    fields: Vec<CompatField>,
}

/// A dynamic parameter of a [`CompatTool`]: what it requires, and its validator, which gets the value if it was given and
/// the context, and returns an entry of `validationResults` as it is told.
pub struct CompatField {
    name: String,
    requires: Vec<String>,
    validator: Box<Validator>,
}

/// A call of a [`CompatTool`] that no validator refused.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Complete {
    /// The static and unknown parameters as they were given, then the accepted values in the order of validation.
    pub arguments: Map<String, Value>,
    /// The parameters that were accepted without a value.
    pub absent: Vec<String>,
    /// The call.
    pub context: Context,
}

impl CompatField {
    /// The parameter called `name`, and its validator.
    pub fn new<F, R>(name: impl Into<String>, validate: F) -> Self
    where
        F: Fn(Option<Value>, Map<String, Value>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, Failure>> + Send + 'static,
    {
        let validator = Box::new(move |value, context| Box::pin(validate(value, context)) as BoxFuture<'static, _>);
        Self { name: name.into(), requires: Vec::new(), validator }
    }

    /// Says which dynamic parameters must be valid before this one is judged.
    pub fn requires<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.requires.extend(names.into_iter().map(Into::into));
        self
    }
}

impl CompatToolBuilder {
    pub(in crate::toolset) fn new(tool: RuntimeToolBuilder) -> Self {
        Self { tool, fields: Vec::new() }
    }

    /// Adds a dynamic parameter.
    pub fn field(mut self, field: CompatField) -> Self {
        self.fields.push(field);
        self
    }

    /// Finishes the tool. What the handler returns is the answer to the call, as it is.
    ///
    /// Fails when the name is none for a tool, a parameter was added twice, or parameters wait for each other. That one
    /// requires a parameter that is unknown or static, every call is told.
    pub fn handler<F, R>(mut self, handler: F) -> Result<CompatTool, CompatError>
    where
        F: Fn(Complete) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, Failure>> + Send + 'static,
    {
        let twice = |(index, field): &(usize, &CompatField)| {
            self.fields[..*index].iter().any(|earlier| earlier.name == field.name)
        };
        if let Some((_, field)) = self.fields.iter().enumerate().find(twice) {
            return Err(CompatError(DynamicError::Twice { name: field.name.clone() }));
        }
        self.fields.sort_by_key(|field| javascript::place(&field.name));
        let graph: Vec<(&str, &[String])> = self.fields.iter().map(|field| (&*field.name, &*field.requires)).collect();
        let cycles = cycles(&graph);
        if !cycles.is_empty() {
            return Err(CompatError(DynamicError::Cycle { cycles }));
        }
        let order = order(&graph);
        let complete = schema::complete(self.tool.take_input());
        let shown = schema::partial(&complete, self.fields.iter().map(|field| (&*field.name, None)));
        let touches = self.tool.touches.take();
        let spec = self.tool.spec(Schema::new(shown)).map_err(|error| CompatError(error.into()))?;
        let handler = Box::new(move |call| Box::pin(handler(call)) as BoxFuture<'static, _>);
        Ok(CompatTool { spec: Arc::new(spec), fields: self.fields, order, touches, handler })
    }
}

impl CompatTool {
    async fn settle<'a>(&'a self, text: &'a str, cx: &'a Context) -> Result<Started<'a>, CallError> {
        let given = javascript::arguments(text)?;
        let Some(order) = &self.order else { return Err(Failure::told(NO_ORDER).into()) };
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
                    let mut result = validator(value.cloned(), context).await?;
                    javascript::property(&result)?;
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
            return Err(Rejection::verbatim(json!({ "ok": false, "validationResults": results })).into());
        }
        let call = Complete { arguments: javascript::ordered(valid), absent, context: cx.clone() };
        let touches = self.touches.as_ref().and_then(|touches| touches.of(&Value::Object(call.arguments.clone())));
        let needs_approval = self.spec.traits.approval != Approval::Never;
        let work = Box::pin(async move { told((self.handler)(call).await?) });
        Ok(Started { touches, ..Started::new(needs_approval, work) })
    }
}

/// An answer as it is: a failure goes to the model as one.
fn told(answer: Value) -> Result<Output, CallError> {
    if answer["ok"] == Value::Bool(false) {
        return Err(CallError::Failed(Failure::from(Rejection::verbatim(answer))));
    }
    Ok(Output::json(&answer)?)
}

/// Why a [`CompatTool`] cannot be built; cycles in the words of tool2agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompatError(DynamicError);

impl fmt::Display for CompatError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DynamicError::Cycle { cycles } = &self.0 else { return self.0.fmt(out) };
        let cycles: Vec<String> = cycles.iter().map(|cycle| cycle.join(" -> ")).collect();
        write!(out, "Cycle detected in requires graph: {}", cycles.join("; "))
    }
}

impl std::error::Error for CompatError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

impl DynTool for CompatTool {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn start<'a>(&'a self, arguments: &'a str, cx: &'a Context) -> Starting<'a> {
        Starting::asking(self.settle(arguments, cx))
    }

    fn answer(&self, _: &str) -> Result<Output, CallError> {
        Err(CallError::NotExecuted)
    }
}

impl fmt::Debug for CompatField {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("CompatField")
            .field("name", &self.name)
            .field("requires", &self.requires)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for CompatToolBuilder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("CompatToolBuilder").field("tool", &self.tool).field("fields", &self.fields).finish()
    }
}

impl fmt::Debug for CompatTool {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("CompatTool").field("spec", &self.spec).field("fields", &self.fields).finish_non_exhaustive()
    }
}
