//! Writing of limits, such as `minimum`, under a provider's rules.

use super::{
    words::describe_limits,
    write::{Node, Writer},
};
use crate::schema::{data, shape::Limit};

impl Writer<'_> {
    /// Writes the limits that the rules accept. Adds hints for the others.
    pub fn write_limits(&mut self, node: &mut Node, limits: &[Limit], hints: &mut Vec<String>) {
        let mut others = Vec::new();
        for limit in limits {
            if self.accepts(limit) {
                node.insert(limit.word.to_owned(), limit.value.clone());
                continue;
            }
            if !self.write_similar(node, limit, limits) {
                self.lose_keyword(&limit.at, limit.word);
                others.push(limit);
            }
        }
        hints.extend(describe_limits(&others));
    }

    /// Writes the nearest limit that the rules accept. Returns whether that limit is equivalent to `limit`.
    fn write_similar(&self, node: &mut Node, limit: &Limit, all: &[Limit]) -> bool {
        let (word, step) = match limit.word {
            "minItems" if self.rules.limits.contains(&"minItems") => {
                node.insert(limit.word.to_owned(), self.rules.max_min_items.into());
                return false;
            }
            "exclusiveMinimum" => ("minimum", 1),
            "exclusiveMaximum" => ("maximum", -1),
            _ => return false,
        };
        if !self.rules.limits.contains(&word) || all.iter().any(|other| other.word == word) {
            return false;
        }
        let integer = limit.value.as_number().and_then(data::to_integer);
        let (bound, exact) = match integer.and_then(|bound| i64::try_from(bound + step).ok()) {
            Some(bound) if node.get("type").is_some_and(|kind| kind == "integer") => (bound.into(), true),
            _ => (limit.value.clone(), false),
        };
        node.insert(word.to_owned(), bound);
        exact
    }

    fn accepts(&self, limit: &Limit) -> bool {
        let text = limit.value.as_str().unwrap_or_default();
        self.rules.limits.contains(&limit.word)
            && match limit.word {
                "format" => self.rules.formats.contains(&text),
                "pattern" => (self.rules.pattern)(text),
                "minItems" => data::to_count(&limit.value).is_some_and(|count| count <= self.rules.max_min_items),
                _ => true,
            }
    }
}
