//! The output of a tool, and its form on the wire.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::feedback::{Answer, Rejection, Success, one_line};
use crate::message::{Part, quote_rejections};
use crate::schema::answer::Form;
use crate::tool::{CallError, Failure, ToolSpec};

/// The output of a call: a value for the application, and content for the model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    json: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<Vec<Part>>,
}

impl Output {
    /// Creates an output that the application and the model both see as the JSON of `value`.
    ///
    /// Fails if `value` has no JSON form, such as a map with keys that are not strings.
    pub fn json(value: &impl Serialize) -> Result<Self, Failure> {
        match serde_json::to_string(value) {
            Ok(json) => Ok(Self { json: Some(json), content: None }),
            Err(error) => Err(Failure::hidden(format_args!("the output cannot be written as JSON: {error}"))),
        }
    }

    /// Creates an output from text that is known to be valid JSON.
    #[doc(hidden)]
    pub fn from_json(json: impl Into<String>) -> Self {
        Self { json: Some(json.into()), content: None }
    }

    /// Returns the value as JSON text, and the parts that a model sees in its place.
    #[doc(hidden)]
    pub fn into_parts(self) -> (Option<String>, Option<Vec<Part>>) {
        (self.json, self.content)
    }

    /// Creates an output from the parts that [`into_parts`](Self::into_parts) returned.
    #[doc(hidden)]
    pub fn from_parts(json: Option<String>, content: Option<Vec<Part>>) -> Self {
        Self { json, content }
    }

    /// Creates an output of content parts, without a value for the application.
    pub fn content(parts: Vec<Part>) -> Self {
        Self { json: None, content: Some(parts) }
    }

    /// Sets the parts that the model sees in place of the value's JSON.
    pub fn show(mut self, parts: Vec<Part>) -> Self {
        self.content = Some(parts);
        self
    }

    /// Returns the value as JSON text, or `None` if the tool returned content only.
    pub fn as_json(&self) -> Option<&str> {
        self.json.as_deref()
    }

