#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod message;
mod name;
pub mod run;
pub mod tool;

use tool_schema::{feedback, json, schema};

pub mod judge {
    #![doc = include_str!("docs/judge.md")]

    pub use crate::run::judge::{AcceptedArguments, KnownTool, ReadArguments, Rules, judge_call, judge_decision};
}
