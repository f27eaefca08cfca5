//! Reads arguments of which not all need to be there, and not all need to be right.

use crate::feedback::{Problem, ProblemKind, Rejection, Report};
use crate::tool::{Context, Def, Refused, decode, diagnose, slots::Slot};

/// What is wrong with arguments as they stand. The slots of all other parameters that were given are filled.
pub(super) struct Reading {
    /// With static parameters, and with the call as a whole.
    pub(super) problems: Vec<Problem>,
    /// With each parameter.
    pub(super) faults: Vec<Option<Report>>,
}

/// Reads `text` into `slots`, which belong to the parameters of `def` in order.
///
/// Fails when it is no object at all, or the application did not provide what the tool needs.
pub(super) fn read(def: &'static Def, text: &str, cx: &Context, slots: &mut [Slot<'_>]) -> Result<Reading, Refused> {
    let mut reading = Reading { problems: Vec::new(), faults: vec![None; slots.len()] };
    let read = decode::read(text, slots).is_some();
    let checked = read.then(|| def.guard().map_or(Ok(()), |guard| diagnose::check(guard, text)));
    let rejection = match checked {
        Some(Ok(())) => None,
        Some(Err(rejection)) => Some(rejection),
        None => Some(diagnose::diagnose(def, text, slots)),
    };
    for problem in rejection.iter().flat_map(Rejection::problems) {
        reading.place(def, problem)?;
    }
    for (index, slot) in slots.iter_mut().enumerate() {
        if def.fields[index].dynamic {
            slot.complete_default();
        } else if reading.faults[index].is_none() && !slot.complete(cx).map_err(Refused::Failed)? {
            reading.place(def, &diagnose::missing(slot.param().name))?;
        }
    }
    Ok(reading)
}

impl Reading {
    /// Puts `problem` where it is told.
    fn place(&mut self, def: &Def, problem: &Problem) -> Result<(), Refused> {
        let find = |name: &str| def.fields.iter().position(|field| field.param.is_called(name));
        // A name that is close to that of a parameter is a mistake in that parameter.
        let meant = (problem.kind == ProblemKind::Unknown)
            .then(|| find(problem.suggestion.as_deref()?.trim_matches('`')))
            .flatten();
        let about = meant.or_else(|| find(&problem.about()?));
        let fatal = matches!(problem.kind, ProblemKind::Malformed | ProblemKind::TooLarge | ProblemKind::WrongType);
        let Some(field) = about else {
            if fatal {
                return Err(Refused::Arguments(Rejection::one(problem.clone())));
            }
            self.problems.push(problem.clone());
            return Ok(());
        };
        let is_dynamic = def.fields[field].dynamic;
        if is_dynamic && problem.kind == ProblemKind::Missing {
            return Ok(());
        }
        self.faults[field].get_or_insert_with(Report::accepted).add(problem);
        if !is_dynamic && meant.is_none() {
            self.problems.push(problem.clone());
        }
        Ok(())
    }
}
