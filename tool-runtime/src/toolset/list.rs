//! The tools on offer, and their rendering for a request.

use std::sync::{Arc, OnceLock};

use serde::Serialize;
use serde_json::value::RawValue;

use crate::schema::{Dialect, Severity};
use crate::tool::ToolSpec;

/// The tools on offer in one request: their specs, and the list as JSON for each wire format, rendered once.
#[derive(Clone, Debug, Default)]
pub struct ToolList {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    specs: Vec<Arc<ToolSpec>>,
    rendered: [OnceLock<Box<RawValue>>; ListFormat::ALL.len()],
}

/// How a list of tools is written for a model or a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ListFormat {
    /// `{"type":"function","function":{"name","description","parameters","strict"}}`: chat completions.
    OpenAi,
    /// `{"name","description","input_schema"}`: Anthropic messages.
    Anthropic,
    /// `{"name","description","parametersJsonSchema"}`: Gemini's function declarations.
    Gemini,
}

impl ListFormat {
    /// Every format, in the order of their discriminants.
    pub const ALL: [Self; 3] = [Self::OpenAi, Self::Anthropic, Self::Gemini];

    /// The dialect in which this format carries the schema of `spec`, and whether the provider is asked to keep to it.
    ///
    /// A schema that the provider's strict dialect cannot express is sent whole and without strictness, whatever the
    /// declaration says; our decoder checks the arguments in any case.
    pub fn dialect(self, spec: &ToolSpec) -> (Dialect, bool) {
        let (strict, whole) = match self {
            Self::OpenAi => (Dialect::OpenAiStrict, Dialect::Draft07),
            Self::Anthropic => (Dialect::Anthropic, Dialect::JsonSchema2020),
            Self::Gemini => return (Dialect::Gemini, false),
        };
        let fits = || spec.input.lowered(strict).worst() < Some(Severity::Inexpressible);
        if spec.traits.strict && fits() { (strict, true) } else { (whole, false) }
    }
}

impl ToolList {
    /// A list of `specs`, in their order.
    pub fn new(specs: Vec<Arc<ToolSpec>>) -> Self {
        Self { shared: Arc::new(Shared { specs, rendered: Default::default() }) }
    }

    /// The specs, in order.
    pub fn specs(&self) -> &[Arc<ToolSpec>] {
        &self.shared.specs
    }

    /// The spec of the tool called `name`.
    pub fn get(&self, name: &str) -> Option<&Arc<ToolSpec>> {
        self.shared.specs.iter().find(|spec| spec.name == name)
    }

    /// Whether nothing is on offer.
    pub fn is_empty(&self) -> bool {
        self.shared.specs.is_empty()
    }

    /// The list as a JSON array in `format`; rendered at the first call, then shared.
    #[allow(clippy::missing_panics_doc, reason = "specs hold nothing that is not JSON")]
    pub fn json(&self, format: ListFormat) -> &RawValue {
        self.shared.rendered[format as usize].get_or_init(|| {
            let entries: Vec<Entry<'_>> = self.shared.specs.iter().map(|spec| Entry::new(spec, format)).collect();
            serde_json::value::to_raw_value(&entries).expect("specs hold nothing that is not JSON")
        })
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Entry<'a> {
    OpenAi {
        r#type: &'static str,
        function: Function<'a>,
    },
    Anthropic {
        name: &'a str,
        description: &'a str,
        input_schema: &'a RawValue,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        strict: bool,
    },
    Gemini {
        name: &'a str,
        description: &'a str,
        #[serde(rename = "parametersJsonSchema")]
        parameters: &'a RawValue,
    },
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    strict: bool,
}

impl<'a> Entry<'a> {
    fn new(spec: &'a ToolSpec, format: ListFormat) -> Self {
        let (dialect, strict) = format.dialect(spec);
        let schema: &RawValue = spec.input.lowered(dialect).json();
        let (name, description) = (&*spec.name, &*spec.description);
        match format {
            ListFormat::OpenAi => Self::OpenAi {
                r#type: "function",
                function: Function { name, description, parameters: schema, strict },
            },
            ListFormat::Anthropic => Self::Anthropic { name, description, input_schema: schema, strict },
            ListFormat::Gemini => Self::Gemini { name, description, parameters: schema },
        }
    }
}
