//! What a tool gives back: one value for the application, and what the model sees of it.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::Failure;
use crate::feedback::Success;
use crate::message::Part;
use crate::schema::answer::Form;

/// What a call gave back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    json: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<Vec<Part>>,
}

impl Output {
    /// An output that the application and the model both see as the JSON of `value`.
    ///
    /// Fails when `value` has no JSON form, such as a map with keys that are not texts.
    pub fn json(value: &impl Serialize) -> Result<Self, Failure> {
        match serde_json::to_string(value) {
            Ok(json) => Ok(Self { json: Some(json), content: None }),
            Err(error) => Err(Failure::hidden(format_args!("the output cannot be written as JSON: {error}"))),
        }
    }

    /// An output that is known to be JSON already.
    pub(crate) fn from_json(json: impl Into<String>) -> Self {
        Self { json: Some(json.into()), content: None }
    }

    /// The value as JSON text, and the parts that a model sees in its place.
    #[cfg(feature = "agent")]
    pub(crate) fn into_parts(self) -> (Option<String>, Option<Vec<Part>>) {
        (self.json, self.content)
    }

    /// What [`into_parts`](Self::into_parts) gave.
    #[cfg(feature = "agent")]
    pub(crate) fn from_parts(json: Option<String>, content: Option<Vec<Part>>) -> Self {
        Self { json, content }
    }

    /// An output of content parts, without a value for the application.
    pub fn content(parts: Vec<Part>) -> Self {
        Self { json: None, content: Some(parts) }
    }

    /// Lets the model see `parts` in place of the value's JSON.
    pub fn show(mut self, parts: Vec<Part>) -> Self {
        self.content = Some(parts);
        self
    }

    /// The value as JSON text; `None` where the tool gave content only.
    pub fn as_json(&self) -> Option<&str> {
        self.json.as_deref()
    }

    /// The value, typed.
    ///
    /// Fails when there is none, or it is of another type.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.json.as_deref().unwrap_or("null"))
    }

    /// The same output, told as the answer of a tool that can refuse: with `"ok": true`, the value where `form` says, and
    /// remarks. What the application gets stays as it is, and so does what the tool shows in place of its value.
    pub(crate) fn told(self, form: Form, remarks: Vec<String>) -> Self {
        if self.content.is_some() || self.json.is_none() {
            return self;
        }
        let success = remarks.into_iter().fold(self.success(form), Success::remark);
        let json = serde_json::to_string(&success).unwrap_or_default();
        self.show(vec![Part::Json { json }])
    }

    /// The value, or the content's text, where `form` says. With a key that the answer has too, it is told apart, so that
    /// nothing is lost.
    pub(super) fn success(&self, form: Form) -> Success {
        let value = self.value();
        let success = Success::new(value.clone(), form).or_else(|_| Success::new(value, Form::Wrapped));
        success.unwrap_or_else(|collision| unreachable!("what is not merged has no keys to collide: {collision}"))
    }

    /// The value, or the content's text.
    pub(super) fn value(&self) -> Value {
        match &self.json {
            Some(json) => serde_json::from_str(json).unwrap_or_else(|_| Value::from(json.as_str())),
            None => Value::from(self.text()),
        }
    }

    /// What the model sees, as one text; images and sound are left out.
    pub fn text(&self) -> String {
        self.for_model().iter().filter_map(Part::as_text).collect::<Vec<_>>().join("\n")
    }

    /// What the model sees. A value that is a text is shown without quotes.
    ///
    /// A refused call is told as an object with `"ok": false`. So that no output is taken for one, and the call made
    /// again, an object with an `ok` of its own that is not `true` is shown as `{"ok":true,"value":…}`.
    pub fn for_model(&self) -> Vec<Part> {
        match (&self.content, &self.json) {
            (Some(parts), _) => parts.clone(),
            (None, Some(json)) => match as_text(json) {
                Some(text) => vec![Part::Text { text }],
                None if looks_refused(json) => vec![Part::Json { json: format!(r#"{{"ok":true,"value":{json}}}"#) }],
                None => vec![Part::Json { json: json.clone() }],
            },
            (None, None) => Vec::new(),
        }
    }
}

/// The text that a JSON text is, if it is one. Anything else is told by its first character: an error of `serde_json` costs
/// more than all that is asked here.
fn as_text(json: &str) -> Option<String> {
    if json.trim_start().starts_with('"') { serde_json::from_str(json).ok() } else { None }
}

/// Whether an output could be taken for the answer to a refused call.
fn looks_refused(json: &str) -> bool {
    #[derive(Deserialize)]
    struct Look {
        ok: Option<Value>,
    }
    // `ok` can also be written with escapes, which serde does not do; outputs come from serde.
    if !json.trim_start().starts_with('{') || !json.contains("\"ok\"") {
        return false;
    }
    let look: Result<Look, _> = serde_json::from_str(json);
    look.map_or(true, |look| look.ok.is_some_and(|ok| ok != Value::Bool(true)))
}

/// A type that a tool can give back: anything with serde's `Serialize` and schemars' `JsonSchema`, or one of [`Text`],
/// [`Image`], [`Content`] and [`Shown`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the output of a tool",
    label = "cannot be written as JSON or described by a JSON Schema",
    note = "add `#[derive(serde::Serialize, schemars::JsonSchema)]` to `{Self}`",
    note = "or return `tool_runtime::Text`, `Image`, `Content` or `Shown`"
)]
pub trait ToolOutput: Sized {
    #[doc(hidden)]
    fn into_output(self) -> Result<Output, Failure>;
    #[doc(hidden)]
    fn output_schema(generator: &mut SchemaGenerator) -> Option<Schema>;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema> ToolOutput for T {
    fn into_output(self) -> Result<Output, Failure> {
        Output::json(&self)
    }

    fn output_schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        Some(generator.subschema_for::<T>())
    }
}

/// Plain text for the model, without a JSON form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text(pub String);

/// An image for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The media type, such as `image/png`.
    pub media_type: String,
    /// The bytes in base64 (standard alphabet, padded).
    pub data: String,
}

/// Texts, JSON, images, sound and resources in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content(pub Vec<Part>);

/// A value for the application, of which the model sees something else.
///
/// ```
/// use tool_runtime::{Part, Shown};
///
/// let rows = vec![1, 2, 3];
/// let shown = Shown { model: vec![Part::text("3 rows, shown to the person")], value: rows };
/// # let _ = shown;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown<T> {
    /// What the application gets.
    pub value: T,
    /// What the model sees.
    pub model: Vec<Part>,
}

#[diagnostic::do_not_recommend]
impl ToolOutput for Text {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(Output::content(vec![Part::Text { text: self.0 }]))
    }

    fn output_schema(_: &mut SchemaGenerator) -> Option<Schema> {
        None
    }
}

#[diagnostic::do_not_recommend]
impl ToolOutput for Image {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(Output::content(vec![Part::Image { media_type: self.media_type, data: self.data }]))
    }

    fn output_schema(_: &mut SchemaGenerator) -> Option<Schema> {
        None
    }
}

#[diagnostic::do_not_recommend]
impl ToolOutput for Content {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(Output::content(self.0))
    }

    fn output_schema(_: &mut SchemaGenerator) -> Option<Schema> {
        None
    }
}

#[diagnostic::do_not_recommend]
impl<T: ToolOutput> ToolOutput for Shown<T> {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(self.value.into_output()?.show(self.model))
    }

    fn output_schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        T::output_schema(generator)
    }
}
