//! AG-UI, as a client sees it: whatever models, tools, people and clients do, streams are legal.

mod connect;
mod endpoint;
mod hostile;
mod legal;
mod sealed;
mod waiting;
mod walks;
