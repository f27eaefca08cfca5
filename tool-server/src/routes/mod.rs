//! The routes of each protocol, those of the list of chats, and those of the calls that wait.

pub(crate) mod ag_ui;
pub(crate) mod ai_sdk;
pub(crate) mod chats;
pub(crate) mod waiting;
