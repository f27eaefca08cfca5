//! The parts that only expansions of the macros use: small functions, and fallbacks. When a type lacks a trait, a fallback lets the
//! rest of the expansion compile, so that the user reads one error, at the type.
//!
//! An expansion names an inherent item of `Something<T>`, which exists if `T` fits. It also imports `SomethingFallback`, which
//! has an item of the same name for every `T` and requires nothing. The compiler finds an inherent item before a trait's. So the
//! compiler reports a type that does not fit once, where it is required, and the rest of the expansion compiles.
//!
//! | type | fits if | else | the user reads |
//! |---|---|---|---|
//! | `BuiltInType<T>` | the runtime has the code of `T` | [`BuiltInTypeFallback`] | nothing, or that `T` is not a [`ToolInput`](super::ToolInput) |
//! | `TypeWitness<T>`, `Plain<R>`, `Fallible<T, E>` | the type can be read or returned | [`missing_traits`](super::missing_traits) | which trait it lacks |
//! | `Json<T>` | `T: Serialize` | [`JsonFallback`] | nothing: the schema lacks the default |
//! | `Kind<R>` | `R` is a `Result` | [`KindFallback`] | nothing |
//! | `ExecuteWitness<T>`, `ExecuteWithWitness<T, S>` | `T` can be executed | [`ExecuteWitnessFallback`] | that `T` does not implement `Execute` or `ExecuteWith` |
//! | `Work<V>` | `V: Send` | [`WorkFallback`] | that a parameter cannot be sent, or a state cannot be shared |
//! | `CallPredicate<F, I>` | `F: FnOnce(&I) -> bool` | [`CallPredicateFallback`] | that the function is not a [`Predicate`] |
//! | `Hook<R>` | `R` is `()` | [`HookFallback`] | nothing, or that `R` is not a [`HookFuture`] |
//! | `Shared<T>` | `T` is an `Arc` | [`SharedFallback`] | nothing: the state is put into an `Arc` |
//! | `SlotWitness<T>` | `T: ToolSecret` | [`SlotWitnessFallback`] | which trait `T` lacks, where it is decoded |
//! | `InputWitness<T>` | `T: Send + Sync` | [`InputWitnessFallback`] | that a field cannot be sent or shared |
//! | `Validator<T, C, D>` | `T: VisibleToValidators`, `C: Send`, `D: DerivedData` | [`ValidatorFallback`] | that `T` is not `VisibleToValidators`, or a state or derived data cannot be shared |
//! | `ParameterValidator<F, T, C, D>` | `F: FnOnce(Option<T>, C) -> R` | [`ParameterValidatorFallback`] | that the function is not a [`Validate`] |
//! | `ValidatorReturned<T, R, D>` | `R: IntoValidation<T, D>` | [`ReturnedFallback`] | nothing, or that `R` is not [`LaterValidation`] |
//! | `Checker<I, C>` | `I: Sync`, `C: Send` | [`CheckerFallback`] | that a parameter or a state cannot be shared |
//! | `CallCheck<F, I, C>` | `F: FnOnce(&I, C) -> R` | [`CallCheckFallback`] | that the function is not a [`CheckCall`] |
//! | `CheckReturned<R>` | `R` is a `Checked` | [`CheckReturnedFallback`] | nothing, or that `R` is not a [`CheckFuture`] |
//! | `NestedValidation<T, X>` | `X: Send + Sync` | [`NestedValidationFallback`] | that a state cannot be shared, where it is given |
//! | `ArgumentValidation<T, X>`, `VariantValidation<T, X>` | all can be shared | [`ArgumentValidationFallback`] | that a parameter or a state cannot be shared |

#![allow(missing_docs, reason = "the items of a fallback are documented at the type that they stand in for")]

