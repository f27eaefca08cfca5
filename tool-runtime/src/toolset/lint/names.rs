//! Names: what providers make of them, and which are too near to each other.

use std::collections::HashMap;

use super::{Findings, Level};
use crate::toolset::{Toolset, check_name};

pub fn check(tools: &Toolset, findings: &mut Findings) {
    let mut known: HashMap<String, &str> = HashMap::new();
    for tool in tools.iter() {
        let name = tool.name();
        if let Err(error) = check_name(name) {
            findings.add(Level::Error, name, "", error.to_string(), "rename the tool with `Toolset::rename`");
        } else if name.starts_with(|first: char| first.is_ascii_digit() || first == '-') {
            let text = "Gemini takes names that begin with a letter or `_`";
            findings.add(Level::Warning, name, "", text, "rename the tool, or leave it out for Gemini");
        }
        // What clients do that show one name for several providers.
        let folded = name.to_ascii_lowercase().replace('-', "_");
        match known.get(&folded) {
            Some(earlier) => {
                let text = format!(
                    "`{earlier}` is the same but for case and dashes: clients that rename tools would join them"
                );
                findings.add(Level::Warning, name, "", text, "give one of them another name");
            }
            None => {
                known.insert(folded, name);
            }
        }
        parameters(name, tool.spec().input.neutral(), findings);
    }
}

/// The keys that providers take: `[A-Za-z0-9_.-]{1,64}`. The macros see to it for declared tools.
fn parameters(tool: &str, schema: &serde_json::Value, findings: &mut Findings) {
    for name in schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name) {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
            let path = format!("/properties/{}", name.replace('~', "~0").replace('/', "~1"));
            let text =
                "Anthropic takes names of parameters of 1 to 64 of the characters A-Z, a-z, 0-9, `_`, `-` and `.`";
            findings.add(Level::Warning, tool, path, text, "rename the parameter");
        }
    }
}
