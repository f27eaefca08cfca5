//! Requests that a hostile web page makes its visitor's browser send.

mod hosts;
mod kit;
mod rebinding;
