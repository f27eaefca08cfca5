//! What an author can set about the loop, beside tools and people: each knob in a file with what it means.

mod history;
mod models;
mod prepare;
mod stop;
mod time;
mod tools;

use std::sync::Arc;

pub use models::DEFAULT_WAIT;
pub(super) use models::Next;
pub(super) use prepare::Known;
pub use prepare::NextStep;
pub use stop::StopWhen;
pub use time::Timeouts;

use crate::message::Prune;
use crate::model::Model;
use crate::toolset::ProviderTool;
use prepare::Prepare;

/// What an author sets about the loop. Nothing is set at first.
#[derive(Clone, Default)]
pub(super) struct Knobs {
    pub(super) stop: Option<StopWhen>,
    pub(super) prepare: Option<Arc<Prepare>>,
    /// The names of the tools on offer; all, if it is not set.
    pub(super) active: Option<Arc<[String]>>,
    /// The names of tools that come first in the list, in their order.
    pub(super) order: Arc<[String]>,
    /// Tools that the provider executes.
    pub(super) provided: Arc<[ProviderTool]>,
    pub(super) timeouts: Timeouts,
    /// Models that take the place of the one before when that fails.
    pub(super) fallbacks: Arc<[Arc<dyn Model>]>,
    /// How often one model is asked again when its turn broke off.
    pub(super) again: u32,
    pub(super) prune: Option<Prune>,
}
