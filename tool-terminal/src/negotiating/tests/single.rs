//! Dialogues with a single tool.

use serde_json::json;

use super::{check, tool};
use tool_runtime::toolset::ToolList;

#[test]
fn the_only_tool_needs_no_name() {
    let climate = json!({"type": "object", "required": ["city", "month"], "properties": {
        "city": {"type": "string", "description": "The city's English name.", "examples": ["Oslo"]},
        "month": {"type": "integer", "minimum": 1, "maximum": 12, "description": "The month, 1 for January."}}});
    check(
        &ToolList::new(vec![tool("get_climate", "Get the usual temperature of a city in a month.", climate)]),
        r#"
        > How warm is Oslo in July?
        ! get_climate {"city":"Oslo","month":7}
        < 17
        17

        Anything else?
        > and in August?
        ! get_climate {"city":"Oslo","month":8}
        < 16
        16

        Anything else?
        > what about Rome?
        ! get_climate {"city":"Rome","month":8}
        < 27
        27

        Anything else?
        > how warm is Madrid
        Get climate – city: Madrid. What is the month? (from 1 to 12)
        > in may
        ! get_climate {"city":"Madrid","month":5}"#,
    );
}
