//! Tools whose dynamic parameters are only known at run time.

mod call;
mod error;
mod field;
mod graph;
mod known;
mod schema;
mod shape;

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;
use serde_json::Value;

pub use error::DynamicError;
pub use field::DynamicField;
pub use known::Known;
use shape::Parameters;

use super::{RuntimeTool, RuntimeToolBuilder};
use crate::feedback::Rejection;
use crate::schema::Validator;
use crate::tool::{CallError, Context, DynTool, Failure, InputHooks, Output, Starting, ToolSpec};
use tool_schema::schema::answer::{Form, collisions};

type Check = dyn Fn(Value, Context) -> BoxFuture<'static, Result<(), Rejection>> + Send + Sync;

/// A tool with dynamic parameters that are only known at run time: it can be called with what is known so far, and answers
/// with what is still needed, what is allowed, and what was corrected. It is to [`RuntimeTool`] what `#[dynamic]` is to
/// `#[tool]`, and runs on the same engine.
///
/// A dynamic parameter is a property of the schema that was added as a [`DynamicField`]; the other properties are static,
/// and every validator sees them. To the model, no dynamic parameter is required. A value that does not fit its property's
/// schema is that parameter's problem, and the validators of the others still run; those that do not depend on each other
/// at the same time. Dynamic parameters are told in the order of their dependencies, and where these leave it open in that
/// of their names.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::{Context, Toolset, Validation, toolset::{DynamicField, RuntimeTool}};
///
/// let flights = [("Berlin", "Paris"), ("Berlin", "Rome"), ("Paris", "Rome")];
/// let text = json!({ "type": "string" });
/// let book = RuntimeTool::new("book", "Books a flight.")
///     .input(json!({ "type": "object", "properties": { "from": text, "to": text }, "required": ["from", "to"] }))
///     .dynamic()
///     .field(DynamicField::new("from").validate(move |value, _| match value {
///         Some(from) if flights.iter().any(|flight| from == flight.0) => Validation::accept(from),
///         _ => Validation::reject("no flights from there").allowed([json!("Berlin"), json!("Paris")]),
///     }))
///     .field(DynamicField::new("to").requires(["from"]).validate(move |value, known| {
///         let there: Vec<_> = flights.iter().filter(|flight| known["from"] == flight.0).map(|flight| json!(flight.1)).collect();
///         match value {
///             Some(to) if there.contains(&to) => Validation::accept(to),
///             _ => Validation::reject("no flights to there").allowed(&there),
///         }
///     }))
///     .handler(|arguments, _cx| async move { Ok(json!({ "booked": arguments })) })?;
/// let tools = Toolset::new().with(book).expect("a name of its own");
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let cx = Context::new("call_1");
/// let told = tools.call("book", r#"{"from":"Paris"}"#, &cx).await.unwrap_err();
/// assert_eq!(told.feedback().unwrap().to_json()["validationResults"], json!({
///     "from": { "valid": true },
///     "to": { "valid": false, "problems": ["no flights to there"], "allowedValues": ["Rome"] },
/// }));
/// assert!(tools.call("book", r#"{"from":"Paris","to":"Rome"}"#, &cx).await.is_ok());
/// # });
/// # Ok::<(), tool_runtime::toolset::DynamicError>(())
/// ```
pub struct DynamicTool {
    tool: RuntimeTool,
    parameters: Arc<Parameters>,
    /// In the order of the nodes.
    validators: Vec<Box<field::Ask>>,
    /// The values that stand in where none are given, by parameter.
    defaults: Vec<Option<Value>>,
    /// The schema with everything that is required.
    complete: Validator,
    checks: Vec<Box<Check>>,
    /// Where the output stands in the answer.
    form: Form,
}

/// A [`DynamicTool`] that is not finished; [`RuntimeToolBuilder::dynamic`] begins one.
#[must_use = "finish it with `handler` or `external`"]
pub struct DynamicToolBuilder {
    tool: RuntimeToolBuilder,
    fields: Vec<DynamicField>,
    checks: Vec<Box<Check>>,
}

