//! The constants that `#[tool]` writes about a tool, and the spec that is derived from them at first use.

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use super::{
    Approval, CallError, Effect, Failure, InputHooks, Output, ToolOptions, ToolSpec, Ui,
    compiled::Compiled,
    field::{Field, FieldSchema, Param},
    output::{ReadOutput, Returned},
    rule::{LengthUnit, Rule},
    schemas::{describe_external_output, describe_output, describe_root},
};
use crate::schema::{CompiledSchema, Schema};
use tool_schema::schema::close_objects;

/// The declaration of a tool, as constants.
pub struct Def {
    /// The name.
    pub name: &'static str,
    /// The description of the tool.
    pub description: &'static str,
    /// The parameters, in order.
    pub fields: &'static [Field],
    /// The code that writes and describes the output.
    pub output: Returned,
    /// The options of the declaration.
    pub options: &'static Options,
    /// The function that reads an output from a client; for external tools.
    pub read_output: Option<ReadOutput>,
    /// The hooks that receive the arguments of a call while they arrive.
    pub(crate) hooks: Option<&'static dyn InputHooks>,
    /// The variants, in place of `fields`, if the input is an enum.
    pub(super) union: Option<Union>,
    /// The data derived from the above at first use.
    cache: OnceLock<Derived>,
}

/// The variants of an input that is an enum. One entry, the tag, distinguishes them.
#[derive(Clone, Copy, Debug)]
pub struct Union {
    /// The name of the tag.
    pub tag: &'static str,
    /// The value of the tag for each variant, and the variant's declaration, which has the tag among its fields.
    pub variants: &'static [Variant],
}

/// A variant of an input that is an enum: the value of its tag, and its declaration.
pub type Variant = (&'static str, fn() -> &'static Def);

/// The options of a tool's declaration, as constants: the fields of [`ToolSpec`] and [`ToolOptions`] of the same names.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the fields are documented where they end up")]
pub struct Options {
    pub title: Option<&'static str>,
    pub effect: Effect,
    pub idempotent: bool,
    pub open_world: bool,
    pub approval: Approval,
    pub external: bool,
    pub timeout: Option<Duration>,
    pub retries: u32,
    pub resumable: bool,
    pub sequential: bool,
    pub eager: bool,
    pub blocking: bool,
    pub strict: bool,
    pub lenient: bool,
    pub untrusted: bool,
    pub challenge: Option<&'static str>,
    pub version: Option<&'static str>,
    pub migrate_from: &'static [&'static str],
    /// JSON texts of example arguments.
    pub examples: &'static [&'static str],
    pub ui: Option<UiTexts>,
    /// Keys, and JSON texts of their values.
    pub meta: &'static [(&'static str, &'static str)],
}

/// The texts that a person sees about a tool, as constants: the fields of [`Ui`].
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the fields are documented where they end up")]
pub struct UiTexts {
    pub icon: Option<&'static str>,
    pub running: Option<&'static str>,
    pub done: Option<&'static str>,
    pub tooltip: Option<&'static str>,
}

impl UiTexts {
    /// No texts.
    pub const NEW: Self = Self { icon: None, running: None, done: None, tooltip: None };
}

impl Options {
    /// The options of a declaration that sets none.
    pub const NEW: Self = Self {
        title: None,
        effect: Effect::Write,
        idempotent: false,
        open_world: false,
        approval: Approval::Never,
        external: false,
        timeout: None,
        retries: 0,
        resumable: false,
        sequential: false,
        eager: false,
        blocking: false,
        strict: false,
        lenient: false,
        untrusted: false,
        challenge: None,
        version: None,
        migrate_from: &[],
        examples: &[],
        ui: None,
        meta: &[],
    };

    fn options(&self) -> ToolOptions {
        // Without `..`, so that a new option does not compile until this function has it.
        let Self {
            title: _,
            effect,
            idempotent,
            open_world,
            approval,
            external,
            timeout,
            retries,
            resumable,
            sequential,
            eager,
            blocking,
            strict,
            lenient,
            untrusted,
            challenge,
            version,
            migrate_from,
            examples,
            ui,
            meta,
        } = *self;
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let mut options = ToolOptions::default();
        options.effect = effect;
        options.idempotent = idempotent;
        options.open_world = open_world;
        options.approval = approval;
        options.external = external;
        options.timeout = timeout;
        options.retries = retries;
        options.resumable = resumable;
        options.sequential = sequential;
        options.eager = eager;
        options.blocking = blocking;
        options.strict = strict;
        options.lenient = lenient;
        options.untrusted = untrusted;
        options.challenge = owned(challenge);
        options.version = owned(version);
        options.migrate_from = migrate_from.iter().map(|version| (*version).to_owned()).collect();
        options.examples = examples.iter().map(|text| parse_or_quote(text)).collect();
        options.ui =
            ui.map(|UiTexts { icon, running, done, tooltip }| Ui::from([icon, running, done, tooltip].map(owned)));
        options.meta = meta.iter().map(|(key, text)| ((*key).to_owned(), parse_or_quote(text))).collect();
        options
    }
}

