//! Tools whose schema is only known at run time: a frontend sends it, a file holds it, or another server offers it.

use std::{borrow::Cow, fmt, sync::Arc};

use futures_core::Stream;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::{DynamicToolBuilder, ToolsetError, check_name};
use crate::feedback::{Problem, Rejection};
use crate::schema::{CompiledSchema, Dialect, Schema};
use crate::tool::{
    AcceptedCall, Approval, CallError, Context, Effect, ErasedTool, Failure, InputHooks, Output, PrepareFuture,
    ToolOptions, ToolSpec, TouchedResources, accept, expansion::resources_of_call, not_an_object, read_valid,
    read_with_problems, streamed,
};
use tool_schema::{
    json::text,
    schema::{InvalidKeyword, remove_invalid_keywords},
};

/// A function that gets the checked arguments, and their JSON.
type Handler = dyn Fn(Value, Cow<'_, str>, Context) -> BoxFuture<'static, Result<Output, CallError>> + Send + Sync;

/// A tool whose schema is only known at run time.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::{Context, Toolset, toolset::RuntimeTool};
///
/// let shout = RuntimeTool::new("shout", "Says a text loudly.")
///     .input(json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] }))
///     .handler(|arguments, _cx| async move {
///         Ok(json!(arguments["text"].as_str().unwrap_or_default().to_uppercase()))
///     })?;
/// let tools = Toolset::new().with(shout)?;
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let cx = Context::new("call_1");
/// assert_eq!(tools.call("shout", r#"{"text":"hi"}"#, &cx).await.unwrap().as_json(), Some("\"HI\""));
/// assert!(tools.call("shout", r#"{"text":1}"#, &cx).await.is_err());
/// # });
/// # Ok::<(), tool_runtime::toolset::ToolsetError>(())
/// ```
pub struct RuntimeTool {
    spec: Arc<ToolSpec>,
    input: Option<CompiledSchema>,
    output: Option<CompiledSchema>,
    warnings: Vec<String>,
    touches: Option<ResourcesOf>,
    handler: Option<Box<Handler>>,
    hooks: Option<Arc<dyn InputHooks>>,
}

/// A [`RuntimeTool`] that is not finished.
#[derive(Debug)]
#[must_use = "finish it with `handler` or `external`"]
pub struct RuntimeToolBuilder {
    name: String,
    description: String,
    input: Option<Value>,
    output: Option<Value>,
    title: Option<String>,
    options: ToolOptions,
    touches: Option<ResourcesOf>,
    pub(super) hooks: Option<Arc<dyn InputHooks>>,
}

impl RuntimeTool {
    /// Begins a tool. Without a schema, it accepts any object.
    #[allow(clippy::new_ret_no_self, reason = "a tool without a handler is no tool yet")]
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> RuntimeToolBuilder {
        RuntimeToolBuilder {
            name: name.into(),
            description: description.into(),
            input: None,
            output: None,
            title: None,
            options: ToolOptions::default(),
            touches: None,
            hooks: None,
        }
    }

    /// Returns the parts of the schemas that are not checked, with the reasons; usually none.
    ///
    /// The tool is usable all the same. An invalid keyword is left out, and the rest of the schema is checked. If the schema of the
    /// arguments could not be compiled at all,
    /// [`ToolOptions::unvalidated`] is set. A model then sees only an object with the names and descriptions of its parameters,
    /// because providers also refuse such a schema.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Reads arguments, and returns them with their problems.
    ///
    /// Fails when they are not a JSON object, unless the schema allows other values.
    pub fn check(&self, arguments: &str) -> Result<(Value, Vec<Problem>), Rejection> {
        let (value, problems) = read_with_problems(self.without_blank(arguments), self.input.as_ref())?;
        if !value.is_object() && !self.takes_others() {
            return Err(Rejection::one(not_an_object("an object with the arguments", &value)));
        }
        Ok((value, problems))
    }

    /// Returns whether the arguments may be a value that is no object.
    fn takes_others(&self) -> bool {
        self.spec.input.lowered(Dialect::Portable).wraps()
    }

    /// Returns `{}` for arguments that stand for it.
    fn without_blank<'a>(&self, arguments: &'a str) -> &'a str {
        let takes_nothing = self.spec.input.neutral()["properties"].as_object().is_none_or(Map::is_empty);
        let arguments = if takes_nothing && !self.takes_others() { text::without_null(arguments) } else { arguments };
        if text::is_blank(arguments) { "{}" } else { arguments }
    }

    /// Prepares a call with checked arguments, which have the JSON `json`.
    pub(super) fn prepare<'a>(&'a self, arguments: Value, json: Cow<'a, str>, cx: &'a Context) -> AcceptedCall<'a> {
        let touches = self.touches.as_ref().and_then(|touches| touches.of(&arguments));
        let work: BoxFuture<'a, _> = match &self.handler {
            // The handler is called when the work is polled, not before: an approval may still be missing.
            Some(handler) => Box::pin(async move { handler(arguments, json, cx.clone()).await }),
            None => Box::pin(std::future::ready(Err(CallError::NotExecuted))),
        };
        AcceptedCall { touches, ..AcceptedCall::new(self.spec.options.approval != Approval::Never, work) }
    }
}

