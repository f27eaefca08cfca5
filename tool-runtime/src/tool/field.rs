//! One parameter: its data, and the code that reads and describes its type.

use std::{
    any::{Any, type_name},
    borrow::Cow,
    fmt,
    marker::PhantomData,
};

use schemars::{JsonSchema, SchemaGenerator};
use serde::de::{DeserializeOwned, Error as _, IgnoredAny, Unexpected};
use serde_json::Value;

use super::{
    Output, ToolInput, ToolSecret, check,
    deserializer::{Exact, Keys},
    input::{absent, null, read_secret},
    output::{ReadOutput, Returned},
    rule::{Limit, Rule},
};
use tool_schema::json::text;
use tool_schema::schema::mark_number_keys;

/// The data of a parameter, apart from its type.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) secret: bool,
    /// Set if the name appears in arguments as it is: the model provides the parameter, and JSON escapes nothing of the name.
    pub(crate) plain: bool,
    /// JSON texts of example values.
    pub(crate) examples: &'static [&'static str],
}

impl Param {
    pub(super) const fn new(name: &'static str, description: &'static str) -> Self {
        Self { name, description, secret: false, plain: true, examples: &[] }
    }

    /// Returns whether `key` in the arguments means this parameter.
    pub(super) fn is_called(&self, key: &str) -> bool {
        self.name == key && !self.secret
    }
}

/// One parameter: its data, and the code that reads and describes its type.
///
/// The type itself is not a type parameter: the compiler takes long for each static with a type that it has not seen. The code
/// gets the place of the value as an `Any`, which is an `Option` of the type.
#[derive(Clone, Copy)]
pub struct Field {
    pub(crate) param: Param,
    pub(super) code: &'static Code,
    /// The function that describes the parameter in place of its code.
    schema: Option<SchemaOf>,
    pub(super) default: Option<&'static dyn AnyDefault>,
    default_json: Option<fn() -> Option<Value>>,
    pub(super) limits: &'static [Limit],
    /// Set if a validator is asked about it, so that it may be missing.
    pub(super) dynamic: bool,
    /// Set if validators judge the fields inside it one by one.
    pub(super) nested: Option<Nested>,
}

/// The value of a parameter whose inner fields are judged one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nested {
    /// An object.
    Object,
    /// A list of objects.
    List,
}

/// The witness that a `T` can be a parameter.
///
/// The constructors here make every demand on a parameter's type. So a type that does not fit is reported once, where it is
/// written, by the traits of the module `missing_traits`.
#[derive(Debug)]
pub struct TypeWitness<T>(PhantomData<fn() -> T>);

impl<T: ToolInput> TypeWitness<T> {
    const GIVEN: &'static Code = &Code::of::<T>();
}

impl<T: DeserializeOwned + JsonSchema + 'static> TypeWitness<T> {
    /// Returns the code of the type.
    pub const fn fits<L: ?Sized>(&self) -> FieldCode
    where
        T: Send,
    {
        FieldCode {
            code: Self::GIVEN,
            read: |text| {
                let text = text.trim();
                let schema = check::check_external_output(text, SchemaGenerator::subschema_for::<T>)?;
                let schema = schema.as_ref().map(|schema| (schema.neutral(), schema.neutral()));
                let read = |text: &str| read::<T>(&mut None::<T>, text, Keys::Plain);
                let again = |text: &str, error| read_again(self::read::<T>, &mut None::<T>, text, error, schema);
                let Err(error) = read(text) else { return Ok(Output::from_json(text)) };
                match again(text, error) {
                    Ok(_) => Ok(Output::from_json(text::with_plain_integers(text).unwrap_or_else(|| text.to_owned()))),
                    Err(error) => {
                        let mut refuse = |text: &str| read(text).or_else(|error| again(text, error)).err();
                        Err(check::explain_refusal(text, &error, &mut refuse))
                    }
                }
            },
            returned: Returned::described(|generator| Some(generator.subschema_for::<T>())),
        }
    }
}