/// Parses a JSON text. Another text becomes a JSON string.
fn parse_or_quote(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// The data that is derived from a [`Def`] at first use.
struct Derived {
    spec: Arc<ToolSpec>,
    /// Set if the type of a parameter may accept a value that its schema forbids.
    needs_check: bool,
    /// The position of the output in the answer of a tool that can refuse.
    input: Compiled<CompiledSchema>,
}

impl Def {
    /// Creates a declaration without options.
    pub const fn new(
        name: &'static str,
        description: &'static str,
        fields: &'static [Field],
        output: Returned,
    ) -> Self {
        Self {
            name,
            description,
            fields,
            output,
            options: &Options::NEW,
            read_output: None,
            hooks: None,
            union: None,
            cache: OnceLock::new(),
        }
    }

    /// Sets the options.
    pub const fn options(mut self, options: &'static Options) -> Self {
        self.options = options;
        self
    }

    /// Sets the variants of an input that is an enum.
    pub const fn union(mut self, union: Union) -> Self {
        self.union = Some(union);
        self
    }

    /// Returns whether a parameter, of any variant, is called `name`.
    pub(super) fn has_parameter(&self, name: &str) -> bool {
        let variants = self.union.iter().flat_map(|union| union.variants);
        self.fields.iter().any(|field| field.param.is_called(name))
            || variants.into_iter().any(|(_, def)| def().has_parameter(name))
    }

    /// Returns whether the model provides no parameter.
    pub(super) fn takes_nothing(&self) -> bool {
        self.union.is_none() && self.fields.iter().all(|field| field.param.secret)
    }

    /// Sets the hooks that receive the arguments of a call while they arrive.
    pub const fn hooks(mut self, hooks: &'static dyn InputHooks) -> Self {
        self.hooks = Some(hooks);
        self
    }

    /// Sets the function that reads an output from a client.
    pub const fn read_output(mut self, read: ReadOutput) -> Self {
        self.read_output = Some(read);
        self
    }

    pub(crate) fn read_external_output(&self, output: &str) -> Result<Output, CallError> {
        Ok(self.read_output.ok_or(CallError::NotExecuted)?(output)?)
    }

    /// Returns whether the spec was created.
    pub fn has_spec(&self) -> bool {
        self.cache.get().is_some()
    }

    /// Returns the spec. It is created at the first call and shared.
    pub fn spec(&'static self) -> &'static Arc<ToolSpec> {
        &self.derived().spec
    }

    /// Returns the schema of the arguments if a parameter has another type than those that this crate knows.
    pub(super) fn schema_of_types(&'static self) -> Option<&'static Value> {
        let derived = self.derived();
        derived.needs_check.then(|| derived.spec.input.neutral())
    }

    /// Returns the schema to check after decoding, if a type may accept a value that its schema forbids.
    ///
    /// Fails if the schema has a part that cannot be checked.
    pub(super) fn guard(&'static self) -> Result<Option<&'static CompiledSchema>, Failure> {
        if !self.derived().needs_check {
            return Ok(None);
        }
        match self.input_schema().filter(|schema| schema.warnings().is_empty()) {
            Some(schema) => Ok(Some(schema)),
            None => Err(self.explain_unchecked()),
        }
    }

    /// Returns the failure of every call of a tool whose schema cannot be checked. Only the operator sees the type's name.
    #[cold]
    fn explain_unchecked(&self) -> Failure {
        let unchecked = self.fields.iter().filter(|field| !field.is_exact()).find_map(|field| {
            let alone = describe_input(std::slice::from_ref(field)).schema;
            let reason = match CompiledSchema::compile(alone.neutral()) {
                Ok(schema) => schema.warnings().first()?.clone(),
                Err(error) => error.to_string(),
            };
            Some(format!("the parameter `{}` has the type `{}`: {reason}", field.param.name, field.type_name()))
        });
        let reason = unchecked.unwrap_or_else(|| "its schema is too large, or a pattern in it is".to_owned());
        Failure::new("the tool is not configured")
            .source(format_args!("the arguments of `{}` cannot be checked against their schema: {reason}", self.name))
    }

    /// Returns the compiled schema of the arguments; `None` if a type's own schema cannot be compiled.
    pub(super) fn input_schema(&'static self) -> Option<&'static CompiledSchema> {
        let derived = self.derived();
        derived.input.get(|| CompiledSchema::compile(derived.spec.input.neutral()).ok())
    }

    fn derived(&'static self) -> &'static Derived {
        self.cache.get_or_init(|| {
            let input = match &self.union {
                Some(union) => describe_union(union),
                None => describe_input(self.fields),
            };
            let describe_output = if self.options.external { describe_external_output } else { describe_output };
            let mut spec = ToolSpec::new(self.name, self.description, input.schema);
            spec.title = self.options.title.map(str::to_owned);
            spec.output = describe_output(self.output.schema).map(Arc::new);
            spec.options = self.options.options();
            Derived { spec: Arc::new(spec), needs_check: input.needs_check, input: Compiled::new() }
        })
    }
}

impl fmt::Debug for Def {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Def").field("name", &self.name).field("options", &self.options).finish_non_exhaustive()
    }
}

/// The schema of the arguments.
pub struct InputSchema {
    pub schema: Schema,
    /// Set if the type of a parameter may accept a value that its schema forbids.
    pub needs_check: bool,
}

/// Returns the schema of an object with `fields`.
pub fn describe_input(fields: &[Field]) -> InputSchema {
    let schema = describe_arguments(|generator| describe_object(fields, generator).into());
    InputSchema { schema, needs_check: fields.iter().any(|field| !field.is_exact()) }
}

/// Returns the schema of an input that is an enum.
pub fn describe_union(union: &Union) -> InputSchema {
    let schema = describe_arguments(|generator| {
        let branches = union.variants.iter().map(|(_, def)| Value::Object(describe_nested(def(), generator)));
        let branches: Vec<Value> = branches.collect();
        let tags: Vec<&str> = union.variants.iter().map(|(tag, _)| *tag).collect();
        let mut schema = describe_tagged(union.tag, &tags);
        schema.insert("oneOf".to_owned(), Value::Array(branches));
        schema.into()
    });
    // Each variant is checked by itself.
    InputSchema { schema, needs_check: false }
}

/// Returns the schema of an object with the fields of `def`, as a part of another schema.
pub fn describe_nested(def: &Def, generator: &mut SchemaGenerator) -> Map<String, Value> {
    let mut schema = describe_object(def.fields, generator);
    if !def.description.is_empty() {
        schema.insert("description".to_owned(), def.description.into());
    }
    schema
}

/// Returns the schema of an object with the entry `tag`, which is one of `values`.
pub fn describe_tagged(tag: &str, values: &[&str]) -> Map<String, Value> {
    let Value::Object(schema) = json!({
        "type": "object",
        "properties": { tag: { "type": "string", "enum": values } },
        "required": [tag],
    }) else {
        unreachable!("an object is written")
    };
    schema
}

/// Returns the schema of an object with `fields`, whose definitions are those of `generator`.
pub fn describe_object(fields: &[Field], generator: &mut SchemaGenerator) -> Map<String, Value> {
    let mut properties = Map::with_capacity(fields.len());
    let mut required = Vec::new();
    for field in fields.iter().filter(|field| !field.param.secret) {
        let (param, mut described) = (&field.param, field.describe(generator));
        let schema = Value::from(std::mem::take(&mut described.schema));
        if described.required {
            required.push(Value::from(param.name));
        }
        properties.insert(param.name.to_owned(), describe_param(schema, described, param));
    }
    let mut schema = Map::with_capacity(5);
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_owned(), Value::Array(required));
    }
    schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    schema
}

/// Returns the schema of arguments: unknown names are errors in all objects.
fn describe_arguments(describe: impl Fn(&mut SchemaGenerator) -> Value) -> Schema {
    describe_root(describe, close_objects)
}

/// Returns the type's schema with what the declaration adds about the parameter.
fn describe_param(schema: Value, described: FieldSchema, param: &Param) -> Value {
    let mut schema = match schema {
        Value::Object(schema) => schema,
        Value::Bool(false) => Map::from_iter([("not".to_owned(), json!({}))]),
        _ => Map::new(),
    };
    if !param.description.is_empty() {
        schema.insert("description".to_owned(), param.description.into());
    }
    for rule in described.rules {
        describe_rule(rule, &mut schema);
    }
    if let Some(default) = described.default {
        schema.insert("default".to_owned(), default);
    }
    let mut examples: Vec<Value> = param.examples.iter().map(|text| parse_or_quote(text)).collect();
    // This tells the dialects that leaving it out is something else.
    examples.extend((described.has_null && !examples.contains(&Value::Null)).then_some(Value::Null));
    if !examples.is_empty() {
        schema.insert("examples".to_owned(), Value::Array(examples));
    }
    Value::Object(schema)
}

fn describe_rule(rule: Rule, schema: &mut Map<String, Value>) {
    let mut put = |key: &str, value: Value| schema.insert(key.to_owned(), value);
    match rule {
        Rule::Range { min, max, exclusive } => {
            if let Some(min) = min {
                put("minimum", min.to_json());
            }
            if let Some(max) = max {
                put(if exclusive { "exclusiveMaximum" } else { "maximum" }, max.to_json());
            }
        }
        Rule::Length { min, max, unit } => {
            let (least, most) = match unit {
                LengthUnit::Characters => ("minLength", "maxLength"),
                LengthUnit::Items => ("minItems", "maxItems"),
                LengthUnit::Entries => ("minProperties", "maxProperties"),
            };
            if min > 0 {
                put(least, min.into());
            }
            if let Some(max) = max {
                put(most, max.into());
            }
        }
        Rule::Pattern(pattern) => {
            put("pattern", pattern.published().into());
        }
        Rule::Format(format) => {
            put("format", format.name().into());
        }
    }
}
