//! Looks at calls: at once, or when the validators of their tools have answered.

use std::time::Duration;

use tokio::task::JoinError;

use super::{Driver, trace};
use crate::run::{Asking, CallId, Event, Read, Reading, Stage, Time};
use crate::tool::Context;
use crate::toolset::Toolset;

/// How long validators may take where the tool sets no limit.
const PATIENCE: Duration = Duration::from_mins(1);

/// A call whose arguments were read.
pub(super) type Looked = (CallId, Read);

impl Driver<'_> {
    /// Looks at the calls that are to be looked at. Those that nobody has to be asked about cost no time, so nothing else
    /// can happen in between.
    pub(super) fn look(&mut self) {
        let at = self.now();
        let mut cx = self.turn_context.clone();
        while let Some(id) = self.looks.pop_front() {
            let Some(call) = self.kept.run.call(&id) else { continue };
            if !matches!(call.stage(), Stage::Proposed | Stage::Ready | Stage::Open) {
                continue;
            }
            // One context for all looks: a new one is only made where somebody kept the last.
            cx = self.tainted(cx.for_shared(id.shared()));
            match self.inspector.read(call, &cx) {
                Reading::Done(read) => self.looked((id, read), &cx, at),
                Reading::Asking(asking) => {
                    let asking = in_time(self.inspector.tools(), &call.name, asking);
                    self.readings.spawn(trace::carried(async move { (id, asking.await) }));
                }
            }
        }
    }

    /// The arguments of a call were read.
    fn looked(&mut self, (id, read): Looked, cx: &Context, at: Time) {
        let Some(call) = self.kept.run.call(&id) else { return };
        let inspection = self.inspector.judge(&self.kept.run, call, read, cx);
        if let Some(cause) = inspection.cause() {
            self.details.insert(id.clone(), cause);
        }
        if let Some(inspection) = self.mend(&id, inspection) {
            self.feed_late(Event::Inspected { call: id, inspection, at });
        }
    }

    /// The same for one that others were asked about. Panics in validators are their answers; what panics besides is a
    /// destructor, and its call is looked at when the run is loaded again.
    pub(super) fn joined_look(&mut self, joined: Result<Looked, JoinError>) {
        if let Ok(looked) = joined {
            let cx = self.context(&looked.0);
            self.looked(looked, &cx, self.now());
        }
    }
}

/// `asking`, which gives up when the time of the tool `name` is over.
pub(in crate::agent) fn in_time(tools: &Toolset, name: &str, asking: Asking) -> impl Future<Output = Read> + use<> {
    let limit = tools.get(name).and_then(|tool| tool.spec().traits.timeout).unwrap_or(PATIENCE);
    async move { asking.within(limit, tokio::time::sleep(limit)).await }
}
