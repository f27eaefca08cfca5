//! The resources that a call reads and writes, so that calls which would conflict do not run side by side.

use serde::{Deserialize, Serialize};

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
