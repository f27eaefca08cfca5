//! The schemas of run-time tools: compiled, as a model is shown them, and what they say of a value.

use serde_json::{Map, Value, json};

use crate::feedback::{Problem, Rejection};
use crate::schema::Validator;
use crate::tool::duplicate;
use tool_schema::json::text::Read;

/// How many parameters of a schema that cannot be compiled are shown to a model.
const MOST_OUTLINED: usize = 100;

/// Compiles the schema of `what`; notes what of it cannot be checked.
pub fn compile(what: &str, schema: &Value, warnings: &mut Vec<String>) -> Option<Validator> {
    match Validator::compile(schema) {
        Ok(validator) => {
            warnings.extend(validator.warnings().iter().map(|warning| format!("{what}: {warning}")));
            Some(validator)
        }
        Err(error) => {
            warnings.push(format!("{what}: {error}"));
            None
        }
    }
}

/// What a model is shown of a schema that cannot be compiled: the parameters, without what they must be.
pub fn outline(schema: &Value) -> Value {
    let properties = schema["properties"].as_object().into_iter().flatten().take(MOST_OUTLINED);
    let described = |property: &Value| match property["description"].as_str() {
        Some(text) => json!({ "description": text }),
        None => json!({}),
    };
    let properties: Map<String, Value> =
        properties.map(|(name, property)| (name.clone(), described(property))).collect();
    json!({ "type": "object", "properties": properties })
}

/// The schema of arguments, which are an object: that is not always said, and providers want to hear it.
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

/// The value that was read, and what is wrong with it.
pub fn problems(validator: Option<&Validator>, Read { value, twice }: Read) -> (Value, Vec<Problem>) {
    let mut problems: Vec<Problem> = twice.into_iter().map(duplicate).collect();
    problems.extend(validator.into_iter().flat_map(|validator| validator.problems(&value, "")));
    (value, problems)
}

pub fn accept((value, problems): (Value, Vec<Problem>)) -> Result<Value, Rejection> {
    if problems.is_empty() { Ok(value) } else { Err(Rejection::new(problems)) }
}
