//! Layers that change the types of a tool.

use std::{borrow::Cow, fmt, marker::PhantomData, sync::Arc};

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::feedback::Rejection;
use crate::schema::{CompiledSchema, Schema};
use crate::tool::{CallError, CallFuture, ErasedTool, Failure, Output, ToolOutput, ToolSpec, describe_output, read_as};
use crate::toolset::{Invocation, Layer, Next};
use tool_schema::schema::close_objects;

/// A chain of layers that turns a tool from `In` to `Out` into a tool from `NewIn` to `NewOut`. A step that does not fit the one
/// before does not compile. The schemas are those of the types.
///
/// `In` is serialized to the JSON object that the tool reads, and `Out` deserialized from the JSON that it returns. The tool
/// itself checks the arguments. An output that is not an `Out` is a failure.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
/// use tool_runtime::{Context, Rejection, layer::{CallLog, TypeMapping}, tool, toolset};
///
/// /// Tells how warm it is, in degrees Celsius.
/// #[tool(effect = read_only)]
/// fn measure(/** North is positive. */ latitude: f64, /** East is positive. */ longitude: f64) -> f64 {
///     60.0 - latitude.abs() + longitude * 0.0
/// }
///
/// #[derive(Serialize)]
/// struct Place { latitude: f64, longitude: f64 }
///
/// #[derive(Deserialize, JsonSchema)]
/// struct City {
///     /// The city's English name.
///     city: String,
/// }
///
/// let fahrenheit = TypeMapping::<Place, f64>::new()
///     .map_input(|City { city }| match &*city {
///         "Oslo" => Ok(Place { latitude: 59.9, longitude: 10.8 }),
///         _ => Err(Rejection::of("city", "nobody knows where that is")),
///     })
///     .map_output(|celsius| Ok(celsius * 1.8 + 32.0))
///     .around(CallLog::new(|entry| println!("{}", entry.in_full())));
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let tools = toolset!(measure).layer(fahrenheit);
/// let warm: f64 = tools.call("measure", r#"{"city":"Oslo"}"#, &Context::new("1")).await.unwrap().decode().unwrap();
/// assert!((32.0..33.0).contains(&warm));
/// let refused = tools.call("measure", r#"{"city":"Atlantis"}"#, &Context::new("2")).await.unwrap_err();
/// assert_eq!(refused.to_string(), "`city`: nobody knows where that is");
/// # });
/// ```
///
/// A step that does not fit does not compile:
///
/// ```compile_fail,E0308
/// use tool_runtime::layer::TypeMapping;
///
/// let counts = TypeMapping::<String, String>::new().map_output(|text: String| Ok(text.len()));
/// let texts = TypeMapping::<String, String>::new().map_output(|text: String| Ok(text + "!"));
/// let chain = counts.pipe(texts); // from a number, but a text is wanted
/// ```
///
/// If the tool inside rejects arguments, the rejection names the tool's parameters, because their outer counterparts are
/// unknown. A [`Layer`] of your own can change that in [`Layer::translate_error`]. The question of an approval
/// ([`ToolOptions::challenge`](crate::tool::ToolOptions::challenge)) has placeholders for the tool's parameters. A placeholder
/// whose parameter does not exist outside stays empty.
pub struct TypeMapping<In, Out, NewIn = In, NewOut = Out> {
    /// The layers, from the inside out.
    layers: Vec<Arc<dyn Layer>>,
    of: Types<In, Out, NewIn, NewOut>,
}

type Types<In, Out, NewIn, NewOut> = PhantomData<fn(In, Out) -> (NewIn, NewOut)>;

impl<In, Out> TypeMapping<In, Out> {
    /// Creates a chain without layers, for tools from `In` to `Out`.
    pub fn new() -> Self {
        Self { layers: Vec::new(), of: PhantomData }
    }
}

impl<In, Out, NewIn, NewOut> TypeMapping<In, Out, NewIn, NewOut>
where
    In: 'static,
    Out: 'static,
    NewIn: 'static,
    NewOut: 'static,
{
    fn with<FurtherIn, FurtherOut>(self, layer: impl Layer) -> TypeMapping<In, Out, FurtherIn, FurtherOut> {
        let mut layers = self.layers;
        layers.push(Arc::new(layer));
        TypeMapping { layers, of: PhantomData }
    }

    /// Takes a `New` as the input, in place of the earlier type. `New` is an object; `into` converts it, and must return the same
    /// result each time (see [`Layer::translate_arguments`]).
    ///
    /// A change by the tool's validators is carried over if `New` has the same parameter with the same value. Otherwise use
    /// [`map_input_and_back`](Self::map_input_and_back).
    pub fn map_input<New>(
        self,
        into: impl Fn(New) -> Result<NewIn, Rejection> + Send + Sync + 'static,
    ) -> TypeMapping<In, Out, New, NewOut>
    where
        New: DeserializeOwned + JsonSchema + 'static,
        NewIn: Serialize,
    {
        self.with(MapInput::new(into, |_| None))
    }

    /// Takes a `New` as the input of a tool whose validators change arguments: `back` converts their result into a `New`.
    pub fn map_input_and_back<New>(
        self,
        into: impl Fn(New) -> Result<NewIn, Rejection> + Send + Sync + 'static,
        back: impl Fn(NewIn) -> New + Send + Sync + 'static,
    ) -> TypeMapping<In, Out, New, NewOut>
    where
        New: DeserializeOwned + JsonSchema + Serialize + 'static,
        NewIn: DeserializeOwned + Serialize,
    {
        self.with(MapInput::new(into, move |changed| {
            serde_json::to_string(&back(serde_json::from_str(changed).ok()?)).ok()
        }))
    }

    /// Returns a `New` as the output, in place of the earlier type. A client's output of an external tool stays as it is.
    pub fn map_output<New: ToolOutput + 'static>(
        self,
        into: impl Fn(NewOut) -> Result<New, Failure> + Send + Sync + 'static,
    ) -> TypeMapping<In, Out, NewIn, New>
    where
        NewOut: DeserializeOwned,
    {
        let into = move |output: &Output| {
            let of_another_type = |error| Failure::hidden(format_args!("the output is not of its type: {error}"));
            Ok(into(output.decode().map_err(of_another_type)?)?.into_output()?)
        };
        self.with(MapOutput { into: Box::new(into), schema: describe_output(New::output_schema).map(Arc::new) })
    }

    /// Adds an outer layer that keeps the types.
    pub fn around(self, layer: impl Layer) -> Self {
        self.with(layer)
    }

    /// Adds the layers of `outer` around these. They begin with the types that these end with.
    pub fn pipe<FurtherIn, FurtherOut>(
        self,
        outer: TypeMapping<NewIn, NewOut, FurtherIn, FurtherOut>,
    ) -> TypeMapping<In, Out, FurtherIn, FurtherOut> {
        let mut layers = self.layers;
        layers.extend(outer.layers);
        TypeMapping { layers, of: PhantomData }
    }
}

