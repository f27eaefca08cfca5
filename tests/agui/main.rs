//! AG-UI, as a client sees it: whatever models, tools, people and clients do, streams are legal.

mod endpoint;
mod hostile;
mod inside;
mod kit;
mod legal;
mod model;
#[path = "../stores/place.rs"]
#[allow(dead_code, reason = "shared with the tests of the stores")]
mod place;
mod sealed;
mod steering;
mod tools;
mod twice;
mod waiting;
mod walks;
