//! The UI message stream of the AI SDK.

mod chats;
mod steering;
