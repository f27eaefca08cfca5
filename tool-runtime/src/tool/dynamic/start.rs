//! A call of a declared tool with dynamic parameters: read what is there, ask the validators, and put the input together. Where
//! the input is an enum, its tag says which variant is judged.

use std::{any::Any, marker::PhantomData, sync::OnceLock};

use futures_util::{FutureExt, future::BoxFuture};
use serde_json::{Map, Value};

use super::{
    Asking, Call, Checked, Keep, Node, Settled, Shape,
    board::{Board, Kept},
    conclude,
    engine::Declared,
};
use crate::feedback::{Problem, ProblemKind, Rejection, Report};
use crate::schema::Validator;
use crate::tool::{
    Context, Def, Refused, Started, Tool, Values,
    decode::{self, Slot},
    def, diagnose,
    field::Skipped,
};
use tool_schema::json::text;

/// What is wrong with arguments as they stand. The slots of all other parameters that were given are filled.
pub(crate) struct Reading {
    /// Where the parameters stand in the arguments of the call, as a JSON Pointer.
    at: String,
    /// With static parameters, and with the call as a whole.
    pub(crate) problems: Vec<Problem>,
    /// With each parameter.
    pub(crate) faults: Vec<Option<Box<Report>>>,
}

/// Reads `text`, which stands at the place `at` of a call's arguments, into `slots`, which belong to its parameters in order.
///
/// Fails when it is no object at all, or the application did not provide what the tool needs.
pub fn read(shape: Declared, at: &str, text: &str, cx: &Context, slots: &mut [Slot<'_>]) -> Result<Reading, Refused> {
    let def = shape.def;
    let mut reading = Reading { at: at.to_owned(), ..Reading::new(slots.len()) };
    let read = decode::read(text, slots).is_some();
    let checked = read.then(|| def.guard().map_or(Ok(()), |guard| diagnose::check(guard, text)));
    let rejection = match checked {
        Some(Ok(())) => None,
        Some(Err(rejection)) => Some(rejection),
        None => Some(diagnose::diagnose(def, text, slots)),
    };
    for problem in rejection.iter().flat_map(Rejection::problems) {
        reading.place(&shape, problem)?;
    }
    for (index, slot) in slots.iter_mut().enumerate() {
        if def.fields[index].dynamic {
            slot.complete_default();
        } else if reading.faults[index].is_none() && !slot.complete(cx).map_err(Refused::Failed)? {
            reading.place(&shape, &diagnose::missing(slot.param().name))?;
        }
    }
    Ok(reading)
}

impl Reading {
    /// Nothing is wrong, with so many parameters.
    pub(crate) fn new(parameters: usize) -> Self {
        Self { at: String::new(), problems: Vec::new(), faults: vec![None; parameters] }
    }

    /// Puts `problem` where it is told.
    ///
    /// Fails when nothing can be read because of it.
    pub(crate) fn place(&mut self, shape: &impl Shape, problem: &Problem) -> Result<(), Refused> {
        let find = |name: &str| shape.find(name);
        // A name that is close to that of a parameter is a mistake in that parameter.
        let meant = (problem.kind == ProblemKind::Unknown)
            .then(|| find(problem.suggestion.as_deref()?.trim_matches('`')))
            .flatten();
        let about = meant.or_else(|| find(&problem.about()?));
        let fatal = matches!(problem.kind, ProblemKind::Malformed | ProblemKind::TooLarge | ProblemKind::WrongType);
        let Some(field) = about else {
            if fatal {
                return Err(Refused::Arguments(Rejection::one(problem.clone())));
            }
            self.problems.push(problem.clone());
            return Ok(());
        };
        let is_dynamic = shape.is_dynamic(field);
        if is_dynamic && problem.kind == ProblemKind::Missing {
            return Ok(());
        }
        // What is wrong with a nested object is found again when it is read by itself.
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
    /// What the tool takes of the application's state.
    type States<'a>;

    /// What moves the parameters' values, in the order of the declaration.
    const KEEPS: &'static [Keep];

    /// The dynamic parameters, in the order in which they are asked.
    const NODES: &'static [Node];

    /// Asks the validator of the node about what was given.
    fn ask<'a: 'b, 'b>(node: usize, given: Option<Kept>, known: Known<'b, Self::States<'a>>) -> Asking<'b>;

    /// What is wrong with parameters that are all accepted, taken together.
    fn check<'a: 'b, 'b>(_input: &'b Self::Input, _known: Known<'b, Self::States<'a>>) -> BoxFuture<'b, Checked> {
        std::future::ready(Ok(())).boxed()
    }

    /// The call with this input.
    fn begin<'a>(input: Self::Input, states: Self::States<'a>, cx: &'a Context) -> Started<'a>;
}

