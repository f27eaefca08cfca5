//! Tests of the desk's tools: wrong calls with their answers, right calls with their changes, conversations, and recordings.

mod changes;
mod conversation;
mod recordings;
mod wrong;

use std::sync::Arc;

use airline::data::{Books, Desk};
use serde_json::{Value, json};
use tool_runtime::{Context, Toolset, message::Part};

/// A desk, and its tools.
struct Fixture {
    desk: Arc<Desk>,
    tools: Toolset,
}

impl Fixture {
    fn new() -> Self {
        let desk = Arc::new(Desk::open().unwrap());
        Self { tools: airline::tools(desk.clone()), desk }
    }

    fn books(&self) -> Books {
        self.desk.books().clone()
    }

    /// Calls a tool. An error is the text that a model receives, without its first line.
    async fn call(&self, name: &str, arguments: Value) -> Result<Value, String> {
        self.call_for(None, name, arguments).await
    }

    async fn call_for(&self, principal: Option<&str>, name: &str, arguments: Value) -> Result<Value, String> {
        let cx = Context::new("call_1");
        let cx = match principal {
            Some(principal) => cx.with_principal(principal),
            None => cx,
        };
        match self.tools.call(name, &arguments.to_string(), &cx).await {
            Ok(output) => Ok(serde_json::from_str(output.as_json().unwrap()).unwrap()),
            Err(error) => {
                let Part::Text { text } = error.for_model() else { panic!("{error} is no text") };
                let lines = text.lines().filter(|line| {
                    !line.starts_with("The call was rejected") && !line.starts_with("Call it like this")
                });
                Err(lines.collect::<Vec<_>>().join("\n"))
            }
        }
    }
}

/// Returns `value` with the entries of `changes`; null removes an entry.
fn with(mut value: Value, changes: Value) -> Value {
    let Value::Object(changes) = changes else { panic!("{changes} is no object") };
    for (name, change) in changes {
        match change {
            Value::Null => drop(value.as_object_mut().unwrap().remove(&name)),
            change => value[name] = change,
        }
    }
    value
}

fn mia() -> Value {
    json!({"first_name": "Mia", "last_name": "Olsen", "born": "1988-05-04"})
}

/// Returns a right booking: Mia flies to Paris in economy, with one bag more than is free.
fn to_paris() -> Value {
    json!({
        "customer": "mia_olsen", "from": "London", "to": "Paris", "flights": [{"number": "TA110", "date": "2026-12-02"}],
        "cabin": "economy", "passengers": [mia()], "bags": 3, "paid_bags": 1, "insurance": true,
        "payments": [{"method": "voucher_31", "cents": 5000}, {"method": "gift_1189", "cents": 5000}, {"method": "card_7447", "cents": 2500}],
    })
}
