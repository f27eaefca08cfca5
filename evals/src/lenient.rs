//! The wrong calls that run if their values are read in another form.

use std::fmt;

use serde_json::{Map, Value};
use tool_runtime::Agent;

use crate::answers::Case;
use crate::tools;

/// The counts of wrong calls that ran because values were read in another form, and of those that did not.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Readings {
    /// Ran with the values that are right.
    pub as_meant: usize,
    /// Ran with other values.
    pub otherwise: usize,
    pub rejected: usize,
}

impl fmt::Display for Readings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { as_meant, otherwise, rejected } = self;
        write!(out, "{as_meant} ran as meant, {otherwise} ran with other values, {rejected} were rejected")
    }
}

/// Makes each call of the own tools in a run that reads values in another form. Calls that ran with other values are printed.
pub async fn measure(cases: &[Case]) -> Readings {
    let agent = Agent::tools_only(tools::all().lenient());
    let mut readings = Readings::default();
    for case in cases.iter().filter(|case| case.request.is_none()) {
        let sent = Value::from(case.sent.clone()).to_string();
        let mut session = agent.session();
        let call = session.call(case.tool.as_str(), sent).await.expect("a run in memory goes on");
        match call.result() {
            Some(result) if result.is_success() => {
                let read: Map<String, Value> = serde_json::from_str(&call.arguments().text).unwrap_or_default();
                if read == case.right {
                    readings.as_meant += 1;
                } else {
                    readings.otherwise += 1;
                    eprintln!(
                        "case {}: {:?}: {} is not {}",
                        case.id,
                        case.mistakes,
                        Value::from(read),
                        Value::from(case.right.clone())
                    );
                }
            }
            _ => readings.rejected += 1,
        }
    }
    readings
}
