//! Validates one call: asks its validators in the order of their dependencies, and combines their answers.

use std::{
    any::Any,
    borrow::Cow,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use serde_json::Value;

use super::{ParameterResult, ParameterResults, values::StoredValue};
use crate::feedback::{Problem, Reasons, Rejection, Report};
use crate::tool::{Context, Def};
use tool_schema::feedback::Reports;
use tool_schema::json::text;

/// The text for the model about a validator that failed without a message, or panicked.
pub(crate) const UNCHECKED: &str = "the value could not be checked; try again later";

/// The answer of a validator: now, or later.
#[allow(clippy::large_enum_variant, reason = "it is moved once; a box for each parameter would cost more")]
pub enum ValidatorAnswer<'a> {
    /// The answer is there.
    Now(ParameterResult),
    /// The answer is a future.
    Later(BoxFuture<'a, ParameterResult>),
}

impl ValidatorAnswer<'_> {
    /// Returns the answer that the value could not be checked.
    pub fn unchecked() -> Self {
        Self::Now(ParameterResult::rejected(Report::rejected(UNCHECKED)))
    }
}

impl fmt::Debug for ValidatorAnswer<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Now(_) => "Now",
            Self::Later(_) => "Later",
        })
    }
}

/// Returns the answer of the validator that `ask` asks; a panic in it rejects the value.
pub fn contained<'b>(ask: impl FnOnce() -> ValidatorAnswer<'b>) -> ValidatorAnswer<'b> {
    match catch_unwind(AssertUnwindSafe(ask)) {
        Ok(ValidatorAnswer::Now(settled)) => ValidatorAnswer::Now(settled),
        Ok(ValidatorAnswer::Later(work)) => ValidatorAnswer::Later(
            AssertUnwindSafe(work).catch_unwind().map(|done| done.unwrap_or_else(panicked)).boxed(),
        ),
        Err(panic) => ValidatorAnswer::Now(panicked(panic)),
    }
}

pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> Option<&str> {
    panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str))
}

#[allow(clippy::needless_pass_by_value, reason = "it ends here")]
fn panicked(panic: Box<dyn Any + Send>) -> ParameterResult {
    let cause = format!("a validator panicked: {}", panic_text(&*panic).unwrap_or("without a text"));
    ParameterResult::rejected(Report::rejected(UNCHECKED)).because([cause])
}

/// A dynamic parameter with its dependencies. The nodes of a tool are in the order in which their validators are asked, and in
/// which their answers are reported.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// The index of the parameter among the tool's parameters.
    pub field: usize,
    /// The parameters that must be accepted before the validator is asked.
    pub requires: &'static [usize],
    /// The parameters that are judged before the validator is asked, whether they are accepted or not.
    pub after: &'static [usize],
}

/// The parameters of a tool, and the dependencies of the dynamic ones.
pub(crate) trait Shape {
    fn name(&self, field: usize) -> &str;
    fn kept_name(&self, field: usize) -> Cow<'static, str> {
        Cow::Owned(self.name(field).to_owned())
    }
    /// Returns the parameter that a name in the arguments means.
    fn find(&self, name: &str) -> Option<usize>;
    /// Returns the number of parameters.
    fn fields(&self) -> usize;
    /// Returns whether a validator judges a parameter.
    fn is_dynamic(&self, field: usize) -> bool;
    /// Returns whether the fields inside the parameter are judged one by one.
    fn is_nested(&self, _field: usize) -> bool {
        false
    }
    /// Returns the number of dynamic parameters.
    fn nodes(&self) -> usize;
    /// Returns the index of the dynamic parameter at `node`.
    fn field(&self, node: usize) -> usize;
    /// Returns the dynamic parameters, in the order in which they are asked.
    fn dynamic_fields(&self) -> impl Iterator<Item = usize> {
        (0..self.nodes()).map(|node| self.field(node))
    }

    /// Returns the parameters that must be accepted before the one at `node`.
    fn requires(&self, node: usize) -> &[usize];
    /// Returns the parameters that must be judged before the one at `node`.
    fn after(&self, node: usize) -> &[usize];
}

