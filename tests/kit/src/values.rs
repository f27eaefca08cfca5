//! Values of every kind that JSON has.

use serde_json::{Value, json};

/// Returns a value of each kind: each type, its limits, its empty values, and values that programs mistake for nothing.
pub fn every_kind() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(-0.0),
        json!(-1),
        json!(1.5),
        json!(1e300),
        json!(9_007_199_254_740_993_u64),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(""),
        json!(" "),
        json!("null"),
        json!("false"),
        json!("0"),
        json!("\"quoted\""),
        json!("{\"a\":1}"),
        json!("é 日本 😀 \u{0} \u{202e} \r\n\t\\"),
        json!("long ".repeat(20_000)),
        json!([]),
        json!([null]),
        json!([[], {}, [[null, false, ""]]]),
        json!({}),
        json!({ "": null }),
        json!({ "answer": 1 }),
        json!({ "answer": null, "value": null, "output": null, "decision": "deny" }),
        json!({ "type": "text", "error": "no", "approved": false, "editedArgs": null, "status": "cancelled" }),
        json!({ "__proto__": { "a": 1 }, "constructor": { "prototype": null } }),
        (0..60).fold(json!(null), |inner, _| json!([inner])),
    ]
}
