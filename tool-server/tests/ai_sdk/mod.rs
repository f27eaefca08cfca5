//! Tests of the UI message stream of the AI SDK.

mod chat_list;
mod encoder;
mod message_places;
pub(crate) mod reload;
mod steering;
