//! stub
use super::{Problem, ProblemKind};
use serde_json::Value;
/// stub
pub fn malformed(_text: &str, error: &serde_json::Error) -> Problem {
    Problem::new("", ProblemKind::Malformed, "JSON").got(error.to_string())
}
/// stub
pub fn shorten(value: &Value) -> String {
    value.to_string().chars().take(60).collect()
}
