//! The outcome of a call, as it crosses the wire.

use super::{CallError, Output, ToolSpec};
use crate::feedback::{Answer, Rejection};
use crate::schema::answer::Form;

impl ToolSpec {
    /// Returns the outcome of a call of this tool, in the form in which answers cross the wire. A failure has the text that a
    /// model gets.
    ///
    /// An output stands where [`Form`] says for its schema. Without a schema, an object stands beside `ok`. One that has keys of
    /// the answer itself stands below `value`.
    pub fn answer(&self, result: &Result<Output, CallError>) -> Answer {
        match result {
            Ok(output) => {
                let form = self.output.as_ref().map_or(Form::Merged, |schema| Form::of(Some(schema.neutral())));
                Answer::Done(output.success(form))
            }
            Err(error) => Answer::Refused(match error.feedback() {
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
    use crate::tool::{Failure, Traits};

    fn spec(output: Option<Value>) -> ToolSpec {
        let (name, description) = ("a".to_owned(), String::new());
        let input = Arc::new(Schema::new(json!({ "type": "object" })));
        let output = output.map(|schema| Arc::new(Schema::new(schema)));
        ToolSpec { name, title: None, description, input, output, traits: Traits::default() }
    }

    #[test]
    fn outputs_and_failures_have_one_form() {
        let told = |result: Result<Output, CallError>| json!(spec(None).answer(&result)).to_string();
        let gives = |value: Value| Ok(Output::json(&value)?);
        assert_eq!(told(gives(json!({ "a": 1 }))), r#"{"ok":true,"a":1}"#);
        assert_eq!(told(gives(json!(7))), r#"{"ok":true,"value":7}"#);
        assert_eq!(told(gives(json!({ "ok": 1 }))), r#"{"ok":true,"value":{"ok":1}}"#);
        assert_eq!(told(Ok(Output::content(vec![crate::message::Part::text("hi")]))), r#"{"ok":true,"value":"hi"}"#);
        assert_eq!(told(Err(Failure::new("no").into())), r#"{"ok":false,"problems":["no"]}"#);
        assert_eq!(told(Err(Rejection::from_message("no").into())), r#"{"ok":false,"problems":["no"]}"#);
        let of = |schema, value| json!(spec(Some(schema)).answer(&gives(value))).to_string();
        let map = json!({ "type": "object", "additionalProperties": true });
        assert_eq!(of(map, json!({ "a": 1 })), r#"{"ok":true,"value":{"a":1}}"#);
        assert_eq!(of(json!({ "type": "null" }), Value::Null), r#"{"ok":true}"#);
    }
}
