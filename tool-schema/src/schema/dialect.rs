//! The readers of schemas, and what each of them accepts.

/// A form of JSON Schema that some reader accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// JSON Schema 2020-12, whole: what MCP wants.
    JsonSchema2020,
    /// Draft 7: what the Vercel AI SDK sends.
    Draft07,
    /// OpenAI's strict mode: everything required, nothing additional, optional as nullable.
    OpenAiStrict,
    /// Gemini's subset of OpenAPI 3.
    Gemini,
    /// Anthropic's strict mode.
    Anthropic,
}

impl Dialect {
    /// Every dialect, in the order of their discriminants.
    pub const ALL: [Self; 5] = [Self::JsonSchema2020, Self::Draft07, Self::OpenAiStrict, Self::Gemini, Self::Anthropic];
}
