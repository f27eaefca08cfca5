//! What was found.

use std::fmt;

/// How much a [`Finding`] matters, from little to much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Level {
    /// Good to know: nothing goes wrong because of it.
    Note,
    /// A model, a provider or a person gets less than was meant.
    Warning,
    /// It is wrong: some call or request fails because of it.
    Error,
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// How much it matters.
    pub level: Level,
    /// The name of the tool; empty where it is about the whole set.
    pub tool: String,
    /// Where: a JSON Pointer into the schema of the arguments, or below `/output` into that of the output, or below
    /// `/examples` into the tool's examples; empty for the tool as a whole.
    pub path: String,
    /// What is wrong.
    pub text: String,
    /// What to do.
    pub advice: String,
}

/// What [`Toolset::lint`](crate::Toolset::lint) found, in the order of the tools. Its `Display` has a paragraph for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    all: Vec<Finding>,
}

impl Findings {
    pub(super) fn add(
        &mut self,
        level: Level,
        tool: &str,
        path: impl Into<String>,
        text: impl Into<String>,
        advice: impl Into<String>,
    ) {
        let finding =
            Finding { level, tool: tool.to_owned(), path: path.into(), text: text.into(), advice: advice.into() };
        if !self.all.contains(&finding) {
            self.all.push(finding);
        }
    }

    /// Each.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Finding> {
        self.all.iter()
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// How much the worst of them matters; none where nothing was found.
    pub fn worst(&self) -> Option<Level> {
        self.all.iter().map(|finding| finding.level).max()
    }

    /// Those that matter at least so much.
    pub fn at_least(&self, level: Level) -> Self {
        Self { all: self.all.iter().filter(|finding| finding.level >= level).cloned().collect() }
    }

    /// Those that `keep` says so of, such as those of providers that are used.
    pub fn retain(mut self, keep: impl FnMut(&Finding) -> bool) -> Self {
        self.all.retain(keep);
        self
    }

    /// Ends a test in which something was found that matters at least so much.
    ///
    /// # Panics
    ///
    /// When there is such a thing, with all of it in the message, what matters less too.
    #[track_caller]
    pub fn deny(&self, level: Level) {
        let count = self.at_least(level).all.len();
        assert!(count == 0, "{count} of these findings must not be:\n\n{self}");
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Note => "note",
            Level::Warning => "warning",
            Level::Error => "error",
        };
        write!(out, "{level}: ")?;
        if !self.tool.is_empty() {
            write!(out, "`{}`", self.tool)?;
            if !self.path.is_empty() {
                write!(out, " at {}", self.path)?;
            }
            out.write_str(": ")?;
        }
        write!(out, "{}\n  {}", self.text, self.advice)
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.all {
            writeln!(out, "{finding}")?;
        }
        Ok(())
    }
}
