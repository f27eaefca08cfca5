//! Tools for the shapes of declarations: schemas of run time, typed outputs, dynamic parameters, external tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tool_runtime::{Toolset, Verdict, tool, toolset, toolset::RuntimeTool};

pub(crate) fn tools() -> Toolset {
    let declared = toolset!(add, add_up, book_seats, ConfirmAction, delete_record);
    let keywords = RuntimeTool::new("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features")
        .input(json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": { "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            } },
            "properties": {
                "name": { "type": "string" },
                "address": { "$ref": "#/$defs/address" },
                "contactMethod": { "type": "string", "enum": ["phone", "email"] },
                "phone": { "type": "string" },
                "email": { "type": "string" },
            },
            "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
            "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
            "then": { "required": ["phone"] },
            "else": { "required": ["email"] },
            "additionalProperties": false,
        }))
        .handler(|arguments, _| async move { Ok(arguments) });
    let header = RuntimeTool::new("test_x_mcp_header", "Takes a parameter that clients repeat in a header")
        .input(json!({
            "type": "object",
            "properties": { "region": { "type": "string", "x-mcp-header": "Region" } },
            "required": ["region"],
        }))
        .handler(|arguments, _| async move { Ok(arguments) });
    let (keywords, header) = (keywords.expect("a name"), header.expect("a name"));
    declared.with(keywords).and_then(|tools| tools.with(header)).expect("each name once")
}

/// A sum.
#[derive(Debug, Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

/// Adds two numbers.
#[tool(effect = read_only, title = "Add")]
fn add(
    /** The first. */
    a: i64,
    /** The second. */
    b: i64,
) -> Sum {
    Sum { sum: a.saturating_add(b) }
}

/// Adds numbers; its output is no object.
#[tool(effect = read_only)]
fn add_up(
    /** The numbers. */
    numbers: Vec<i64>,
) -> i64 {
    numbers.into_iter().fold(0, i64::saturating_add)
}

/// Books seats.
#[tool]
fn book_seats(
    /// The row.
    #[dynamic(validate = row)]
    row: u8,
    /// How many.
    #[dynamic(validate = seats, requires(row))]
    seats: u8,
) -> String {
    format!("{seats} seats in row {row}")
}

fn row(value: Option<u8>, _: BookSeatsRow<'_>) -> Verdict<u8> {
    match value {
        Some(row) if (1..=20).contains(&row) => Verdict::accept(row),
        _ => Verdict::reject("there are 20 rows"),
    }
}

fn seats(value: Option<u8>, known: BookSeatsSeats<'_>) -> Verdict<u8> {
    let left = if *known.row == 1 { 2 } else { 6 };
    match value {
        Some(seats) if seats <= left => Verdict::accept(seats),
        _ => Verdict::reject(format!("{left} seats are left in the row")).allowed([left]),
    }
}

/// Whether somebody agrees.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Agreement {
    agreed: bool,
}

/// Asks the user whether they agree.
#[tool(external, output = Agreement)]
struct ConfirmAction {
    /// To what.
    action: String,
}

/// Deletes a record.
#[tool(effect = destructive, approval = always)]
fn delete_record(
    /** Its number. */
    number: u32,
) -> String {
    format!("record {number} is gone")
}
