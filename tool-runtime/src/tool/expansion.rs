//! Small pieces that only expansions of the macros call.

use std::{
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use serde::Serialize;
use serde_json::Value;

use super::{CallError, CallFuture, Tool};

/// The work of a call that is executed outside this program.
pub fn outside<'a>() -> CallFuture<'a> {
    Box::pin(std::future::ready(Err(CallError::NotExecuted)))
}

/// Whether the predicate of `approval = when(…)` wants a person to be asked. One that panics does: nobody knows what it
/// would have said.
pub fn asks<I>(predicate: fn(&I) -> bool, input: &I) -> bool {
    catch_unwind(AssertUnwindSafe(|| predicate(input))).unwrap_or(true)
}

/// A default that was written as a literal, as JSON.
pub fn constant(json: &str) -> Option<Value> {
    serde_json::from_str(json).ok()
}

/// A default value, as JSON where its type can be written: an inherent method is found before a trait's.
#[derive(Debug)]
pub struct Json<'a, T>(pub &'a T);

impl<T: Serialize> Json<'_, T> {
    /// The value as JSON.
    pub fn json(&self) -> Option<Value> {
        serde_json::to_value(self.0).ok()
    }
}

/// A state, shared already or not: an inherent method is found before a trait's.
#[derive(Debug)]
pub struct Shared<T>(pub T);

impl<T> Shared<Arc<T>> {
    /// The state.
    pub fn share(self) -> Arc<T> {
        self.0
    }
}

/// The name of a tool; of anything else there is none, which is reported where it is bound.
#[derive(Debug)]
pub struct Name<T>(PhantomData<fn() -> T>);

impl<T: Tool> Name<T> {
    /// The name.
    pub const NAME: &'static str = T::NAME;
}

/// Refuses, at compile time, a tool whose name one of the `earlier` ones has.
///
/// # Panics
///
/// When it does.
#[track_caller]
pub const fn assert_unique(name: &'static str, earlier: &[&'static str]) {
    let mut index = 0;
    while index < earlier.len() {
        if same(name, earlier[index]) {
            refuse(name);
        }
        index += 1;
    }
}

/// Refuses, at compile time, the tool at `index` of `names` if `again` says that an earlier one has its name.
///
/// # Panics
///
/// When it does.
#[track_caller]
pub const fn assert_first(names: &[&'static str], again: &[bool], index: usize) {
    if again[index] {
        refuse(names[index]);
    }
}

/// Which of `names` an earlier one is equal to. The compiler takes long over what it computes, so a set of many tools
/// compares few of them: those whose numbers fall into one bucket.
pub const fn again<const N: usize>(names: &[&'static str; N]) -> [bool; N] {
    // The latest of each bucket, and the one before each; `N` for none.
    let (mut latest, mut before, mut again) = ([N; N], [N; N], [false; N]);
    let mut index = 0;
    while index < N {
        // Modulo a prime, and times another, so that each byte counts: the product of two numbers below 2^32 is below 2^64.
        let bucket = (((number(names[index]) % 4_294_967_291) * 0x9e37_79b1) >> 29) as usize % N;
        let mut earlier = latest[bucket];
        while earlier < N && !again[index] {
            again[index] = same(names[index], names[earlier]);
            earlier = before[earlier];
        }
        before[index] = latest[bucket];
        latest[bucket] = index;
        index += 1;
    }
    again
}

/// A number made of the length, the first bytes, those in the middle and the last, in few steps.
const fn number(name: &str) -> u64 {
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
const fn refuse(name: &str) {
    if name.is_empty() {
        return;
    }
    let mut message = Message { text: [0; 256], length: 0 };
    message.push("this set already has a tool called `");
    message.push(name);
    message.push("`: give one of them another name with `#[tool(name = \"...\")]`");
    panic!("{}", message.as_str());
}

/// Names that differ mostly do so at the end.
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

/// A text that is put together at compile time.
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