    /// Returns the value as a `T`. An output without a value is read as `null`.
    ///
    /// Fails if the value does not fit the type.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.json.as_deref().unwrap_or("null"))
    }

    /// Returns the output with remarks for the model, as a last text. The value for the application, and what the model sees before
    /// the remarks, do not change.
    #[doc(hidden)]
    pub fn with_remarks(self, remarks: &[String]) -> Self {
        if remarks.is_empty() {
            return self;
        }
        let lines: Vec<String> = remarks.iter().map(|remark| format!("note: {}", one_line(remark))).collect();
        let parts = self.parts().into_iter().chain([Part::text(lines.join("\n"))]).collect();
        self.show(parts)
    }

    /// Returns an answer with the value, or with the content's text, where `form` puts it. If the value and the answer have a
    /// key in common, the value is wrapped instead, so that nothing is lost.
    #[doc(hidden)]
    pub fn success(&self, form: Form) -> Success {
        let value = self.value();
        let success = Success::new(value.clone(), form).or_else(|_| Success::new(value, Form::Wrapped));
        success.unwrap_or_else(|collision| unreachable!("what is not merged has no keys to collide: {collision}"))
    }

    /// Returns the value, or the content's text if there is no value.
    pub fn value(&self) -> Value {
        match &self.json {
            Some(json) => serde_json::from_str(json).unwrap_or_else(|_| Value::from(json.as_str())),
            None => Value::from(self.text()),
        }
    }

    /// Returns the content for the model as one text, without images, sound, and resources that are not text.
    pub fn text(&self) -> String {
        self.for_model().iter().filter_map(Part::as_text).collect::<Vec<_>>().join("\n")
    }

    /// Returns the bytes of the content, or else of the JSON text.
    pub(crate) fn size(&self) -> usize {
        match (&self.content, &self.json) {
            (Some(parts), _) => parts.iter().map(Part::size).sum(),
            (None, json) => json.as_ref().map_or(0, String::len),
        }
    }

    /// Returns the content for the model. A value that is a string is shown without quotes.
    ///
    /// The model must not take an output for a rejected call, and repeat the call. So the texts of an output that begins like a
    /// rejection are in quotation marks. An object whose own `ok` is neither `true` nor `null` is shown as
    /// `{"ok":true,"value":…}`, because the JSON of a rejection has `"ok": false`.
    pub fn for_model(&self) -> Vec<Part> {
        quote_rejections(self.parts())
    }

    /// Returns the content for a page: that for the model, without remarks after a value.
    #[doc(hidden)]
    pub fn for_page(&self) -> Vec<Part> {
        let value = self.value_parts();
        match &self.content {
            Some(parts) if !value.is_empty() && parts.len() == value.len() + 1 && parts.starts_with(&value) => {
                quote_rejections(value)
            }
            _ => self.for_model(),
        }
    }

    /// Returns the content for the model, in which texts may begin like a rejection.
    fn parts(&self) -> Vec<Part> {
        self.content.clone().unwrap_or_else(|| self.value_parts())
    }

    /// Returns the value as content, if there is one.
    fn value_parts(&self) -> Vec<Part> {
        match &self.json {
            Some(json) => match as_text(json) {
                Some(text) => vec![Part::Text { text }],
                None if looks_rejected(json) => vec![Part::Json { json: format!(r#"{{"ok":true,"value":{json}}}"#) }],
                None => vec![Part::Json { json: json.clone() }],
            },
            None => Vec::new(),
        }
    }
}

/// Returns the string that a JSON text holds, if it is a string. Text without a leading quote is not parsed, because an error
/// of `serde_json` costs more than this check.
fn as_text(json: &str) -> Option<String> {
    if json.trim_start().starts_with('"') { serde_json::from_str(json).ok() } else { None }
}

/// Returns whether a model could mistake an output for the answer to a rejected call.
fn looks_rejected(json: &str) -> bool {
    // JSON may also escape the letters of `ok`, but outputs come from serde, which does not escape letters.
    if !json.trim_start().starts_with('{') || !json.contains("\"ok\"") {
        return false;
    }
    let value: Result<Value, _> = serde_json::from_str(json);
    value.map_or(true, |value| !matches!(value.get("ok"), None | Some(Value::Null | Value::Bool(true))))
}

impl ToolSpec {
    /// Returns the outcome of a call of this tool as an answer, in the form that crosses the wire. The answer for a failure has
    /// the text for the model.
    ///
    /// If the tool has an output schema, [`Form`] determines the place of the output. Otherwise, the members of an object are
    /// beside `ok`. An object that has a key of the answer itself is below `value`, and so is any other value.
    pub fn answer(&self, result: &Result<Output, CallError>) -> Answer {
        match result {
            Ok(output) => {
                let form = self.output.as_ref().map_or(Form::Merged, |schema| Form::of(Some(schema.neutral())));
                Answer::Done(output.success(form))
            }
            Err(error) => Answer::Rejected(match error.rejection() {
                Some(feedback) => feedback.into(),
                None => (&Rejection::from_message(error.to_string())).into(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::schema::Schema;
    use crate::tool::{Failure, ToolOptions};

    fn spec(output: Option<Value>) -> ToolSpec {
        let (name, description) = ("a".to_owned(), String::new());
        let input = Arc::new(Schema::new(json!({ "type": "object" })));
        let output = output.map(|schema| Arc::new(Schema::new(schema)));
        ToolSpec { name, title: None, description, input, output, options: ToolOptions::default() }
    }

    #[test]
    fn remarks_follow_what_an_output_shows() {
        let remarks = ["fine".to_owned(), "two\nlines".to_owned()];
        let note = Part::text("note: fine\nnote: two\\u{a}lines");
        for value in
            [json!("a"), json!({ "id": 1 }), json!(null), json!({ "ok": false }), json!("The call was rejected")]
        {
            let bare = Output::json(&value).unwrap();
            let remarked = bare.clone().with_remarks(&remarks);
            assert_eq!((remarked.as_json(), remarked.for_page()), (bare.as_json(), bare.for_model()));
            assert_eq!(remarked.for_model()[..1], bare.for_model());
            assert_eq!(bare.clone().with_remarks(&[]), bare);
        }
        let shown = Output::json(&1).unwrap().show(vec![Part::text("one")]).with_remarks(&remarks);
        assert_eq!(shown.for_model(), [Part::text("one"), note]);
        let empty = Output::default().with_remarks(&remarks[..1]);
        assert_eq!(empty.for_page(), [Part::text("note: fine")]);
    }

    #[test]
    fn outputs_and_failures_have_one_form() {
        let answer = |result: Result<Output, CallError>| json!(spec(None).answer(&result)).to_string();
        let gives = |value: Value| Ok(Output::json(&value)?);
        assert_eq!(answer(gives(json!({ "a": 1 }))), r#"{"ok":true,"a":1}"#);
        assert_eq!(answer(gives(json!(7))), r#"{"ok":true,"value":7}"#);
        assert_eq!(answer(gives(json!({ "ok": 1 }))), r#"{"ok":true,"value":{"ok":1}}"#);
        assert_eq!(answer(Ok(Output::content(vec![crate::message::Part::text("hi")]))), r#"{"ok":true,"value":"hi"}"#);
        assert_eq!(answer(Err(Failure::new("no").into())), r#"{"ok":false,"problems":["no"]}"#);
        assert_eq!(answer(Err(Rejection::from_message("no").into())), r#"{"ok":false,"problems":["no"]}"#);
        let of = |schema, value| json!(spec(Some(schema)).answer(&gives(value))).to_string();
        let map = json!({ "type": "object", "additionalProperties": true });
        assert_eq!(of(map, json!({ "a": 1 })), r#"{"ok":true,"value":{"a":1}}"#);
        assert_eq!(of(json!({ "type": "null" }), Value::Null), r#"{"ok":true}"#);
    }
}
