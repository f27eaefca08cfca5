//! The start of a call of a declared tool with dynamic parameters: read the arguments, ask the validators, and assemble the
//! input. If the input is an enum, its tag selects the variant to validate.

use std::{any::Any, marker::PhantomData, sync::OnceLock};

use futures_util::{FutureExt, future::BoxFuture};
use serde_json::Value;

use super::{
    Call, Checked, Node, ParameterResult, Shape, ValidatorAnswer, ValueSlot, conclude,
    validation::Declared,
    values::{DerivedValues, Judged, ParameterResults, Seen, StoredValue},
};
use crate::feedback::{Problem, ProblemKind, Rejection, Report};
use crate::schema::CompiledSchema;
use crate::tool::{
    AcceptedCall, Context, DecodeError, Def, Tool, Values, check,
    decode::{self, Slot},
    def, diagnose,
    field::{Field, Skipped},
};
use tool_schema::json::text;

/// The problems of arguments as they were read. The slots of all other given parameters are filled.
pub(crate) struct ReadProblems {
    /// The place of the parameters in the arguments of the call, as a JSON Pointer.
    at: String,
    /// The problems of static parameters, and of the call as a whole.
    pub(crate) problems: Vec<Problem>,
    /// The problems of each parameter.
    pub(crate) faults: Vec<Option<Box<Report>>>,
}

/// Reads `text`, which is at the place `at` of a call's arguments, into `slots`, which belong to its parameters in order.
///
/// Fails when the text is not an object, or the application did not provide what the tool needs.
pub fn read(
    shape: Declared,
    at: &str,
    text: &str,
    cx: &Context,
    slots: &mut [Slot<'_>],
) -> Result<ReadProblems, DecodeError> {
    let def = shape.def;
    let mut reading = ReadProblems { at: at.to_owned(), ..ReadProblems::new(slots.len()) };
    let read = decode::read(def, text, slots).is_some();
    let guard = def.guard().map_err(DecodeError::Failed)?;
    let checked = read.then(|| guard.map_or(Ok(()), |guard| check::check(guard, text)));
    let rejection = match checked {
        Some(Ok(())) => None,
        Some(Err(rejection)) => Some(rejection),
        None => Some(diagnose::diagnose(def, text, slots)),
    };
    for problem in rejection.iter().flat_map(Rejection::problems) {
        reading.add_problem(&shape, problem)?;
    }
    for (index, slot) in slots.iter_mut().enumerate() {
        if def.fields[index].dynamic {
            slot.complete_default();
        } else if reading.faults[index].is_none() && !slot.complete(cx).map_err(DecodeError::Failed)? {
            reading.add_problem(&shape, &diagnose::missing(slot.param().name))?;
        }
    }
    Ok(reading)
}

impl ReadProblems {
    /// Creates a reading without problems, for `parameters` parameters.
    pub(crate) fn new(parameters: usize) -> Self {
        Self { at: String::new(), problems: Vec::new(), faults: vec![None; parameters] }
    }

    /// Adds `problem` to its parameter, or to the call. Fails when nothing can be read because of it.
    pub(crate) fn add_problem(&mut self, shape: &impl Shape, problem: &Problem) -> Result<(), DecodeError> {
        let find = |name: &str| shape.find(name);
        // A name that is close to that of a parameter is a mistake in that parameter.
        let meant = (problem.kind == ProblemKind::Unknown)
            .then(|| find(problem.suggestion.as_deref()?.trim_matches('`')))
            .flatten();
        let about = meant.or_else(|| find(&problem.about()?));
        let fatal = matches!(problem.kind, ProblemKind::Malformed | ProblemKind::TooLarge | ProblemKind::WrongType);
        let Some(field) = about else {
            if fatal {
                return Err(DecodeError::Arguments(Rejection::one(problem.clone())));
            }
            self.problems.push(problem.clone());
            return Ok(());
        };
        let is_dynamic = shape.is_dynamic(field);
        if is_dynamic && problem.kind == ProblemKind::Missing {
            return Ok(());
        }
        // The problems of a nested parameter are found again when it is read by itself.
        let is_whole = meant.is_some() || (problem.kind == ProblemKind::Duplicate && !problem.is_nested());
        if shape.is_nested(field) && !is_whole {
            return Ok(());
        }
        self.faults[field].get_or_insert_with(|| Report::accepted().into()).add_below(&self.at, problem);
        if !is_dynamic && meant.is_none() {
            self.problems.push(problem.clone());
        }
        Ok(())
    }
}

/// The validators of a tool with dynamic parameters. `#[tool]` implements it.
pub trait Validators: Tool {
    /// The part of the application's state that the tool takes.
    type States<'a>;

    /// The code that moves the parameters' values, in the order of the declaration.
    const KEEPS: &'static [ValueSlot];

    /// The dynamic parameters, in the order in which they are asked.
    const NODES: &'static [Node];

    /// Asks the validator of the node about the given value.
    fn ask<'a: 'b, 'b>(
        node: usize,
        given: Option<StoredValue>,
        known: ValidatorInputs<'b, Self::States<'a>>,
    ) -> ValidatorAnswer<'b>;

    /// Checks the parameters together, after all of them are accepted.
    fn check<'a: 'b, 'b>(
        _input: &'b Self::Input,
        _known: ValidatorInputs<'b, Self::States<'a>>,
    ) -> BoxFuture<'b, Checked> {
        std::future::ready(Ok(())).boxed()
    }

    /// Starts the call with this input, and with the data that validators derived.
    fn begin<'a>(
        input: Self::Input,
        states: Self::States<'a>,
        derived: DerivedValues,
        cx: &'a Context,
    ) -> AcceptedCall<'a>;
}