use std::{
    future::ready,
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use futures_util::{FutureExt, future::BoxFuture};
use serde::Serialize;
use serde_json::Value;

use super::{
    AcceptedCall, CallError, CallFuture, Context, DecodeError, Def, HookFuture, TouchedResources,
    binding::Work,
    dynamic::{
        AcceptedInput, ArgumentValidation, CallCheck, CheckCall, CheckFuture, CheckReturned, Checked, Checker,
        InputWitness, LaterValidation, NestedValidation, ParameterValidator, SlotWitness, StoredValue, Validate,
        Validator, ValidatorAnswer, ValidatorInputs, ValidatorReturned, ValueSlot, VariantValidation,
        VisibleToValidators,
    },
    executor::{ExecuteWithWitness, ExecuteWitness, Executor},
    field::{BuiltInType, TypeWitness},
    output::{Kind, Plain, Returned},
    typed_hooks::Hook,
};
use crate::feedback::Rejection;

/// Returns the work of a call that is executed outside this program.
pub fn never_executed<'a>() -> CallFuture<'a> {
    Box::pin(std::future::ready(Err(CallError::NotExecuted)))
}

/// Reads a default that is written as a JSON literal.
pub fn constant(json: &str) -> Option<Value> {
    serde_json::from_str(json).ok()
}

/// A default value, which becomes JSON if its type can be serialized.
#[derive(Debug)]
pub struct Json<'a, T>(pub &'a T);

impl<T: Serialize> Json<'_, T> {
    /// Returns the value as JSON.
    pub fn json(&self) -> Option<Value> {
        serde_json::to_value(self.0).ok()
    }
}

/// A state, in an `Arc` or not.
#[derive(Debug)]
pub struct Shared<T>(pub T);

impl<T> Shared<Arc<T>> {
    /// Returns the state.
    pub fn share(self) -> Arc<T> {
        self.0
    }
}

/// Checks, at compile time, that a tool's name is not among the `earlier` ones.
///
/// # Panics
///
/// If `name` is among `earlier`.
#[track_caller]
pub const fn assert_unique(name: &'static str, earlier: &[&'static str]) {
    let mut index = 0;
    while index < earlier.len() {
        if same(name, earlier[index]) {
            panic_duplicate(name);
        }
        index += 1;
    }
}

/// Checks, at compile time, that no earlier tool has the name of the tool at `index` of `names`, as recorded in `repeats`.
///
/// # Panics
///
/// If an earlier tool has the name.
#[track_caller]
pub const fn assert_first(names: &[&'static str], repeats: &[bool], index: usize) {
    if repeats[index] {
        panic_duplicate(names[index]);
    }
}

/// Returns, for each of `names`, whether an earlier one is equal. Names are hashed into `N` buckets and compared within a bucket,
/// because the compiler evaluates constants slowly.
pub const fn find_repeats<const N: usize>(names: &[&'static str; N]) -> [bool; N] {
    // The latest of each bucket, and the one before each; `N` for none.
    let (mut latest, mut before, mut repeats) = ([N; N], [N; N], [false; N]);
    let mut index = 0;
    while index < N {
        // The modulus makes every byte count. Both factors are below 2^32, so the product does not overflow.
        let bucket = (((hash_name(names[index]) % 4_294_967_291) * 0x9e37_79b1) >> 29) as usize % N;
        let mut earlier = latest[bucket];
        while earlier < N && !repeats[index] {
            repeats[index] = same(names[index], names[earlier]);
            earlier = before[earlier];
        }
        before[index] = latest[bucket];
        latest[bucket] = index;
        index += 1;
    }
    repeats
}

/// Hashes the length and the first, middle and last eight bytes of `name`, in few steps.
const fn hash_name(name: &str) -> u64 {
    let bytes = name.as_bytes();
    let middle = bytes.split_at((bytes.len() / 2).saturating_sub(4)).1;
    if let (Some(first), Some(middle), Some(last)) = (bytes.first_chunk(), middle.first_chunk(), bytes.last_chunk()) {
        let (first, middle, last) =
            (u64::from_le_bytes(*first), u64::from_le_bytes(*middle), u64::from_le_bytes(*last));
        return first ^ middle.rotate_left(23) ^ last.rotate_left(7) ^ bytes.len() as u64;
    }
    let (mut number, mut at) = (0, 0);
    while at < bytes.len() {
        number = (number << 8) | bytes[at] as u64;
        at += 1;
    }
    number
}

#[track_caller]
const fn panic_duplicate(name: &str) {
    // An empty name has an error of its own.
    if name.is_empty() {
        return;
    }
    let mut message = Message { text: [0; 256], length: 0 };
    message.push("this set already has a tool called `");
    message.push(name);
    message.push("`: give one of them another name with `#[tool(name = \"...\")]`");
    panic!("{}", message.as_str());
}

/// Compares from the end, because names mostly differ there.
const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut index = a.len();
    while index > 0 {
        index -= 1;
        if a[index] != b[index] {
            return false;
        }
    }
    true
}

/// A text that is built at compile time.
struct Message {
    text: [u8; 256],
    length: usize,
}

impl Message {
    const fn push(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut index = 0;
        while index < bytes.len() && self.length < self.text.len() {
            self.text[self.length] = bytes[index];
            self.length += 1;
            index += 1;
        }
    }

    const fn as_str(&self) -> &str {
        match std::str::from_utf8(self.text.split_at(self.length).0) {
            Ok(text) => text,
            Err(_) => "two tools of this set have one name",
        }
    }
}

/// A function that decides whether a call with the input `I` needs approval: `fn(&I) -> bool`.
///
/// Nothing implements it. [`CallPredicate::asks`] calls such a function, and anything else is required to implement this trait.
/// So a mistake is reported with this trait's message, not with the compiler's message about signatures.
#[diagnostic::on_unimplemented(
    message = "this is not a predicate of calls of `{I}`",
    label = "expected a function of `(&{I})` that returns a `bool`",
    note = "write `fn name(input: &{I}) -> bool`, which is not async; a tool that has to wait for the decision asks with `cx.request_approval`"
)]
pub trait Predicate<I> {}

