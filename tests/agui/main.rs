//! AG-UI, as a client sees it: whatever models, tools, people and clients do, streams are legal.

mod endpoint;
mod hostile;
mod inside;
mod kit;
mod legal;
mod model;
mod sealed;
mod steering;
mod tools;
mod twice;
mod waiting;
mod walks;