impl<T: ToolSecret + 'static> TypeWitness<T> {
    const SECRET: &'static Code = &Code {
        read: |_, _, _| Err(serde::de::Error::custom("a secret is not an argument")),
        absent: |place| put(place, absent::<T>()),
        schema: |_| schemars::Schema::default(),
        optional: || false,
        has_null: || false,
        secret: Some(|place, text| put(place, read_secret::<T>(text))),
        exact: true,
        type_name: type_name::<T>,
    };
}

impl<T: 'static> TypeWitness<T> {
    /// The value on which `field` is called.
    pub const CODE: &'static Self = &Self(PhantomData);

    /// Creates a parameter that the model provides, of a type whose code is not in this crate.
    pub const fn field(&self, name: &'static str, description: &'static str) -> Field
    where
        T: ToolInput,
    {
        Self::GIVEN.field(name, description)
    }

    /// Creates a parameter that the application provides and the model never sees.
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

/// The code of a parameter, or of the output of an external tool.
#[derive(Debug)]
pub struct FieldCode {
    code: &'static Code,
    /// The code that reads an output.
    pub read: ReadOutput,
    /// The code that describes an output.
    pub returned: Returned,
}

impl FieldCode {
    /// Creates a parameter that the model provides, with its name and description.
    pub const fn field(self, name: &'static str, description: &'static str) -> Field {
        self.code.field(name, description)
    }
}

impl Field {
    pub(super) const fn of(param: Param, code: &'static Code) -> Self {
        Self { param, code, schema: None, default: None, default_json: None, limits: &[], dynamic: false, nested: None }
    }

    /// Marks the name as one that JSON escapes.
    pub const fn escaped(mut self) -> Self {
        self.param.plain = false;
        self
    }

    /// Adds examples, each a JSON text.
    pub const fn examples(mut self, examples: &'static [&'static str]) -> Self {
        self.param.examples = examples;
        self
    }

    /// Sets the default value, and its JSON for the schema.
    pub const fn default(mut self, default: &'static dyn AnyDefault, json: fn() -> Option<Value>) -> Self {
        self.default = Some(default);
        self.default_json = Some(json);
        self
    }

    /// Marks the parameter as one that a validator judges.
    pub const fn dynamic(mut self) -> Self {
        self.dynamic = true;
        self
    }

    /// Creates a parameter whose inner fields are judged.
    pub(super) const fn nested(nested: Nested, code: &'static Code) -> Self {
        let mut field = Self::of(Param::new("", ""), code);
        field.dynamic = true;
        field.nested = Some(nested);
        field
    }

    /// Creates the tag of a variant. Its value follows from the variant.
    pub(super) const fn tag(name: &'static str, schema: SchemaOf) -> Self {
        let mut field = Self::of(Param::new(name, ""), Tag::CODE);
        field.schema = Some(schema);
        field
    }

    /// Sets the name and the description.
    pub const fn named(mut self, name: &'static str, description: &'static str) -> Self {
        (self.param.name, self.param.description) = (name, description);
        self
    }

    /// Sets the limits.
    pub const fn limits(mut self, limits: &'static [Limit]) -> Self {
        self.limits = limits;
        self
    }

    /// Returns whether the code of the parameter accepts a value exactly if the schema does.
    pub(super) fn is_exact(&self) -> bool {
        self.code.exact
    }

    /// Returns the name of the type, for operators.
    pub(super) fn type_name(&self) -> &'static str {
        (self.code.type_name)()
    }

    pub(crate) fn describe(&self, generator: &mut SchemaGenerator) -> FieldSchema {
        FieldSchema {
            schema: self.schema.unwrap_or(self.code.schema)(generator),
            required: self.default.is_none() && !self.dynamic && !(self.code.optional)(),
            has_null: (self.code.has_null)(),
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

/// The schema of a parameter, and what else its declaration adds.
pub(crate) struct FieldSchema {
    pub(crate) schema: schemars::Schema,
    pub(crate) required: bool,
    /// Set if null is a value of its own.
    pub(crate) has_null: bool,
    pub(crate) default: Option<Value>,
    pub(crate) rules: Vec<Rule>,
}

/// The default of a parameter of type `T`.
#[derive(Debug)]
pub struct DefaultValue<T>(pub fn() -> T);

/// The default of a parameter whose type is not known statically.
pub trait AnyDefault: Sync {
    /// Puts the default into `place`. Returns whether there is a value now.
    fn put(&self, place: &mut dyn Any) -> bool;
}

impl<T: 'static> AnyDefault for DefaultValue<T> {
    fn put(&self, place: &mut dyn Any) -> bool {
        put(place, Some((self.0)()))
    }
}

/// The value of a tag. It carries no data, because the variant determines it.
#[derive(Clone, Copy, Debug)]
pub struct Tag;

impl Tag {
    const CODE: &'static Code = &Code {
        read: |place, text, _| {
            put(place, Some(Self));
            length(text)
        },
        absent: |_| false,
        schema: |_| schemars::Schema::default(),
        optional: || false,
        has_null: || false,
        secret: None,
        exact: true,
        type_name: || "",
    };

    /// Creates the tag as a field.
    pub const fn field(name: &'static str, schema: fn(&mut SchemaGenerator) -> schemars::Schema) -> Field {
        Field::tag(name, schema)
    }

    /// Returns the schema of a tag with this value.
    pub fn schema(value: &'static str) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "enum": [value] })
    }
}