/// Wraps predicates of calls with the input `I`.
#[derive(Debug)]
pub struct When<I>(PhantomData<fn() -> I>);

impl<I> When<I> {
    /// Wraps a predicate.
    pub fn of<F>(predicate: F) -> CallPredicate<F, I> {
        CallPredicate { predicate, of: PhantomData }
    }
}

/// A predicate of calls with the input `I`, if it is one.
#[derive(Debug)]
pub struct CallPredicate<F, I> {
    predicate: F,
    of: PhantomData<fn() -> I>,
}

impl<F: FnOnce(&I) -> bool, I> CallPredicate<F, I> {
    /// Returns whether a person must be asked. A panic counts as yes, because the answer is unknown.
    pub fn asks(self, input: &I) -> bool {
        catch_unwind(AssertUnwindSafe(|| (self.predicate)(input))).unwrap_or(true)
    }
}

/// The type of a parameter marked `#[context]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the context of a call",
    label = "write `&Context`, or `Context`",
    note = "mark application state `#[state]`; a parameter that the model provides has no mark"
)]
pub trait CallContext: Sized {
    /// Returns the context.
    fn of(cx: &Context) -> &Self;
}

#[diagnostic::do_not_recommend]
impl CallContext for Context {
    #[inline]
    fn of(cx: &Context) -> &Self {
        cx
    }
}

/// Returns the context in the type of the function's parameter.
#[inline]
pub fn context<T>(cx: &Context) -> &T
where
    T: CallContext,
{
    T::of(cx)
}

/// The fallback for a type that only looks like one of those whose code is in the runtime.
pub trait BuiltInTypeFallback<T: 'static> {
    const CODE: &'static TypeWitness<T> = TypeWitness::CODE;
}

impl<T: 'static> BuiltInTypeFallback<T> for BuiltInType<T> {}

/// The fallback for the JSON of a value that cannot be serialized.
pub trait JsonFallback {
    fn json(&self) -> Option<Value>;
}

impl<T> JsonFallback for Json<'_, T> {
    fn json(&self) -> Option<Value> {
        None
    }
}

/// The fallback for an output that is not a `Result`.
pub trait KindFallback<R: 'static> {
    const KIND: &'static Plain<R> = &Plain(PhantomData);
}

impl<R: 'static> KindFallback<R> for Kind<R> {}

/// The fallback for a struct that cannot be executed.
pub trait ExecuteWitnessFallback<T, S> {
    /// The kind. The error is reported where the output type is required.
    const KIND: NotExecutable<T, S> = NotExecutable(PhantomData);
}

impl<T> ExecuteWitnessFallback<T, ()> for ExecuteWitness<T> {}

