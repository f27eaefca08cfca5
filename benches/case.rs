//! Repeatable pieces of work. `--case NAME --rounds N` runs one in this process, for callgrind or a profiler.

use std::{
    pin::pin,
    process::ExitCode,
    task::{Context, Poll, Waker},
};

use crate::{call, dispatch, mcp, models, partial, run::parallel, validate};

/// A repeatable piece of work.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Prepares the work, and returns a function that does a given number of rounds.
    pub(crate) start: fn() -> Box<dyn FnMut(u64)>,
    /// The two numbers of rounds. Callgrind counts the difference of their costs.
    pub(crate) rounds: (u64, u64),
}

impl Case {
    pub(crate) const fn new(name: &'static str, start: fn() -> Box<dyn FnMut(u64)>, rounds: (u64, u64)) -> Self {
        Self { name, start, rounds }
    }
}

/// Runs the case called `name`. Returns an error for the shell if there is no such case, or if `rounds` is not a number.
pub(crate) fn run(name: &str, rounds: &str) -> ExitCode {
    let cases =
        [dispatch::CASES, partial::CASES, models::CASES, validate::CASES, parallel::CASES, mcp::CASES, call::CASES];
    let case = cases.into_iter().flatten().find(|case| case.name == name);
    match (case, rounds.parse()) {
        (Some(case), Ok(rounds)) => {
            (case.start)()(rounds);
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("there is no case `{name}`, or `{rounds}` is no number");
            ExitCode::FAILURE
        }
    }
}

/// Returns the output of a future that needs no waker, such as one that is ready at once.
pub(crate) fn finish<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
    }
}
