//! A table of what a model did after each answer.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write,
};

use crate::answers::{Case, as_number};
use crate::model::{Answered, Outcome, judge};
use crate::random::Random;

/// The number of samples of a bootstrap.
const SAMPLES: usize = 2_000;

/// Returns the table: for each answer, the number of cases, the share of right next calls, and the share of calls that were repeated;
/// the difference from the answer `base` with an interval of 95 % by paired bootstrap, over the cases that have both answers.
pub fn table(cases: &[Case], results: &[Answered], base: &str) -> String {
    let by_id: HashMap<usize, &Case> = cases.iter().map(|case| (case.id, case)).collect();
    let mut outcomes: BTreeMap<&str, BTreeMap<usize, Outcome>> = BTreeMap::new();
    for Answered { case: id, variant, text, .. } in results {
        if let Some(case) = by_id.get(id) {
            outcomes.entry(variant).or_default().insert(*id, judge(case, text));
        }
    }
    let mut out = String::new();
    for (variant, own) in &outcomes {
        let share =
            |wanted: Outcome| percent(own.values().map(|it| f64::from(u8::from(*it == wanted))).sum(), own.len());
        let (right, repeated) = (share(Outcome::Right), share(Outcome::Repeated));
        let _ = write!(out, "{variant:14} {:4} cases   right {right:5.1} %   repeated {repeated:5.1} %", own.len());
        if let Some(default) = outcomes.get(base).filter(|_| *variant != base) {
            let gain = |(id, it): (&usize, &Outcome)| {
                Some(f64::from(*it == Outcome::Right) - f64::from(*default.get(id)? == Outcome::Right))
            };
            let gains: Vec<f64> = own.iter().filter_map(gain).collect();
            let [low, high] = interval(&gains).map(|sum| percent(sum, gains.len()));
            let difference = percent(gains.iter().sum(), gains.len());
            let _ = write!(out, "   against {base} {difference:+5.1} [{low:+5.1}, {high:+5.1}]");
        }
        out.push('\n');
    }
    out
}

fn percent(sum: f64, count: usize) -> f64 {
    100.0 * sum / as_number(count.max(1))
}

/// Returns the bounds within which 95 % of the sums of samples lie, drawn with replacement.
fn interval(values: &[f64]) -> [f64; 2] {
    if values.is_empty() {
        return [0.0; 2];
    }
    let mut random = Random::new(1);
    let sample = |_| (0..values.len()).map(|_| *random.pick(values)).sum();
    let mut sums: Vec<f64> = (0..SAMPLES).map(sample).collect();
    sums.sort_by(f64::total_cmp);
    [sums[SAMPLES / 40], sums[SAMPLES - 1 - SAMPLES / 40]]
}
