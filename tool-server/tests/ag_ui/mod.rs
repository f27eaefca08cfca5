//! Tests of AG-UI: its streams are legal for any behaviour of models, tools, people and clients.

mod connect;
mod endpoint;
mod hostile;
mod legal;
mod sealed;
mod waiting;
mod walks;
