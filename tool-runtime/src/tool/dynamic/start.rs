//! A call of a declared tool with dynamic parameters: read what is there, ask the validators, and put the input together.

use std::{fmt, marker::PhantomData, sync::OnceLock};

use futures_util::{FutureExt, TryFutureExt, future::BoxFuture};
use serde_json::{Map, Value};

use super::{
    Asking, Board, Call, Checked, Keep, Node, Settled, Shape as _, ask_all,
    board::Kept,
    conclude,
    plan::Declared,
    read::{Reading, read},
    remarks,
};
use crate::feedback::Problem;
use crate::tool::{Context, Refused, Started, Tool, Values, code::Skipped, slots::Slot};
use tool_schema::json::text;

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

impl<X> fmt::Debug for Known<'_, X> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Known")
    }
}

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
            let normalized = conclude(&shape, text, problems, &mut settled).map_err(Refused::Arguments)?;
            let remarks = remarks(&shape, &settled, text, cx);
            let input = T::input(put(T::KEEPS, settled));
            let board = Board::new(0);
            let known = Known { board: &board, raw: &raw, at: "", states: &states, call: cx };
            T::check(&input, known).await.map_err(Refused::Arguments)?;
            let Started { needs_approval, touches, work, .. } = T::begin(input, states, cx);
            let work = work.map_ok(|output| output.told(T::def().form(), remarks)).boxed();
            Ok(Started { needs_approval, normalized, touches, work })
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
    let Given { values, reading } = take::<V>(shape, keeps, at, raw.text, call)?;
    let mut asked = Call::new(&shape, values, reading.faults, ask);
    asked.settle_static(board);
    ask_all(&mut asked, board).await;
    Ok(reading.problems)
}

/// The arguments as far as they can be read.
struct Given {
    values: Vec<Option<Kept>>,
    reading: Reading,
}

fn take<V: Values>(
    shape: Declared,
    keeps: &'static [Keep],
    at: &str,
    text: &str,
    cx: &Context,
) -> Result<Given, Refused> {
    let fields = shape.def.fields;
    let mut places = V::empty();
    let mut each = Vec::with_capacity(fields.len());
    V::each(&mut places, &mut each);
    let reading = {
        let mut skipped = vec![Skipped; fields.len()];
        let slots = fields.iter().zip(&mut each).zip(&mut skipped).map(|((field, place), skipped)| {
            // Who judges the fields of a nested object reads them, too.
            Slot::new(field, if field.nested { skipped } else { &mut **place })
        });
        read(shape, at, text, cx, &mut slots.collect::<Vec<_>>())?
    };
    let values = each.into_iter().zip(keeps).map(|(place, keep)| (keep.take)(place)).collect();
    Ok(Given { values, reading })
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
