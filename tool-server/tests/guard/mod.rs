//! Requests that a hostile web page makes its visitor's browser send.

mod forms;
mod hosts;
mod kit;
mod limits;
mod origins;
mod rebinding;
mod routes;
mod serving;
