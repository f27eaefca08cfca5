//! The specification of a tool: all that is known without running it.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::feedback::{Rejection, malformed};
use crate::json::text;
use crate::schema::{Schema, canonical, without_texts};

/// The specification of a tool: all that a model, a person and the runtime need to decide about a call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The name that the model calls: `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// The description of the tool, for the model.
    pub description: String,
    /// The schema of the arguments; its root is an object.
    pub input: Arc<Schema>,
    /// The schema of the output, where it has a JSON form.
    pub output: Option<Arc<Schema>>,
    /// The flags and limits of the declaration.
    pub traits: Traits,
}

impl ToolSpec {
    /// Creates a spec without title, output schema and options, for tools that no macro declares.
    pub fn new(name: impl Into<String>, description: impl Into<String>, input: Schema) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: description.into(),
            input: Arc::new(input),
            output: None,
            traits: Traits::default(),
        }
    }

    /// Returns whether frontends get to see nothing of the tool's calls: `meta(hidden = true)`.
    pub fn is_hidden(&self) -> bool {
        self.traits.meta.get("hidden") == Some(&true.into())
    }

    /// The arguments with the declared defaults filled in, in the schema's order: what a person is shown.
    ///
    /// Fails when they are no object, or nested 128 levels deep: then there is nothing to show, and nothing to approve.
    pub fn with_defaults(&self, arguments: &str) -> Result<Value, Rejection> {
        let arguments = if text::is_blank(arguments) { "{}" } else { arguments };
        let mut given: Map<String, Value> =
            serde_json::from_str(arguments).map_err(|error| Rejection::one(malformed(arguments, &error)))?;
        let mut all = Map::new();
        for (name, schema) in self.input.neutral()["properties"].as_object().into_iter().flatten() {
            if let Some(value) = given.shift_remove(name).or_else(|| schema.get("default").cloned()) {
                all.insert(name.clone(), value);
            }
        }
        all.extend(given);
        Ok(Value::Object(all))
    }

    /// Returns the same as texts, name and JSON: what was given stands there as it was written, with all the digits that a
    /// [`Value`] would round. Each is one line.
    ///
    /// Fails like [`ToolSpec::with_defaults`].
    pub fn written(&self, arguments: &str) -> Result<Vec<(String, String)>, Rejection> {
        let all = self.with_defaults(arguments)?;
        let mut given: HashMap<String, String> = text::entries(arguments).into_iter().collect();
        let text =
            |(name, value): (&String, &Value)| (name.clone(), given.remove(name).unwrap_or_else(|| value.to_string()));
        Ok(all.as_object().into_iter().flatten().map(text).collect())
    }

    /// Returns the digest of what counts of this definition for calls that wait.
    pub fn fingerprint(&self) -> Fingerprint {
        match self.traits.origin {
            Some(_) => Fingerprint::with_texts(self),
            None => Fingerprint(Digest::of(canonical(&definition(self, |schema| without_texts(schema.neutral()))))),
        }
    }

    /// The question of the declaration ([`Traits::challenge`]) with the arguments of [`ToolSpec::written`] in their
    /// places; `None` without one.
    ///
    /// Arguments are written as JSON, so that none can pretend to be part of the question.
    pub fn challenge(&self, written: &[(String, String)]) -> Option<String> {
        let mut text = String::new();
        let mut rest = self.traits.challenge.as_deref()?;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, behind)) = after.split_once('}') else { break };
            text.push_str(before);
            let value = written.iter().find(|(given, _)| given == name);
            text.push_str(value.map_or("(not given)", |(_, value)| value));
            rest = behind;
        }
        text.push_str(rest);
        Some(text)
    }
}

/// The flags and limits of a tool's declaration.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Traits {
    /// The tool's effect on the world.
    pub effect: Effect,
    /// Set if the same call twice has the effect of one.
    pub idempotent: bool,
    /// Set if the tool deals with things outside the application, such as the web.
    pub open_world: bool,
    /// The condition under which a person must approve a call.
    pub approval: Approval,
    /// Set if the call is executed outside this program: by a browser, a terminal, a person.
    pub external: bool,
    /// How long a call may take.
    pub timeout: Option<Duration>,
    /// How often a call that failed may be tried again.
    pub retries: u32,
    /// Set if everything that must not happen twice is a step (`Context::step`): a call whose process
    /// is gone is then started again, and its recorded steps are not repeated. A call that was stopped in the middle of a
    /// step is not: a person is asked what came of it. Without effect on an external tool, which does not run here.
    pub resumable: bool,
    /// Set if the call runs alone, in the model's order.
    pub sequential: bool,
    /// Set if the call may start before the model's turn ends.
    pub eager: bool,
    /// Set if the function blocks its thread.
    pub blocking: bool,
    /// Set if providers are asked to keep to the schema strictly.
    pub strict: bool,
    /// Set if the output may hold text of strangers.
    pub untrusted: bool,
    /// The question shown at an approval, with `{parameter}` places.
    pub challenge: Option<String>,
    /// The version of the tool's behaviour.
    pub version: Option<String>,
    /// Earlier versions whose waiting calls this one can take over.
    pub migrate_from: Vec<String>,
    /// Example arguments, for the model.
    pub examples: Vec<Value>,
    /// The texts that a person sees while the tool works.
    pub ui: Option<Ui>,
    /// Set if the arguments cannot be checked against the schema, because it could not be compiled.
    pub unvalidated: bool,
    /// Where the tool comes from, if not from this program.
    pub origin: Option<String>,
    /// Anything else, for the application.
    pub meta: Map<String, Value>,
    /// Additions to the definition for one provider or another: under the name of its list format, an object.
    pub provider: Map<String, Value>,
}

