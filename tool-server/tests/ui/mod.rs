//! The UI message stream of the AI SDK.

mod chats;
mod list;
pub(crate) mod reload;
mod steering;