/// The data from which the contexts of validators are made.
#[derive(Debug)]
pub struct ValidatorInputs<'b, X> {
    /// The results of the parameters so far.
    pub board: &'b ParameterResults,
    /// The given arguments, not validated.
    pub raw: &'b GivenArguments<'b>,
    /// The place of the parameters in the arguments of the call, as a JSON Pointer.
    pub at: &'b str,
    /// The application's state.
    pub states: &'b X,
    /// The call.
    pub call: &'b Context,
}

impl<X> Clone for ValidatorInputs<'_, X> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<X> Copy for ValidatorInputs<'_, X> {}

impl<'b, X> ValidatorInputs<'b, X> {
    /// Returns a value that must be there, because its parameter is required.
    ///
    /// # Panics
    ///
    /// If it is not there, which is a mistake in an expansion.
    pub fn value<T: 'static>(&self, field: usize) -> &'b T {
        self.board.get(field).expect("a validator is asked when what it requires is there")
    }

    /// Returns the data that was derived from a parameter, which is required.
    ///
    /// # Panics
    ///
    /// If it is not there, which is a mistake in an expansion.
    pub fn derived<D: 'static>(&self, field: usize) -> &'b D {
        self.board.derived(field).expect("the validator of an accepted parameter derived the data")
    }

    /// Returns the value of a parameter that was judged before.
    pub fn judged<T: Seen>(&self, field: usize) -> Judged<'b, T> {
        match self.board.get(field) {
            Some(value) => Judged::Accepted(value),
            None => self.raw.read(field).map_or(Judged::Missing, Judged::Refused),
        }
    }
}

/// Arguments as they were given.
#[derive(Debug)]
pub struct GivenArguments<'t> {
    def: &'static Def,
    text: &'t str,
    /// The values that validators saw before they were accepted, in the order of the parameters.
    values: OnceLock<Vec<OnceLock<Option<StoredValue>>>>,
}

impl<'t> GivenArguments<'t> {
    pub(super) fn new(def: &'static Def, text: &'t str) -> Self {
        Self { def, text, values: OnceLock::new() }
    }

    /// Returns the declaration of the parameter `name`.
    pub(super) fn field(&self, name: &str) -> Option<&'static Field> {
        self.def.fields.iter().find(|field| field.param.name == name)
    }

    /// Returns the JSON text given for the parameter `name`.
    pub(super) fn text(&self, name: &str) -> Option<&'t str> {
        text::find_value(self.text, name)
    }

    /// Returns the value given for a parameter, accepted or not. Returns `None` if none was given, or if it does not have the
    /// parameter's type `T`.
    pub fn read<T: Seen>(&self, field: usize) -> Option<&T> {
        let read = || {
            let field = &self.def.fields[field];
            let mut place = None::<T>;
            Slot::new(field, &mut place).read(self.text(field.param.name)?).ok()?;
            Some(Box::new(place) as StoredValue)
        };
        let values = self.values.get_or_init(|| self.def.fields.iter().map(|_| OnceLock::new()).collect());
        values[field].get_or_init(read).as_ref()?.downcast_ref::<Option<T>>()?.as_ref()
    }
}

