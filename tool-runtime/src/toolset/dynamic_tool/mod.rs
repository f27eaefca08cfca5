//! Tools whose dynamic parameters are only known at run time.

mod parameters;

use std::{fmt, ops::Index, sync::Arc};

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::{RuntimeTool, RuntimeToolBuilder, ToolsetError};
use crate::feedback::{Problem, ProblemKind, Rejection, Report};
use crate::schema::CompiledSchema;
use crate::tool::{
    AcceptedCall, CallError, Context, ErasedTool, Failure, InputHooks, IntoValidation, Output, PrepareFuture, ToolSpec,
    dynamic::{
        self, Call, ParameterResult, ParameterResults, ReadProblems, Shape, StoredValue, UNCHECKED, ValidatorAnswer,
        conclude,
    },
    expansion::ReturnedFallback,
};
pub use parameters::DynamicError;
use parameters::{Parameters, complete_schema, partial_schema};

type Check = dyn Fn(Value, Context) -> BoxFuture<'static, Result<(), Rejection>> + Send + Sync;

/// A tool with dynamic parameters that are only known at run time. A model can call the tool before it knows all values. The
/// answer states which values are missing, allowed or corrected. It does for [`RuntimeTool`] what `#[dynamic]` does for
/// `#[tool]`, with the same engine.
///
/// A dynamic parameter is a property of the schema that was added as a [`DynamicField`]. The other properties are static. A
/// validator waits for the parameters that it names, dynamic or static, and sees no others. To the model, no dynamic parameter is
/// required.
///
/// A value that does not fit its property's schema is a problem of that parameter only: the validators of other parameters
/// still run. Validators that do not depend on each other run at the same time. Dynamic parameters are reported in the order of
/// their dependencies, then of their names.
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
/// let error = tools.call("book", r#"{"from":"Paris"}"#, &cx).await.unwrap_err();
/// assert_eq!(error.rejection().unwrap().to_json()["validationResults"], json!({
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
    /// The validators, in the order of the nodes.
    validators: Vec<Box<ValidatorFn>>,
    defaults: Vec<Option<Value>>,
    /// The schema with everything that is required.
    complete: CompiledSchema,
    checks: Vec<Box<Check>>,
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

    /// Adds a check across parameters. The check gets the arguments when all of them are accepted. Checks run in the order in
    /// which they were added, until one refuses.
    pub fn check<F, R>(mut self, check: F) -> Self
    where
        F: Fn(Value, Context) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), Rejection>> + Send + 'static,
    {
        self.checks.push(Box::new(move |arguments, cx| Box::pin(check(arguments, cx))));
        self
    }

    /// Finishes a tool that runs in this program. The handler gets the arguments, in which each dynamic parameter has its
    /// accepted value, and returns the output.
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
        finish: impl FnOnce(RuntimeToolBuilder) -> Result<RuntimeTool, ToolsetError>,
    ) -> Result<DynamicTool, DynamicError> {
        let complete = complete_schema(self.tool.take_input());
        let properties = complete.get("properties").and_then(Value::as_object);
        let names: Vec<String> = properties.into_iter().flatten().map(|(name, _)| name.clone()).collect();
        let default = |(_, property): (&String, &Value)| property.get("default").cloned();
        let defaults = properties.into_iter().flatten().map(default).collect();
        let parameters = Parameters::new(names, &mut self.fields)?;
        let described = self.fields.iter().map(|field| (&*field.name, field.description.as_deref()));
        let partial = partial_schema(&complete, described);
        let compiled = CompiledSchema::compile(&Value::Object(complete));
        let complete = compiled.map_err(|error| DynamicError::Schema { reason: error.to_string() })?;
        let tool = finish(self.tool.input(partial))?;
        Ok(DynamicTool {
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
    /// Returns the parts of the schemas that are not checked, with the reasons; usually none.
    pub fn warnings(&self) -> &[String] {
        self.tool.warnings()
    }
}

impl ErasedTool for DynamicTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        self.tool.spec()
    }

    fn prepare<'a>(&'a self, arguments: &'a str, cx: &'a Context) -> PrepareFuture<'a> {
        PrepareFuture::asking(self.settle(arguments, cx))
    }

    fn read_external_output(&self, output: &str) -> Result<Output, CallError> {
        self.tool.read_external_output(output)
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

/// The code that asks a validator about a given value.
pub type ValidatorFn = dyn Fn(Option<StoredValue>, KnownValues) -> ValidatorAnswer<'static> + Send + Sync;

/// A parameter that a validator of the application judges: its dependencies, and its validator.
#[must_use = "add it to a tool"]
pub struct DynamicField {
    name: String,
    description: Option<String>,
    requires: Vec<String>,
    after: Vec<String>,
    hints: Vec<String>,
    validator: Option<Box<ValidatorFn>>,
}

impl DynamicField {
    /// Creates the parameter called `name`, which is a property of the tool's schema.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: None,
            requires: Vec::new(),
            after: Vec::new(),
            hints: Vec::new(),
            validator: None,
        }
    }

    /// Sets the description for the model. It replaces the schema's description.
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// Adds parameters that must be accepted before this one is judged. Until then, the rejection asks the model to give them
    /// first. A static parameter is accepted if it fits the schema.
    pub fn requires<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.requires.extend(names.into_iter().map(Into::into));
        self
    }

    /// Adds parameters that are judged before this one, whether they are accepted or not.
    pub fn after<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.after.extend(names.into_iter().map(Into::into));
        self
    }

    /// Adds parameters whose given values the validator sees, judged or not. The validator does not wait for them.
    pub fn hints<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.hints.extend(names.into_iter().map(Into::into));
        self
    }

    /// Sets the validator. It gets the given value, if any, and the known values of other parameters. The given value fits the
    /// schema of the property.
    ///
    /// The accepted value must fit the schema too, or be `null`. The handler gets the `null` even if the schema does not allow
    /// it. A model cannot give a `null` that the schema refuses.
    ///
    /// If a call waited, or a validator changed it, the validators run again before its start, and must accept the same values.
    ///
    /// It returns a [`Validation`](crate::Validation), or a `Result` of one with a [`Failure`](crate::Failure). A failure or a
    /// panic refuses the value. The model receives no more of a failure than the text of [`Failure::new`](crate::Failure::new).
    pub fn validate<F, R>(mut self, validate: F) -> Self
    where
        F: Fn(Option<Value>, KnownValues) -> R + Send + Sync + 'static,
        R: IntoValidation<Value>,
    {
        self.validator = Some(Box::new(move |held, known| {
            dynamic::Validator::<Value, KnownValues, ()>::of(&validate).ask(held, known).settle()
        }));
        self
    }

    /// Sets an async validator, as [`validate`](Self::validate) does. Validators that do not wait for each other run at the same
    /// time.
    pub fn validate_async<F, R>(mut self, validate: F) -> Self
    where
        F: Fn(Option<Value>, KnownValues) -> R + Send + Sync + 'static,
        R: Future<Output: IntoValidation<Value>> + Send + 'static,
    {
        self.validator = Some(Box::new(move |held, known| {
            ReturnedFallback::settle(dynamic::Validator::<Value, KnownValues, ()>::of(&validate).ask(held, known))
        }));
        self
    }
}

