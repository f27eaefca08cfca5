//! Tests of requests that a hostile page causes a visitor's browser to send.

mod forms;
mod hosts;
mod kit;
mod limits;
mod long_chats;
mod origins;
mod rebinding;
mod routes;
mod serving;
mod shares;
