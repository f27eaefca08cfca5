//! How much providers take. What a schema may have, its lowered form counts.

use super::{Findings, Level};
use crate::tool::ToolSpec;
use crate::toolset::{ListFormat, Toolset};
use tool_schema::schema::places;

/// How many tools a request to OpenAI, or to Gemini, can have.
const MOST_TOOLS: usize = 128;

/// How many tools Anthropic keeps to strictly in a request.
const MOST_STRICT: usize = 20;

/// How many characters of a tool's description OpenAI takes.
const LONGEST_DESCRIPTION: usize = 1024;

/// How many bytes of a tool's definition are read again with every request before that is worth a remark.
const LARGE: usize = 8 * 1024;

pub fn of_set(tools: &Toolset, findings: &mut Findings) {
    if tools.len() > MOST_TOOLS {
        let text = format!("{} tools, but OpenAI and Gemini take {MOST_TOOLS} at most in a request", tools.len());
        let advice = "offer those that a step needs, with `Toolset::filter`, or what the agent prepares for a step";
        findings.add(Level::Warning, "", "", text, advice);
    }
    let strict = tools.iter().filter(|tool| ListFormat::Anthropic.dialect(tool.spec()).1).count();
    if strict > MOST_STRICT {
        let text = format!("{strict} tools are `strict`, but Anthropic takes {MOST_STRICT} at most in a request");
        findings.add(
            Level::Warning,
            "",
            "",
            text,
            "leave out `strict` where the schema is simple, or offer fewer tools",
        );
    }
}

pub fn check(spec: &ToolSpec, findings: &mut Findings) {
    let characters = spec.description.chars().count();
    if characters > LONGEST_DESCRIPTION {
        let text =
            format!("the description has {characters} characters, but OpenAI takes {LONGEST_DESCRIPTION} at most");
        findings.add(Level::Warning, &spec.name, "", text, "say less, or put what is about one parameter on it");
    }
    if spec.description.trim().is_empty() {
        let text = "nothing says what the tool does, so a model can only guess from its name";
        findings.add(Level::Warning, &spec.name, "", text, "describe it");
    }
    let bytes = spec.input.neutral().to_string().len() + spec.description.len();
    if bytes > LARGE {
        let text = format!("the definition has {bytes} bytes, which a model reads again with every request");
        findings.add(
            Level::Note,
            &spec.name,
            "",
            text,
            "take what models never use out of the types of the parameters",
        );
    }
    let mut undescribed = Vec::new();
    places::each(spec.input.neutral(), &mut |at, schema| {
        let is_parameter = at.strip_prefix("/properties/").is_some_and(|rest| !rest.contains('/'));
        if is_parameter && schema.get("description").is_none() && schema.get("$ref").is_none() {
            undescribed.push(at.to_owned());
        }
    });
    for path in undescribed {
        let text = "nothing is said of this parameter but its name and type";
        findings.add(Level::Note, &spec.name, path, text, "describe it, unless its name says it all");
    }
}
