//! What `#[tool]` writes down about a tool, and the spec that is made of it when it is first needed.

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use serde_json::Value;

use super::{
    Approval, CallError, Effect, Field, InputHooks, Output, Returned, ToolSpec, Traits, Ui, compiled::Compiled,
    describe,
};
use crate::feedback::Rejection;
use crate::schema::Validator;
use tool_schema::schema::answer::Form;

/// The declaration of a tool, as constants.
pub struct Def {
    /// The name.
    pub name: &'static str,
    /// What the tool does.
    pub description: &'static str,
    /// The parameters, in order.
    pub fields: &'static [Field],
    /// The code that writes and describes the output.
    pub output: Returned,
    /// The options of the declaration.
    pub options: &'static Options,
    /// Reads the output that somebody outside gave; for external tools.
    pub answer: Option<ReadAnswer>,
    /// Told of the arguments of a call while they arrive.
    pub(crate) hooks: Option<&'static dyn InputHooks>,
    /// The variants, in place of `fields`, of a tool whose input is one of several.
    pub(super) union: Option<Union>,
    /// What is derived from the above, when it is first needed.
    cache: Cache,
}

/// The variants of an input that is one of several, told apart by the value of one entry, the tag.
#[derive(Clone, Copy, Debug)]
pub struct Union {
    /// The name of the tag.
    pub tag: &'static str,
    /// What the tag says of each variant, and its declaration, which has the tag among its fields.
    pub variants: &'static [Variant],
}

/// Reads the output that somebody outside gave to a call.
pub type ReadAnswer = fn(&str) -> Result<Output, Rejection>;

/// A variant of an input that is an enum: its tag, and its fields.
pub type Variant = (&'static str, fn() -> &'static Def);

/// The options of a tool's declaration, as constants.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// See [`ToolSpec::title`].
    pub title: Option<&'static str>,
    /// See [`Traits::effect`].
    pub effect: Effect,
    /// See [`Traits::idempotent`].
    pub idempotent: bool,
    /// See [`Traits::open_world`].
    pub open_world: bool,
    /// See [`Traits::approval`].
    pub approval: Approval,
    /// See [`Traits::external`].
    pub external: bool,
    /// See [`Traits::timeout`].
    pub timeout: Option<Duration>,
    /// See [`Traits::retries`].
    pub retries: u32,
    /// See [`Traits::resumable`].
    pub resumable: bool,
    /// See [`Traits::sequential`].
    pub sequential: bool,
    /// See [`Traits::eager`].
    pub eager: bool,
    /// See [`Traits::blocking`].
    pub blocking: bool,
    /// See [`Traits::strict`].
    pub strict: bool,
    /// See [`Traits::untrusted`].
    pub untrusted: bool,
    /// See [`Traits::challenge`].
    pub challenge: Option<&'static str>,
    /// See [`Traits::version`].
    pub version: Option<&'static str>,
    /// See [`Traits::migrate_from`].
    pub migrate_from: &'static [&'static str],
    /// JSON texts of example arguments.
    pub examples: &'static [&'static str],
    /// See [`Traits::ui`].
    pub ui: Option<UiTexts>,
    /// Keys and JSON texts of values.
    pub meta: &'static [(&'static str, &'static str)],
}

/// What a person sees of a tool, as constants.
#[derive(Clone, Copy, Debug)]
pub struct UiTexts {
    /// See [`Ui::icon`].
    pub icon: Option<&'static str>,
    /// See [`Ui::running`].
    pub running: Option<&'static str>,
    /// See [`Ui::done`].
    pub done: Option<&'static str>,
    /// See [`Ui::tooltip`].
    pub tooltip: Option<&'static str>,
}

impl UiTexts {
    /// Nothing.
    pub const NEW: Self = Self { icon: None, running: None, done: None, tooltip: None };
}

impl Options {
    /// What holds when nothing is said.
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
        untrusted: false,
        challenge: None,
        version: None,
        migrate_from: &[],
        examples: &[],
        ui: None,
        meta: &[],
    };

    fn traits(&self) -> Traits {
        // Without `..`: an option that this function forgets does not compile.
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
            untrusted,
            challenge,
            version,
            migrate_from,
            examples,
            ui,
            meta,
        } = *self;
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let mut traits = Traits::default();
        traits.effect = effect;
        traits.idempotent = idempotent;
        traits.open_world = open_world;
        traits.approval = approval;
        traits.external = external;
        traits.timeout = timeout;
        traits.retries = retries;
        traits.resumable = resumable;
        traits.sequential = sequential;
        traits.eager = eager;
        traits.blocking = blocking;
        traits.strict = strict;
        traits.untrusted = untrusted;
        traits.challenge = owned(challenge);
        traits.version = owned(version);
        traits.migrate_from = migrate_from.iter().map(|version| (*version).to_owned()).collect();
        traits.examples = examples.iter().map(|text| json(text)).collect();
        traits.ui =
            ui.map(|UiTexts { icon, running, done, tooltip }| Ui::from([icon, running, done, tooltip].map(owned)));
        traits.meta = meta.iter().map(|(key, text)| ((*key).to_owned(), json(text))).collect();
        traits
    }
}

