//! Looks a toolset through, before a model or a provider finds out: in a test, since some of it takes a while.

mod agreement;
mod dialects;
mod findings;
mod names;
mod output;
mod sample;
mod schemas;
mod sizes;
#[cfg(test)]
mod tests;
mod values;

pub use findings::{Finding, Findings, Level};
pub use sample::Dice;

use super::Toolset;

impl Toolset {
    /// Looks every tool through: schemas and their references, defaults and examples, what the dialects of providers lose,
    /// names, sizes, outputs, and whether schema and decoder accept the same.
    ///
    /// Nothing runs but the decoding of made-up arguments: no tool, no validator. It takes milliseconds for each tool, so it
    /// belongs into a test. [`lint_test!`](crate::lint_test) writes one.
    ///
    /// ```
    /// use tool_runtime::{tool, toolset, toolset::Level};
    ///
    /// /// Count something.
    /// #[tool(examples = [r#"{"most": 300}"#])]
    /// fn count(
    ///     /// How far.
    ///     most: u8,
    /// ) -> u8 {
    ///     most
    /// }
    ///
    /// let findings = toolset!(count).lint();
    /// let first = findings.iter().next().expect("an example that no call can have");
    /// assert_eq!((first.level, &*first.tool, &*first.path), (Level::Error, "count", "/examples/0/most"));
    /// ```
    pub fn lint(&self) -> Findings {
        let mut findings = Findings::default();
        names::check(self, &mut findings);
        sizes::of_set(self, &mut findings);
        for tool in self.iter() {
            let spec = tool.spec();
            sizes::check(spec, &mut findings);
            output::check(spec, &mut findings);
            // What else is said of a schema that is broken, would be said because of that.
            if schemas::check(spec, &mut findings) {
                values::check(spec, &mut findings);
                dialects::check(spec, &mut findings);
                agreement::check(&**tool, &mut findings);
            }
        }
        findings
    }
}
