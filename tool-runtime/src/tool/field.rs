//! One parameter: what is known of it as data, and the code that reads its type.

use std::fmt;

use schemars::SchemaGenerator;
use serde_json::Value;

use super::{
    Check, Context, Failure, Rule, ToolInput, ToolSecret,
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
    /// A parameter without description.
    pub const fn new(name: &'static str) -> Self {
        Self { name, description: "", secret: false, plain: is_plain(name), examples: &[] }
    }

    /// Adds a description.
    pub const fn describe(mut self, description: &'static str) -> Self {
        self.description = description;
        self
    }

    /// Adds examples, each a JSON text.
    pub const fn examples(mut self, examples: &'static [&'static str]) -> Self {
        self.examples = examples;
        self
    }

    /// Whether `key` in the arguments means this parameter.
    pub(super) fn is_called(&self, key: &str) -> bool {
        self.name == key && !self.secret
    }
}

const fn is_plain(name: &str) -> bool {
    let bytes = name.as_bytes();
    let mut index = 0;
    while index < bytes.len() {
        if matches!(bytes[index], 0..=0x1f | b'"' | b'\\') {
            return false;
        }
        index += 1;
    }
    true
}

/// One parameter of type `T`: the evidence that its type can be read and described.
///
/// Every demand on a parameter's type is made by a constructor here, in one place, so that a type that does not fit is
/// reported once, where it is written.
pub struct Field<T: 'static> {
    param: Param,
    read: fn(&str, &mut Option<T>) -> Result<usize, serde_json::Error>,
    absent: fn() -> Option<T>,
    schema: fn(&mut SchemaGenerator) -> schemars::Schema,
    default: Option<fn() -> T>,
    default_json: Option<fn() -> Option<Value>>,
    checks: &'static [Check<T>],
    secret: Option<fn(&str) -> Option<T>>,
}

impl<T> Field<T> {
    /// A parameter that the model gives.
    pub const fn new(param: Param) -> Self
    where
        T: ToolInput,
    {
        Self {
            param,
            read: read::<T>,
            absent: T::absent,
            schema: T::schema,
            default: None,
            default_json: None,
            checks: &[],
            secret: None,
        }
    }

    /// A parameter that the application gives and the model never sees.
    pub const fn secret(mut param: Param) -> Self
    where
        T: ToolSecret,
    {
        param.secret = true;
        param.plain = false;
        Self {
            param,
            read: |_, _| Err(serde::de::Error::custom("a secret is not an argument")),
            absent: absent::<T>,
            schema: |_| schemars::Schema::default(),
            default: None,
            default_json: None,
            checks: &[],
            secret: Some(read_secret::<T>),
        }
    }

    /// Adds the value that stands in when none is given, and its JSON for the schema.
    pub const fn default(mut self, default: fn() -> T, json: fn() -> Option<Value>) -> Self {
        self.default = Some(default);
        self.default_json = Some(json);
        self
    }

    /// Adds limits.
    pub const fn checks(mut self, checks: &'static [Check<T>]) -> Self {
        self.checks = checks;
        self
    }

    /// An empty place for the parameter's value.
    #[inline]
    pub const fn slot(&'static self) -> Slot<T> {
        Slot { field: self, value: None }
    }
}

/// Reads the value at the start of `text` into `place`; returns its length.
fn read<T: ToolInput>(text: &str, place: &mut Option<T>) -> Result<usize, serde_json::Error> {
    let (value, length) = T::read(text)?;
    *place = Some(value);
    Ok(length)
}

impl<T> fmt::Debug for Field<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Field").field("param", &self.param).field("checks", &self.checks).finish_non_exhaustive()
    }
}

/// What a schema says about a parameter.
pub(crate) struct Described {
    pub(crate) schema: schemars::Schema,
    pub(crate) required: bool,
    pub(crate) default: Option<Value>,
    pub(crate) rules: Vec<Rule>,
}

