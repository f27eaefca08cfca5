//! Reading an answer, strictly.

use std::{collections::HashSet, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor},
};
use serde_json::{Map, Value};

use super::{Answer, Body, Refusal, Success};
use crate::feedback::{Report, wire};

impl<'de> Deserialize<'de> for Answer {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Answer;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("the answer of a tool, an object with `ok`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Answer, A::Error> {
                let (mut rest, mut reports) = (Map::new(), None);
                while let Some(key) = entries.next_key::<String>()? {
                    let known = match &*key {
                        "validationResults" => reports.replace(entries.next_value::<Reports>()?).is_some(),
                        _ => rest.insert(key.clone(), entries.next_value()?).is_some(),
                    };
                    if known {
                        return Err(A::Error::custom(format_args!("`{key}` is given twice")));
                    }
                }
                match rest.shift_remove("ok") {
                    Some(Value::Bool(true)) if reports.is_some() => Err(forbidden("validationResults")),
                    Some(Value::Bool(true)) => success(rest).map(Answer::Done),
                    Some(Value::Bool(false)) => refusal(rest, reports).map(Answer::Refused),
                    _ => Err(A::Error::custom("an answer has an `ok` that is true or false")),
                }
            }
        }

        from.deserialize_map(Entries)
    }
}

fn forbidden<E: Error>(key: &str) -> E {
    E::custom(format_args!("a success has no `{key}`"))
}

fn success<E: Error>(mut rest: Map<String, Value>) -> Result<Success, E> {
    let feedback = texts(&mut rest, "feedback")?;
    let instructions = texts(&mut rest, "instructions")?;
    if rest.contains_key("problems") {
        return Err(forbidden("problems"));
    }
    let body = match rest.len() {
        0 => Body::Nothing,
        // With others beside it, `value` is a field like them.
        1 => rest.shift_remove("value").map_or_else(|| Body::Fields(rest), Body::Value),
        _ => Body::Fields(rest),
    };
    Ok(Success { body, feedback, instructions })
}

fn texts<E: Error>(rest: &mut Map<String, Value>, key: &str) -> Result<Vec<String>, E> {
    let Some(value) = rest.shift_remove(key) else { return Ok(Vec::new()) };
    let list = Vec::deserialize(value).map_err(|error| E::custom(format_args!("`{key}`: {error}")))?;
    wire::filled(key, Some(list))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Wire {
    #[serde(default, deserialize_with = "wire::present")]
    problems: Option<Vec<String>>,
    #[serde(default, deserialize_with = "wire::present")]
    normalized_value: Option<Value>,
    #[serde(default, deserialize_with = "wire::present")]
    dynamic_parameter_schema: Option<Value>,
    #[serde(default, deserialize_with = "wire::present")]
    allowed_values: Option<Vec<Value>>,
    #[serde(default, deserialize_with = "wire::present")]
    suggested_values: Option<Vec<Value>>,
    #[serde(default, deserialize_with = "wire::present")]
    feedback: Option<Vec<String>>,
    #[serde(default, deserialize_with = "wire::present")]
    instructions: Option<Vec<String>>,
}

fn refusal<E: Error>(rest: Map<String, Value>, reports: Option<Reports>) -> Result<Refusal, E> {
    if reports.is_some() {
        let of_value = ["normalizedValue", "dynamicParameterSchema", "allowedValues", "suggestedValues"];
        if let Some(key) = of_value.into_iter().find(|key| rest.contains_key(*key)) {
            return Err(E::custom(format_args!("`{key}` belongs to a parameter where there are `validationResults`")));
        }
    }
    let wire = Wire::deserialize(Value::Object(rest)).map_err(E::custom)?;
    let problems = wire::filled("problems", wire.problems)?;
    let reports = reports.map(|reports| reports.0).unwrap_or_default();
    if problems.is_empty() && reports.is_empty() {
        return Err(E::custom("a refusal has `problems` or `validationResults`"));
    }
    Ok(Refusal {
        problems,
        reports,
        normalized: wire.normalized_value,
        schema: wire.dynamic_parameter_schema,
        choices: wire::choices(wire.allowed_values, wire.suggested_values)?,
        feedback: wire::filled("feedback", wire.feedback)?,
        instructions: wire::filled("instructions", wire.instructions)?,
    })
}

/// `validationResults`: at least one, each name once.
struct Reports(Vec<(String, Report)>);

impl<'de> Deserialize<'de> for Reports {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Reports;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object with what is said of each parameter")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Reports, A::Error> {
                let mut names = HashSet::new();
                let mut reports = Vec::new();
                while let Some((name, report)) = entries.next_entry::<String, Report>()? {
                    if !names.insert(name.clone()) {
                        return Err(A::Error::custom(format_args!("`{name}` is given twice")));
                    }
                    reports.push((name, report));
                }
                if reports.is_empty() {
                    return Err(A::Error::custom("`validationResults` is left out when it is empty"));
                }
                Ok(Reports(reports))
            }
        }

        from.deserialize_map(Entries)
    }
}