/// The shape of a declared tool.
#[derive(Clone, Copy)]
pub struct Declared {
    pub def: &'static Def,
    pub nodes: &'static [Node],
}

impl Shape for Declared {
    fn name(&self, field: usize) -> &str {
        self.def.fields[field].param.name
    }

    fn kept_name(&self, field: usize) -> Cow<'static, str> {
        Cow::Borrowed(self.def.fields[field].param.name)
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.def.fields.iter().position(|field| field.param.is_called(name))
    }

    fn fields(&self) -> usize {
        self.def.fields.len()
    }

    fn is_dynamic(&self, field: usize) -> bool {
        self.def.fields[field].dynamic
    }

    fn is_nested(&self, field: usize) -> bool {
        self.def.fields[field].nested.is_some()
    }

    fn nodes(&self) -> usize {
        self.nodes.len()
    }

    fn field(&self, node: usize) -> usize {
        self.nodes[node].field
    }

    fn requires(&self, node: usize) -> &[usize] {
        self.nodes[node].requires
    }

    fn after(&self, node: usize) -> &[usize] {
        self.nodes[node].after
    }
}

/// The parameters of a call while their validators are asked.
pub(crate) struct Call<'c, S, F> {
    shape: &'c S,
    values: Vec<Option<StoredValue>>,
    faults: Vec<Option<Box<Report>>>,
    ask: F,
}

impl<'c, 'b, S: Shape, F: FnMut(usize, Option<StoredValue>) -> ValidatorAnswer<'b>> Call<'c, S, F> {
    /// Creates a call of a tool with this shape, from the value and the fault of each parameter. `ask` asks the validator of the
    /// parameter at a node.
    pub(crate) fn new(
        shape: &'c S,
        values: Vec<Option<StoredValue>>,
        faults: Vec<Option<Box<Report>>>,
        ask: F,
    ) -> Self {
        Self { shape, values, faults, ask }
    }

    /// Settles the static parameters as they were read. Then asks each validator once the parameters that it waits for are
    /// settled. Afterwards `board` has a result for each parameter.
    pub(crate) async fn settle(mut self, board: &'b ParameterResults) {
        self.settle_static(board);
        // Most tools' validators all answer at once.
        let mut running = None;
        let mut waiting: Vec<usize> = (0..self.shape.nodes()).collect();
        loop {
            waiting.retain(|node| {
                let mut before = self.shape.requires(*node).iter().chain(self.shape.after(*node));
                if !before.all(|field| board.settled(*field).is_some()) {
                    return true;
                }
                let field = self.shape.field(*node);
                match self.begin(*node, field, board) {
                    ValidatorAnswer::Now(settled) => board.settle(field, settled),
                    ValidatorAnswer::Later(work) => {
                        let work = work.map(move |settled| (field, settled));
                        running.get_or_insert_with(FuturesUnordered::new).push(work);
                    }
                }
                false
            });
            let Some(running) = &mut running else { return };
            let Some((field, settled)) = running.next().await else { return };
            board.settle(field, settled);
        }
    }

    fn settle_static(&mut self, board: &ParameterResults) {
        for index in (0..self.shape.fields()).filter(|field| !self.shape.is_dynamic(*field)) {
            let settled = match (self.faults[index].take(), self.values[index].take()) {
                (None, Some(value)) => ParameterResult::accepted(value),
                (fault, _) => ParameterResult::rejected(fault.unwrap_or_else(|| Report::accepted().into())),
            };
            board.settle(index, settled);
        }
    }

