//! Outputs that could be taken for what is said about them.

use super::{Findings, Level};
use crate::tool::ToolSpec;
use tool_schema::schema::answer::collisions;

pub fn check(spec: &ToolSpec, findings: &mut Findings) {
    let Some(output) = &spec.output else { return };
    for key in collisions(output.neutral()) {
        let text = format!("the output has a key `{key}`, and so has the answer that a model is told");
        let advice = "rename the field; `#[derive(ToolOutput)]` on the type finds it while it compiles";
        findings.add(Level::Warning, &spec.name, format!("/output/properties/{key}"), text, advice);
    }
}