/// A parameter whose type is not known here.
pub trait AnyField: Sync {
    /// The data.
    fn param(&self) -> &Param;
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "for the runtime alone")]
    fn describe(&self, generator: &mut SchemaGenerator) -> Described;
}

impl<T> AnyField for Field<T> {
    fn param(&self) -> &Param {
        &self.param
    }

    #[allow(private_interfaces, reason = "for the runtime alone")]
    fn describe(&self, generator: &mut SchemaGenerator) -> Described {
        Described {
            schema: (self.schema)(generator),
            required: self.default.is_none() && (self.absent)().is_none(),
            default: self.default_json.and_then(|json| json()),
            rules: self.checks.iter().map(|check| check.rule).collect(),
        }
    }
}

/// The place where a parameter's value is put while the arguments are read.
#[derive(Debug)]
pub struct Slot<T: 'static> {
    field: &'static Field<T>,
    value: Option<T>,
}

impl<T> Slot<T> {
    /// The value.
    ///
    /// # Panics
    ///
    /// When the slot was not filled; decoding succeeds only with every slot filled.
    #[inline]
    pub fn take(self) -> T {
        self.value.expect("decoding succeeds only with every slot filled")
    }

    fn read_secret(&mut self, cx: &Context) -> Result<(), Failure> {
        let name = self.field.param.name;
        let Some(text) = cx.secret(name) else {
            if self.read_absent() {
                return Ok(());
            }
            return Err(Failure::told("the tool is not set up")
                .because(format_args!("the context has no secret `{name}`; add it with `Context::with_secret`")));
        };
        self.value = self.field.secret.and_then(|read| read(text));
        if self.value.is_some() {
            return Ok(());
        }
        Err(Failure::told("the tool is not set up").because(format_args!("the secret `{name}` does not fit its type")))
    }
}

/// A slot whose type is not known here.
pub trait AnySlot {
    /// The parameter's data.
    fn param(&self) -> &'static Param;
    /// Reads the value at the start of `text` and returns its length; `None` when it cannot be read, breaks a rule, or is
    /// the second one.
    fn accept(&mut self, text: &str) -> Option<usize>;
    /// Puts in what the arguments did not give, if they did not: the secret of the parameter's name, or what stands for
    /// "not given"; `false` when there is no such thing.
    fn complete(&mut self, cx: &Context) -> Result<bool, Failure>;
    /// Reads the value at the start of `text`; returns its length.
    fn read(&mut self, text: &str) -> Result<usize, serde_json::Error>;
    /// Puts in what stands for "not given"; `false` when there is no such thing.
    fn read_absent(&mut self) -> bool;
    /// The first rule that the value breaks.
    fn broken(&self) -> Option<Rule>;
}

impl<T> AnySlot for Slot<T> {
    fn param(&self) -> &'static Param {
        &self.field.param
    }

    fn accept(&mut self, text: &str) -> Option<usize> {
        if self.value.is_some() {
            return None;
        }
        let length = (self.field.read)(text, &mut self.value).ok()?;
        let checks = self.field.checks;
        if checks.is_empty() {
            return Some(length);
        }
        let value = self.value.as_ref()?;
        checks.iter().all(|check| (check.holds)(value, &check.rule)).then_some(length)
    }

    fn complete(&mut self, cx: &Context) -> Result<bool, Failure> {
        if self.value.is_some() {
            return Ok(true);
        }
        if self.field.param.secret {
            return self.read_secret(cx).map(|()| true);
        }
        Ok(self.read_absent())
    }

    fn read(&mut self, text: &str) -> Result<usize, serde_json::Error> {
        (self.field.read)(text, &mut self.value)
    }

    fn read_absent(&mut self) -> bool {
        self.value = match self.field.default {
            Some(default) => Some(default()),
            None => (self.field.absent)(),
        };
        self.value.is_some()
    }

    fn broken(&self) -> Option<Rule> {
        let value = self.value.as_ref()?;
        self.field.checks.iter().find(|check| !(check.holds)(value, &check.rule)).map(|check| check.rule)
    }
}