impl<In, Out, NewIn, NewOut> Layer for TypeMapping<In, Out, NewIn, NewOut>
where
    In: 'static,
    Out: 'static,
    NewIn: 'static,
    NewOut: 'static,
{
    fn apply(self: Arc<Self>, tool: Arc<dyn ErasedTool>) -> Arc<dyn ErasedTool> {
        self.layers.iter().fold(tool, |tool, layer| Arc::clone(layer).apply(tool))
    }

    /// Fails, like the call of any pipe of layers ([`Layer::pipe`]).
    fn call<'a>(&'a self, call: Invocation<'a>, next: Next<'a>) -> CallFuture<'a> {
        crate::toolset::not_applied(call, next)
    }
}

impl<In, Out> Default for TypeMapping<In, Out> {
    fn default() -> Self {
        Self::new()
    }
}

impl<In, Out, NewIn, NewOut> Clone for TypeMapping<In, Out, NewIn, NewOut> {
    fn clone(&self) -> Self {
        Self { layers: self.layers.clone(), of: PhantomData }
    }
}

impl<In, Out, NewIn, NewOut> fmt::Debug for TypeMapping<In, Out, NewIn, NewOut> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("TypeMapping").field("layers", &self.layers.len()).finish_non_exhaustive()
    }
}

type Change<From, To> = Box<dyn Fn(&From) -> To + Send + Sync>;

/// A layer that changes the parameters.
struct MapInput {
    /// Translates the arguments into those of the inside.
    into: Change<str, Result<String, CallError>>,
    back: Change<str, Option<String>>,
    schema: Arc<Schema>,
    /// Not set if a type's own schema cannot be compiled; then only the type's decoder checks arguments.
    is_validated: bool,
}

impl MapInput {
    fn new<New: DeserializeOwned + JsonSchema + 'static, Old: Serialize>(
        into: impl Fn(New) -> Result<Old, Rejection> + Send + Sync + 'static,
        back: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        let mut schema = Value::from(SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<New>());
        if let Some(schema) = schema.as_object_mut() {
            let is_closed =
                ["additionalProperties", "allOf", "anyOf", "oneOf", "$ref"].iter().any(|key| schema.contains_key(*key));
            // Providers require `type: object`. Without additional properties, an unknown name is an error.
            schema.entry("type").or_insert_with(|| "object".into());
            if schema.contains_key("properties") && !is_closed {
                schema.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
        }
        let earlier = schema.clone();
        close_objects(&mut schema);
        let schema = Arc::new(Schema::from_schemars(schema).with_earlier(earlier));
        let compiled = CompiledSchema::compile(schema.neutral()).ok();
        let is_validated = compiled.is_some();
        let into = move |arguments: &str| {
            let given: New = read_as(arguments, compiled.as_ref())?;
            let unwritten = |error| Failure::hidden(format_args!("the arguments cannot be written as JSON: {error}"));
            Ok(serde_json::to_string(&into(given)?).map_err(unwritten)?)
        };
        Self { into: Box::new(into), back: Box::new(back), schema, is_validated }
    }
}

impl Layer for MapInput {
    fn spec(&self, spec: &Arc<ToolSpec>) -> Arc<ToolSpec> {
        let mut spec = ToolSpec::clone(spec);
        spec.input = Arc::clone(&self.schema);
        spec.options.unvalidated = !self.is_validated;
        // The examples are for the parameters inside.
        spec.options.examples.clear();
        Arc::new(spec)
    }

    fn translate_arguments<'a>(&self, call: Invocation<'a>, _: &ToolSpec) -> Result<Cow<'a, str>, CallError> {
        (self.into)(call.arguments).map(Cow::Owned)
    }

    fn restore(&self, call: Invocation<'_>, meant: &str, changed: &str) -> Option<String> {
        (self.back)(changed).or_else(|| crate::toolset::carry_over(call.arguments, meant, changed))
    }
}

/// A layer that changes the output.
struct MapOutput {
    into: Change<Output, Result<Output, CallError>>,
    schema: Option<Arc<Schema>>,
}

impl Layer for MapOutput {
    fn call<'a>(&'a self, _: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move { (self.into)(&next.run().await?) })
    }

    fn spec(&self, spec: &Arc<ToolSpec>) -> Arc<ToolSpec> {
        if spec.options.external {
            return Arc::clone(spec);
        }
        let mut spec = ToolSpec::clone(spec);
        spec.output = self.schema.clone();
        Arc::new(spec)
    }
}
