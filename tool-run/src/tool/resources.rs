//! The resources that a call touches, and the conflicts between calls.

use serde::{Deserialize, Serialize};

/// The maximum number of names that a call reads, and of those that it writes. Beyond it, the call reads or writes everything.
const MAX_NAMES: usize = 64;

/// The resources that a call reads and writes. Their names come from the call's arguments. A tool declares them with
/// `#[tool(touches = path)]`, or with the builder of run-time tools.
///
/// Two calls of one turn conflict if they touch the same resource and one of them writes it. Conflicting calls run one after
/// the other, in the model's order. Others may run in parallel. A call of a tool that declares nothing delays no other call.
///
/// A name is a path, and includes everything below it. So a call that writes `notes` conflicts with one that reads
/// `notes/today`. Empty segments and `.` are ignored. `..` cannot be resolved here, so a name with such a segment stands for
/// everything, as the empty name does. All tools of a toolset share the names: `mail/inbox` is the same resource for each of
/// them.
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

    /// Creates the resources of a call that writes everything. It conflicts with every call that touches anything.
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

    /// Returns whether two calls with these resources conflict: one of them writes a resource that the other touches.
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
