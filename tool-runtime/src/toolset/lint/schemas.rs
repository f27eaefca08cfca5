//! Whether the schemas can be used at all.

use super::{Findings, Level};
use crate::schema::{Schema, Validator};
use crate::tool::ToolSpec;
use tool_schema::schema::places;

/// Whether the schema of the arguments is sound.
pub fn check(spec: &ToolSpec, findings: &mut Findings) -> bool {
    if let Some(output) = &spec.output {
        one(&spec.name, "/output", output, findings);
    }
    if spec.traits.unvalidated {
        let text = "the schema of the arguments cannot be compiled, so nobody checks them";
        findings.add(Level::Error, &spec.name, "", text, "see `RuntimeTool::warnings` for what is wrong with it");
        return false;
    }
    one(&spec.name, "", &spec.input, findings)
}

fn one(tool: &str, at: &str, schema: &Schema, findings: &mut Findings) -> bool {
    let schema = schema.neutral();
    let unresolved = places::unresolved(schema);
    for (place, reference) in &unresolved {
        let text = format!("the reference `{reference}` leads nowhere");
        let advice =
            "define what it names below `$defs`; `SchemaGenerator::subschema_for` does, in a `JsonSchema` of one's own";
        findings.add(Level::Error, tool, format!("{at}{place}"), text, advice);
    }
    if !unresolved.is_empty() {
        return false;
    }
    match Validator::compile(schema) {
        Ok(validator) => {
            for warning in validator.warnings() {
                findings.add(Level::Warning, tool, at, warning.clone(), "say it otherwise, or check it in the tool");
            }
            true
        }
        Err(error) => {
            let text = format!("the schema cannot be compiled: {error}");
            findings.add(Level::Error, tool, at, text, "look at the `JsonSchema` of the type that it comes from");
            false
        }
    }
}