/// The effect of a tool on the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It only reads.
    ReadOnly,
    /// It changes something, in a way that can be undone. What is assumed when nothing is said.
    #[default]
    Write,
    /// It destroys something.
    Destructive,
}

/// The condition under which a person must approve a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Approval {
    /// Never.
    #[default]
    Never,
    /// Always.
    Always,
    /// When a predicate over the typed arguments says so.
    When,
}

/// The texts that a person sees while a tool works.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Ui {
    /// The name of an icon.
    pub icon: Option<String>,
    /// The text while the tool runs.
    pub running: Option<String>,
    /// The text when it is done.
    pub done: Option<String>,
    /// A longer explanation.
    pub tooltip: Option<String>,
}

/// Takes the icon, the text while the tool runs, the text when it is done, and the explanation.
impl From<[Option<String>; 4]> for Ui {
    fn from([icon, running, done, tooltip]: [Option<String>; 4]) -> Self {
        Self { icon, running, done, tooltip }
    }
}

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
    /// The digest of `bytes`.
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
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

/// The permission of a call. The later, the stricter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// It may run.
    Allow,
    /// A person must approve it.
    Ask,
    /// It must not run.
    Deny {
        /// Why; the model is told.
        reason: Option<String>,
    },
}

impl Permission {
    /// A denial with a reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: Some(reason.into()) }
    }

    /// The stricter of the two. Policies are combined this way, so that none can weaken another.
    pub fn and(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::Deny { .. }, _) | (_, Self::Allow) => self,
            _ => other,
        }
    }
}

/// How many names a call has; with more, it is taken to touch everything.
const MOST: usize = 64;

/// The resources that a call reads and writes, named from its arguments. Declared with `#[tool(touches = path)]`, or with the
/// builder of tools of run time.
///
/// Calls of one turn that touch the same, and of which one writes it, run one after the other, in the model's order; all
/// others run side by side. A call of a tool that declares nothing holds back nobody.
///
/// A name is a path: what is below it belongs to it, so whoever writes `notes` waits for whoever reads `notes/today`.
/// Empty segments and `.` mean nothing. `..` cannot be resolved here, so a name with such a segment stands for everything,
/// as the empty name does. Names mean the same for all tools of a set: `mail/inbox` of one is `mail/inbox` of the other.
///
/// ```
/// use tool_run::tool::Resources;
///
/// let copies = |from, to| Resources::new().reads(from).writes(to);
/// assert!(copies("a/x", "b").conflicts(&copies("c", "a")));
/// assert!(!copies("a", "b").conflicts(&copies("a", "c")));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reads: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    writes: Vec<String>,
}

impl Resources {
    /// Nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything, to be written: the call waits for all that touch anything, and they for it.
    pub fn everything() -> Self {
        Self::new().writes("")
    }

    /// Adds something that is read.
    pub fn reads(mut self, name: impl AsRef<str>) -> Self {
        add(&mut self.reads, name.as_ref());
        self
    }

    /// Adds something that is written, and maybe read too.
    pub fn writes(mut self, name: impl AsRef<str>) -> Self {
        add(&mut self.writes, name.as_ref());
        self
    }

    /// Returns whether two such calls must not run side by side: one of them writes what the other touches.
    pub fn conflicts(&self, other: &Self) -> bool {
        let meet = |some: &[String], others: &[String]| some.iter().any(|a| others.iter().any(|b| overlap(a, b)));
        meet(&self.writes, &other.writes) || meet(&self.writes, &other.reads) || meet(&self.reads, &other.writes)
    }
}

fn add(names: &mut Vec<String>, name: &str) {
    let segments: Vec<&str> = name.split('/').filter(|segment| !matches!(*segment, "" | ".")).collect();
    let name = if segments.contains(&"..") { String::new() } else { segments.join("/") };
    if names.len() == MOST {
        *names = vec![String::new()];
    }
    if !names.contains(&name) {
        names.push(name);
    }
}

/// Returns whether one is the other, or below it.
fn overlap(a: &str, b: &str) -> bool {
    let (above, below) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    below.strip_prefix(above).is_some_and(|rest| above.is_empty() || rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::Resources;

    #[test]
    fn names_are_paths() {
        let read = |name: &str| Resources::new().reads(name);
        let write = |name: &str| Resources::new().writes(name);
        for (a, b, conflicts) in [
            ("a", "a", true),
            ("a", "b", false),
            ("a", "ab", false),
            ("a", "a/b", true),
            ("/a//./b/", "a/b", true),
            ("a/b", "a/c", false),
            ("a/../b", "c", true),
            ("", "c", true),
        ] {
            assert_eq!(write(a).conflicts(&write(b)), conflicts, "{a} {b}");
            assert_eq!(write(a).conflicts(&read(b)), conflicts, "{a} {b}");
            assert_eq!(read(b).conflicts(&write(a)), conflicts, "{a} {b}");
            assert!(!read(a).conflicts(&read(b)), "{a} {b}");
        }
        assert!(!Resources::everything().conflicts(&Resources::new()));
    }

    #[test]
    fn too_many_names_are_everything() {
        let many = (0..65).fold(Resources::new(), |touches, number| touches.reads(number.to_string()));
        assert!(many.conflicts(&Resources::new().writes("elsewhere")));
        assert_eq!(many.reads.len(), 2);
    }
}