impl DynamicToolBuilder {
    pub(super) fn new(tool: RuntimeToolBuilder) -> Self {
        Self { tool, fields: Vec::new(), checks: Vec::new() }
    }

    /// Makes a property of the schema a dynamic parameter.
    pub fn field(mut self, field: DynamicField) -> Self {
        self.fields.push(field);
        self
    }

    /// Adds a check across parameters. It gets the arguments when all of them are accepted; checks are made in the order in
    /// which they were added, up to the first that refuses.
    pub fn check<F, R>(mut self, check: F) -> Self
    where
        F: Fn(Value, Context) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), Rejection>> + Send + 'static,
    {
        self.checks.push(Box::new(move |arguments, cx| Box::pin(check(arguments, cx))));
        self
    }

    /// Finishes a tool that runs here. The handler gets the arguments, in which each dynamic parameter has its accepted
    /// value; what it returns is the output.
    ///
    /// Fails as [`DynamicError`] lists.
    pub fn handler<F, R>(self, handler: F) -> Result<DynamicTool, DynamicError>
    where
        F: Fn(Value, Context) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, Failure>> + Send + 'static,
    {
        self.finish(|tool| tool.handler(handler))
    }

    /// Finishes a tool that is executed outside this program.
    ///
    /// Fails as [`DynamicError`] lists.
    pub fn external(self) -> Result<DynamicTool, DynamicError> {
        self.finish(RuntimeToolBuilder::external)
    }

    fn finish(
        mut self,
        finish: impl FnOnce(RuntimeToolBuilder) -> Result<RuntimeTool, super::NameError>,
    ) -> Result<DynamicTool, DynamicError> {
        let complete = schema::complete(self.tool.take_input());
        let properties = complete.get("properties").and_then(Value::as_object);
        let names: Vec<String> = properties.into_iter().flatten().map(|(name, _)| name.clone()).collect();
        let default = |(_, property): (&String, &Value)| property.get("default").cloned();
        let defaults = properties.into_iter().flatten().map(default).collect();
        let parameters = Parameters::new(names, &mut self.fields)?;
        let described = self.fields.iter().map(|field| (&*field.name, field.description.as_deref()));
        let partial = schema::partial(&complete, described);
        let compiled = Validator::compile(&Value::Object(complete));
        let complete = compiled.map_err(|error| DynamicError::Schema { reason: error.to_string() })?;
        let tool = finish(self.tool.input(partial))?;
        let keys = tool.spec().output.as_ref().map(|schema| collisions(schema.neutral())).unwrap_or_default();
        if !keys.is_empty() {
            return Err(DynamicError::Output { keys });
        }
        Ok(DynamicTool {
            // Of an output without a schema nothing is known, so nothing of it may be taken for a part of the answer.
            form: tool.spec().output.as_ref().map_or(Form::Wrapped, |schema| Form::of(Some(schema.neutral()))),
            tool,
            parameters: Arc::new(parameters),
            validators: self.fields.into_iter().filter_map(|field| field.validator).collect(),
            defaults,
            complete,
            checks: self.checks,
        })
    }
}

impl DynamicTool {
    /// What of the schemas is not checked, and why; usually nothing.
    pub fn warnings(&self) -> &[String] {
        self.tool.warnings()
    }
}

impl DynTool for DynamicTool {
    fn name(&self) -> &str {
        self.tool.name()
    }

    fn spec(&self) -> &Arc<ToolSpec> {
        self.tool.spec()
    }

    fn start<'a>(&'a self, arguments: &'a str, cx: &'a Context) -> Starting<'a> {
        Starting::asking(self.settle(arguments, cx))
    }

    fn answer(&self, output: &str) -> Result<Output, CallError> {
        self.tool.answer(output)
    }

    fn hooks(&self) -> Option<&dyn InputHooks> {
        self.tool.hooks()
    }
}

impl fmt::Debug for DynamicTool {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("DynamicTool")
            .field("tool", &self.tool)
            .field("parameters", &self.parameters)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for DynamicToolBuilder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("DynamicToolBuilder")
            .field("tool", &self.tool)
            .field("fields", &self.fields)
            .finish_non_exhaustive()
    }
}
