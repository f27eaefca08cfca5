//! From the neutral schema to each dialect.

mod anthropic;
mod array;
mod gemini;
mod hint;
mod node;
mod object;
mod openai;
mod rewrite;
mod root;
mod rules;
mod scalar;
mod seven;
mod sizes;
mod twenty;
mod unevaluated;
mod write;

use serde_json::Value;

use super::{Dialect, Lowered, bound, loss::Losses, raise::Plan, shape};

pub(super) fn lower(neutral: &Value, dialect: Dialect) -> Lowered {
    let mut losses = Losses::default();
    let neutral = bound::bounded(neutral, &mut losses);
    match dialect {
        Dialect::JsonSchema2020 if shape::Draft::of(&neutral) == shape::Draft::Twenty => {
            Lowered::new(&neutral, losses.into_vec(), None)
        }
        Dialect::Draft07 if seven::says_it_alike(&neutral) => Lowered::new(&neutral, losses.into_vec(), None),
        Dialect::JsonSchema2020 => rewritten(rewrite::rewrite(&neutral, &twenty::Twenty, losses)),
        Dialect::Draft07 => rewritten(rewrite::rewrite(&neutral, &seven::Seven, losses)),
        Dialect::OpenAiStrict => subset(&neutral, &openai::RULES, losses),
        Dialect::Gemini => subset(&neutral, &gemini::RULES, losses),
        Dialect::Anthropic => subset(&neutral, &anthropic::RULES, losses),
    }
}

fn rewritten((schema, losses): (Value, Losses)) -> Lowered {
    Lowered::new(&schema, losses.into_vec(), None)
}

fn subset(neutral: &Value, rules: &rules::Rules, losses: Losses) -> Lowered {
    let (shape, targets, mut losses) = shape::Reader::new(neutral, rules.refs, losses).read();
    let shape = root::object(shape, &targets, rules, &mut losses);
    let schema = write::write(&shape, &targets, rules, &mut losses);
    sizes::check(&schema, rules, &mut losses);
    let plan = if rules.all_required { Plan::new(&shape, &targets) } else { None };
    Lowered::new(&schema, losses.into_vec(), plan)
}

#[cfg(test)]
mod agreement;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;
