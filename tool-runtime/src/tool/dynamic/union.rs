//! A call of a tool whose input is an enum: the tag says which variant, and the fields of that variant are judged.

use std::{any::Any, fmt, marker::PhantomData};

use futures_util::{FutureExt, TryFutureExt, future::BoxFuture};
use serde_json::Value;

use super::{Checked, DynamicInput, Known, Raw, Wanted, board::Board, conclude, nested::fields, remarks, start::put};
use crate::feedback::Rejection;
use crate::schema::Validator;
use crate::tool::{Context, Def, Refused, Started, Tool, Values, describe, diagnose};
use tool_schema::json::text;

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
pub struct Understood<T> {
    input: T,
    normalized: Option<Box<str>>,
    remarks: Vec<String>,
}

impl<T> Understood<T> {
    /// The same as another type.
    pub fn map<U>(self, to: impl FnOnce(T) -> U) -> Understood<U> {
        Understood { input: to(self.input), normalized: self.normalized, remarks: self.remarks }
    }
}

impl<T> fmt::Debug for Understood<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Understood")
    }
}

/// Judges arguments whose fields are those of `T`.
pub async fn understand<'a, T, X>(text: &str, states: X, cx: &Context) -> Result<Understood<T>, Refused>
where
    T: DynamicInput<Wants: Wanted<Given<'a> = X>>,
    X: Send + Sync + 'a,
{
    let (shape, problems, mut settled) = fields::<T, X>(text, "", &states, cx).await?;
    let normalized = conclude(&shape, text, problems, &mut settled).map_err(Refused::Arguments)?;
    let remarks = remarks(&shape, &settled, text, cx);
    Ok(Understood { input: T::input(put(T::KEEPS, settled)), normalized, remarks })
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
            let Started { needs_approval, touches, work, .. } = T::begin(input, states, cx);
            let work = work.map_ok(|output| output.told(T::def().form(), remarks)).boxed();
            Ok(Started { needs_approval, normalized, touches, work })
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
        let validator = Validator::compile(&Value::Object(describe::tagged(union.tag, &tags))).ok();
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
