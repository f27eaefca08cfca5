use std::sync::Arc;

use tool_run::run::{Author, CheckedCall};
use tool_runtime::run::Call;

fn forge(call: &Call, text: Arc<str>) -> CheckedCall {
    let arguments = call.arguments().digest;
    CheckedCall { call: call.id.clone(), text, arguments, normalized: None, author: Author::Model, tool: None }
}

fn change(mut checked: CheckedCall, call: &Call) -> CheckedCall {
    checked.call = call.id.clone();
    checked
}

fn main() {}
