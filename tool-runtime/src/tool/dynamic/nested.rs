//! An object among the parameters, whose own fields are judged one by one, and the application state that it takes.

use std::marker::PhantomData;

use futures_util::future::BoxFuture;
use serde::de::Error as _;

use super::{
    GivenArguments, Node, ParameterResult, ParameterResults, Shape as _, ValidatorAnswer, ValidatorInputs, ValueSlot,
    start::{AcceptedInput, collect_values, validate_parameters},
    validation::{Declared, conclude, rewritten, take_reports},
    validator::failed,
    values::StoredValue,
};
use crate::feedback::{Problem, Report};
use crate::tool::{
    Context, DecodeError, Def, Provide, Values, def,
    field::{Code, Field, read_nested},
};
use tool_schema::schema::pointer;

/// A struct whose fields are judged one by one, like parameters. `#[derive(DynamicInput)]` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a nested parameter",
    label = "does not derive `DynamicInput`",
    note = "add `#[derive(tool_runtime::DynamicInput)]` to the struct; a list or an `Option` of it cannot be nested"
)]
pub trait DynamicInput: Sized + 'static {
    /// The part of the application's state that it takes.
    #[doc(hidden)]
    type Wants: StateParts;
    /// The types of the fields, in order.
    #[doc(hidden)]
    type Values: Values;
    /// The code that moves a value.
    #[doc(hidden)]
    const KEEP: ValueSlot;
    /// The code that moves the fields' values, in the order of the declaration.
    #[doc(hidden)]
    const KEEPS: &'static [ValueSlot];
    /// The dynamic fields, in the order in which they are asked.
    #[doc(hidden)]
    const NODES: &'static [Node];
    /// A parameter of this type.
    #[doc(hidden)]
    const FIELD: Field = Field::nested(Self::CODE);
    #[doc(hidden)]
    const CODE: &'static Code = &Code::nested(
        |place, text, _| read_nested(place, text, read::<Self>),
        |generator| def::describe_nested(Self::def(), generator).into(),
    );

    /// Returns the declaration.
    #[doc(hidden)]
    fn def() -> &'static Def;

    /// Converts the fields into the struct.
    #[doc(hidden)]
    fn input(values: Self::Values) -> Self;

    /// Asks the validator of the node about the given value.
    #[doc(hidden)]
    fn ask<'a: 'b, 'b>(
        node: usize,
        given: Option<StoredValue>,
        known: ValidatorInputs<'b, NestedState<'a, Self>>,
    ) -> ValidatorAnswer<'b>;

    /// Validates the object that `known` has under the name `name`.
    #[doc(hidden)]
    fn validate<'a: 'b, 'b, X>(
        name: &str,
        known: ValidatorInputs<'b, X>,
        states: &'b NestedState<'a, Self>,
    ) -> ValidatorAnswer<'b>;
}

/// The part of the application's state that an input takes.
pub type NestedState<'a, T> = <<T as DynamicInput>::Wants as StateParts>::Given<'a>;

/// Reads an object that was validated before.
pub fn read_validated<T: DynamicInput>(text: &str, cx: &Context) -> Result<T, DecodeError> {
    T::Values::read(T::def(), text, cx).map(T::input)
}

/// Reads an object without asking its validators.
fn read<T: DynamicInput>(text: &str) -> Result<T, serde_json::Error> {
    read_validated(text, &Context::new("")).map_err(|rejected| match rejected {
        DecodeError::Arguments(rejection) => serde_json::Error::custom(rejection.lines().join("; ")),
        DecodeError::Failed(failure) => serde_json::Error::custom(failure.for_log()),
    })
}

/// Validates objects that are read as a `T`, which takes `X` of the state.
///
/// `NestedValidationFallback` handles a state that threads cannot share: see the module `expansion`.
#[derive(Debug)]
pub struct NestedValidation<T, X>(PhantomData<fn() -> (T, X)>);

impl<T, X: Send + Sync> NestedValidation<T, X> {
    /// Validates the object that `known` has under the name `name`.
    pub fn validate<'a: 'b, 'b, K>(name: &str, known: ValidatorInputs<'b, K>, states: &'b X) -> ValidatorAnswer<'b>
    where
        T: DynamicInput<Wants: StateParts<Given<'a> = X>>,
        X: 'a,
    {
        let place = pointer::join(known.at, name);
        let text = known.raw.text(name).unwrap_or("{}");
        let cx = known.call;
        ValidatorAnswer::Later(Box::pin(async move {
            match attempt::<T, X>(text, &place, states, cx).await {
                Ok(settled) => settled,
                Err(DecodeError::Failed(failure)) => failed(&failure),
                // The value is not an object. The reports still have the choices.
                Err(DecodeError::Arguments(rejection)) => {
                    let mut fault = Report::accepted();
                    rejection.problems().iter().for_each(|problem| report(&mut fault, &place, problem));
                    match attempt::<T, X>("{}", &place, states, cx).await {
                        Ok(settled) => settled.with_fault(Some(fault.into())),
                        Err(_) => ParameterResult::rejected(fault),
                    }
                }
            }
        }))
    }

