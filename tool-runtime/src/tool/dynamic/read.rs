//! Reads arguments of which not all need to be there, and not all need to be right.

use super::{Shape, plan::Declared};
use crate::feedback::{Problem, ProblemKind, Rejection, Report};
use crate::tool::{Context, Refused, decode, diagnose, slots::Slot};

/// What is wrong with arguments as they stand. The slots of all other parameters that were given are filled.
pub(crate) struct Reading {
    /// Where the parameters stand in the arguments of the call, as a JSON Pointer.
    at: String,
    /// With static parameters, and with the call as a whole.
    pub(crate) problems: Vec<Problem>,
    /// With each parameter.
    pub(crate) faults: Vec<Option<Box<Report>>>,
}

/// Reads `text`, which stands at the place `at` of a call's arguments, into `slots`, which belong to its parameters in order.
///
/// Fails when it is no object at all, or the application did not provide what the tool needs.
pub fn read(shape: Declared, at: &str, text: &str, cx: &Context, slots: &mut [Slot<'_>]) -> Result<Reading, Refused> {
    let def = shape.def;
    let mut reading = Reading { at: at.to_owned(), ..Reading::new(slots.len()) };
    let read = decode::read(text, slots).is_some();
    let checked = read.then(|| def.guard().map_or(Ok(()), |guard| diagnose::check(guard, text)));
    let rejection = match checked {
        Some(Ok(())) => None,
        Some(Err(rejection)) => Some(rejection),
        None => Some(diagnose::diagnose(def, text, slots)),
    };
    for problem in rejection.iter().flat_map(Rejection::problems) {
        reading.place(&shape, problem)?;
    }
    for (index, slot) in slots.iter_mut().enumerate() {
        if def.fields[index].dynamic {
            slot.complete_default();
        } else if reading.faults[index].is_none() && !slot.complete(cx).map_err(Refused::Failed)? {
            reading.place(&shape, &diagnose::missing(slot.param().name))?;
        }
    }
    Ok(reading)
}

impl Reading {
    /// Nothing is wrong, with so many parameters.
    pub(crate) fn new(parameters: usize) -> Self {
        Self { at: String::new(), problems: Vec::new(), faults: vec![None; parameters] }
    }

    /// Puts `problem` where it is told.
    ///
    /// Fails when nothing can be read because of it.
    pub(crate) fn place(&mut self, shape: &impl Shape, problem: &Problem) -> Result<(), Refused> {
        let find = |name: &str| shape.find(name);
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
        let is_dynamic = shape.is_dynamic(field);
        if is_dynamic && problem.kind == ProblemKind::Missing {
            return Ok(());
        }
        // What is wrong with a nested object is found again when it is read by itself.
        let is_whole = meant.is_some() || (problem.kind == ProblemKind::Duplicate && !problem.is_nested());
        if shape.is_nested(field) && !is_whole {
            return Ok(());
        }
        self.faults[field].get_or_insert_with(|| Report::accepted().into()).add_below(&self.at, problem);
        if !is_dynamic && meant.is_none() {
            self.problems.push(problem.clone());
        }
        Ok(())
    }
}
