//! An object among the parameters, or a list of objects, whose own fields are judged one by one, and the application state that
//! they take.

use std::marker::PhantomData;

use futures_util::future::{BoxFuture, join_all};
use serde::de::Error as _;
use serde_json::{Map, Value, json};

use super::{
    GivenArguments, Node, ParameterResult, ParameterResults, Shape as _, ValidatorAnswer, ValidatorInputs, ValueSlot,
    start::{AcceptedInput, collect_values, validate_parameters},
    validation::{Declared, conclude, rewritten, take_reports},
    validator::failed,
    values::StoredValue,
};
use crate::feedback::{Problem, ProblemKind, Report};
use crate::schema::CompiledSchema;
use crate::tool::{
    Context, DecodeError, Def, Provide, Values, def,
    field::{Code, Field, Nested, read_nested},
    rule::Rule,
};
use tool_schema::json::text;
use tool_schema::schema::pointer;

/// The maximum number of elements of a list of inputs whose declaration sets none. It bounds the number of validators that one
/// call runs.
pub const MAX_ELEMENTS: usize = 100;

/// A struct whose fields are judged one by one, like parameters. `#[derive(DynamicInput)]` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a nested parameter",
    label = "does not derive `DynamicInput`",
    note = "add `#[derive(tool_runtime::DynamicInput)]` to the struct; a list of it is written `Vec<…>`, and an `Option` of it cannot be nested"
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
    /// The code that moves a list of values.
    #[doc(hidden)]
    const KEEP_LIST: ValueSlot;
    /// The code that moves the fields' values, in the order of the declaration.
    #[doc(hidden)]
    const KEEPS: &'static [ValueSlot];
    /// The dynamic fields, in the order in which they are asked.
    #[doc(hidden)]
    const NODES: &'static [Node];
    /// A parameter of this type.
    #[doc(hidden)]
    const FIELD: Field = Field::nested(Nested::Object, Self::CODE);
    #[doc(hidden)]
    const CODE: &'static Code = &Code::nested(
        |place, text, _| read_nested(place, text, read::<Self>),
        |generator| def::describe_nested(Self::def(), generator).into(),
    );
    /// A parameter that is a list of this type.
    #[doc(hidden)]
    const LIST: Field = Field::nested(Nested::List, Self::LIST_CODE);
    #[doc(hidden)]
    const LIST_CODE: &'static Code = &Code::nested(
        |place, text, _| read_nested(place, text, read_list::<Self>),
        |generator| {
            let items = def::describe_nested(Self::def(), generator);
            schemars::json_schema!({ "type": "array", "items": items })
        },
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

    /// Validates the object, or the list of objects, that `known` has under the name `name`.
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

/// Reads a list of objects without asking their validators.
fn read_list<T: DynamicInput>(text: &str) -> Result<Vec<T>, serde_json::Error> {
    let items = text::raw_items(text).ok_or_else(|| serde_json::Error::custom("expected a list"))?;
    let each = items.iter().enumerate();
    each.map(|(index, item)| {
        read(item).map_err(|error| serde_json::Error::custom(format_args!("item {index}: {error}")))
    })
    .collect()
}

/// Validates objects that are read as a `T`, which takes `X` of the state.
///
/// `NestedValidationFallback` handles a state that threads cannot share: see the module `expansion`.
#[derive(Debug)]
pub struct NestedValidation<T, X>(PhantomData<fn() -> (T, X)>);

