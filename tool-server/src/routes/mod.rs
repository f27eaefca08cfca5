//! The routes of each protocol, those of the list of chats, and those of the calls that wait.

#[cfg(feature = "ag-ui")]
pub(crate) mod ag_ui;
pub(crate) mod ai_sdk;
pub(crate) mod chats;
pub(crate) mod waiting;