/// Starts calls of the tool `T`, which takes the states `X`.
///
/// `ArgumentValidationFallback` handles a parameter or a state that threads cannot share: see the module `expansion`.
#[derive(Debug)]
pub struct ArgumentValidation<T, X>(PhantomData<fn() -> (T, X)>);

impl<T, X> ArgumentValidation<T, X>
where
    T: Validators<Input: Send + Sync>,
    X: Send + Sync,
{
    /// Reads the arguments of a tool, asks its validators, and prepares the call.
    pub fn settle<'a>(text: &'a str, states: X, cx: &'a Context) -> BoxFuture<'a, Result<AcceptedCall<'a>, DecodeError>>
    where
        T: Validators<States<'a> = X> + 'a,
        X: 'a,
    {
        Box::pin(async move {
            let shape = Declared { def: T::def(), nodes: T::NODES };
            let board = ParameterResults::new(shape.fields());
            let raw = GivenArguments::new(T::def(), text);
            let known = ValidatorInputs { board: &board, raw: &raw, at: "", states: &states, call: cx };
            let ask = |node, given| T::ask(node, given, known);
            let problems = validate_parameters::<T::Values>(shape, T::KEEPS, known, ask).await?;
            let mut settled: Vec<_> = board.into_settled().collect();
            let understood = conclude(&shape, text, problems, &mut settled, cx).map_err(DecodeError::Arguments)?;
            let (normalized, remarks) = understood;
            let derived = DerivedValues::take_from(&mut settled);
            let input = T::input(collect_values(T::KEEPS, settled));
            let board = ParameterResults::new(0);
            let known = ValidatorInputs { board: &board, raw: &raw, at: "", states: &states, call: cx };
            T::check(&input, known).await.map_err(DecodeError::Arguments)?;
            Ok(T::begin(input, states, derived, cx).understood(normalized, remarks))
        })
    }
}

/// Reads the arguments `raw`, and asks the validators. Afterwards `board` has a result for each parameter. Returns the problems
/// of the call as a whole, and of static parameters.
pub async fn validate_parameters<'b, V: Values>(
    shape: Declared,
    keeps: &'static [ValueSlot],
    ValidatorInputs { board, raw, at, call, .. }: ValidatorInputs<'b, impl Sync>,
    ask: impl FnMut(usize, Option<StoredValue>) -> ValidatorAnswer<'b> + Send,
) -> Result<Vec<Problem>, DecodeError> {
    let fields = shape.def.fields;
    let (values, reading) = {
        let mut places = V::empty();
        let mut each = Vec::with_capacity(fields.len());
        V::each(&mut places, &mut each);
        let mut skipped = vec![Skipped; fields.len()];
        let slots = fields.iter().zip(&mut each).zip(&mut skipped).map(|((field, place), skipped)| {
            // The code that validates the fields of nested objects also reads them.
            Slot::new(field, if field.nested.is_some() { skipped } else { &mut **place })
        });
        let reading = read(shape, at, raw.text, call, &mut slots.collect::<Vec<_>>())?;
        let values = each.into_iter().zip(keeps).map(|(place, keep)| (keep.take)(place)).collect();
        (values, reading)
    };
    Call::new(&shape, values, reading.faults, ask).settle(board).await;
    Ok(reading.problems)
}

/// Returns the parameters' values, which are all there.
pub fn collect_values<V: Values>(keeps: &'static [ValueSlot], settled: Vec<Option<ParameterResult>>) -> V {
    let mut places = V::empty();
    let mut each = Vec::with_capacity(settled.len());
    V::each(&mut places, &mut each);
    for ((place, keep), settled) in each.into_iter().zip(keeps).zip(settled) {
        let value = settled.and_then(|settled| settled.value);
        let is_there = value.is_some_and(|value| (keep.put)(place, value));
        debug_assert!(is_there, "a call is refused when a value is missing");
    }
    V::take(places)
}