impl RuntimeToolBuilder {
    /// Sets the JSON Schema of the arguments. It may be of any draft that its `$schema` names; without `$schema` it is 2020-12.
    pub fn input(mut self, schema: Value) -> Self {
        self.input = Some(schema);
        self
    }

    /// Sets the JSON Schema of the output. The runtime checks the output of an external tool against it.
    pub fn output(mut self, schema: Value) -> Self {
        self.output = Some(schema);
        self
    }

    /// Sets a name for people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets what the tool does to the world.
    pub fn effect(mut self, effect: Effect) -> Self {
        self.options.effect = effect;
        self
    }

    /// Sets where the tool comes from. The person who approves a call sees it.
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.options.origin = Some(origin.into());
        self
    }

    /// Requires an approval for every call.
    pub fn require_approval(mut self) -> Self {
        self.options.approval = Approval::Always;
        self
    }

    /// Sets a function that returns the resources of a call from its checked arguments. Calls of a turn with conflicting
    /// resources run one after the other.
    pub fn touches(mut self, touches: impl Fn(&Value) -> TouchedResources + Send + Sync + 'static) -> Self {
        self.touches = Some(ResourcesOf::new(touches));
        self
    }

    /// Changes any of the flags and limits.
    pub fn options(mut self, change: impl FnOnce(&mut ToolOptions)) -> Self {
        change(&mut self.options);
        self
    }

    /// Continues with a builder for dynamic parameters, which validators of the application check while the call is put together.
    pub fn dynamic(self) -> DynamicToolBuilder {
        DynamicToolBuilder::new(self)
    }

    /// Takes the schema of the arguments out of the builder.
    pub(super) fn take_input(&mut self) -> Value {
        self.input.take().unwrap_or(Value::Bool(true))
    }

    /// Finishes a tool that runs in this program. The handler gets the checked arguments and returns the output.
    ///
    /// Fails when the name is not `[A-Za-z0-9_-]{1,64}`, or a schema needs the feature `jsonschema`, which is off.
    pub fn handler<F, R>(self, handler: F) -> Result<RuntimeTool, ToolsetError>
    where
        F: Fn(Value, Context) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, Failure>> + Send + 'static,
    {
        self.output_handler(move |arguments, cx| {
            let work = handler(arguments, cx);
            async move { Ok(Output::json(&work.await?)?) }
        })
    }

    /// Finishes a tool like [`handler`](Self::handler). Its handler also chooses the content for the model, and the kind of an
    /// error.
    pub fn output_handler<F, R>(self, handler: F) -> Result<RuntimeTool, ToolsetError>
    where
        F: Fn(Value, Context) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Output, CallError>> + Send + 'static,
    {
        self.finish(Some(Box::new(move |arguments, _, cx| Box::pin(handler(arguments, cx)))))
    }

    /// Finishes a tool like [`output_handler`](Self::output_handler). Its handler gets the arguments as JSON, with the digits that the
    /// model wrote. A [`Value`] rounds integers beyond 64 bits.
    ///
    /// ```
    /// use tool_runtime::{Context, Output, Part, Toolset, toolset::RuntimeTool};
    ///
    /// let echo = RuntimeTool::new("echo", "Returns its arguments.")
    ///     .json_handler(|arguments, _cx| async move { Ok(Output::content(vec![Part::text(arguments)])) })?;
    /// let tools = Toolset::new().with(echo)?;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let given = r#"{"n":123456789012345678901234567890}"#;
    /// assert_eq!(tools.call("echo", given, &Context::new("call_1")).await.unwrap().text(), given);
    /// # });
    /// # Ok::<(), tool_runtime::toolset::ToolsetError>(())
    /// ```
    pub fn json_handler<F, R>(self, handler: F) -> Result<RuntimeTool, ToolsetError>
    where
        F: Fn(String, Context) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Output, CallError>> + Send + 'static,
    {
        self.finish(Some(Box::new(move |_, json, cx| Box::pin(handler(json.into_owned(), cx)))))
    }

    /// Finishes a tool that is executed outside this program.
    ///
    /// Fails as [`handler`](Self::handler) does.
    pub fn external(mut self) -> Result<RuntimeTool, ToolsetError> {
        self.options.external = true;
        self.finish(None)
    }

    /// Finishes a tool that a client declares and executes. Its name may be any text: see
    /// [`Toolset::with_client_tools`](super::Toolset::with_client_tools).
    pub fn client_tool(mut self) -> RuntimeTool {
        self.options.external = true;
        self.build(None)
    }

    pub(super) fn finish(self, handler: Option<Box<Handler>>) -> Result<RuntimeTool, ToolsetError> {
        check_name(&self.name)?;
        let needed = self.input.iter().chain(&self.output).find_map(CompiledSchema::needs_feature);
        match needed {
            Some(reason) => Err(ToolsetError::Schema { name: self.name, reason: reason.to_string() }),
            None => Ok(self.build(handler)),
        }
    }

    fn build(mut self, handler: Option<Box<Handler>>) -> RuntimeTool {
        let mut warnings = Vec::new();
        let mut schema = self.take_input();
        let removed = clean("arguments", &mut schema, &mut warnings);
        let input = compile("arguments", &schema, &mut warnings);
        let removed_output = self.output.as_mut().map(|schema| clean("output", schema, &mut warnings));
        let output = self.output.as_ref().and_then(|schema| compile("output", schema, &mut warnings));
        let shown = if input.is_some() { of_object(schema) } else { outline(&schema) };
        let mut spec = ToolSpec::new(self.name, self.description, Schema::new(shown).with_removed(removed));
        spec.title = self.title;
        let output_schema =
            self.output.map(|schema| Schema::new(schema).with_removed(removed_output.unwrap_or_default()));
        spec.output = output_schema.map(Arc::new);
        spec.options = self.options;
        spec.options.unvalidated = input.is_none();
        let (touches, hooks) = (self.touches, self.hooks);
        RuntimeTool { spec: Arc::new(spec), input, output, warnings, touches, handler, hooks }
    }
}

