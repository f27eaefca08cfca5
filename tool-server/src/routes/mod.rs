//! The routes of each protocol, and those of the list of chats.

pub(crate) mod ag_ui;
pub(crate) mod ai_sdk;
pub(crate) mod chats;
