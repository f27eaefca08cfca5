//! The specification of a tool: everything that is known without running it.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256, digest::Output};

use crate::feedback::{Rejection, explain_syntax_error};
use crate::json::text;
use crate::schema::{Schema, canonical_value, without_texts};

/// The specification of a tool: everything that a model, a person and the runtime need to decide about a call.
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
    /// The schema of the output, if it has a JSON form.
    pub output: Option<Arc<Schema>>,
    /// The flags and limits of the declaration.
    pub options: ToolOptions,
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
            options: ToolOptions::default(),
        }
    }

    /// Returns whether frontends must not show the tool's calls: `meta(hidden = true)`.
    pub fn is_hidden(&self) -> bool {
        self.options.meta.get("hidden") == Some(&true.into())
    }

    /// Returns the arguments with the declared defaults filled in, in the schema's order. A person sees the call in this
    /// form.
    ///
    /// Fails if they are not an object, or are nested 128 levels deep. Then there is nothing to show, and nothing to approve.
    pub fn fill_defaults(&self, arguments: &str) -> Result<Value, Rejection> {
        let arguments = if text::is_blank(arguments) { "{}" } else { arguments };
        let mut given: Map<String, Value> =
            serde_json::from_str(arguments).map_err(|error| Rejection::one(explain_syntax_error(arguments, &error)))?;
        let mut all = Map::new();
        for (name, schema) in self.input.neutral()["properties"].as_object().into_iter().flatten() {
            if let Some(value) = given.shift_remove(name).or_else(|| schema.get("default").cloned()) {
                all.insert(name.clone(), value);
            }
        }
        all.extend(given);
        Ok(Value::Object(all))
    }

    /// Returns the arguments of [`ToolSpec::fill_defaults`] as pairs of name and JSON text. Given arguments keep the text
    /// that was written, with all the digits that a [`Value`] would round. Each text is one line.
    ///
    /// Fails in the same cases as [`ToolSpec::fill_defaults`].
    pub fn argument_texts(&self, arguments: &str) -> Result<Vec<(String, String)>, Rejection> {
        let all = self.fill_defaults(arguments)?;
        let mut given: HashMap<String, String> = text::entries(arguments).into_iter().collect();
        let text =
            |(name, value): (&String, &Value)| (name.clone(), given.remove(name).unwrap_or_else(|| value.to_string()));
        Ok(all.as_object().into_iter().flatten().map(text).collect())
    }

    /// Returns the digest of the parts of this definition that matter to waiting calls.
    pub fn fingerprint(&self) -> Fingerprint {
        match self.options.origin {
            Some(_) => Fingerprint::with_texts(self),
            None => {
                Fingerprint(Digest::of(canonical_value(&definition(self, |schema| without_texts(schema.neutral())))))
            }
        }
    }

    /// Returns the question of the declaration ([`ToolOptions::challenge`]) with the arguments of [`ToolSpec::argument_texts`] in their
    /// places, or `None` if there is no question.
    ///
    /// Arguments are written as JSON, so that none can pretend to be part of the question.
    pub fn challenge(&self, argument_texts: &[(String, String)]) -> Option<String> {
        let mut text = String::new();
        let mut rest = self.options.challenge.as_deref()?;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, behind)) = after.split_once('}') else { break };
            text.push_str(before);
            let value = argument_texts.iter().find(|(given, _)| given == name);
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
pub struct ToolOptions {
    /// The tool's effect on the world.
    pub effect: Effect,
    /// Set if two identical calls have the same effect as one.
    pub idempotent: bool,
    /// Set if the tool deals with things outside the application, such as the web.
    pub open_world: bool,
    /// The condition under which a person must approve a call.
    pub approval: Approval,
    /// Set if something outside this program executes the call: a browser, a terminal, a person.
    pub external: bool,
    /// The longest time that a call may take.
    pub timeout: Option<Duration>,
    /// The number of times that a failed call may be retried.
    pub retries: u32,
    /// Set if everything that must not happen twice is a step (`Context::step`). A call whose process is gone is then started
    /// again, and its recorded steps are not repeated. A call that was stopped in the middle of a step is not started again:
    /// a person is asked for its outcome. The flag has no effect on an external tool, which does not run here.
    pub resumable: bool,
    /// Set if the call runs alone, in the model's order.
    pub sequential: bool,
    /// Set if the call may start before the model's turn ends.
    pub eager: bool,
    /// Set if the function blocks its thread.
    pub blocking: bool,
    /// Set if providers must enforce the schema strictly.
    pub strict: bool,
    /// Set if the output may contain untrusted text.
    pub untrusted: bool,
    /// The question shown at an approval, with `{parameter}` places.
    pub challenge: Option<String>,
    /// The version of the tool's behaviour.
    pub version: Option<String>,
    /// The earlier versions whose waiting calls this one can take over.
    pub migrate_from: Vec<String>,
    /// Example arguments for the model.
    pub examples: Vec<Value>,
    /// The texts that a person sees while the tool works.
    pub ui: Option<Ui>,
    /// Set if the arguments cannot be checked against the schema, because it could not be compiled.
    pub unvalidated: bool,
    /// The origin of the tool, if it is not part of this program.
    pub origin: Option<String>,
    /// Further data of the application.
    pub meta: Map<String, Value>,
    /// Additions to the definition for single providers: an object under the name of the provider's list format.
    pub provider: Map<String, Value>,
}