/// The function that describes a type.
pub type SchemaOf = fn(&mut SchemaGenerator) -> schemars::Schema;

/// The function that reads the value at the start of a text into its place, and returns its length.
type ReadValue = fn(&mut dyn Any, &str, Keys) -> Result<usize, serde_json::Error>;

/// The code that reads and describes a type. There is one for each type, not for each parameter, so the compiler evaluates it
/// once.
#[derive(Debug)]
pub struct Code {
    pub(super) read: ReadValue,
    pub(super) absent: fn(&mut dyn Any) -> bool,
    pub(super) schema: SchemaOf,
    pub(super) optional: fn() -> bool,
    /// Returns whether null is a value of its own.
    has_null: fn() -> bool,
    pub(super) secret: Option<fn(&mut dyn Any, &str) -> bool>,
    /// Set if the code accepts a value exactly if the schema does. Of most types, nobody knows this.
    pub(super) exact: bool,
    /// Returns the name of the type, for operators.
    pub(super) type_name: fn() -> &'static str,
}

impl Code {
    /// Returns the code of a parameter that the model provides.
    pub(super) const fn of<T: ToolInput>() -> Self {
        Self {
            read: read::<T>,
            absent: |place| put(place, absent::<T>()),
            schema: SchemaGenerator::subschema_for::<T>,
            optional: || absent::<T>().is_some(),
            has_null: || null::<T>().is_some(),
            secret: None,
            exact: false,
            type_name: type_name::<T>,
        }
    }

    /// Marks the code as that of a type that accepts a value exactly if its schema does.
    const fn exact(mut self) -> Self {
        self.exact = true;
        self
    }

    /// Creates a parameter with this code, with its name and description.
    pub const fn field(&'static self, name: &'static str, description: &'static str) -> Field {
        Field::of(Param::new(name, description), self)
    }

    /// Creates the code of a parameter whose inner fields are judged.
    pub(super) const fn nested(read: ReadValue, schema: SchemaOf) -> Self {
        // The code that reads each object checks it.
        Self {
            read,
            absent: |_| false,
            schema,
            optional: || false,
            has_null: || false,
            secret: None,
            exact: true,
            type_name: || "",
        }
    }
}

