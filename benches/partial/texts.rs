//! Arguments of about a given number of bytes: the text of a file, and the rows of a table.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// Returns arguments with one long text, which has line breaks and quotes.
pub(super) fn code(size: usize) -> String {
    let mut content = String::new();
    for n in 0.. {
        let _ = write!(
            content,
            "/// Handles requests of kind {n}.\nfn handler_{n}(input: &str) -> Result<u32, Error> {{\n    \
             let value = input.trim().parse::<u32>()?;\n    println!(\"handled {{value}} in {n}\");\n    Ok(value + {n})\n}}\n\n"
        );
        if content.len() >= size / 20 * 19 {
            break;
        }
    }
    json!({ "path": "src/handlers.rs", "content": content, "overwrite": true }).to_string()
}

/// Returns arguments with many small objects.
pub(super) fn records(size: usize) -> String {
    let record = |id: usize| {
        let price = f64::from(u32::try_from(id).unwrap_or_default()) + 0.25;
        json!({
            "id": 100_000 + id, "name": format!("article {id}"), "price": price, "tags": ["red", "wide"],
            "stocked": id.is_multiple_of(2), "note": null,
        })
    };
    let records: Vec<Value> = (0..size / 107).map(record).collect();
    json!({ "table": "articles", "records": records }).to_string()
}
