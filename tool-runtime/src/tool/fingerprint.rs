//! What a tool was when somebody decided about it.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::ToolSpec;
use crate::schema::canonical;

/// A digest of a tool's definition: its name, version, input and output schema, effect and approval. The same in every
/// process and on every machine; another as soon as any of these changes. Descriptions count, as part of the schema: they
/// are what a model goes by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    pub(super) fn of(spec: &ToolSpec) -> Self {
        let traits = &spec.traits;
        let definition = json!({
            "name": spec.name,
            "description": spec.description,
            "version": traits.version,
            "input": spec.input.neutral(),
            "output": spec.output.as_ref().map(|schema| schema.neutral()),
            "effect": traits.effect,
            "approval": traits.approval,
            "idempotent": traits.idempotent,
            "external": traits.external,
        });
        Self(Sha256::digest(canonical(&definition)).into())
    }
}

impl ToolSpec {
    /// The digest of this definition.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Fingerprint({self})")
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> Self {
        fingerprint.to_string()
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        const WRONG: &str = "a fingerprint is 64 hexadecimal digits";
        if text.len() != 64 || !text.is_ascii() {
            return Err(WRONG);
        }
        let mut bytes = [0; 32];
        for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| WRONG)?;
        }
        Ok(Self(bytes))
    }
}
