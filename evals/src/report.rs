//! A table of what a model did after each answer.

use std::{collections::HashMap, fmt::Write};

use crate::answers::Case;
use crate::model::{Answered, Outcome, judge};
use crate::random::Random;
use crate::variants::{TODAY, VARIANTS};

/// The number of samples of a bootstrap.
const SAMPLES: usize = 2_000;

/// Returns the table: for each answer, the share of right next calls, the difference from the default with an interval of 95 % by
/// paired bootstrap, and the share of calls that were repeated. Only cases count that have every answer.
pub fn table(cases: &[Case], results: &[Answered]) -> String {
    let by_id: HashMap<usize, &Case> = cases.iter().map(|case| (case.id, case)).collect();
    let mut outcomes: HashMap<&str, HashMap<usize, Outcome>> = HashMap::new();
    for Answered { case: id, variant, text, .. } in results {
        if let Some(case) = by_id.get(id) {
            outcomes.entry(variant).or_default().insert(*id, judge(case, text));
        }
    }
    let variants: Vec<&str> = VARIANTS.into_iter().filter(|variant| outcomes.contains_key(variant)).collect();
    let has_all = |id: &usize| variants.iter().all(|variant| outcomes[variant].contains_key(id));
    let ids: Vec<usize> = cases.iter().map(|case| case.id).filter(has_all).collect();
    let is = |variant: &str, id: &usize, wanted: Outcome| f64::from(u8::from(outcomes[variant][id] == wanted));
    let mut out = format!("{} cases\n", ids.len());
    if ids.is_empty() {
        return out;
    }
    let percent = |sum: f64| 100.0 * sum / f64::from(u32::try_from(ids.len()).unwrap_or(u32::MAX));
    for variant in &variants {
        let [right, repeated] = [Outcome::Right, Outcome::Repeated]
            .map(|wanted| percent(ids.iter().map(|id| is(variant, id, wanted)).sum()));
        let _ = write!(out, "{variant:10} right {right:5.1} %   repeated {repeated:5.1} %");
        if *variant != TODAY && variants.contains(&TODAY) {
            let by_case: Vec<f64> =
                ids.iter().map(|id| is(variant, id, Outcome::Right) - is(TODAY, id, Outcome::Right)).collect();
            let (low, high) = interval(&by_case);
            let difference = percent(by_case.iter().sum());
            let _ = write!(out, "   against {TODAY} {difference:+5.1} [{:+5.1}, {:+5.1}]", percent(low), percent(high));
        }
        out.push('\n');
    }
    out
}

/// Returns the bounds within which 95 % of the sums of samples lie, drawn with replacement.
fn interval(values: &[f64]) -> (f64, f64) {
    let mut random = Random::new(1);
    let sample = |_| (0..values.len()).map(|_| *random.pick(values)).sum();
    let mut sums: Vec<f64> = (0..SAMPLES).map(sample).collect();
    sums.sort_by(f64::total_cmp);
    (sums[SAMPLES / 40], sums[SAMPLES - 1 - SAMPLES / 40])
}
