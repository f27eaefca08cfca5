//! Asks the validators of one call, those that do not wait for each other at the same time.

use std::{
    any::Any,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};

use super::{Board, Settled, Shape};
use crate::feedback::{Reasons, Report};

/// What the model is told of a validator that failed without a word, or panicked.
pub(crate) const UNCHECKED: &str = "the value could not be checked; try again later";

/// What a validator says: at once, or later.
#[allow(clippy::large_enum_variant, reason = "it is moved once; a box for each parameter would cost more")]
pub enum Asking<'a> {
    /// At once.
    Told(Settled),
    /// Later.
    Later(BoxFuture<'a, Settled>),
}

impl Asking<'_> {
    /// Returns that the value could not be checked.
    pub fn unchecked() -> Self {
        Self::Told(Settled::refused(Report::refused(UNCHECKED)))
    }
}

impl fmt::Debug for Asking<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Told(_) => "Told",
            Self::Later(_) => "Later",
        })
    }
}

/// The dynamic parameters of a call.
pub(crate) trait Asked<'b> {
    /// How they depend on each other.
    fn shape(&self) -> &impl Shape;
    /// Asks the validator of the one at `node`. No panic of it comes out.
    fn ask(&mut self, node: usize) -> Asking<'b>;
    /// What is told of the one at `node`, which cannot be judged for these reasons.
    fn wait(&mut self, node: usize, reasons: Reasons) -> Settled;
}

/// Asks all validators, each when what it waits for is settled; the board is full then.
pub(crate) async fn ask_all<'b>(asked: &mut impl Asked<'b>, board: &'b Board) {
    // Most tools' validators all answer at once.
    let mut running = None;
    let mut waiting: Vec<usize> = (0..asked.shape().nodes()).collect();
    loop {
        waiting.retain(|node| {
            let node = *node;
            let shape = asked.shape();
            let mut before = shape.requires(node).iter().chain(shape.after(node));
            if !before.all(|field| board.settled(*field).is_some()) {
                return true;
            }
            let field = shape.field(node);
            match begin(asked, node, board) {
                Asking::Told(settled) => board.settle(field, settled),
                Asking::Later(work) => {
                    running.get_or_insert_with(FuturesUnordered::new).push(work.map(move |settled| (field, settled)));
                }
            }
            false
        });
        let Some(running) = &mut running else { return };
        let Some((field, settled)) = running.next().await else { return };
        board.settle(field, settled);
    }
}

fn begin<'b>(asked: &mut impl Asked<'b>, node: usize, board: &'b Board) -> Asking<'b> {
    let shape = asked.shape();
    let missing = shape.requires(node).iter().filter(|field| !board.has(**field));
    let mut missing = missing.flat_map(|field| {
        let name = shape.name(*field);
        board.settled(*field).map_or_else(|| vec![name.to_owned()], |settled| settled.refused_names(name))
    });
    if let Some(first) = missing.next() {
        let reasons = missing.fold(Reasons::requires(first), Reasons::and_requires);
        return Asking::Told(asked.wait(node, reasons));
    }
    asked.ask(node)
}

/// What a validator says that is asked with `ask`; a panic in it refuses the value.
pub fn contained<'b>(ask: impl FnOnce() -> Asking<'b>) -> Asking<'b> {
    match catch_unwind(AssertUnwindSafe(ask)) {
        Ok(Asking::Told(settled)) => Asking::Told(settled),
        Ok(Asking::Later(work)) => {
            Asking::Later(AssertUnwindSafe(work).catch_unwind().map(|done| done.unwrap_or_else(panicked)).boxed())
        }
        Err(panic) => Asking::Told(panicked(panic)),
    }
}

#[allow(clippy::needless_pass_by_value, reason = "it ends here")]
fn panicked(panic: Box<dyn Any + Send>) -> Settled {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let cause = format!("a validator panicked: {}", text.unwrap_or("without a text"));
    Settled::refused(Report::refused(UNCHECKED)).because([cause])
}