    /// Asks the validator of `field`, unless a parameter that the validator needs is not accepted. A panic rejects the value.
    fn begin(&mut self, node: usize, field: usize, board: &ParameterResults) -> ValidatorAnswer<'b> {
        let missing = self.shape.requires(node).iter().filter(|field| !board.has(**field));
        let mut missing = missing.flat_map(|field| {
            let name = self.shape.name(*field);
            board.settled(*field).map_or_else(|| vec![name.to_owned()], |settled| settled.rejected_names(name))
        });
        let first = missing.next();
        let fault = self.faults[field].take();
        if let Some(first) = first {
            let reasons = missing.fold(Reasons::requires(first), Reasons::and_requires);
            let mut report = fault.unwrap_or_else(|| Report::accepted().into());
            report.rejected = Some(match report.rejected.take() {
                Some(first) => first.and(reasons),
                None => reasons,
            });
            return ValidatorAnswer::Now(ParameterResult::rejected(report));
        }
        let given = self.values[field].take().filter(|_| fault.is_none());
        match (contained(|| (self.ask)(node, given)), fault) {
            (asking, None) => asking,
            (ValidatorAnswer::Now(settled), fault) => ValidatorAnswer::Now(settled.with_fault(fault)),
            (ValidatorAnswer::Later(work), fault) => {
                ValidatorAnswer::Later(work.map(|settled| settled.with_fault(fault)).boxed())
            }
        }
    }
}

/// Returns remarks for the caller about accepted parameters: the changes, and the remarks of validators.
///
/// A change may date from the check of the call, before it was started. Then `text` has it already, and the context has the
/// arguments before the change.
fn remarks(shape: &impl Shape, settled: &[Option<ParameterResult>], text: &str, cx: &Context) -> Vec<String> {
    let mut remarks = Vec::new();
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let given = cx.journal().and_then(|journal| journal.given());
    let [before, now] = given.map(|given| [given, text].map(read)).unwrap_or_default();
    for field in shape.dynamic_fields() {
        for (name, report) in settled[field].iter().flat_map(|settled| settled.reports(shape.name(field))) {
            let now = || at(&now, &name).filter(|now| at(&before, &name) != Some(now));
            let understood = report.normalized.as_ref().or_else(now);
            remarks.extend(understood.map(|value| format!("`{name}` is understood as {value}")));
            remarks.extend(report.feedback.iter().cloned());
        }
    }
    remarks
}

/// Returns the value of the parameter `name`, or of a part of one. The names and indexes of parts are joined with dots.
fn at<'v>(arguments: &'v Value, name: &str) -> Option<&'v Value> {
    arguments.get(name).or_else(|| arguments.pointer(&format!("/{}", name.replace('.', "/"))))
}

/// Returns the arguments as validators changed them, if they did, and [`remarks`]. Fails if the call is rejected: the
/// rejection takes the reports out of `settled`.
pub(crate) fn conclude(
    shape: &impl Shape,
    text: &str,
    problems: Vec<Problem>,
    settled: &mut [Option<ParameterResult>],
    cx: &Context,
) -> Result<(Option<Box<str>>, Vec<String>), Rejection> {
    if !problems.is_empty() || settled.iter().flatten().any(|settled| settled.value.is_none()) {
        let reports = take_reports(shape, settled);
        let causes = settled.iter_mut().flatten().flat_map(ParameterResult::take_causes);
        return Err(Rejection::from_distinct(problems, reports).with_causes(causes));
    }
    Ok((rewritten(shape, text, settled), remarks(shape, settled, text, cx)))
}

/// Takes the reports about the dynamic parameters, in the order in which they are asked.
pub fn take_reports(shape: &impl Shape, settled: &mut [Option<ParameterResult>]) -> Reports {
    let mut reports = Vec::with_capacity(shape.nodes());
    for field in shape.dynamic_fields() {
        if let Some(settled) = &mut settled[field] {
            settled.take_reports(shape.kept_name(field), &mut reports);
        }
    }
    reports
}

/// Returns the object `text` with the changes of validators, if there are any.
pub fn rewritten(shape: &impl Shape, text: &str, settled: &[Option<ParameterResult>]) -> Option<Box<str>> {
    let fields = shape.dynamic_fields();
    let changed = |field: usize| Some((shape.name(field), settled[field].as_ref()?.changed()?));
    let changes: Vec<(&str, &str)> = fields.filter_map(changed).collect();
    if changes.is_empty() {
        return None;
    }
    let mut entries = text::entries(text);
    for (name, value) in changes {
        match entries.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => value.clone_into(known),
            None => entries.push((name.to_owned(), value.to_owned())),
        }
    }
    Some(text::write_object(&entries).into())
}
