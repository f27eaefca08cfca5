//! The output of a run: lines, or a table.

use std::process::ExitCode;

/// The measurements so far.
pub(crate) struct Report {
    filter: String,
    /// Set if a table in Markdown is printed in place of lines.
    is_table: bool,
    met: usize,
    missed: Vec<String>,
}

impl Report {
    /// Creates a report of the targets whose names start with `filter`.
    pub(crate) fn new(filter: &str, is_table: bool) -> Self {
        if is_table {
            println!("| target | measured | limit | | how |\n|---|---|---|---|---|");
        }
        Self { filter: filter.to_owned(), is_table, met: 0, missed: Vec::new() }
    }

    /// Returns whether to measure the target `name`.
    pub(crate) fn wants(&self, name: &str) -> bool {
        name.starts_with(&self.filter)
    }

    /// Returns whether to measure any of `names`.
    pub(crate) fn wants_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.wants(name))
    }

    /// Adds a target that requires `measured` to be at most `limit`.
    pub(crate) fn at_most(&mut self, name: &str, measured: f64, limit: f64, how: &str) {
        self.print_target(name, measured, ('≤', limit), measured <= limit, how);
    }

    /// Adds a target that requires `measured` to be at least `limit`.
    pub(crate) fn at_least(&mut self, name: &str, measured: f64, limit: f64, how: &str) {
        self.print_target(name, measured, ('≥', limit), measured >= limit, how);
    }

    /// Adds a target that could not be measured.
    pub(crate) fn fail(&mut self, name: &str, why: &str) {
        if self.is_table {
            println!("| `{name}` | – | – | MISS | {why} |");
        } else {
            println!("TARGET {name} - - MISS ({why})");
        }
        self.missed.push(name.to_owned());
    }

    /// Adds a number without a limit.
    pub(crate) fn info(&self, name: &str, text: &str) {
        if !self.wants(name) {
            return;
        }
        if self.is_table {
            println!("| `{name}` | | | | {text} |");
        } else {
            println!("INFO {name} {text}");
        }
    }

    /// Prints a target, and counts it as met or missed.
    fn print_target(&mut self, name: &str, measured: f64, (sign, limit): (char, f64), ok: bool, how: &str) {
        if !self.wants(name) {
            return;
        }
        let outcome = if ok { "ok" } else { "MISS" };
        if self.is_table {
            println!("| `{name}` | {measured:.3} | {sign} {limit} | {outcome} | {how} |");
        } else {
            println!("TARGET {name} {measured:.3} {limit} {outcome} ({how})");
        }
        if ok {
            self.met += 1;
        } else {
            self.missed.push(name.to_owned());
        }
    }

    /// Prints the summary. Returns an error for the shell if `strict` is set and a target was missed.
    pub(crate) fn finish(self, strict: bool) -> ExitCode {
        if self.is_table {
            println!();
        }
        println!("{} targets met, {} missed{}", self.met, self.missed.len(), {
            if self.missed.is_empty() { String::new() } else { format!(": {}", self.missed.join(", ")) }
        });
        if strict && !self.missed.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}