/// Reads the value at the start of `text` into `place`; returns its length.
fn read<T: ToolInput>(place: &mut dyn Any, text: &str, keys: Keys) -> Result<usize, serde_json::Error> {
    if text.starts_with("null") && put(place, null::<T>()) {
        return Ok("null".len());
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let value = T::deserialize(Exact::new(&mut json, keys))?;
    put(place, Some(value));
    // Only a stream reports the position of the deserializer. This one reads nothing more.
    let length = json.into_iter::<IgnoredAny>().byte_offset();
    // serde_json ends an integer of 128 bits before its fraction.
    if matches!(text.as_bytes().get(length), Some(b'.' | b'e' | b'E')) {
        return Err(serde_json::Error::invalid_type(Unexpected::Float(0.5), &"a whole number"));
    }
    Ok(length)
}

/// Reads a value that caused `error` once more: with whole numbers in plain digits, because to `serde_json` `5.0` is no integer,
/// and then with marks on keys that are numbers, because the buffer of a tagged, untagged or flattened type takes them as texts.
/// `schema` is a schema and the part of it that describes the value.
#[cold]
pub fn read_again(
    read: ReadValue,
    place: &mut dyn Any,
    text: &str,
    mut error: serde_json::Error,
    schema: Option<(&Value, &Value)>,
) -> Result<usize, serde_json::Error> {
    let Ok(length) = length(text) else { return Err(error) };
    let mut json = Cow::Borrowed(&text[..length]);
    if let Some(plain) = text::with_plain_integers(&json) {
        match read(place, &plain, Keys::Plain) {
            Ok(_) => return Ok(length),
            Err(again) => (error, json) = (again, Cow::Owned(plain)),
        }
    }
    let Some((root, part)) = schema else { return Err(error) };
    for free in [false, true] {
        if let Some(marked) = mark_number_keys(root, part, &json, free)
            && read(place, &marked, Keys::Marked).is_ok()
        {
            return Ok(length);
        }
    }
    Err(error)
}

/// The place of a value that other code will read.
#[derive(Clone, Copy, Debug)]
pub struct Skipped;

/// Reads the object or list at the start of `text` with `whole`, unless its place is [`Skipped`]; returns its length.
pub fn read_nested<T: 'static>(
    place: &mut dyn Any,
    text: &str,
    whole: impl FnOnce(&str) -> Result<T, serde_json::Error>,
) -> Result<usize, serde_json::Error> {
    let length = length(text)?;
    if !place.is::<Skipped>() {
        put(place, Some(whole(&text[..length])?));
    }
    Ok(length)
}

/// Returns the length of the value at the start of `text`.
pub fn length(text: &str) -> Result<usize, serde_json::Error> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Err(error)) => Err(error),
        _ => Ok(values.byte_offset()),
    }
}

/// Puts `value` into its place. Returns whether there is a value now.
pub fn put<T: 'static>(place: &mut dyn Any, value: Option<T>) -> bool {
    match place.downcast_mut::<Option<T>>() {
        Some(place) => {
            *place = value;
            place.is_some()
        }
        None => unreachable!("a field's place is made of the field's type"),
    }
}

/// A type whose code may be in this crate: see the module `expansion`.
#[derive(Debug)]
pub struct BuiltInType<T>(PhantomData<fn() -> T>);

macro_rules! usual {
    ($($code:expr => $($type:ty,)*;)*) => {$($(
        impl BuiltInType<$type> {
            /// The code.
            pub const CODE: &'static Code = {
                // A static, and what it refers to, belongs to this crate. A constant would be compiled again where it is used.
                static CODE: Code = $code(Code::of::<$type>());
                &CODE
            };
        }
    )*)*};
}

usual! {
    Code::exact =>
        bool, String, i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, f64,
        Option<bool>, Option<String>,
        Option<i8>, Option<i16>, Option<i32>, Option<i64>, Option<isize>,
        Option<u8>, Option<u16>, Option<u32>, Option<u64>, Option<usize>,
        Option<f64>,
        Vec<String>, Vec<i32>, Vec<i64>, Vec<u32>, Vec<u64>, Vec<usize>, Vec<f64>,
        Option<Vec<String>>, Option<Vec<i64>>, Option<Vec<u32>>, Option<Vec<u64>>, Option<Vec<f64>>,;
    // A number is rounded before it is compared with a limit.
    std::convert::identity => f32, Option<f32>,;
}
