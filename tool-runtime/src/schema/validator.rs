//! stub
use crate::feedback::Problem;
use serde_json::Value;
/// stub
#[derive(Clone, Debug)]
pub struct Validator(std::sync::Arc<jsonschema::Validator>);
/// stub
#[derive(Debug)]
pub struct Uncompilable(pub String);
impl Validator {
    /// stub
    pub fn compile(schema: &Value) -> Result<Self, Uncompilable> {
        jsonschema::options()
            .should_validate_formats(true)
            .build(schema)
            .map(|v| Self(std::sync::Arc::new(v)))
            .map_err(|e| Uncompilable(e.to_string()))
    }
    /// stub
    pub fn is_valid(&self, value: &Value) -> bool {
        self.0.is_valid(value)
    }
    /// stub
    pub fn problems(&self, value: &Value, prefix: &str) -> Vec<Problem> {
        self.0
            .iter_errors(value)
            .map(|e| {
                Problem::new(
                    format!("{prefix}{}", e.instance_path()),
                    crate::feedback::ProblemKind::Invalid,
                    e.to_string(),
                )
            })
            .collect()
    }
}

impl std::fmt::Display for Uncompilable {
    fn fmt(&self, o: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        o.write_str(&self.0)
    }
}