impl fmt::Debug for DynamicField {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("DynamicField")
            .field("name", &self.name)
            .field("requires", &self.requires)
            .field("after", &self.after)
            .field("hints", &self.hints)
            .finish_non_exhaustive()
    }
}

/// The other parameters and the call, as a validator of a [`DynamicField`](super::DynamicField) sees them.
///
/// `known["departure"]` is the value of a required parameter.
#[derive(Clone, Debug)]
pub struct KnownValues {
    parameters: Arc<Parameters>,
    given: Arc<Map<String, Value>>,
    node: usize,
    /// The accepted values of the parameters that this one requires or comes after.
    values: Vec<(usize, Value)>,
    call: Context,
}

impl KnownValues {
    fn new(
        parameters: &Arc<Parameters>,
        given: &Arc<Map<String, Value>>,
        node: usize,
        board: &ParameterResults,
        call: &Context,
    ) -> Self {
        let seen = parameters.requires(node).iter().chain(parameters.after(node));
        let values = seen.filter_map(|field| Some((*field, board.get::<Value>(*field)?.clone()))).collect();
        Self { parameters: Arc::clone(parameters), given: Arc::clone(given), node, values, call: call.clone() }
    }

    /// Returns the accepted value of a parameter that this one requires or comes after. Returns `None` if it has no value, and for
    /// every other name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let field = self.parameters.find(name)?;
        self.values.iter().find(|(known, _)| *known == field).map(|(_, value)| value)
    }

    /// Returns the given value of a parameter among [`hints`](super::DynamicField::hints) or that this one comes
    /// [`after`](super::DynamicField::after), right or wrong. A value that is not accepted is only a claim of the caller.
    pub fn hint(&self, name: &str) -> Option<&Value> {
        let field = self.parameters.find(name)?;
        let mut shown = self.parameters.hints(self.node).iter().chain(self.parameters.after(self.node));
        shown.any(|shown| *shown == field).then(|| self.given.get(name)).flatten()
    }

    /// Returns the context of the call.
    pub fn context(&self) -> &Context {
        &self.call
    }
}

impl Index<&str> for KnownValues {
    type Output = Value;

