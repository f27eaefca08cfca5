//! Data of a provider in a conversation that only its origin can read.

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeStruct};

/// Data of a provider that belongs to a turn of a model, such as the signature of its reasoning. The provider expects it back
/// unchanged, and no other provider can read it.
///
/// ```
/// use tool_run::message::Signature;
///
/// let signature = Signature::new("responses@api.openai.com", "gAAAAA…");
/// assert_eq!(signature.origin, "responses@api.openai.com");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signature {
    /// The origin of the data. A model sends the data back only to this origin, which is the format and the host, such as
    /// `responses@api.openai.com`, or a name for all hosts that read the data, such as `anthropic`. Empty if it is not known.
    pub origin: String,
    /// The data, in the form of the origin.
    pub value: String,
}

impl Signature {
    /// Creates data of `origin`.
    pub fn new(origin: impl Into<String>, value: impl Into<String>) -> Self {
        Self { origin: origin.into(), value: value.into() }
    }
}

/// Without an origin, the JSON is the value alone. Early records have only such signatures.
impl Serialize for Signature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.origin.is_empty() {
            return self.value.serialize(serializer);
        }
        let mut whole = serializer.serialize_struct("Signature", 2)?;
        whole.serialize_field("origin", &self.origin)?;
        whole.serialize_field("value", &self.value)?;
        whole.end()
    }
}

impl<'de> Deserialize<'de> for Signature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Whole { origin: String, value: String },
            Value(String),
        }
        Ok(match Form::deserialize(deserializer)? {
            Form::Whole { origin, value } => Self { origin, value },
            Form::Value(value) => Self { origin: String::new(), value },
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_alone_has_no_origin() {
        let forms = [
            (json!("seal"), Signature::new("", "seal")),
            (json!({"origin": "anthropic", "value": "seal"}), Signature::new("anthropic", "seal")),
        ];
        for (json, signature) in forms {
            assert_eq!(serde_json::to_value(&signature).unwrap(), json);
            assert_eq!(serde_json::from_value::<Signature>(json).unwrap(), signature);
        }
    }
}
