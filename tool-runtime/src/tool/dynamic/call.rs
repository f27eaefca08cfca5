//! The parameters of one call, while their validators are asked, and what comes of it.

use futures_util::FutureExt;
use serde_json::Value;

use super::{Asked, Asking, Board, Settled, Shape, board::Kept, engine::contained};
use crate::feedback::{Problem, Reasons, Rejection, Report};
use crate::tool::Context;
use tool_schema::feedback::Reports;
use tool_schema::json::text;

/// The parameters of a call while their validators are asked.
pub(crate) struct Call<'c, S, F> {
    shape: &'c S,
    values: Vec<Option<Kept>>,
    faults: Vec<Option<Box<Report>>>,
    /// The static parameters that are wrong: validators need them all.
    bad: Option<Reasons>,
    ask: F,
}

impl<'c, S: Shape, F> Call<'c, S, F> {
    /// A call of a tool of this shape, with what could be read of each parameter, and what is wrong with it.
    pub(crate) fn new<'b>(shape: &'c S, values: Vec<Option<Kept>>, faults: Vec<Option<Box<Report>>>, ask: F) -> Self
    where
        F: FnMut(usize, Option<Kept>) -> Asking<'b>,
    {
        Self { shape, values, faults, bad: None, ask }
    }

    /// Settles the static parameters: they are as they were read.
    pub(crate) fn settle_static(&mut self, board: &Board) {
        for index in (0..self.shape.fields()).filter(|field| !self.shape.is_dynamic(*field)) {
            let settled = match (self.faults[index].take(), self.values[index].take()) {
                (None, Some(value)) => Settled::accepted(value),
                (fault, _) => {
                    let name = self.shape.name(index);
                    self.bad = Some(match self.bad.take() {
                        Some(bad) => bad.and_requires(name),
                        None => Reasons::requires(name),
                    });
                    Settled::refused(fault.unwrap_or_else(|| Report::accepted().into()))
                }
            };
            board.settle(index, settled);
        }
    }
}

impl<'b, S: Shape, F: FnMut(usize, Option<Kept>) -> Asking<'b>> Asked<'b> for Call<'_, S, F> {
    fn shape(&self) -> &impl Shape {
        self.shape
    }

    fn ask(&mut self, node: usize) -> Asking<'b> {
        let field = self.shape.field(node);
        if let Some(bad) = &self.bad {
            return Asking::Told(self.wait(node, bad.clone()));
        }
        let fault = self.faults[field].take();
        let given = self.values[field].take().filter(|_| fault.is_none());
        match (contained(|| (self.ask)(node, given)), fault) {
            (asking, None) => asking,
            (Asking::Told(settled), fault) => Asking::Told(settled.with_fault(fault)),
            (Asking::Later(work), fault) => Asking::Later(work.map(|settled| settled.with_fault(fault)).boxed()),
        }
    }

    fn wait(&mut self, node: usize, reasons: Reasons) -> Settled {
        let mut report = self.faults[self.shape.field(node)].take().unwrap_or_else(|| Report::accepted().into());
        report.refused = Some(match report.refused.take() {
            Some(first) => first.and(reasons),
            None => reasons,
        });
        Settled::refused(report)
    }
}

/// What the caller should know of parameters that were accepted: what was changed, and what validators remark.
///
/// The change may have been made when the call was looked at, before it was started: then `text` has it already, and the
/// context what it was made of.
pub(crate) fn remarks(shape: &impl Shape, settled: &[Option<Settled>], text: &str, cx: &Context) -> Vec<String> {
    let mut remarks = Vec::new();
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let given = cx.journal().and_then(|journal| journal.given());
    let [before, now] = given.map(|given| [given, text].map(read)).unwrap_or_default();
    for field in (0..shape.nodes()).map(|node| shape.field(node)) {
        for (name, report) in settled[field].iter().flat_map(|settled| settled.reports(shape.name(field))) {
            let now = || at(&now, &name).filter(|now| at(&before, &name) != Some(now));
            let understood = report.normalized.as_ref().or_else(now);
            remarks.extend(understood.map(|value| format!("`{name}` is understood as {value}")));
            remarks.extend(report.feedback.iter().cloned());
        }
    }
    remarks
}

/// The value of the parameter `name`, or of a part of one, whose names stand with dots between them.
fn at<'v>(arguments: &'v Value, name: &str) -> Option<&'v Value> {
    arguments.get(name).or_else(|| name.split('.').try_fold(arguments, |value, part| value.get(part)))
}

/// The arguments with what validators changed in them, if they changed anything; or why the call is refused. What is told is
/// taken out of `settled`.
pub(crate) fn conclude(
    shape: &impl Shape,
    text: &str,
    problems: Vec<Problem>,
    settled: &mut [Option<Settled>],
) -> Result<Option<Box<str>>, Rejection> {
    if !problems.is_empty() || settled.iter().flatten().any(|settled| settled.value.is_none()) {
        let reports = take_reports(shape, settled);
        let causes = settled.iter_mut().flatten().flat_map(Settled::take_causes);
        return Err(Rejection::distinct(problems, reports).with_causes(causes));
    }
    Ok(rewritten(shape, text, settled))
}

/// Takes what is told of the dynamic parameters, in the order in which they are asked.
pub fn take_reports(shape: &impl Shape, settled: &mut [Option<Settled>]) -> Reports {
    let mut reports = Vec::with_capacity(shape.nodes());
    for field in (0..shape.nodes()).map(|node| shape.field(node)) {
        if let Some(settled) = &mut settled[field] {
            settled.take_reports(shape.kept_name(field), &mut reports);
        }
    }
    reports
}

/// The object `text` with what validators changed in it, if they changed anything.
pub fn rewritten(shape: &impl Shape, text: &str, settled: &[Option<Settled>]) -> Option<Box<str>> {
    let fields = (0..shape.nodes()).map(|node| shape.field(node));
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
    Some(text::object(&entries).into())
}