impl ErasedTool for RuntimeTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn prepare<'a>(&'a self, arguments: &'a str, cx: &'a Context) -> PrepareFuture<'a> {
        let read = self.check(arguments).and_then(accept);
        let started =
            read.map_err(CallError::from).map(|read| self.prepare(read, self.without_blank(arguments).into(), cx));
        PrepareFuture::read(started)
    }

    fn read_external_output(&self, output: &str) -> Result<Output, CallError> {
        if self.handler.is_some() {
            return Err(CallError::NotExecuted);
        }
        Ok(Output::json(&read_valid(output, self.output.as_ref())?)?)
    }

    fn hooks(&self) -> Option<&dyn InputHooks> {
        self.hooks.as_deref()
    }
}

impl fmt::Debug for RuntimeTool {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("RuntimeTool")
            .field("spec", &self.spec)
            .field("warnings", &self.warnings)
            .finish_non_exhaustive()
    }
}

impl RuntimeToolBuilder {
    /// Finishes a tool that runs in this program and streams its output. Each item of the stream is a preliminary output, and the
    /// last is the output. The call fails with the first error, and when the stream ends without an item.
    ///
    /// The runtime polls the stream for the next item after it has shown the previous one. It drops the stream when the call is
    /// cancelled.
    ///
    /// Fails as [`handler`](Self::handler) does.
    ///
    /// ```
    /// use futures_util::stream::{self, StreamExt as _};
    /// use serde_json::json;
    /// use tool_runtime::{Context, Toolset, toolset::RuntimeTool};
    ///
    /// let count = RuntimeTool::new("count", "Counts down from three.")
    ///     .streaming(|_, _| stream::iter((0..3).rev()).map(|n| Ok(json!({ "n": n }))))?;
    /// let tools = Toolset::new().with(count)?;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let output = tools.call("count", "{}", &Context::new("call_1")).await.unwrap();
    /// assert_eq!(output.as_json(), Some(r#"{"n":0}"#));
    /// # });
    /// # Ok::<(), tool_runtime::toolset::ToolsetError>(())
    /// ```
    pub fn streaming<F, S>(self, handler: F) -> Result<RuntimeTool, ToolsetError>
    where
        F: Fn(Value, Context) -> S + Send + Sync + 'static,
        S: Stream<Item = Result<Value, Failure>> + Send + 'static,
    {
        self.finish(Some(Box::new(move |arguments, _, cx| {
            let stream = handler(arguments, cx.clone());
            Box::pin(async move { streamed(stream, &cx, |item| Ok(Output::json(&item?)?)).await })
        })))
    }

