//! The digests that identify texts and definitions of tools in a log.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256, digest::Output};

use super::ToolSpec;
use crate::schema::{Schema, canonical_value, without_texts};

/// A digest of the parts of a tool that matter to waiting calls. These are its name, version, input and output schema, effect
/// and approval, and whether it is `idempotent`, `external` or `lenient`. The digest is equal in every process and on every machine.
/// It changes as soon as one of these parts changes.
///
/// Texts do not count: descriptions, titles, examples and comments change neither what is accepted nor what happens. A
/// parameter called `title` is not a text, and counts. For a tool of another origin
/// ([`ToolOptions::origin`](super::ToolOptions)), such as a remote MCP server, the description and the texts in the schemas
/// count, too. The model follows these texts, and the server can change them while a call waits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(Digest);

impl Fingerprint {
    /// Returns the digest of a definition.
    pub fn of(spec: &ToolSpec) -> Self {
        if spec.options.origin.is_some() {
            return Self::with_texts(spec);
        }
        Self::without_texts(spec, Schema::neutral)
    }

    /// Returns the digest of a definition with its description, its origin, and the texts in its schemas. Earlier versions of
    /// this crate recorded this digest for every tool.
    pub fn with_texts(spec: &ToolSpec) -> Self {
        Self::with_texts_of(spec, Schema::neutral)
    }

    fn without_texts(spec: &ToolSpec, schema: impl Fn(&Schema) -> &Value) -> Self {
        let definition = definition(spec, |of| without_texts(schema(of)));
        Self(Digest::of(canonical_value(&definition)))
    }

    fn with_texts_of(spec: &ToolSpec, schema: impl Fn(&Schema) -> &Value) -> Self {
        let mut definition = definition(spec, |of| schema(of).clone());
        definition["description"] = spec.description.as_str().into();
        // Without an origin, the field is left out, so that digests without this field still match.
        if let Some(origin) = &spec.options.origin {
            definition["origin"] = origin.as_str().into();
        }
        Self(Digest::of(canonical_value(&definition)))
    }
}

fn definition(spec: &ToolSpec, schema: impl Fn(&Schema) -> Value) -> Value {
    let options = &spec.options;
    let mut definition = json!({
        "name": spec.name,
        "version": options.version,
        "input": schema(&spec.input),
        "output": spec.output.as_ref().map(|output| schema(output)),
        "effect": options.effect,
        "approval": options.approval,
        "idempotent": options.idempotent,
        "external": options.external,
    });
    // Left out otherwise, so that digests without this field still match.
    if options.lenient {
        definition["lenient"] = true.into();
    }
    definition
}

/// The fingerprints by which a record may identify a definition: the present one, and those of earlier versions of this crate.
/// Some included texts, and some were made of earlier forms of the schemas ([`Schema::earlier`]).
#[derive(Clone, Copy, Debug)]
pub struct KnownFingerprints {
    now: Fingerprint,
    before: [Option<Fingerprint>; 3],
}

impl KnownFingerprints {
    /// Returns the fingerprints of a definition.
    pub fn of(spec: &ToolSpec) -> Self {
        fn earlier(schema: &Schema) -> &Value {
            schema.earlier().unwrap_or(schema.neutral())
        }
        let differs =
            [Some(&spec.input), spec.output.as_ref()].into_iter().flatten().any(|schema| schema.earlier().is_some());
        Self {
            now: Fingerprint::of(spec),
            before: [
                Some(Fingerprint::with_texts(spec)),
                differs.then(|| Fingerprint::without_texts(spec, earlier)),
                differs.then(|| Fingerprint::with_texts_of(spec, earlier)),
            ],
        }
    }

    /// Returns whether a record with this fingerprint is about the definition.
    pub fn matches(self, recorded: Fingerprint) -> bool {
        recorded == self.now || self.before.contains(&Some(recorded))
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

/// A SHA-256 digest, with a hexadecimal serde form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the digest of `bytes`.
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A log holds several digests for each call, so all digits are written at once, which is fast.
        fmt::LowerHex::fmt(&Output::<Sha256>::from(self.0), out)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Digest({self})")
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        const WRONG: &str = "a digest is 64 hexadecimal digits";
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(WRONG);
        }
        let mut bytes = [0; 32];
        for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| WRONG)?;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_known_by_the_earlier_form_of_its_schema() {
        let form = |is_closed: bool| {
            let mut part = json!({"type": "object", "title": "Part of it", "properties": {"a": {"type": "string"}}});
            if is_closed {
                part["additionalProperties"] = json!(false);
            }
            json!({"type": "object", "properties": {"part": part}})
        };
        let spec = |schema| ToolSpec::new("t", "Does it.", schema);
        let before = spec(Schema::from_schemars(form(false)));
        let now = spec(Schema::from_schemars(form(true)).with_earlier(form(false)));
        assert_ne!(Fingerprint::of(&now), Fingerprint::of(&before));
        let known = KnownFingerprints::of(&now);
        for spec in [&now, &before] {
            assert!(known.matches(Fingerprint::of(spec)) && known.matches(Fingerprint::with_texts(spec)));
        }
        let without = KnownFingerprints::of(&spec(Schema::from_schemars(form(true))));
        assert!(!without.matches(Fingerprint::of(&before)));
    }
}
