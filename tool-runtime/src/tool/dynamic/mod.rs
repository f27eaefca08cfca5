//! Dynamic parameters, which validators of the application check while a call is put together. A model can call a tool before
//! it knows all values. The answer states which values are missing, allowed or corrected.
//!
//! [`validation`] runs the validators of one call in the order of their dependencies; it knows no types. [`validator`] calls the
//! functions of users, and [`start`] combines both with the parameters of a declared tool.

mod nested;
mod start;
mod validation;
mod validator;
mod values;

pub use nested::{
    DynamicInput, MAX_ELEMENTS, NestedState, NestedValidation, OneState, ProvideNested, StateParts, read_validated,
};
pub(crate) use start::ReadProblems;
pub use start::{
    AcceptedInput, ArgumentValidation, GivenArguments, ReadVariant, ValidatorInputs, Validators, VariantValidation,
    Variants,
};
pub(crate) use validation::{Call, Shape, UNCHECKED, conclude, panic_text};
pub use validation::{Node, ValidatorAnswer};
pub use validator::{
    CallCheck, CheckCall, CheckFuture, CheckReturned, Checked, Checker, Choice, DerivedData, IntoValidation,
    LaterValidation, ParameterValidator, Validate, Validation, Validator, ValidatorReturned, derived_data,
};
pub use values::{
    DerivedValues, InputWitness, Judged, ParameterResult, ParameterResults, Seen, SlotType, SlotWitness, StoredValue,
    ValueSlot, VisibleToValidators,
};