/// The variants of a tool whose input is an enum. `#[tool]` implements it.
pub trait Variants: Tool<Input = Self> + Sized + 'static {
    /// The part of the application's state that the tool takes.
    type States<'a>;

    /// Reads arguments of a variant that were validated before.
    fn read(variant: usize, text: &str, cx: &Context) -> Result<Self, DecodeError>;

    /// Validates arguments as those of a variant.
    fn validate<'a: 'b, 'b>(
        variant: usize,
        text: &'b str,
        states: &'b Self::States<'a>,
        cx: &'b Context,
    ) -> BoxFuture<'b, Result<AcceptedInput<Self>, DecodeError>>;

    /// Checks the parameters together, after all of them are accepted.
    fn check<'a: 'b, 'b>(_input: &'b Self, _known: ValidatorInputs<'b, Self::States<'a>>) -> BoxFuture<'b, Checked> {
        std::future::ready(Ok(())).boxed()
    }

    /// Starts the call with this input.
    fn begin<'a>(input: Self, states: Self::States<'a>, cx: &'a Context) -> AcceptedCall<'a>;
}

/// Arguments that are accepted.
#[derive(Debug)]
pub struct AcceptedInput<T> {
    pub(super) input: T,
    pub(super) normalized: Option<Box<str>>,
    pub(super) remarks: Vec<String>,
}

impl<T> AcceptedInput<T> {
    /// Converts the input to another type.
    pub fn map<U>(self, to: impl FnOnce(T) -> U) -> AcceptedInput<U> {
        AcceptedInput { input: to(self.input), normalized: self.normalized, remarks: self.remarks }
    }
}

/// Starts calls of the tool `T`, whose input is an enum and which takes the states `X`.
///
/// `ArgumentValidationFallback` handles a type that threads cannot share: see the module `expansion`.
#[derive(Debug)]
pub struct VariantValidation<T, X>(PhantomData<fn() -> (T, X)>);

impl<T, X> VariantValidation<T, X>
where
    T: Variants<Input: Send + Sync>,
    X: Send + Sync,
{
    /// Reads the arguments of a tool, asks the validators of its variant, and prepares the call.
    pub fn settle<'a>(text: &'a str, states: X, cx: &'a Context) -> BoxFuture<'a, Result<AcceptedCall<'a>, DecodeError>>
    where
        T: Variants<States<'a> = X> + 'a,
        X: 'a,
    {
        Box::pin(async move {
            let variant = select_variant(T::def(), text).map_err(DecodeError::Arguments)?;
            let AcceptedInput { input, normalized, remarks } = T::validate(variant, text, &states, cx).await?;
            let (board, raw) = (ParameterResults::new(0), GivenArguments::new(T::def(), text));
            let known = ValidatorInputs { board: &board, raw: &raw, at: "", states: &states, call: cx };
            T::check(&input, known).await.map_err(DecodeError::Arguments)?;
            Ok(T::begin(input, states, cx).understood(normalized, remarks))
        })
    }
}

/// Returns the index of the variant that the tag selects.
fn select_variant(def: &'static Def, text: &str) -> Result<usize, Rejection> {
    let Some(union) = &def.union else { return Ok(0) };
    let tag = text::find_value(text, union.tag).and_then(|text| serde_json::from_str::<String>(text).ok());
    let place = tag.and_then(|tag| union.variants.iter().position(|(known, _)| *known == tag));
    place.ok_or_else(|| {
        let tags: Vec<&str> = union.variants.iter().map(|(tag, _)| *tag).collect();
        let schema = CompiledSchema::compile(&Value::Object(def::describe_tagged(union.tag, &tags))).ok();
        let given = if text::is_blank(text) { "{}" } else { text };
        check::read_valid(given, schema.as_ref()).err().unwrap_or_else(|| Rejection::new(Vec::new()))
    })
}

/// The value of a tool whose input is an enum, read as a whole.
#[derive(Debug)]
pub struct ReadVariant<T>(pub T);

impl<T: Variants> Values for ReadVariant<T> {
    type Places = Option<T>;

    fn empty() -> Option<T> {
        None
    }

    fn each<'a>(_: &'a mut Option<T>, _: &mut Vec<&'a mut dyn Any>) {}

    fn take(place: Option<T>) -> Self {
        Self(place.expect("it is read as a whole"))
    }

    fn read(def: &'static Def, text: &str, cx: &Context) -> Result<Self, DecodeError> {
        let variant = select_variant(def, text).map_err(DecodeError::Arguments)?;
        T::read(variant, text, cx).map(Self)
    }
}
