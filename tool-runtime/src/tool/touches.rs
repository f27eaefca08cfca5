//! What a call reads and writes, so that calls which would get into each other's way do not run side by side.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How many names a call has; with more, it is taken to touch everything.
const MOST: usize = 64;

/// What a call reads and writes: names of things, told from its arguments. Declared with `#[tool(touches = path)]`, or
/// [`RuntimeToolBuilder::touches`](crate::toolset::RuntimeToolBuilder::touches).
///
/// Calls of one turn that touch the same, and of which one writes it, run one after the other, in the model's order; all
/// others run side by side. A call of a tool that declares nothing holds back nobody.
///
/// A name is a path: what is below it belongs to it, so whoever writes `notes` waits for whoever reads `notes/today`.
/// Empty segments and `.` mean nothing. `..` cannot be resolved here, so a name with such a segment stands for everything,
/// as the empty name does. Names mean the same for all tools of a set: `mail/inbox` of one is `mail/inbox` of the other.
///
/// ```
/// use tool_runtime::{tool, tool::Touches};
///
/// /// Copy a file.
/// #[tool(touches = |input| Touches::new().reads(&input.from).writes(&input.to))]
/// fn copy(from: String, to: String) -> bool {
///     std::fs::copy(from, to).is_ok()
/// }
///
/// let copies = |from, to| Touches::new().reads(from).writes(to);
/// assert!(copies("a/x", "b").conflicts(&copies("c", "a")));
/// assert!(!copies("a", "b").conflicts(&copies("a", "c")));
/// # drop(copy("/none/a".into(), "/none/b".into()));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touches {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reads: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    writes: Vec<String>,
}

impl Touches {
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

    /// Whether two such calls must not run side by side: one of them writes what the other touches.
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

/// Whether one is the other, or below it.
fn overlap(a: &str, b: &str) -> bool {
    let (above, below) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    below.strip_prefix(above).is_some_and(|rest| above.is_empty() || rest.is_empty() || rest.starts_with('/'))
}

/// What the call with `input` touches, as `touches` says; everything, if it panics.
pub fn touched<I: ?Sized>(touches: impl Fn(&I) -> Touches, input: &I) -> Option<Arc<Touches>> {
    let touches = catch_unwind(AssertUnwindSafe(|| touches(input)));
    Some(Arc::new(touches.unwrap_or_else(|_| Touches::everything())))
}

/// What tells, from the arguments of a tool of run time, what a call touches.
#[derive(Clone)]
pub(crate) struct TouchesOf(Arc<dyn Fn(&Value) -> Touches + Send + Sync>);

impl TouchesOf {
    pub(crate) fn new(touches: impl Fn(&Value) -> Touches + Send + Sync + 'static) -> Self {
        Self(Arc::new(touches))
    }

    pub(crate) fn of(&self, arguments: &Value) -> Option<Arc<Touches>> {
        touched(&*self.0, arguments)
    }
}

impl std::fmt::Debug for TouchesOf {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("TouchesOf")
    }
}

#[cfg(test)]
mod tests {
    use super::Touches;

    #[test]
    fn names_are_paths() {
        let read = |name: &str| Touches::new().reads(name);
        let write = |name: &str| Touches::new().writes(name);
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
        assert!(!Touches::everything().conflicts(&Touches::new()));
    }

    #[test]
    fn too_many_names_are_everything() {
        let many = (0..65).fold(Touches::new(), |touches, number| touches.reads(number.to_string()));
        assert!(many.conflicts(&Touches::new().writes("elsewhere")));
        assert_eq!(many.reads.len(), 2);
    }
}