/// The effect of a tool on the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It only reads.
    ReadOnly,
    /// It changes something in a way that can be undone. The default.
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
    /// No call needs an approval.
    #[default]
    Never,
    /// Every call needs an approval.
    Always,
    /// A predicate over the typed arguments decides.
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

/// Converts the icon, the text while the tool runs, the text when it is done, and the explanation, in this order.
impl From<[Option<String>; 4]> for Ui {
    fn from([icon, running, done, tooltip]: [Option<String>; 4]) -> Self {
        Self { icon, running, done, tooltip }
    }
}

/// A digest of the parts of a tool that matter to waiting calls. These are its name, version, input and output schema, effect
/// and approval, and whether it is `idempotent` or `external`. It is equal in every process and on every machine, and changes
/// as soon as one of these changes.
///
/// Texts do not count: descriptions, titles, examples and comments change neither what is accepted nor what happens. A
/// parameter called `title` is not a text, and counts. For a tool of another origin
/// ([`ToolOptions::origin`](super::ToolOptions)), such as a remote MCP server, texts count too. The model follows them, and the
/// server can change them while a call waits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(Digest);

impl Fingerprint {
    /// Returns the digest of a definition with all its texts. A model follows these texts, and earlier versions recorded this
    /// digest.
    pub fn with_texts(spec: &ToolSpec) -> Self {
        let mut definition = definition(spec, |schema| schema.neutral().clone());
        definition["description"] = spec.description.as_str().into();
        // Left out if there is no origin, so that digests that were stored before this field existed still match.
        if let Some(origin) = &spec.options.origin {
            definition["origin"] = origin.as_str().into();
        }
        Self(Digest::of(canonical_value(&definition)))
    }
}

fn definition(spec: &ToolSpec, schema: impl Fn(&Schema) -> Value) -> Value {
    let options = &spec.options;
    json!({
        "name": spec.name,
        "version": options.version,
        "input": schema(&spec.input),
        "output": spec.output.as_ref().map(|output| schema(output)),
        "effect": options.effect,
        "approval": options.approval,
        "idempotent": options.idempotent,
        "external": options.external,
    })
}

/// The fingerprints by which a record may name a definition: the present one, and that of earlier versions of this crate,
/// in which texts count.
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
    pub fn matches(self, recorded: Fingerprint) -> bool {
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
    /// Returns the digest of `bytes`.
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The digits are written in one piece: a log holds several digests for each call.
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

/// The permission of a call. A later variant is stricter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// It may run.
    Allow,
    /// A person must approve it.
    Ask,
    /// It must not run.
    Deny {
        /// The reason, for the model.
        reason: Option<String>,
    },
}

