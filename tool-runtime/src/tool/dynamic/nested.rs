//! An object among the parameters, whose own fields are judged each by itself.

use futures_util::FutureExt;
use serde::de::Error as _;

use super::{
    Asking, Board, Keep, Known, Node, Raw, Settled, Shape as _, Wanted,
    board::Kept,
    call::{rewritten, take_reports},
    plan::Declared,
    said::failed,
    start::{judge, put},
};
use crate::feedback::{Problem, Report};
use crate::json;
use crate::tool::{Context, Def, Field, Refused, Values, describe, field::read_nested};

/// A struct whose fields are judged one by one, as parameters are. `#[derive(DynamicInput)]` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be nested: nothing says how its fields are judged",
    label = "does not derive `DynamicInput`",
    note = "a struct can with `#[derive(tool_runtime::DynamicInput)]`; a list or an `Option` of one cannot"
)]
pub trait DynamicInput: Sized + 'static {
    /// What it takes of the application's state.
    #[doc(hidden)]
    type Wants: Wanted;
    /// The types of the fields, in order.
    #[doc(hidden)]
    type Values: Values;
    /// What moves a value.
    #[doc(hidden)]
    const KEEP: Keep;
    /// What moves the fields' values, in the order of the declaration.
    #[doc(hidden)]
    const KEEPS: &'static [Keep];
    /// The dynamic fields, in the order in which they are asked.
    #[doc(hidden)]
    const NODES: &'static [Node];
    /// A parameter of this type.
    #[doc(hidden)]
    const FIELD: Field = Field::nested(
        |place, text| read_nested(place, text, whole::<Self>),
        |generator| describe::object(Self::def().fields, generator, |_, _| {}).into(),
    );

    /// The declaration.
    #[doc(hidden)]
    fn def() -> &'static Def;

    /// The fields as a struct.
    #[doc(hidden)]
    fn input(values: Self::Values) -> Self;

    /// Asks the validator of the node about what was given.
    #[doc(hidden)]
    fn ask<'a: 'b, 'b>(node: usize, given: Option<Kept>, known: Known<'b, Lent<'a, Self>>) -> Asking<'b>;

    /// Judges the object that `known` says was given as `name`.
    #[doc(hidden)]
    fn judge<'a: 'b, 'b, X>(name: &str, known: Known<'b, X>, states: &'b Lent<'a, Self>) -> Asking<'b> {
        let place = format!("{}/{}", known.at, json::segment(name));
        let text = known.raw.text(name).unwrap_or("{}");
        Asking::Later(settle::<Self>(text, place, states, known.call).boxed())
    }
}

/// What an input takes of the application's state.
pub type Lent<'a, T> = <<T as DynamicInput>::Wants as Wanted>::Given<'a>;

/// Reads an object that needs nobody's judgement any more.
fn whole<T: DynamicInput>(text: &str) -> Result<T, serde_json::Error> {
    match T::Values::read(T::def(), text, &Context::new("")) {
        Ok(values) => Ok(T::input(values)),
        Err(Refused::Arguments(rejection)) => Err(serde_json::Error::custom(rejection.lines().join("; "))),
        Err(Refused::Failed(failure)) => Err(serde_json::Error::custom(failure.for_log())),
    }
}

async fn settle<T: DynamicInput>(text: &str, place: String, states: &Lent<'_, T>, cx: &Context) -> Settled {
    match attempt::<T>(text, &place, states, cx).await {
        Ok(settled) => settled,
        Err(Refused::Failed(failure)) => failed(&failure),
        // No object: what there is to choose from is told all the same.
        Err(Refused::Arguments(rejection)) => {
            let mut fault = Report::accepted();
            rejection.problems().iter().for_each(|problem| tell(&mut fault, &place, problem));
            match attempt::<T>("{}", &place, states, cx).await {
                Ok(settled) => settled.with_fault(Some(fault)),
                Err(_) => Settled::refused(fault),
            }
        }
    }
}

async fn attempt<T: DynamicInput>(
    text: &str,
    place: &str,
    states: &Lent<'_, T>,
    cx: &Context,
) -> Result<Settled, Refused> {
    let shape = Declared { def: T::def(), nodes: T::NODES };
    let board = Board::new(shape.fields());
    let raw = Raw::new(text);
    let known = Known { board: &board, raw: &raw, at: place, states, call: cx };
    let problems = judge::<T::Values>(shape, T::KEEPS, known, |node, given| T::ask(node, given, known)).await?;
    let mut settled: Vec<_> = board.into_settled().collect();
    let mut whole = Report::accepted();
    // Those of static fields are told with these.
    let is_own = |problem: &&Problem| problem.about().is_none_or(|name| shape.find(&name).is_none());
    problems.iter().filter(is_own).for_each(|problem| tell(&mut whole, place, problem));
    let is_accepted = whole.is_valid() && settled.iter().flatten().all(|settled| settled.value.is_some());
    let changed = if is_accepted { rewritten(&shape, text, &settled) } else { None };
    let causes = settled.iter_mut().flatten().flat_map(|settled| std::mem::take(&mut settled.causes)).collect();
    let mut parts = Vec::with_capacity(settled.len());
    for field in (0..shape.fields()).filter(|field| !shape.is_dynamic(*field)) {
        let refused = settled[field].iter_mut().filter(|settled| settled.value.is_none());
        parts.extend(refused.flat_map(|settled| settled.take_reports(shape.name(field))));
    }
    parts.extend(take_reports(&shape, &mut settled));
    let mut value = is_accepted.then(|| T::input(put(T::KEEPS, settled)));
    let value = (T::KEEP.take)(&mut value);
    Ok(Settled { value, report: whole, changed, parts: Some(parts), causes })
}

/// Adds what is wrong with the object at `place`, or is not known there, to what is told of it.
fn tell(report: &mut Report, place: &str, problem: &Problem) {
    if problem.path.is_empty() { report.add(problem) } else { report.add(&problem.below(place)) }
}
