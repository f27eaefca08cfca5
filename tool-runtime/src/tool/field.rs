//! One parameter: what is known of it as data, and the code that reads its type.

use std::{any::Any, fmt, marker::PhantomData};

use schemars::SchemaGenerator;
use serde_json::Value;

use super::{
    Code, Limit, Rule, ToolInput, ToolSecret,
    code::{SchemaOf, length, put},
    input::{absent, read_secret},
};

/// What is known about a parameter apart from its type.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) secret: bool,
    /// Whether the name stands in arguments as it is: the model gives it, and JSON escapes nothing of it.
    pub(crate) plain: bool,
    /// JSON texts of example values.
    pub(crate) examples: &'static [&'static str],
}

impl Param {
    pub(super) const fn new(name: &'static str, description: &'static str) -> Self {
        Self { name, description, secret: false, plain: true, examples: &[] }
    }

    /// Whether `key` in the arguments means this parameter.
    pub(super) fn is_called(&self, key: &str) -> bool {
        self.name == key && !self.secret
    }
}

/// One parameter: what is known of it, and the code that reads and describes its type.
///
/// The type is not in it: the compiler takes long over each static whose type is new to it. The code gets the place of the
/// value as an `Any`, which is an `Option` of the type.
#[derive(Clone, Copy)]
pub struct Field {
    pub(crate) param: Param,
    pub(super) code: &'static Code,
    /// What describes it in place of its code.
    schema: Option<SchemaOf>,
    pub(super) default: Option<&'static dyn AnyGiven>,
    default_json: Option<fn() -> Option<Value>>,
    pub(super) limits: &'static [Limit],
    /// Whether a validator is asked, so that it may be missing.
    pub(super) dynamic: bool,
    /// Whether its own fields are judged, each by itself.
    pub(super) nested: bool,
}

/// The evidence that a `T` can be a parameter.
///
/// Every demand on a parameter's type is made by a constructor here, in one place, so that a type that does not fit is
/// reported once, where it is written.
#[derive(Debug)]
pub struct Typed<T>(PhantomData<fn() -> T>);

impl<T: ToolInput + 'static> Typed<T> {
    const GIVEN: &'static Code = &Code::of::<T>();
}

impl<T: ToolSecret + 'static> Typed<T> {
    const SECRET: &'static Code = &Code {
        read: |_, _| Err(serde::de::Error::custom("a secret is not an argument")),
        absent: |place| put(place, absent::<T>()),
        schema: |_| schemars::Schema::default(),
        optional: || false,
        secret: Some(|place, text| put(place, read_secret::<T>(text))),
    };
}

impl<T: 'static> Typed<T> {
    /// A parameter that the model gives, with its name and description.
    #[allow(clippy::new_ret_no_self, reason = "the evidence is typed, what it makes is not")]
    pub const fn new(name: &'static str, description: &'static str) -> Field
    where
        T: ToolInput,
    {
        Self::GIVEN.field(name, description)
    }

    /// A parameter that the application gives and the model never sees.
    pub const fn secret(name: &'static str, description: &'static str) -> Field
    where
        T: ToolSecret,
    {
        let mut param = Param::new(name, description);
        param.secret = true;
        param.plain = false;
        Field::of(param, Self::SECRET)
    }
}

impl Field {
    pub(super) const fn of(param: Param, code: &'static Code) -> Self {
        Self {
            param,
            code,
            schema: None,
            default: None,
            default_json: None,
            limits: &[],
            dynamic: false,
            nested: false,
        }
    }

    /// Says that JSON escapes something of the name.
    pub const fn escaped(mut self) -> Self {
        self.param.plain = false;
        self
    }

    /// Adds examples, each a JSON text.
    pub const fn examples(mut self, examples: &'static [&'static str]) -> Self {
        self.param.examples = examples;
        self
    }

    /// Adds the value that stands in when none is given, and its JSON for the schema.
    pub const fn default(mut self, default: &'static dyn AnyGiven, json: fn() -> Option<Value>) -> Self {
        self.default = Some(default);
        self.default_json = Some(json);
        self
    }

    /// Says that a validator is asked about it.
    pub const fn dynamic(mut self) -> Self {
        self.dynamic = true;
        self
    }

    /// A parameter that is an object whose own fields are judged.
    pub(super) const fn nested(code: &'static Code) -> Self {
        let mut field = Self::of(Param::new("", ""), code);
        field.dynamic = true;
        field.nested = true;
        field
    }

    /// The tag of a variant, whose value is known when the variant is.
    pub(super) const fn tag(name: &'static str, schema: SchemaOf) -> Self {
        let mut field = Self::of(Param::new(name, ""), Tag::CODE);
        field.schema = Some(schema);
        field
    }

    /// Gives it a name and a description.
    pub const fn named(mut self, name: &'static str, description: &'static str) -> Self {
        (self.param.name, self.param.description) = (name, description);
        self
    }

    /// Adds limits.
    pub const fn limits(mut self, limits: &'static [Limit]) -> Self {
        self.limits = limits;
        self
    }

    pub(crate) fn describe(&self, generator: &mut SchemaGenerator) -> Described {
        Described {
            schema: self.schema.unwrap_or(self.code.schema)(generator),
            required: self.default.is_none() && !self.dynamic && !(self.code.optional)(),
            default: self.default_json.and_then(|json| json()),
            rules: self.limits.iter().map(|limit| limit.rule).collect(),
        }
    }
}

impl fmt::Debug for Field {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Field").field("param", &self.param).field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// What a schema says about a parameter.
pub(crate) struct Described {
    pub(crate) schema: schemars::Schema,
    pub(crate) required: bool,
    pub(crate) default: Option<Value>,
    pub(crate) rules: Vec<Rule>,
}

/// The default of a parameter of type `T`.
#[derive(Debug)]
pub struct Given<T>(pub fn() -> T);

/// The default of a parameter whose type is not known here.
pub trait AnyGiven: Sync {
    /// Puts it in.
    fn put(&self, place: &mut dyn Any) -> bool;
}

impl<T: 'static> AnyGiven for Given<T> {
    fn put(&self, place: &mut dyn Any) -> bool {
        put(place, Some((self.0)()))
    }
}

/// The value of a tag, which says no more than that the variant is this one.
#[derive(Clone, Copy, Debug)]
pub struct Tag;

impl Tag {
    const CODE: &'static Code = &Code {
        read: |place, text| {
            put(place, Some(Self));
            length(text)
        },
        absent: |_| false,
        schema: |_| schemars::Schema::default(),
        optional: || false,
        secret: None,
    };

    /// The tag as a field.
    pub const fn field(name: &'static str, schema: fn(&mut SchemaGenerator) -> schemars::Schema) -> Field {
        Field::tag(name, schema)
    }

    /// The schema of a tag with this value.
    pub fn schema(value: &'static str) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "enum": [value] })
    }
}
