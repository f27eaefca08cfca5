//! A tool that is given as data, with dynamic parameters, in the compatible mode and in our own.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use serde_json::{Map, Value, json};
use tool_runtime::feedback::{Choices, Report};
use tool_runtime::toolset::{DynamicField, DynamicTool, RuntimeTool};
use tool_runtime::{CallError, Context, Failure, Toolset, Validation};

use super::compat::{CompatField, CompatTool, Complete};

/// The answer of a validator to a value, with a way to ask other validators. An error is one that it throws.
pub(crate) type Judge =
    dyn Fn(&str, Option<&Value>, &dyn Fn(&str) -> Option<Value>) -> Result<Value, String> + Send + Sync;

/// The answer of the tool. An error is one that it throws.
pub(crate) type Execute = dyn Fn(Map<String, Value>) -> Result<Value, String> + Send + Sync;

/// A parameter.
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) schema: Value,
    /// Its requirements, if a validator judges it.
    pub(crate) requires: Option<Vec<String>>,
}

/// A tool that can be built in both modes.
#[derive(Clone)]
pub(crate) struct TwoModeTool {
    pub(crate) fields: Arc<[Field]>,
    pub(crate) judge: Arc<Judge>,
    pub(crate) execute: Arc<Execute>,
    /// The calls of validators and of the tool.
    trace: Arc<Mutex<Vec<Value>>>,
    /// The documented differences between the modes that occurred.
    met: Arc<Mutex<Vec<&'static str>>>,
}

/// The outcome of a call.
pub(crate) type Outcome = Result<Value, String>;

impl TwoModeTool {
    pub(crate) fn new(fields: Vec<Field>, judge: Arc<Judge>, execute: Arc<Execute>) -> Self {
        Self { fields: fields.into(), judge, execute, trace: Arc::default(), met: Arc::default() }
    }

    fn dynamic(&self) -> impl Iterator<Item = (&Field, &Vec<String>)> {
        self.fields.iter().filter_map(|field| Some((field, field.requires.as_ref()?)))
    }

    /// Returns the tool in the compatible mode, or the reason why it cannot be built.
    pub(crate) fn compat(&self) -> Result<CompatTool, String> {
        let mut fields = Vec::new();
        for (field, requires) in self.dynamic() {
            let (both, name) = (self.clone(), field.name.clone());
            let validator = move |value: Option<Value>, context: Map<String, Value>| {
                both.note(match &value {
                    Some(value) => json!({ "validate": name, "value": value, "context": context }),
                    None => json!({ "validate": name, "absent": true, "context": context }),
                });
                (both.judge)(&name, value.as_ref(), &|name| context.get(name).cloned()).map_err(Failure::new)
            };
            fields.push(CompatField {
                name: field.name.clone(),
                requires: requires.clone(),
                validator: Box::new(validator),
            });
        }
        let both = self.clone();
        let handler = move |call: Complete| {
            let mut noted = json!({ "execute": call.arguments });
            if !call.absent.is_empty() {
                noted["undefinedKeys"] = json!(call.absent);
            }
            both.note(noted);
            (both.execute)(call.arguments).map_err(Failure::new)
        };
        CompatTool::new("tool", fields, handler)
    }

    /// Returns the tool in our own mode, or the reason why it cannot be built.
    pub(crate) fn ours(&self) -> Result<DynamicTool, String> {
        let named = |field: &Field| (field.name.clone(), field.schema.clone());
        let properties: Map<String, Value> = self.fields.iter().map(named).collect();
        let required: Vec<&String> = self.fields.iter().map(|field| &field.name).collect();
        let input = json!({ "type": "object", "properties": properties, "required": required });
        let mut tool = RuntimeTool::new("tool", "A tool.").input(input).dynamic();
        for (field, requires) in self.dynamic() {
            let (both, name) = (self.clone(), field.name.clone());
            let validator = move |value: Option<Value>, known: tool_runtime::toolset::KnownValues| {
                let judged = (both.judge)(&name, value.as_ref(), &|name| known.get(name).cloned());
                let result = judged.map_err(|error| {
                    both.meet("failure");
                    Failure::new(error)
                })?;
                Ok(both.validation(value, result))
            };
            let is_static = |other: &&Field| other.requires.is_none() && !requires.contains(&other.name);
            let seen = self.fields.iter().filter(is_static).map(|other| &other.name);
            tool = tool.field(DynamicField::new(&field.name).requires(requires).after(seen).validate(validator));
        }
        let both = self.clone();
        let handler = move |arguments: Value| {
            let Value::Object(arguments) = arguments else { unreachable!("arguments are an object") };
            both.note(json!({ "execute": arguments }));
            (both.execute)(arguments).map_err(Failure::new)
        };
        let built = tool.handler(move |arguments, _| std::future::ready(handler(arguments)));
        built.map_err(|error| error.to_string())
    }

    /// Converts a recorded result to our types.
    fn validation(&self, value: Option<Value>, result: Value) -> Validation<Value> {
        let Ok(report) = serde_json::from_value::<Report>(result) else {
            self.meet("nonsense");
            return Validation::reject("nonsense");
        };
        let understood = report.normalized.filter(|normalized| Some(normalized) != value.as_ref());
        let validation = match (report.rejected, understood) {
            (Some(reasons), None) => Validation::reject(reasons),
            (Some(reasons), Some(understood)) => Validation::reject(reasons).understood(understood),
            (None, understood) => match understood.or(value) {
                Some(value) => Validation::accept(value),
                None => {
                    self.meet("no-value");
                    Validation::reject("a value is needed")
                }
            },
        };
        let validation = match &report.choices {
            Choices::Allowed(values) => validation.allowed(values),
            Choices::Suggested(values) => validation.suggested(values),
            _ => validation,
        };
        let validation = match report.schema {
            Some(schema) => validation.narrowed(schema),
            None => validation,
        };
        let validation = report.feedback.into_iter().fold(validation, Validation::remark);
        report.instructions.into_iter().fold(validation, Validation::instruct)
    }

    fn note(&self, event: Value) {
        self.trace.lock().unwrap().push(event);
    }

    pub(crate) fn meet(&self, difference: &'static str) {
        let mut met = self.met.lock().unwrap();
        if !met.contains(&difference) {
            met.push(difference);
        }
    }

    /// Calls a tool. Returns the outcome, the calls of functions, and the differences that occurred.
    pub(crate) fn call(&self, tools: &Toolset, input: &Value) -> (Outcome, Vec<Value>, Vec<&'static str>) {
        let (text, cx) = (input.to_string(), Context::new("call"));
        let called = tools.call("tool", &text, &cx).now_or_never().expect("the call does not wait");
        let outcome = match called {
            Ok(output) => Ok(output.as_json().map_or(Value::Null, |json| serde_json::from_str(json).expect("JSON"))),
            Err(error) => match error.rejection() {
                Some(feedback) => Ok(feedback.to_json()),
                None => Err(describe(&error)),
            },
        };
        (outcome, std::mem::take(&mut self.trace.lock().unwrap()), std::mem::take(&mut self.met.lock().unwrap()))
    }
}

fn describe(error: &CallError) -> String {
    match error {
        CallError::Failed(failure) => failure.for_model().to_owned(),
        error => error.for_log(),
    }
}
