//! Writing scalars, and the limits of all kinds.

use serde_json::Value;

use super::{
    hint,
    node::{Node, typed},
    write::Writer,
};
use crate::schema::{
    number,
    shape::{At, Limit, Scalar},
};

impl Writer<'_> {
    pub(super) fn scalar(&mut self, scalar: &Scalar, at: &At, hints: &mut Vec<String>) -> Node {
        let mut node = typed(scalar.kind.name());
        match &scalar.values {
            Some(values) if (self.rules.values)(scalar.kind) => match values.as_slice() {
                [only] if self.rules.constant => drop(node.insert("const".to_owned(), only.clone())),
                _ => drop(node.insert("enum".to_owned(), Value::Array(values.clone()))),
            },
            Some(values) => {
                hints.extend(hint::values(values));
                self.weaken(at, "enum");
            }
            None => {}
        }
        self.limits(&mut node, &scalar.limits, hints);
        node
    }

    /// Writes the limits that the rules take, and says the others in words.
    pub(super) fn limits(&mut self, node: &mut Node, limits: &[Limit], hints: &mut Vec<String>) {
        let mut unsaid = Vec::new();
        for limit in limits {
            if self.takes(limit) {
                node.insert(limit.word.to_owned(), limit.value.clone());
                continue;
            }
            if !self.replace(node, limit, limits) {
                self.weaken(&limit.at, limit.word);
                unsaid.push(limit);
            }
        }
        hints.extend(hint::limits(&unsaid));
    }

    /// Says what can be said of a limit with another one; whether that is all.
    fn replace(&self, node: &mut Node, limit: &Limit, all: &[Limit]) -> bool {
        let (word, step) = match limit.word {
            "minItems" if self.rules.limits.contains(&"minItems") => {
                node.insert(limit.word.to_owned(), self.rules.most_min_items.into());
                return false;
            }
            "exclusiveMinimum" => ("minimum", 1),
            "exclusiveMaximum" => ("maximum", -1),
            _ => return false,
        };
        if !self.rules.limits.contains(&word) || all.iter().any(|other| other.word == word) {
            return false;
        }
        let whole = limit.value.as_number().and_then(number::whole).and_then(|bound| i64::try_from(bound + step).ok());
        let (bound, exact) = match whole {
            Some(bound) if node.get("type").is_some_and(|kind| kind == "integer") => (bound.into(), true),
            _ => (limit.value.clone(), false),
        };
        node.insert(word.to_owned(), bound);
        exact
    }

    fn takes(&self, limit: &Limit) -> bool {
        let text = limit.value.as_str().unwrap_or_default();
        self.rules.limits.contains(&limit.word)
            && match limit.word {
                "format" => self.rules.formats.contains(&text),
                "pattern" => (self.rules.pattern)(text),
                "minItems" => number::count(&limit.value).is_some_and(|count| count <= self.rules.most_min_items),
                _ => true,
            }
    }
}
