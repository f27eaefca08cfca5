//! What a tool was when somebody decided about it.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::ToolSpec;
use crate::digest::Digest;
use crate::schema::canonical;

/// A digest of a tool's definition: its name, origin, version, input and output schema, effect and approval. The same in every
/// process and on every machine; another as soon as any of these changes. Descriptions count, as part of the schema: they
/// are what a model goes by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(Digest);

impl Fingerprint {
    pub(super) fn of(spec: &ToolSpec) -> Self {
        let traits = &spec.traits;
        let mut definition = json!({
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
        // Not where there is none, so that digests that were kept before there were origins still hold.
        if let Some(origin) = &traits.origin {
            definition["origin"] = origin.as_str().into();
        }
        Self(Digest::of(canonical(&definition)))
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
        self.0.fmt(out)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Fingerprint({self})")
    }
}
