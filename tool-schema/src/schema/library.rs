//! The library `jsonschema`, with our options.

use serde_json::Value;

use super::{draft::Draft, pattern};

#[cfg(feature = "jsonschema")]
pub fn compile_format(draft: Draft, name: &Value) -> Option<jsonschema::Validator> {
    options(draft).build(&serde_json::json!({ "format": name })).ok()
}

/// Returns options that check formats and fetch nothing. Regular expressions have a bounded size and run in linear time.
pub fn options(draft: Draft) -> jsonschema::ValidationOptions<'static> {
    let patterns =
        jsonschema::PatternOptions::regex().size_limit(pattern::MAX_BYTES).dfa_size_limit(pattern::MAX_BYTES);
    jsonschema::options()
        .with_draft(match draft {
            Draft::Four => jsonschema::Draft::Draft4,
            Draft::Six => jsonschema::Draft::Draft6,
            Draft::Seven => jsonschema::Draft::Draft7,
            Draft::Nineteen => jsonschema::Draft::Draft201909,
            Draft::Twenty => jsonschema::Draft::Draft202012,
        })
        .with_retriever(Offline)
        .should_validate_formats(true)
        .with_pattern_options(patterns)
}

/// A retriever that fetches nothing, even if another crate of the program turns on the features of `jsonschema` for fetching.
struct Offline;

impl jsonschema::Retrieve for Offline {
    fn retrieve(&self, uri: &jsonschema::Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("`{uri}` is not part of the schema").into())
    }
}
