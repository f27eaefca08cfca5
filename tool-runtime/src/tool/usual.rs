//! The code of types that nearly every tool takes, compiled here: a program that takes them has no code of its own for them.

use std::marker::PhantomData;

use super::Code;

/// A type whose code may be here: an inherent constant is found before a trait's.
#[derive(Debug)]
pub struct Usual<T>(PhantomData<fn() -> T>);

macro_rules! usual {
    ($($type:ty,)*) => {$(
        impl Usual<$type> {
            /// The code.
            pub const CODE: &'static Code = {
                // A static belongs to this crate, and so does what it refers to. A constant would be made again where it is used.
                static CODE: Code = Code::of::<$type>();
                &CODE
            };
        }
    )*};
}

usual! {
    bool, String, i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, f32, f64,
    Option<bool>, Option<String>,
    Option<i8>, Option<i16>, Option<i32>, Option<i64>, Option<isize>,
    Option<u8>, Option<u16>, Option<u32>, Option<u64>, Option<usize>,
    Option<f32>, Option<f64>,
    Vec<String>, Vec<i32>, Vec<i64>, Vec<u32>, Vec<u64>, Vec<usize>, Vec<f64>,
    Option<Vec<String>>, Option<Vec<i64>>, Option<Vec<u32>>, Option<Vec<u64>>, Option<Vec<f64>>,
}