    /// # Panics
    ///
    /// If [`KnownValues::get`] returns `None`. A required parameter always has a value. A panic refuses the parameter, and the
    /// log has the reason.
    fn index(&self, name: &str) -> &Value {
        match self.get(name) {
            Some(value) => value,
            None => panic!("`{name}` has no value here; a validator sees what it `requires`"),
        }
    }
}

impl DynamicTool {
    async fn settle<'a>(&'a self, text: &'a str, cx: &'a Context) -> Result<AcceptedCall<'a>, CallError> {
        let shape = &*self.parameters;
        let (mut arguments, reading) = self.read(text, cx)?;
        let values = self.values(&mut arguments, &reading);
        let given = Arc::new(arguments);
        let board = ParameterResults::new(shape.fields());
        let call = Call::new(shape, values, reading.faults, |node, value| {
            (self.validators[node])(value, KnownValues::new(&self.parameters, &given, node, &board, cx))
        });
        call.settle(&board).await;
        let mut settled: Vec<_> = board.into_settled().collect();
        let (normalized, remarks) = conclude(shape, text, reading.problems, &mut settled, cx)?;
        let arguments = self.accepted(Arc::unwrap_or_clone(given), settled);
        if normalized.is_some() {
            self.check_accepted(&arguments)?;
        }
        for check in &self.checks {
            check(arguments.clone(), cx.clone()).await?;
        }
        let json = arguments.to_string();
        Ok(self.tool.prepare(arguments, json.into(), cx).understood(normalized, remarks))
    }

    /// Reads the arguments as far as possible.
    fn read(&self, text: &str, cx: &Context) -> Result<(Map<String, Value>, ReadProblems), CallError> {
        let (arguments, mut problems) = self.tool.check(text)?;
        if cx.is_revised() {
            // A validator may have put the `null` there when the arguments were read before.
            problems.retain(|problem| !self.is_about_null(problem, &arguments));
        }
        let mut reading = ReadProblems::new(self.parameters.fields());
        for problem in &problems {
            reading.add_problem(&*self.parameters, problem)?;
        }
        match arguments {
            Value::Object(arguments) => Ok((arguments, reading)),
            _ => Err(Rejection::new(problems).into()),
        }
    }

    /// Returns the values of the parameters, with defaults for those that are absent.
    fn values(&self, arguments: &mut Map<String, Value>, reading: &ReadProblems) -> Vec<Option<StoredValue>> {
        let absent = |field: usize| {
            let is_static = !self.parameters.is_dynamic(field) && reading.faults[field].is_none();
            is_static.then(|| Box::new(Some(())) as StoredValue)
        };
        let mut values = Vec::with_capacity(self.parameters.fields());
        for (field, default) in self.defaults.iter().enumerate() {
            let name = self.parameters.name(field);
            if let (Some(default), false) = (default, arguments.contains_key(name)) {
                arguments.insert(name.to_owned(), default.clone());
            }
            values.push(match arguments.get(name) {
                Some(value) => Some(Box::new(Some(value.clone())) as StoredValue),
                None => absent(field),
            });
        }
        values
    }

    fn accepted(&self, mut arguments: Map<String, Value>, mut settled: Vec<Option<ParameterResult>>) -> Value {
        for field in self.parameters.dynamic_fields() {
            let value = settled[field].take().and_then(|settled| settled.value);
            if let Some(value) = value.and_then(|value| *value.downcast::<Option<Value>>().ok()?) {
                arguments.insert(self.parameters.name(field).to_owned(), value);
            }
        }
        Value::Object(arguments)
    }

    /// Returns whether `problem` is that the value of a dynamic parameter must not be `null`.
    fn is_about_null(&self, problem: &Problem, arguments: &Value) -> bool {
        let field = problem.about().and_then(|name| Some((self.parameters.find(&name)?, name)));
        let is_null = |(field, name): (usize, String)| {
            self.parameters.is_dynamic(field) && arguments.get(&name).is_some_and(Value::is_null)
        };
        !problem.is_nested() && problem.kind != ProblemKind::Duplicate && field.is_some_and(is_null)
    }

    /// Checks that the values that validators substituted fit the schema, or are `null`.
    fn check_accepted(&self, arguments: &Value) -> Result<(), CallError> {
        let mut problems = self.complete.problems(arguments, "");
        problems.retain(|problem| !self.is_about_null(problem, arguments));
        if problems.is_empty() {
            return Ok(());
        }
        let about = problems.iter().filter_map(Problem::about);
        let refused = about.fold(Vec::new(), |mut reports: Vec<(String, Report)>, name| {
            if reports.iter().all(|(known, _)| *known != name) {
                reports.push((name, Report::rejected(UNCHECKED)));
            }
            reports
        });
        let causes =
            problems.iter().map(|problem| format!("a validator accepted a value that the schema refuses: {problem}"));
        Err(Rejection::reported(Vec::new(), refused).with_causes(causes).into())
    }
}
