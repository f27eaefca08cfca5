//! The UI message stream of the AI SDK.

mod chat_list;
mod message_places;
pub(crate) mod reload;
mod steering;
