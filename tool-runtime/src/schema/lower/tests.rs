use serde_json::{Value, json};

use crate::schema::{Dialect, Schema};

#[test]
fn look() {
    let file: Value = serde_json::from_str(&std::fs::read_to_string("/work/shared/data/mcp-tools/github.json").unwrap()).unwrap();
    let tools = file.get("tools").unwrap_or(&file).as_array().unwrap();
    let own = json!({
        "type": "object",
        "properties": {
            "days": {"type": "integer", "minimum": 1, "maximum": 50, "default": 3, "description": "How many days."},
            "unit": {"$ref": "#/$defs/Unit", "description": "The unit."},
            "opt": {"anyOf": [{"$ref": "#/$defs/Unit"}, {"type": "null"}]},
            "shape": {"oneOf": [
                {"type": "object", "description": "A circle.", "properties": {"kind": {"type": "string", "const": "circle"}, "radius": {"type": "number", "exclusiveMinimum": 0}}, "required": ["kind", "radius"]},
                {"type": "object", "description": "A square.", "properties": {"kind": {"type": "string", "const": "square"}, "side": {"type": "number"}, "radius": {"type": "string"}}, "required": ["kind", "side"]},
            ]},
            "tree": {"$ref": "#/$defs/Tree"},
            "map": {"type": "object", "additionalProperties": {"type": "integer"}},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "minItems": 2, "maxItems": 2},
            "any": true,
            "name": {"type": "string", "minLength": 1, "maxLength": 20, "pattern": "^[a-z]+$", "format": "uri", "examples": ["a"]},
        },
        "required": ["unit", "shape", "tree"],
        "$defs": {
            "Unit": {"type": "string", "enum": ["c", "f"], "description": "How."},
            "Tree": {"type": "object", "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}, "required": ["name", "children"]},
        },
    });
    for schema in [own, tools[3]["inputSchema"].clone()] {
        let schema = Schema::new(schema);
        for dialect in Dialect::ALL {
            let lowered = schema.lowered(dialect);
            println!("== {dialect:?}\n{}", lowered.json());
            for loss in lowered.losses() {
                println!("   {:?} {} {}: {}", loss.severity, loss.path, loss.keyword, loss.note);
            }
        }
    }
}
