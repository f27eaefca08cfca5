//! A tool with dynamic parameters that is given as data, built in the compatible mode and in our own.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use serde_json::{Map, Value, json};
use tool_runtime::feedback::{Choices, Report};
use tool_runtime::tool::DynTool;
use tool_runtime::toolset::{DynamicField, DynamicTool, RuntimeTool, compat::CompatField};
use tool_runtime::{CallError, Context, Failure, Toolset, Verdict};

/// What a validator says of a value, given a way to ask for others; an error is one that it throws.
pub(crate) type Judge =
    dyn Fn(&str, Option<&Value>, &dyn Fn(&str) -> Option<Value>) -> Result<Value, String> + Send + Sync;

/// What the tool answers; an error is one that it throws.
pub(crate) type Execute = dyn Fn(Map<String, Value>) -> Result<Value, String> + Send + Sync;

/// A parameter.
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) schema: Value,
    /// What it requires, if a validator is asked about it.
    pub(crate) requires: Option<Vec<String>>,
}

/// A tool.
#[derive(Clone)]
pub(crate) struct Both {
    pub(crate) fields: Arc<[Field]>,
    pub(crate) judge: Arc<Judge>,
    pub(crate) execute: Arc<Execute>,
    /// What happened: the calls of validators and of the tool.
    trace: Arc<Mutex<Vec<Value>>>,
    /// The listed differences between the modes that came up.
    met: Arc<Mutex<Vec<&'static str>>>,
}

/// What became of a call.
pub(crate) type Outcome = Result<Value, String>;

impl Both {
    pub(crate) fn new(fields: Vec<Field>, judge: Arc<Judge>, execute: Arc<Execute>) -> Self {
        Self { fields: fields.into(), judge, execute, trace: Arc::default(), met: Arc::default() }
    }

    fn begin(&self) -> tool_runtime::toolset::RuntimeToolBuilder {
        let named = |field: &Field| (field.name.clone(), field.schema.clone());
        let properties: Map<String, Value> = self.fields.iter().map(named).collect();
        let required: Vec<&String> = self.fields.iter().map(|field| &field.name).collect();
        RuntimeTool::new("tool", "A tool.")
            .input(json!({ "type": "object", "properties": properties, "required": required }))
    }

    fn dynamic(&self) -> impl Iterator<Item = (&Field, &Vec<String>)> {
        self.fields.iter().filter_map(|field| Some((field, field.requires.as_ref()?)))
    }

    /// The tool in the compatible mode, or why it cannot be built.
    pub(crate) fn compat(&self) -> Result<impl DynTool + use<>, String> {
        let mut tool = self.begin().compat();
        for (field, requires) in self.dynamic() {
            let (both, name) = (self.clone(), field.name.clone());
            let validator = move |value: Option<Value>, context: Map<String, Value>| {
                both.note(match &value {
                    Some(value) => json!({ "validate": name, "value": value, "context": context }),
                    None => json!({ "validate": name, "absent": true, "context": context }),
                });
                let said = (both.judge)(&name, value.as_ref(), &|name| context.get(name).cloned());
                std::future::ready(said.map_err(Failure::told))
            };
            tool = tool.field(CompatField::new(&field.name, validator).requires(requires));
        }
        let both = self.clone();
        let handler = move |call: tool_runtime::toolset::compat::Complete| {
            let mut noted = json!({ "execute": call.arguments });
            if !call.absent.is_empty() {
                noted["undefinedKeys"] = json!(call.absent);
            }
            both.note(noted);
            std::future::ready((both.execute)(call.arguments).map_err(Failure::told))
        };
        tool.handler(handler).map_err(|error| error.to_string())
    }

    /// The tool as ours, or why it cannot be built.
    pub(crate) fn ours(&self) -> Result<DynamicTool, String> {
        let mut tool = self.begin().dynamic();
        for (field, requires) in self.dynamic() {
            let (both, name) = (self.clone(), field.name.clone());
            let validator = move |value: Option<Value>, known: tool_runtime::toolset::Known| {
                let said = (both.judge)(&name, value.as_ref(), &|name| known.get(name).cloned());
                let result = said.map_err(|error| {
                    both.meet("failure");
                    Failure::told(error)
                })?;
                Ok(both.verdict(value, result))
            };
            tool = tool.field(DynamicField::new(&field.name).requires(requires).validate(validator));
        }
        let both = self.clone();
        let handler = move |arguments: Value| {
            let Value::Object(arguments) = arguments else { unreachable!("arguments are an object") };
            both.note(json!({ "execute": arguments }));
            (both.execute)(arguments).map_err(Failure::told)
        };
        let built = tool.handler(move |arguments, _| std::future::ready(handler(arguments)));
        built.map_err(|error| error.to_string())
    }

    /// What a recorded result says, in our types.
    fn verdict(&self, value: Option<Value>, result: Value) -> Verdict<Value> {
        let Ok(report) = serde_json::from_value::<Report>(result) else {
            self.meet("nonsense");
            return Verdict::reject("nonsense");
        };
        let understood = report.normalized.filter(|normalized| Some(normalized) != value.as_ref());
        let verdict = match (report.refused, understood) {
            (Some(reasons), None) => Verdict::reject(reasons),
            (Some(reasons), Some(understood)) => Verdict::reject(reasons).understood(understood),
            (None, understood) => match understood.or(value) {
                Some(value) => Verdict::accept(value),
                None => {
                    self.meet("no-value");
                    Verdict::reject("a value is needed")
                }
            },
        };
        let verdict = match &report.choices {
            Choices::Allowed(values) => verdict.allowed(values),
            Choices::Suggested(values) => verdict.suggested(values),
            _ => verdict,
        };
        let verdict = match report.schema {
            Some(schema) => verdict.narrowed(schema),
            None => verdict,
        };
        let verdict = report.feedback.into_iter().fold(verdict, Verdict::remark);
        report.instructions.into_iter().fold(verdict, Verdict::instruct)
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

    /// Calls a tool; returns what came of it, what happened, and which differences came up.
    pub(crate) fn call(&self, tools: &Toolset, input: &Value) -> (Outcome, Vec<Value>, Vec<&'static str>) {
        let (text, cx) = (input.to_string(), Context::new("call"));
        let called = tools.call("tool", &text, &cx).now_or_never().expect("nothing waits");
        let outcome = match called {
            Ok(output) => Ok(output.as_json().map_or(Value::Null, |json| serde_json::from_str(json).expect("JSON"))),
            Err(error) => match error.feedback() {
                Some(feedback) => Ok(feedback.to_json()),
                None => Err(told(&error)),
            },
        };
        (outcome, std::mem::take(&mut self.trace.lock().unwrap()), std::mem::take(&mut self.met.lock().unwrap()))
    }
}

fn told(error: &CallError) -> String {
    match error {
        CallError::Failed(failure) => failure.for_model().to_owned(),
        error => error.for_log(),
    }
}
