//! What a client knows of one call, and what may be said next. What may not is not said.

use super::held::Held;

/// A call, as the client's message has it.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) held: Held,
    state: State,
    /// Whether its arguments were announced as complete.
    is_announced: bool,
    /// The id under which somebody was asked in this answer, as long as nobody decided.
    asked: Option<String>,
    /// Whether somebody was asked, in this answer or in one before.
    was_asked: bool,
    /// Whether its tool is executed at the client.
    pub(super) is_external: bool,
    /// Whether the model's provider executes its tool. It is no call of the run.
    pub(super) is_provided: bool,
}

/// Where the client is with a call. `Done` is for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// `input-streaming`.
    Streaming,
    /// `input-available`, or `approval-responded`.
    Available,
    /// `approval-requested`.
    Requested,
    /// `output-available`, `output-error` or `output-denied`.
    Done,
}

impl Call {
    /// A call that begins.
    pub(super) fn streaming(id: &str, name: &str, is_external: bool) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            held: Held::default(),
            state: State::Streaming,
            is_announced: false,
            asked: None,
            was_asked: false,
            is_external,
            is_provided: false,
        }
    }

    /// A call that the client executes, inside of another.
    pub(super) fn handed_out(id: &str, name: &str) -> Self {
        Self { state: State::Available, is_announced: true, ..Self::streaming(id, name, true) }
    }

    /// A call of a tool that the provider executes.
    pub(super) fn provided(id: &str, name: &str) -> Self {
        Self { state: State::Available, is_announced: true, is_provided: true, ..Self::streaming(id, name, false) }
    }

    /// A call that the client has from an earlier answer; `was_asked` if it waits for an approval.
    pub(super) fn known(id: &str, name: &str, is_external: bool, was_asked: bool) -> Self {
        let state = if was_asked { State::Requested } else { State::Available };
        let is_announced = !(is_external && was_asked);
        Self { state, is_announced, was_asked, ..Self::streaming(id, name, is_external) }
    }

    /// Whether more of the arguments may come.
    pub(super) fn is_streaming(&self) -> bool {
        self.state == State::Streaming
    }

    /// Whether the arguments may be announced now: once, and again when a person changed them.
    pub(super) fn announce(&mut self, is_edited: bool) -> bool {
        let may = self.state != State::Done && (!self.is_announced || is_edited);
        if may {
            (self.state, self.is_announced, self.asked) = (State::Available, true, None);
        }
        may
    }

    /// Whether somebody may be asked now.
    pub(super) fn request(&mut self, id: &str) -> bool {
        let may = matches!(self.state, State::Streaming | State::Available);
        if may {
            (self.state, self.was_asked) = (State::Requested, true);
            self.asked = Some(id.to_owned());
        }
        may
    }

    /// Somebody has decided: what this answer asked, which the client does not know yet.
    pub(super) fn respond(&mut self) -> Option<String> {
        if self.state != State::Requested {
            return None;
        }
        self.state = State::Available;
        self.asked.take()
    }

    /// Whether a preliminary output may be shown: it would take the place of a request.
    pub(super) fn may_preview(&self) -> bool {
        self.state == State::Available
    }

    /// Whether the call may end with a denial: only one about which somebody was asked.
    pub(super) fn may_be_denied(&self) -> bool {
        self.was_asked
    }

    /// Whether the call has ended.
    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Whether the call may end now, and it does.
    pub(super) fn finish(&mut self) -> bool {
        std::mem::replace(&mut self.state, State::Done) != State::Done
    }
}