impl<T, X: Send + Sync> NestedValidation<T, X> {
    /// Validates the object, or the list of objects, that `known` has under the name `name`.
    pub fn validate<'a: 'b, 'b, K>(name: &str, known: ValidatorInputs<'b, K>, states: &'b X) -> ValidatorAnswer<'b>
    where
        T: DynamicInput<Wants: StateParts<Given<'a> = X>>,
        X: 'a,
    {
        let place = pointer::join(known.at, name);
        let (text, cx) = (known.raw.text(name), known.call);
        let list = known.raw.field(name).filter(|field| field.nested == Some(Nested::List));
        ValidatorAnswer::Later(match list {
            Some(field) => Box::pin(async move { validate_list::<T, X>(field, text, &place, states, cx).await }),
            None => Box::pin(async move { validate_object::<T, X>(text.unwrap_or("{}"), &place, states, cx).await }),
        })
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

/// Validates the list `text` of the parameter `field`, which is at `place`. Its elements are validated side by side.
async fn validate_list<'a, T, X>(
    field: &'static Field,
    text: Option<&str>,
    place: &str,
    states: &X,
    cx: &Context,
) -> ParameterResult
where
    T: DynamicInput<Wants: StateParts<Given<'a> = X>>,
    X: Send + Sync + 'a,
{
    let text = text.or(field.default.map(|_| "[]"));
    let mut items = text.and_then(text::raw_items);
    let (min, max) = length_limits(field);
    let is_right = items.as_ref().is_some_and(|items| (min..=max).contains(&items.len()));
    let mut whole = Report::accepted();
    if !is_right {
        for problem in list_problems(field, text) {
            whole.add(&problem);
        }
        let items = items.get_or_insert_default();
        items.truncate(max);
        // The reports still have the choices of a first element.
        items.resize(items.len().max(1), "{}");
    }
    let items = items.unwrap_or_default();
    let each = items.iter().enumerate().map(|(index, item)| async move {
        validate_object::<T, X>(item, &format!("{place}/{index}"), states, cx).await
    });
    let mut settled = join_all(each).await;
    let is_changed = settled.iter().any(|settled| settled.changed().is_some());
    let texts = settled.iter().zip(&items).map(|(settled, item)| settled.changed().unwrap_or(item));
    let changed = is_changed.then(|| format!("[{}]", texts.collect::<Vec<_>>().join(",")).into());
    let (mut causes, mut parts, mut values) = (Vec::new(), Vec::new(), Vec::with_capacity(items.len()));
    for (index, settled) in settled.iter_mut().enumerate() {
        causes.extend(settled.take_causes());
        settled.take_reports(index.to_string().into(), &mut parts);
        let mut value = None::<T>;
        values.extend(settled.value.take().filter(|_| is_right).and_then(|one| {
            (T::KEEP.put)(&mut value, one);
            value
        }));
    }
    let is_accepted = is_right && values.len() == items.len();
    let value = if is_accepted { (T::KEEP_LIST.take)(&mut Some(values)) } else { None };
    let mut settled = match value {
        Some(value) if parts.is_empty() => ParameterResult::accepted(value),
        value => ParameterResult::of_parts(value, whole, parts),
    };
    settled.change(changed.filter(|_| is_accepted));
    settled.because(causes)
}

/// Returns the least and the largest number of elements of the list `field`.
fn length_limits(field: &Field) -> (usize, usize) {
    let limits = field.limits.iter().find_map(|limit| match limit.rule {
        Rule::Length { min, max, .. } => Some((min, max.unwrap_or(MAX_ELEMENTS))),
        _ => None,
    });
    limits.unwrap_or((0, MAX_ELEMENTS))
}

/// Returns the problems of the value `text` of the list `field` with the list itself: it is missing, or no list, or its length is
/// wrong. Its elements may have other problems.
#[cold]
fn list_problems(field: &'static Field, text: Option<&str>) -> Vec<Problem> {
    let name = field.param.name;
    let mut schema = def::describe_input(std::slice::from_ref(field)).schema.neutral().clone();
    schema["required"] = json!([name]);
    let value = text.map(|text| serde_json::from_str::<Value>(text).unwrap_or_default());
    let arguments: Map<String, Value> = value.into_iter().map(|value| (name.to_owned(), value)).collect();
    let schema = CompiledSchema::compile(&schema);
    let found = schema.map(|schema| schema.problems(&Value::Object(arguments), "")).unwrap_or_default();
    let mut own: Vec<Problem> = found.into_iter().filter(|problem| !problem.is_nested()).collect();
    if own.is_empty() {
        own.push(Problem::new(pointer::join("", name), ProblemKind::Invalid, "a list of objects"));
    }
    own
}

/// Validates the object `text`, which is at `place`.
async fn validate_object<'a, T, X>(text: &str, place: &str, states: &X, cx: &Context) -> ParameterResult
where
    T: DynamicInput<Wants: StateParts<Given<'a> = X>>,
    X: Send + Sync + 'a,
{
    match attempt::<T, X>(text, place, states, cx).await {
        Ok(settled) => settled,
        Err(DecodeError::Failed(failure)) => failed(&failure),
        // The value is not an object. The reports still have the choices.
        Err(DecodeError::Arguments(rejection)) => {
            let mut fault = Report::accepted();
            rejection.problems().iter().for_each(|problem| report(&mut fault, place, problem));
            match attempt::<T, X>("{}", place, states, cx).await {
                Ok(settled) => settled.with_fault(Some(fault.into())),
                Err(_) => ParameterResult::rejected(fault),
            }
        }
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
