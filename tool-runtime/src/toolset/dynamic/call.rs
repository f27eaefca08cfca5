//! One call of a tool with dynamic parameters: read what is there, ask the validators, and put the arguments together.

use std::sync::Arc;

use futures_util::{FutureExt, TryFutureExt};
use serde_json::{Map, Value};

use super::{DynamicTool, Known};
use crate::feedback::{Problem, ProblemKind, Rejection, Report};
use crate::tool::{
    CallError, Context, Started,
    dynamic::{Board, Call, Kept, Reading, Settled, Shape, UNCHECKED, ask_all, conclude, remarks},
};

impl DynamicTool {
    pub(super) async fn settle<'a>(&'a self, text: &'a str, cx: &'a Context) -> Result<Started<'a>, CallError> {
        let shape = &*self.parameters;
        let (mut arguments, reading) = self.read(text, cx)?;
        let values = self.values(&mut arguments, &reading);
        let given = Arc::new(arguments);
        let board = Board::new(shape.fields());
        let mut call = Call::new(shape, values, reading.faults, |node, value| {
            (self.validators[node])(value, Known::new(&self.parameters, &given, node, &board, cx))
        });
        call.settle_static(&board);
        ask_all(&mut call, &board).await;
        drop(call);
        let mut settled: Vec<_> = board.into_settled().collect();
        let normalized = conclude(shape, text, reading.problems, &mut settled)?;
        let remarks = remarks(shape, &settled, text, cx);
        let arguments = self.accepted(Arc::unwrap_or_clone(given), settled);
        if normalized.is_some() {
            self.check_accepted(&arguments)?;
        }
        for check in &self.checks {
            check(arguments.clone(), cx.clone()).await?;
        }
        let Started { needs_approval, touches, work, .. } = self.tool.prepare(arguments, cx);
        let work = work.map_ok(|output| output.told(self.form, remarks)).boxed();
        Ok(Started { needs_approval, normalized, touches, work })
    }

    /// Reads the arguments as far as they can be read.
    fn read(&self, text: &str, cx: &Context) -> Result<(Map<String, Value>, Reading), CallError> {
        let (arguments, mut problems) = self.tool.check(text)?;
        if cx.is_revised() {
            // A validator may have put the `null` there, when the arguments were read before.
            problems.retain(|problem| !self.is_about_null(problem, &arguments));
        }
        let mut reading = Reading::new(self.parameters.fields());
        for problem in &problems {
            reading.place(&*self.parameters, problem)?;
        }
        match arguments {
            Value::Object(arguments) => Ok((arguments, reading)),
            _ => Err(Rejection::new(problems).into()),
        }
    }

    /// The values of the parameters, with the defaults of those that were not given.
    fn values(&self, arguments: &mut Map<String, Value>, reading: &Reading) -> Vec<Option<Kept>> {
        let absent = |field: usize| {
            let is_static = !self.parameters.is_dynamic(field) && reading.faults[field].is_none();
            is_static.then(|| Box::new(Some(())) as Kept)
        };
        let mut values = Vec::with_capacity(self.parameters.fields());
        for (field, default) in self.defaults.iter().enumerate() {
            let name = self.parameters.name(field);
            if let (Some(default), false) = (default, arguments.contains_key(name)) {
                arguments.insert(name.to_owned(), default.clone());
            }
            values.push(match arguments.get(name) {
                Some(value) => Some(Box::new(Some(value.clone())) as Kept),
                None => absent(field),
            });
        }
        values
    }

    /// The arguments with the values that were accepted.
    fn accepted(&self, mut arguments: Map<String, Value>, mut settled: Vec<Option<Settled>>) -> Value {
        for field in (0..self.parameters.nodes()).map(|node| self.parameters.field(node)) {
            let value = settled[field].take().and_then(|settled| settled.value);
            if let Some(value) = value.and_then(|value| *value.downcast::<Option<Value>>().ok()?) {
                arguments.insert(self.parameters.name(field).to_owned(), value);
            }
        }
        Value::Object(arguments)
    }

    /// Returns whether `problem` says that the value of a dynamic parameter must not be `null`.
    fn is_about_null(&self, problem: &Problem, arguments: &Value) -> bool {
        let field = problem.about().and_then(|name| Some((self.parameters.find(&name)?, name)));
        let is_null = |(field, name): (usize, String)| {
            self.parameters.is_dynamic(field) && arguments.get(&name).is_some_and(Value::is_null)
        };
        !problem.is_nested() && problem.kind != ProblemKind::Duplicate && field.is_some_and(is_null)
    }

    /// Checks that the values that validators accepted in place of those given fit the schema, or are `null`.
    fn check_accepted(&self, arguments: &Value) -> Result<(), CallError> {
        let mut problems = self.complete.problems(arguments, "");
        problems.retain(|problem| !self.is_about_null(problem, arguments));
        if problems.is_empty() {
            return Ok(());
        }
        let about = problems.iter().filter_map(Problem::about);
        let refused = about.fold(Vec::new(), |mut reports: Vec<(String, Report)>, name| {
            if reports.iter().all(|(known, _)| *known != name) {
                reports.push((name, Report::refused(UNCHECKED)));
            }
            reports
        });
        let causes = problems.iter().map(|problem| format!("a validator accepted what the schema refuses: {problem}"));
        Err(Rejection::reported(Vec::new(), refused).with_causes(causes).into())
    }
}