impl<T, S> ExecuteWitnessFallback<T, S> for ExecuteWithWitness<T, S> {}

/// A struct that cannot be executed.
#[derive(Debug)]
pub struct NotExecutable<T, S>(PhantomData<fn() -> (T, S)>);

impl<T, S> NotExecutable<T, S> {
    /// Returns an executor that does nothing.
    pub const fn fits<L: ?Sized>(self) -> Executor<T, S> {
        Executor { start: |_, _, _| never_executed(), returned: Returned::described(|_| None) }
    }
}

/// The fallback for the work of a function whose values cannot be sent to another thread.
pub trait WorkFallback {
    fn async_fn<'a, R>(_: &'static Def, _: impl Future<Output = R>) -> CallFuture<'a> {
        never_executed()
    }

    fn plain_fn<'a, R>(_: &'static Def, _: impl FnOnce() -> R) -> CallFuture<'a> {
        never_executed()
    }

    fn async_stream<'a, S>(_: &'static Def, _: &'a Context, _: impl Future<Output = S>) -> CallFuture<'a> {
        never_executed()
    }

    fn plain_stream<'a, S>(_: &'static Def, _: &'a Context, _: impl FnOnce() -> S) -> CallFuture<'a> {
        never_executed()
    }
}

impl<V> WorkFallback for Work<V> {}

/// The fallback that reports a value that is not a predicate.
pub trait CallPredicateFallback<F, I>: Sized {
    fn asks(self, _: &I) -> bool
    where
        F: Predicate<I>,
    {
        true
    }
}

impl<F, I> CallPredicateFallback<F, I> for CallPredicate<F, I> {}

/// The fallback that waits for a hook that is an `async fn`, and reports what is not a hook.
pub trait HookFallback {
    type Later;
    fn done<'a>(self) -> BoxFuture<'a, ()>
    where
        Self::Later: HookFuture + 'a;
}

impl<R> HookFallback for Hook<R> {
    type Later = R;

    fn done<'a>(self) -> BoxFuture<'a, ()>
    where
        R: HookFuture + 'a,
    {
        Box::pin(self.0)
    }
}

/// The fallback that shares a state that is not shared yet.
pub trait SharedFallback {
    type State;
    fn share(self) -> Arc<Self::State>;
}

impl<T> SharedFallback for Shared<T> {
    type State = T;

    fn share(self) -> Arc<T> {
        Arc::new(self.0)
    }
}

/// The fallback for a type that a parameter cannot have.
pub trait SlotWitnessFallback {
    const KIND: UnusableType = UnusableType;
}

impl<T> SlotWitnessFallback for SlotWitness<T> {}

/// A type that a parameter cannot have.
#[derive(Debug)]
pub struct UnusableType;

impl UnusableType {
    pub const fn dynamic(self) -> ValueSlot {
        ValueSlot::NOTHING
    }

    pub const fn fixed(self) -> ValueSlot {
        ValueSlot::NOTHING
    }
}

/// The fallback for a struct that cannot be an input.
pub trait InputWitnessFallback {
    const KEEP: ValueSlot = ValueSlot::NOTHING;
}

impl<T> InputWitnessFallback for InputWitness<T> {}

/// The fallback for a validator that cannot see its parameter's type, or whose state cannot be shared.
pub trait ValidatorFallback {
    fn of<F>(_: F) -> UncalledValidator {
        UncalledValidator
    }
}

impl<T, C, D> ValidatorFallback for Validator<T, C, D> {}

/// A validator that is not called.
#[derive(Debug)]
pub struct UncalledValidator;

impl UncalledValidator {
    /// Returns an empty answer.
    pub fn ask<C>(self, _: Option<StoredValue>, _: C) -> NoValidatorAnswer {
        NoValidatorAnswer
    }
}

/// The fallback that reports a value that is not a validator.
pub trait ParameterValidatorFallback<F, T, C>: Sized {
    fn ask(self, _: Option<StoredValue>, _: C) -> NoValidatorAnswer
    where
        F: Validate<T, C>,
    {
        NoValidatorAnswer
    }
}

impl<F, T, C, D> ParameterValidatorFallback<F, T, C> for ParameterValidator<F, T, C, D> {}

