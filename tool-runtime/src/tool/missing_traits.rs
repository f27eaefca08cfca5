//! The errors about a type that lacks a trait: one for each type, and it names the trait.
//!
//! An expansion calls `fits`, which is inherent if the type fits. Otherwise the compiler looks for a trait's method: on the
//! value, on a reference to it, and on a mutable one. Each of these stages stands for one missing trait. Its method requires a marker
//! trait that no type implements, whose message names the missing trait. `L` is the type that lacks it: the one inside an
//! `Option`, a `Vec` or a `Box`.

#![allow(missing_docs, reason = "the items only report")]

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use super::{
    Execute, ExecuteWith, Failure, ToolError,
    executor::{ExecuteWithWitness, ExecuteWitness},
    field::TypeWitness,
    output::{Fallible, Plain},
};

#[diagnostic::on_unimplemented(
    message = "`{Self}` implements neither `serde::Deserialize` nor `schemars::JsonSchema`",
    label = "cannot be decoded from JSON or described by a JSON Schema",
    note = "add `#[derive(serde::Deserialize, schemars::JsonSchema)]` to `{Self}`",
    note = "for a type of another crate, that crate or schemars may have a feature, such as schemars' `chrono04` or `uuid1`",
    note = "application state is marked `#[state]`, the call's context `#[context]`"
)]
pub trait HasDeserializeAndJsonSchema {}

#[diagnostic::on_unimplemented(
    message = "`{Self}` does not implement `serde::Deserialize`",
    label = "cannot be decoded from JSON",
    note = "add `#[derive(serde::Deserialize)]` to `{Self}`; a type of another crate may have it with the crate's feature `serde`"
)]
pub trait HasDeserialize {}

#[diagnostic::on_unimplemented(
    message = "`{Self}` does not implement `schemars::JsonSchema`",
    label = "cannot be described by a JSON Schema",
    note = "add `#[derive(schemars::JsonSchema)]` to `{Self}`; a type of another crate may have it with a feature of schemars"
)]
pub trait HasJsonSchema {}

#[diagnostic::on_unimplemented(
    message = "`{Self}` implements neither `serde::Serialize` nor `schemars::JsonSchema`",
    label = "cannot be written as JSON or described by a JSON Schema",
    note = "add `#[derive(serde::Serialize, schemars::JsonSchema)]` to `{Self}`",
    note = "or return `tool_runtime::Text`, `Image`, `Content` or `OutputWithContent`"
)]
pub trait HasSerializeAndJsonSchema {}

#[diagnostic::on_unimplemented(
    message = "`{Self}` does not implement `serde::Serialize`",
    label = "cannot be written as JSON",
    note = "add `#[derive(serde::Serialize)]` to `{Self}`; a type of another crate may have it with the crate's feature `serde`"
)]
pub trait HasSerialize {}

/// The stage for a type that only lacks a JSON Schema.
pub trait Undescribed<F, E>: Sized {
    fn fits<L: HasJsonSchema + ?Sized>(self) -> F
    where
        E: ToolError,
    {
        unreachable!("this does not compile")
    }
}

impl<T: DeserializeOwned, F> Undescribed<F, Failure> for &TypeWitness<T> {}
impl<R: Serialize, F> Undescribed<F, Failure> for &Plain<R> {}
impl<T: Serialize, E, F> Undescribed<F, E> for &Fallible<T, E> {}
impl<T: Execute<Output: Serialize>, F> Undescribed<F, T::Error> for &ExecuteWitness<T> {}
impl<T: ExecuteWith<S, Output: Serialize>, S, F> Undescribed<F, T::Error> for &ExecuteWithWitness<T, S> {}

/// The stage for a parameter that cannot be decoded.
pub trait Undecoded<F>: Sized {
    fn fits<L: HasDeserialize + ?Sized>(self) -> F {
        unreachable!("this does not compile")
    }
}

impl<T: JsonSchema, F> Undecoded<F> for &&TypeWitness<T> {}

/// The stage for a parameter with neither trait.
pub trait BareInput<F>: Sized {
    fn fits<L: HasDeserializeAndJsonSchema + ?Sized>(self) -> F {
        unreachable!("this does not compile")
    }
}

impl<T, F> BareInput<F> for &mut &TypeWitness<T> {}

/// The stage for an output that cannot be written.
pub trait Unwritten<F, E>: Sized {
    fn fits<L: HasSerialize + ?Sized>(self) -> F
    where
        E: ToolError,
    {
        unreachable!("this does not compile")
    }
}

impl<R: JsonSchema, F> Unwritten<F, Failure> for &&Plain<R> {}
impl<T: JsonSchema, E, F> Unwritten<F, E> for &&Fallible<T, E> {}
impl<T: Execute<Output: JsonSchema>, F> Unwritten<F, T::Error> for &&ExecuteWitness<T> {}
impl<T: ExecuteWith<S, Output: JsonSchema>, S, F> Unwritten<F, T::Error> for &&ExecuteWithWitness<T, S> {}

/// The stage for an output with neither trait.
pub trait BareOutput<F, E>: Sized {
    fn fits<L: HasSerializeAndJsonSchema + ?Sized>(self) -> F
    where
        E: ToolError,
    {
        unreachable!("this does not compile")
    }
}

impl<R, F> BareOutput<F, Failure> for &mut &Plain<R> {}
impl<T, E, F> BareOutput<F, E> for &mut &Fallible<T, E> {}
impl<T: Execute, F> BareOutput<F, T::Error> for &mut &ExecuteWitness<T> {}
impl<T: ExecuteWith<S>, S, F> BareOutput<F, T::Error> for &mut &ExecuteWithWitness<T, S> {}