/// What the contexts of validators are made of.
#[derive(Debug)]
pub struct Known<'b, X> {
    /// The parameters' values.
    pub board: &'b Board,
    /// What was given, not validated.
    pub raw: &'b Raw<'b>,
    /// Where the parameters stand in the arguments of the call, as a JSON Pointer.
    pub at: &'b str,
    /// The application's state.
    pub states: &'b X,
    /// The call.
    pub call: &'b Context,
}

impl<X> Clone for Known<'_, X> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<X> Copy for Known<'_, X> {}

impl<'b, X> Known<'b, X> {
    /// A value that must be there: of a parameter that was required, or a static one.
    ///
    /// # Panics
    ///
    /// When it is not, which is a mistake in an expansion.
    pub fn value<T: 'static>(&self, field: usize) -> &'b T {
        self.board.get(field).expect("a validator is asked when what it requires is there")
    }

    /// A value that may be there.
    pub fn maybe<T: 'static>(&self, field: usize) -> Option<&'b T> {
        self.board.get(field)
    }
}

/// Arguments as they were given.
#[derive(Debug)]
pub struct Raw<'t> {
    text: &'t str,
    entries: OnceLock<Map<String, Value>>,
}

impl<'t> Raw<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, entries: OnceLock::new() }
    }

    /// The same as it is written.
    pub(super) fn text(&self, name: &str) -> Option<&'t str> {
        text::entry(self.text, name)
    }

    /// What was given for the parameter `name`, right or wrong.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let read = || {
            text::read(self.text).ok().and_then(|read| match read.value {
                Value::Object(entries) => Some(entries),
                _ => None,
            })
        };
        self.entries.get_or_init(|| read().unwrap_or_default()).get(name)
    }
}

/// Starts calls of the tool `T`, which takes the states `X`.
///
/// A parameter or state that threads cannot share is reported elsewhere; then `SettlingFallback` asks for nothing more.
#[derive(Debug)]
pub struct Settling<T, X>(PhantomData<fn() -> (T, X)>);

impl<T, X> Settling<T, X>
where
    T: Validators<Input: Send + Sync>,
    X: Send + Sync,
{
    /// Reads the arguments of a tool, asks its validators, and prepares the call.
    pub fn settle<'a>(text: &'a str, states: X, cx: &'a Context) -> BoxFuture<'a, Result<Started<'a>, Refused>>
    where
        T: Validators<States<'a> = X> + 'a,
        X: 'a,
    {
        Box::pin(async move {
            let shape = Declared { def: T::def(), nodes: T::NODES };
            let board = Board::new(shape.fields());
            let raw = Raw::new(text);
            let known = Known { board: &board, raw: &raw, at: "", states: &states, call: cx };
            let ask = |node, given| T::ask(node, given, known);
            let problems = judge::<T::Values>(shape, T::KEEPS, known, ask).await?;
            let mut settled: Vec<_> = board.into_settled().collect();
            let understood = conclude(&shape, text, problems, &mut settled, cx).map_err(Refused::Arguments)?;
            let (normalized, remarks) = understood;
            let input = T::input(put(T::KEEPS, settled));
            let board = Board::new(0);
            let known = Known { board: &board, raw: &raw, at: "", states: &states, call: cx };
            T::check(&input, known).await.map_err(Refused::Arguments)?;
            Ok(T::begin(input, states, cx).understood(normalized, T::def().form(), remarks))
        })
    }
}

/// Reads what `known` says was given, and asks the validators. The board is full then; what comes back is wrong with the
/// call as a whole, and with static parameters.
pub async fn judge<'b, V: Values>(
    shape: Declared,
    keeps: &'static [Keep],
    Known { board, raw, at, call, .. }: Known<'b, impl Sync>,
    ask: impl FnMut(usize, Option<Kept>) -> Asking<'b> + Send,
) -> Result<Vec<Problem>, Refused> {
    let fields = shape.def.fields;
    let (values, reading) = {
        let mut places = V::empty();
        let mut each = Vec::with_capacity(fields.len());
        V::each(&mut places, &mut each);
        let mut skipped = vec![Skipped; fields.len()];
        let slots = fields.iter().zip(&mut each).zip(&mut skipped).map(|((field, place), skipped)| {
            // Who judges the fields of a nested object reads them, too.
            Slot::new(field, if field.nested { skipped } else { &mut **place })
        });
        let reading = read(shape, at, raw.text, call, &mut slots.collect::<Vec<_>>())?;
        let values = each.into_iter().zip(keeps).map(|(place, keep)| (keep.take)(place)).collect();
        (values, reading)
    };
    Call::new(&shape, values, reading.faults, ask).settle(board).await;
    Ok(reading.problems)
}

