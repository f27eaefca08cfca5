//! From the neutral schema to each dialect.

mod hint;
mod rewrite;
mod rules;
mod write;

use serde_json::Value;

use rewrite::{Version, rewrite};

use super::{
    Dialect, Lowered,
    dialect::{self, Losses},
    draft::Draft,
    raise::Plan,
    shape,
};

pub fn lower(neutral: &Value, dialect: Dialect) -> Lowered {
    let mut losses = Losses::default();
    let neutral = dialect::bound(neutral, &mut losses);
    match dialect {
        Dialect::JsonSchema2020 if Draft::of(&neutral) == Draft::Twenty => {
            Lowered::new(&neutral, losses.into_vec(), None)
        }
        Dialect::Draft07 if rewrite::says_it_alike(&neutral) => Lowered::new(&neutral, losses.into_vec(), None),
        Dialect::JsonSchema2020 => rewritten(rewrite(&neutral, Version::Twenty, losses)),
        Dialect::Draft07 => rewritten(rewrite(&neutral, Version::Seven, losses)),
        Dialect::OpenAiStrict => subset(&neutral, &rules::OPENAI, losses),
        Dialect::Gemini => subset(&neutral, &rules::GEMINI, losses),
        Dialect::Anthropic => subset(&neutral, &rules::ANTHROPIC, losses),
    }
}

fn rewritten((schema, losses): (Value, Losses)) -> Lowered {
    Lowered::new(&schema, losses.into_vec(), None)
}

fn subset(neutral: &Value, rules: &rules::Rules, losses: Losses) -> Lowered {
    let (shape, targets, mut losses) = shape::Reader::new(neutral, rules.refs, losses).read();
    let shape = write::root(shape, &targets, rules, &mut losses);
    let schema = write::write(&shape, &targets, rules, &mut losses);
    rules::check_sizes(&schema, rules, &mut losses);
    let plan = if rules.all_required { Plan::new(&shape, &targets) } else { None };
    Lowered::new(&schema, losses.into_vec(), plan)
}

#[cfg(test)]
mod agreement;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;