    /// Validates arguments whose fields are those of `T`.
    pub fn validate_input<'a: 'b, 'b>(
        text: &'b str,
        states: X,
        cx: &'b Context,
    ) -> BoxFuture<'b, Result<AcceptedInput<T>, DecodeError>>
    where
        T: DynamicInput<Wants: StateParts<Given<'a> = X>>,
        X: 'a,
    {
        Box::pin(async move {
            let (shape, problems, mut settled) = fields::<T, X>(text, "", &states, cx).await?;
            let understood = conclude(&shape, text, problems, &mut settled, cx).map_err(DecodeError::Arguments)?;
            let (normalized, remarks) = understood;
            Ok(AcceptedInput { input: T::input(collect_values(T::KEEPS, settled)), normalized, remarks })
        })
    }
}

async fn attempt<'a, T, X>(text: &str, place: &str, states: &X, cx: &Context) -> Result<ParameterResult, DecodeError>
where
    T: DynamicInput<Wants: StateParts<Given<'a> = X>>,
    X: Send + Sync + 'a,
{
    let (shape, problems, mut settled) = fields::<T, X>(text, place, states, cx).await?;
    let mut whole = Report::accepted();
    // The problems of static fields are in the reports about the parts.
    let is_own = |problem: &&Problem| problem.about().is_none_or(|name| shape.find(&name).is_none());
    problems.iter().filter(is_own).for_each(|problem| report(&mut whole, place, problem));
    let is_accepted = whole.is_valid() && settled.iter().flatten().all(|settled| settled.value.is_some());
    let changed = if is_accepted { rewritten(&shape, text, &settled) } else { None };
    let causes: Vec<_> = settled.iter_mut().flatten().flat_map(ParameterResult::take_causes).collect();
    let mut parts = Vec::with_capacity(settled.len());
    for field in (0..shape.fields()).filter(|field| !shape.is_dynamic(*field)) {
        let rejected = settled[field].iter_mut().filter(|settled| settled.value.is_none());
        rejected.for_each(|settled| settled.take_reports(shape.kept_name(field), &mut parts));
    }
    parts.extend(take_reports(&shape, &mut settled));
    let mut value = is_accepted.then(|| T::input(collect_values(T::KEEPS, settled)));
    let value = (T::KEEP.take)(&mut value);
    let mut settled = ParameterResult::of_parts(value, whole, parts);
    settled.change(changed);
    Ok(settled.because(causes))
}

/// Returns the problems of the object `text`, which is at `place`, and the results of its fields.
async fn fields<'a, T, X>(
    text: &str,
    place: &str,
    states: &X,
    cx: &Context,
) -> Result<(Declared, Vec<Problem>, Vec<Option<ParameterResult>>), DecodeError>
where
    T: DynamicInput<Wants: StateParts<Given<'a> = X>>,
    X: Send + Sync + 'a,
{
    let shape = Declared { def: T::def(), nodes: T::NODES };
    let board = ParameterResults::new(shape.fields());
    let raw = GivenArguments::new(T::def(), text);
    let known = ValidatorInputs { board: &board, raw: &raw, at: place, states, call: cx };
    let problems =
        validate_parameters::<T::Values>(shape, T::KEEPS, known, |node, given| T::ask(node, given, known)).await?;
    Ok((shape, problems, board.into_settled().collect()))
}

/// Adds a problem of the object at `place`, or an unknown name in it, to its report.
fn report(report: &mut Report, place: &str, problem: &Problem) {
    if problem.path.is_empty() { report.add(problem) } else { report.add(&problem.below(place)) }
}

/// The part of a state that an input takes: nothing (`()`), one type ([`OneState`]), or two such parts (a pair).
pub trait StateParts: 'static {
    /// The type of that part.
    type Given<'a>: Copy + 'a;
}

/// A state of type `T`.
#[derive(Debug)]
pub struct OneState<T>(PhantomData<fn() -> T>);

impl StateParts for () {
    type Given<'a> = ();
}

impl<T: 'static> StateParts for OneState<T> {
    type Given<'a> = &'a T;
}

impl<A: StateParts, B: StateParts> StateParts for (A, B) {
    type Given<'a> = (A::Given<'a>, B::Given<'a>);
}

/// A state that provides what a nested input takes of it.
#[diagnostic::on_unimplemented(
    message = "the state `{Self}` does not provide the state of a nested parameter",
    label = "lacks the state of a nested parameter",
    note = "the parameter's type names its state in `#[dynamic_input(state = ...)]`; a state struct provides its fields with `#[derive(tool_runtime::Provide)]`"
)]
pub trait ProvideNested<W: StateParts> {
    /// Returns the part that the input takes.
    fn lend(&self) -> W::Given<'_>;
}

impl<S> ProvideNested<()> for S {
    fn lend(&self) {}
}

impl<S: Provide<T>, T: 'static> ProvideNested<OneState<T>> for S {
    fn lend(&self) -> &T {
        self.provide()
    }
}

impl<S: ProvideNested<A> + ProvideNested<B>, A: StateParts, B: StateParts> ProvideNested<(A, B)> for S {
    fn lend(&self) -> (A::Given<'_>, B::Given<'_>) {
        (ProvideNested::<A>::lend(self), ProvideNested::<B>::lend(self))
    }
}