impl Permission {
    /// Creates a denial with a reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: Some(reason.into()) }
    }

    /// Returns the stricter of the two. Policies are combined in this way, so that none can weaken another.
    pub fn and(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::Deny { .. }, _) | (_, Self::Allow) => self,
            _ => other,
        }
    }
}

/// The largest number of names of a call. A call with more of them counts as touching everything.
const MAX_NAMES: usize = 64;

/// The resources that a call reads and writes, named from its arguments. A tool declares them with `#[tool(touches = path)]`,
/// or with the builder of run-time tools.
///
/// Two calls of one turn conflict if they touch the same resource and one of them writes it. Conflicting calls run one after
/// the other, in the model's order; all others run in parallel. A call of a tool that declares nothing delays no other call.
///
/// A name is a path, and includes everything below it. So a call that writes `notes` conflicts with one that reads
/// `notes/today`. Empty segments and `.` are ignored. `..` cannot be resolved here, so a name with such a segment stands for
/// everything, as the empty name does. All tools of a set share the names: `mail/inbox` of one tool is `mail/inbox` of the
/// other.
///
/// ```
/// use tool_run::tool::TouchedResources;
///
/// let copies = |from, to| TouchedResources::new().reads(from).writes(to);
/// assert!(copies("a/x", "b").conflicts(&copies("c", "a")));
/// assert!(!copies("a", "b").conflicts(&copies("a", "c")));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TouchedResources {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reads: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    writes: Vec<String>,
}

impl TouchedResources {
    /// Creates an empty set of resources.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns resources that stand for everything, written: the call conflicts with every call that touches anything.
    pub fn everything() -> Self {
        Self::new().writes("")
    }

    /// Adds a resource that the call reads.
    pub fn reads(mut self, name: impl AsRef<str>) -> Self {
        add_name(&mut self.reads, name.as_ref());
        self
    }

    /// Adds a resource that the call writes, and may also read.
    pub fn writes(mut self, name: impl AsRef<str>) -> Self {
        add_name(&mut self.writes, name.as_ref());
        self
    }

    /// Returns whether two such calls must not run in parallel: one of them writes a resource that the other touches.
    pub fn conflicts(&self, other: &Self) -> bool {
        let meet = |some: &[String], others: &[String]| some.iter().any(|a| others.iter().any(|b| overlaps(a, b)));
        meet(&self.writes, &other.writes) || meet(&self.writes, &other.reads) || meet(&self.reads, &other.writes)
    }
}

fn add_name(names: &mut Vec<String>, name: &str) {
    let segments: Vec<&str> = name.split('/').filter(|segment| !matches!(*segment, "" | ".")).collect();
    let name = if segments.contains(&"..") { String::new() } else { segments.join("/") };
    if names.len() == MAX_NAMES {
        *names = vec![String::new()];
    }
    if !names.contains(&name) {
        names.push(name);
    }
}

/// Returns whether one path equals the other, or is below it.
fn overlaps(a: &str, b: &str) -> bool {
    let (above, below) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    below.strip_prefix(above).is_some_and(|rest| above.is_empty() || rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::TouchedResources;

    #[test]
    fn names_are_paths() {
        let read = |name: &str| TouchedResources::new().reads(name);
        let write = |name: &str| TouchedResources::new().writes(name);
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
        assert!(!TouchedResources::everything().conflicts(&TouchedResources::new()));
    }

    #[test]
    fn too_many_names_are_everything() {
        let many = (0..65).fold(TouchedResources::new(), |touches, number| touches.reads(number.to_string()));
        assert!(many.conflicts(&TouchedResources::new().writes("elsewhere")));
        assert_eq!(many.reads.len(), 2);
    }
}