/// The values, which are all there.
pub fn put<V: Values>(keeps: &'static [Keep], settled: Vec<Option<Settled>>) -> V {
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
    /// What the tool takes of the application's state.
    type States<'a>;

    /// Reads arguments of a variant that need nobody's judgement any more.
    fn read(variant: usize, text: &str, cx: &Context) -> Result<Self, Refused>;

    /// Judges arguments as those of a variant.
    fn judge<'a: 'b, 'b>(
        variant: usize,
        text: &'b str,
        states: &'b Self::States<'a>,
        cx: &'b Context,
    ) -> BoxFuture<'b, Result<Understood<Self>, Refused>>;

    /// What is wrong with parameters that are all accepted, taken together.
    fn check<'a: 'b, 'b>(_input: &'b Self, _known: Known<'b, Self::States<'a>>) -> BoxFuture<'b, Checked> {
        std::future::ready(Ok(())).boxed()
    }

    /// The call with this input.
    fn begin<'a>(input: Self, states: Self::States<'a>, cx: &'a Context) -> Started<'a>;
}

/// Arguments that are accepted.
#[derive(Debug)]
pub struct Understood<T> {
    pub(super) input: T,
    pub(super) normalized: Option<Box<str>>,
    pub(super) remarks: Vec<String>,
}

impl<T> Understood<T> {
    /// The same as another type.
    pub fn map<U>(self, to: impl FnOnce(T) -> U) -> Understood<U> {
        Understood { input: to(self.input), normalized: self.normalized, remarks: self.remarks }
    }
}

/// Starts calls of the tool `T`, whose input is an enum and which takes the states `X`.
///
/// What threads cannot share is reported elsewhere; then `SettlingFallback` asks for nothing more.
#[derive(Debug)]
pub struct Choosing<T, X>(PhantomData<fn() -> (T, X)>);

impl<T, X> Choosing<T, X>
where
    T: Variants<Input: Send + Sync>,
    X: Send + Sync,
{
    /// Reads the arguments of a tool, asks the validators of its variant, and prepares the call.
    pub fn settle<'a>(text: &'a str, states: X, cx: &'a Context) -> BoxFuture<'a, Result<Started<'a>, Refused>>
    where
        T: Variants<States<'a> = X> + 'a,
        X: 'a,
    {
        Box::pin(async move {
            let variant = chosen(T::def(), text).map_err(Refused::Arguments)?;
            let Understood { input, normalized, remarks } = T::judge(variant, text, &states, cx).await?;
            let (board, raw) = (Board::new(0), Raw::new(text));
            let known = Known { board: &board, raw: &raw, at: "", states: &states, call: cx };
            T::check(&input, known).await.map_err(Refused::Arguments)?;
            Ok(T::begin(input, states, cx).understood(normalized, T::def().form(), remarks))
        })
    }
}

/// The variant that the tag says, by its place.
fn chosen(def: &'static Def, text: &str) -> Result<usize, Rejection> {
    let Some(union) = &def.union else { return Ok(0) };
    let tag = text::entry(text, union.tag).and_then(|text| serde_json::from_str::<String>(text).ok());
    let place = tag.and_then(|tag| union.variants.iter().position(|(known, _)| *known == tag));
    place.ok_or_else(|| {
        let tags: Vec<&str> = union.variants.iter().map(|(tag, _)| *tag).collect();
        let validator = Validator::compile(&Value::Object(def::describe_tagged(union.tag, &tags))).ok();
        let given = if text::is_blank(text) { "{}" } else { text };
        diagnose::fitting(given, validator.as_ref()).err().unwrap_or_else(|| Rejection::new(Vec::new()))
    })
}

/// The value of a tool whose input is an enum, as the one thing that is read.
#[derive(Debug)]
pub struct Chosen<T>(pub T);

impl<T: Variants> Values for Chosen<T> {
    type Places = Option<T>;

    fn empty() -> Option<T> {
        None
    }

    fn each<'a>(_: &'a mut Option<T>, _: &mut Vec<&'a mut dyn Any>) {}

    fn take(place: Option<T>) -> Self {
        Self(place.expect("it is read as a whole"))
    }

    fn read(def: &'static Def, text: &str, cx: &Context) -> Result<Self, Refused> {
        let variant = chosen(def, text).map_err(Refused::Arguments)?;
        T::read(variant, text, cx).map(Self)
    }
}