/// The answer of a validator that is not called.
#[derive(Debug)]
pub struct NoValidatorAnswer;

impl NoValidatorAnswer {
    /// Returns a refusal: the value could not be checked.
    pub fn settle<'a>(self) -> ValidatorAnswer<'a> {
        ValidatorAnswer::unchecked()
    }
}

/// The fallback that waits for a validator that is an `async fn`, and reports what is not a validator.
pub trait ReturnedFallback<T, R, D> {
    fn settle<'a>(self) -> ValidatorAnswer<'a>
    where
        R: LaterValidation<T, D> + Send + 'a;
}

impl<T: VisibleToValidators, R, D> ReturnedFallback<T, R, D> for ValidatorReturned<T, R, D> {
    fn settle<'a>(self) -> ValidatorAnswer<'a>
    where
        R: LaterValidation<T, D> + Send + 'a,
    {
        ValidatorAnswer::Later(self.answer.settled(self.before))
    }
}

/// The fallback for the check of a call whose parameters or state cannot be shared.
pub trait CheckerFallback {
    fn of<F>(_: F) -> UncalledCheck {
        UncalledCheck
    }
}

impl<I, C> CheckerFallback for Checker<I, C> {}

/// A check that is not called.
#[derive(Debug)]
pub struct UncalledCheck;

impl UncalledCheck {
    /// Returns the answer that nothing is wrong.
    pub fn ask<I, C>(self, _: &I, _: C) -> CheckReturned<Checked> {
        CheckReturned(Ok(()))
    }
}

/// The fallback that reports a value that is not a check.
pub trait CallCheckFallback<F, I, C>: Sized {
    fn ask(self, _: &I, _: C) -> CheckReturned<Checked>
    where
        F: CheckCall<I, C>,
    {
        CheckReturned(Ok(()))
    }
}

impl<F, I, C> CallCheckFallback<F, I, C> for CallCheck<F, &I, C> {}

/// The fallback that waits for a check that is an `async fn`, and reports what is not a check.
pub trait CheckReturnedFallback<R> {
    fn done<'b>(self) -> BoxFuture<'b, Checked>
    where
        R: CheckFuture + Send + 'b;
}

impl<R> CheckReturnedFallback<R> for CheckReturned<R> {
    fn done<'b>(self) -> BoxFuture<'b, Checked>
    where
        R: CheckFuture + Send + 'b,
    {
        self.0.done()
    }
}

/// The fallback for a nested input whose state cannot be shared.
pub trait NestedValidationFallback {
    fn validate<'b, K, X>(_: &str, _: ValidatorInputs<'b, K>, _: &'b X) -> ValidatorAnswer<'b> {
        ValidatorAnswer::unchecked()
    }

    fn validate_input<'b, T: 'b, X>(
        _: &'b str,
        _: X,
        _: &'b Context,
    ) -> BoxFuture<'b, Result<AcceptedInput<T>, DecodeError>> {
        Box::pin(async { Err(undecoded_error()) })
    }
}

impl<T, X> NestedValidationFallback for NestedValidation<T, X> {}

/// The fallback for the start of a call whose parameters or state cannot be shared.
pub trait ArgumentValidationFallback {
    fn settle<'a, X>(_: &'a str, _: X, _: &'a Context) -> BoxFuture<'a, Result<AcceptedCall<'a>, DecodeError>> {
        ready(Err(undecoded_error())).boxed()
    }
}

impl<T, X> ArgumentValidationFallback for ArgumentValidation<T, X> {}

impl<T, X> ArgumentValidationFallback for VariantValidation<T, X> {}

fn undecoded_error() -> DecodeError {
    DecodeError::Arguments(Rejection::new(Vec::new()))
}

/// Calls `touches`. If it panics, the call counts as touching everything.
pub fn resources_of_call<I: ?Sized>(
    touches: impl Fn(&I) -> TouchedResources,
    input: &I,
) -> Option<Arc<TouchedResources>> {
    let touches = catch_unwind(AssertUnwindSafe(|| touches(input)));
    Some(Arc::new(touches.unwrap_or_else(|_| TouchedResources::everything())))
}