/// A JSON text that the macro wrote, as a value.
pub fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// What is derived from a [`Def`], when it is first needed.
struct Cache(OnceLock<Derived>);

struct Derived {
    spec: Arc<ToolSpec>,
    /// Whether the types of the parameters promise limits that decoding alone does not check.
    guarded: bool,
    /// Where the output stands in the answer of a tool that can refuse.
    form: OnceLock<Form>,
    validator: Compiled<Validator>,
}

impl Cache {
    const fn new() -> Self {
        Self(OnceLock::new())
    }
}

impl Def {
    /// A declaration without options.
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
            answer: None,
            hooks: None,
            union: None,
            cache: Cache::new(),
        }
    }

    /// Sets the options.
    pub const fn options(mut self, options: &'static Options) -> Self {
        self.options = options;
        self
    }

    /// Says that the input is one of several.
    pub const fn union(mut self, union: Union) -> Self {
        self.union = Some(union);
        self
    }

    /// Whether a parameter, of whichever variant, is called `name`.
    pub(super) fn knows(&self, name: &str) -> bool {
        let variants = self.union.iter().flat_map(|union| union.variants);
        self.fields.iter().any(|field| field.param.is_called(name))
            || variants.into_iter().any(|(_, def)| def().knows(name))
    }

    /// Sets who is told of the arguments of a call while they arrive.
    pub const fn hooks(mut self, hooks: &'static dyn InputHooks) -> Self {
        self.hooks = Some(hooks);
        self
    }

    /// Sets the code that reads the output that somebody outside gives.
    pub const fn answer(mut self, answer: ReadAnswer) -> Self {
        self.answer = Some(answer);
        self
    }

    /// Reads the output that somebody outside gave.
    pub(crate) fn read_answer(&self, output: &str) -> Result<Output, CallError> {
        match self.answer {
            Some(answer) => Ok(answer(output)?),
            None => Err(CallError::NotExecuted),
        }
    }

    /// Whether the spec was made.
    pub fn is_used(&self) -> bool {
        self.cache.0.get().is_some()
    }

    /// The spec, made at the first call and shared.
    pub fn spec(&'static self) -> &'static Arc<ToolSpec> {
        &self.derived().spec
    }

    /// The validator to run after decoding, where decoding alone does not check all that the schema says.
    pub(super) fn guard(&'static self) -> Option<&'static Validator> {
        if self.derived().guarded { self.validator() } else { None }
    }

    /// The validator of the arguments; `None` if a type's own schema cannot be compiled.
    pub(super) fn validator(&'static self) -> Option<&'static Validator> {
        let derived = self.derived();
        derived.validator.get(|| Validator::compile(derived.spec.input.neutral()).ok())
    }

    /// Where the output stands in the answer of a tool that can refuse.
    pub(super) fn form(&'static self) -> Form {
        let derived = self.derived();
        *derived.form.get_or_init(|| Form::of(derived.spec.output.as_ref().map(|schema| schema.neutral())))
    }

    fn derived(&'static self) -> &'static Derived {
        self.cache.0.get_or_init(|| {
            let input = match &self.union {
                Some(union) => describe::union(union),
                None => describe::input(self.fields),
            };
            let describe_output = if self.options.external { describe::answer } else { describe::output };
            let mut spec = ToolSpec::new(self.name, self.description, input.schema);
            spec.title = self.options.title.map(str::to_owned);
            spec.output = describe_output(self.output.schema()).map(Arc::new);
            spec.traits = self.options.traits();
            Derived { spec: Arc::new(spec), guarded: input.guarded, form: OnceLock::new(), validator: Compiled::new() }
        })
    }
}

impl fmt::Debug for Def {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Def").field("name", &self.name).field("options", &self.options).finish_non_exhaustive()
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.0.get().is_some() { "Cache(filled)" } else { "Cache(empty)" })
    }
}
