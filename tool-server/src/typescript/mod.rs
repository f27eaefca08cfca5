//! Schemas as types of TypeScript, for frontends.
//!
//! A type says what of a schema a compiler can check: limits and patterns stay behind, and where a schema says something
//! that no type can, the type is wider, never narrower.

mod object;
mod print;
mod refs;
#[cfg(test)]
mod tests;
mod text;
mod toolset;

use std::collections::{HashMap, HashSet};

use serde_json::Value;

pub use toolset::typescript;

use print::Printer;
use text::{comment, key};

/// Declarations of types under names of their own. Definitions that several schemas share are declared once.
#[derive(Debug)]
pub(crate) struct Module {
    declarations: Vec<String>,
    taken: HashSet<String>,
    /// What a definition is called, by where it stands and all that it leads to.
    shared: HashMap<String, String>,
}

impl Module {
    /// A module in which the names of `reserved` are not given away.
    pub(crate) fn new(reserved: &[&str]) -> Self {
        let taken = reserved.iter().map(|name| (*name).to_owned()).collect();
        Self { declarations: Vec::new(), taken, shared: HashMap::new() }
    }

    /// Declares the type of the schema `root`, called like `name`; what it is called.
    pub(crate) fn declare(&mut self, name: &str, root: &Value) -> String {
        let name = self.name(name);
        let mut printer = Printer::new(self, root);
        printer.known.insert(String::new(), name.clone());
        printer.todo.push((name.clone(), String::new()));
        while let Some((name, at)) = printer.todo.pop() {
            let text = printer.declaration(&name, &at);
            printer.module.declarations.push(text);
        }
        name
    }

    /// The declarations, each behind an empty line.
    pub(crate) fn finish(self) -> String {
        self.declarations.concat()
    }

    /// A name like `wanted` that no other type has.
    fn name(&mut self, wanted: &str) -> String {
        let base = text::type_name(wanted);
        let mut name = base.clone();
        let mut number = 2;
        while !self.taken.insert(name.clone()) {
            name = format!("{base}{number}");
            number += 1;
        }
        name
    }
}
