//! The identity of a tool at the time of a decision.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ToolSpec;
use crate::digest::Digest;
use crate::schema::{Schema, canonical, without_texts};

/// A digest of what counts of a tool for calls that wait: its name, version, input and output schema, effect and approval, and
/// whether it is `idempotent` or `external`. The same in every process and on every machine; another as soon as any of these
/// changes.
///
/// Texts do not count: descriptions, titles, examples and comments change neither what is accepted nor what happens. A
/// parameter called `title` is no text, and counts. Of a tool that comes from elsewhere ([`Traits::origin`](super::Traits)),
/// such as that of a remote MCP server, texts count too: the model goes by them, and the server can change them while
/// a call waits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(Digest);

impl Fingerprint {
    fn of(spec: &ToolSpec) -> Self {
        match spec.traits.origin {
            Some(_) => Self::with_texts(spec),
            None => Self(Digest::of(canonical(&definition(spec, |schema| without_texts(schema.neutral()))))),
        }
    }

    /// The digest of a definition with all its texts: what a model goes by, and what records of earlier versions hold.
    pub fn with_texts(spec: &ToolSpec) -> Self {
        let mut definition = definition(spec, |schema| schema.neutral().clone());
        definition["description"] = spec.description.as_str().into();
        // Not where there is none, so that digests that were kept before there were origins still hold.
        if let Some(origin) = &spec.traits.origin {
            definition["origin"] = origin.as_str().into();
        }
        Self(Digest::of(canonical(&definition)))
    }
}

fn definition(spec: &ToolSpec, schema: impl Fn(&Schema) -> Value) -> Value {
    let traits = &spec.traits;
    json!({
        "name": spec.name,
        "version": traits.version,
        "input": schema(&spec.input),
        "output": spec.output.as_ref().map(|output| schema(output)),
        "effect": traits.effect,
        "approval": traits.approval,
        "idempotent": traits.idempotent,
        "external": traits.external,
    })
}

/// The fingerprints by which records may know a definition: that of now, and that of versions which let texts count.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    now: Fingerprint,
    before: Fingerprint,
}

impl Identity {
    /// Returns the fingerprints of a definition.
    pub fn of(spec: &ToolSpec) -> Self {
        Self { now: spec.fingerprint(), before: Fingerprint::with_texts(spec) }
    }

    /// Returns whether a record with this fingerprint is about the definition.
    pub fn is(self, recorded: Fingerprint) -> bool {
        recorded == self.now || recorded == self.before
    }
}

impl ToolSpec {
    /// Returns the digest of what counts of this definition for calls that wait.
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