    /// Sets the hooks that receive the arguments of a call while the model writes them.
    pub fn hooks(mut self, hooks: impl InputHooks + 'static) -> Self {
        self.hooks = Some(Arc::new(hooks));
        self
    }
}

/// The maximum number of parameters that a model sees of a schema that cannot be compiled.
const MAX_OUTLINED: usize = 100;

/// Removes invalid keywords from the schema of `what`, adds them to `warnings`, and returns them.
fn clean(what: &str, schema: &mut Value, warnings: &mut Vec<String>) -> Vec<InvalidKeyword> {
    let removed = remove_invalid_keywords(schema);
    warnings.extend(removed.iter().map(|keyword| format!("{what}: {keyword}")));
    removed
}

/// Compiles the schema of `what`, and adds to `warnings` what cannot be checked.
pub fn compile(what: &str, schema: &Value, warnings: &mut Vec<String>) -> Option<CompiledSchema> {
    match CompiledSchema::compile(schema) {
        Ok(compiled) => {
            warnings.extend(compiled.warnings().iter().map(|warning| format!("{what}: {warning}")));
            Some(compiled)
        }
        Err(error) => {
            warnings.push(format!("{what}: {error}"));
            None
        }
    }
}

/// Returns a substitute for a schema that cannot be compiled: its parameters with their descriptions, without types.
pub fn outline(schema: &Value) -> Value {
    let properties = schema["properties"].as_object().into_iter().flatten().take(MAX_OUTLINED);
    let described = |property: &Value| match property["description"].as_str() {
        Some(text) => json!({ "description": text }),
        None => json!({}),
    };
    let properties: Map<String, Value> =
        properties.map(|(name, property)| (name.clone(), described(property))).collect();
    json!({ "type": "object", "properties": properties })
}

/// Returns the schema with `type: object` added, where that is missing: providers require it.
pub fn of_object(schema: Value) -> Value {
    match schema {
        Value::Object(mut schema) => {
            schema.entry("type").or_insert_with(|| "object".into());
            Value::Object(schema)
        }
        Value::Bool(false) => json!({ "type": "object", "not": {} }),
        _ => json!({ "type": "object" }),
    }
}

/// A function that returns what a call touches, from its arguments.
struct ResourcesOf(Arc<dyn Fn(&Value) -> TouchedResources + Send + Sync>);

impl ResourcesOf {
    fn new(touches: impl Fn(&Value) -> TouchedResources + Send + Sync + 'static) -> Self {
        Self(Arc::new(touches))
    }

    fn of(&self, arguments: &Value) -> Option<Arc<TouchedResources>> {
        resources_of_call(&*self.0, arguments)
    }
}

impl fmt::Debug for ResourcesOf {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ResourcesOf")
    }
}
