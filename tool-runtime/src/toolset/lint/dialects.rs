//! What the dialects lose in which providers are told of a tool.

use super::{Findings, Level};
use crate::schema::{Dialect, Severity};
use crate::tool::ToolSpec;
use crate::toolset::ListFormat;
use tool_schema::schema::Loss;

pub fn check(spec: &ToolSpec, findings: &mut Findings) {
    for format in ListFormat::ALL {
        let provider = match format {
            ListFormat::OpenAi => "OpenAI",
            ListFormat::Anthropic => "Anthropic",
            ListFormat::Gemini => "Gemini",
        };
        let (dialect, is_strict) = format.dialect(spec);
        if spec.traits.strict && !is_strict {
            unkept(spec, format, provider, findings);
        }
        for loss in spec.input.lowered(dialect).losses() {
            let keyword = if loss.keyword.is_empty() { String::new() } else { format!(" of `{}`", loss.keyword) };
            let text = format!("{provider} is told less{keyword}: {}", loss.note);
            let (level, advice) = match loss.severity {
                // Only words for the reader went, and mostly into the description.
                Severity::Annotation => continue,
                Severity::Weakened => (Level::Note, "nothing to do: what a model sends is checked here all the same"),
                Severity::Narrowed | Severity::Inexpressible => {
                    (Level::Warning, "say it with simpler types, if models of this provider are used")
                }
            };
            findings.add(level, &spec.name, &*loss.path, text, advice);
        }
    }
}

/// The tool is declared `strict`, and sent without, because the provider's strict dialect cannot say its schema.
fn unkept(spec: &ToolSpec, format: ListFormat, provider: &str, findings: &mut Findings) {
    let dialect = match format {
        ListFormat::OpenAi => Dialect::OpenAiStrict,
        ListFormat::Anthropic => Dialect::Anthropic,
        ListFormat::Gemini => return,
    };
    let is_reason = |loss: &&Loss| loss.severity == Severity::Inexpressible;
    for loss in spec.input.lowered(dialect).losses().iter().filter(is_reason) {
        let text = format!("{provider} cannot be asked to be strict: {}", loss.note);
        findings.add(Level::Error, &spec.name, &*loss.path, text, "say it with simpler types, or leave out `strict`");
    }
}
