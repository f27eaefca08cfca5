//! The part of the model's turn that a follower has reported from its pieces.

use super::Observers;
use crate::agent::{
    Event,
    event::{PartialArguments, View},
    pieces::{Content, PartPiece, Piece},
};
use crate::message::{AssistantPart, ToolCall};
use crate::run::{CallId, Timestamp};
use tool_run::run::{LogEntry, TurnPart};

/// The reported part of a turn.
#[derive(Default)]
pub struct ReportedTurn {
    /// The time at which the model was asked.
    pub asked: Timestamp,
    parts: Vec<AssistantPart>,
    calls: Vec<ShownCall>,
    /// The number of bytes of text and reasoning.
    text_length: usize,
}

/// A call that was announced. Its name and its arguments so far are in `parts`.
struct ShownCall {
    id: CallId,
    /// Its position in `parts`.
    part: usize,
    view: View,
}

impl ReportedTurn {
    /// Creates the empty part of the turn that was requested at `asked`.
    pub fn of(asked: Timestamp) -> Self {
        Self { asked, ..Self::default() }
    }

    /// Returns whether something was reported.
    pub fn is_begun(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Returns the text that a piece adds, if it adds something directly after what was reported.
    pub fn added<'p>(&self, piece: &'p Piece<'_>) -> Option<&'p str> {
        match &piece.content {
            Content::Part { number, text_before, from, piece } => match (self.parts.get(*number), piece) {
                (None, piece) => {
                    let is_next = *number == self.parts.len() && *from == 0 && *text_before == self.text_length;
                    is_next.then_some(match piece {
                        PartPiece::Text(text) | PartPiece::Reasoning(text) => text,
                        PartPiece::Call { .. } | PartPiece::Provided(_) => "",
                    })
                }
                (Some(AssistantPart::Text { text: known }), PartPiece::Text(text))
                | (Some(AssistantPart::Reasoning { text: known, .. }), PartPiece::Reasoning(text)) => {
                    skip_known(known.len(), *from, text)
                }
                _ => None,
            },
            Content::Arguments { call, from, text } => {
                let known = self.calls.get(*call).map(|call| self.arguments(call))?;
                skip_known(known.len(), *from, text)
            }
        }
    }

    /// Adds a piece, and reports `added`, the text that it adds.
    pub fn add(&mut self, piece: &Piece<'_>, added: &str, observers: &Observers) {
        match &piece.content {
            Content::Part { number, piece, .. } => {
                if *number == self.parts.len() {
                    self.begin_part(piece, observers);
                }
                let event = match self.parts.get_mut(*number) {
                    Some(AssistantPart::Text { text }) => {
                        text.push_str(added);
                        Event::Text(added)
                    }
                    Some(AssistantPart::Reasoning { text, .. }) => {
                        text.push_str(added);
                        Event::Reasoning(added)
                    }
                    _ => return,
                };
                self.text_length += added.len();
                if !added.is_empty() {
                    observers.report(event);
                }
            }
            Content::Arguments { call, .. } => {
                let Some(ShownCall { id, part, view }) = self.calls.get(*call) else { return };
                if let Some(AssistantPart::Call(ToolCall { arguments, .. })) = self.parts.get_mut(*part) {
                    arguments.push_str(added);
                    let so_far = PartialArguments::new(arguments, view);
                    observers.report(Event::CallArguments { id, text: added, so_far });
                }
            }
        }
    }

    /// Adds an empty part. Reports it if it is a call, or comes from a tool of the provider.
    fn begin_part(&mut self, piece: &PartPiece<'_>, observers: &Observers) {
        self.parts.push(match piece {
            PartPiece::Text(_) => AssistantPart::Text { text: String::new() },
            PartPiece::Reasoning(_) => AssistantPart::Reasoning { text: String::new(), signature: None },
            PartPiece::Call { id, name } => {
                observers.report(Event::CallAnnounced { id, name });
                let part = self.parts.len();
                self.calls.push(ShownCall { id: id.clone().into_owned(), part, view: View::default() });
                AssistantPart::Call(ToolCall { id: id.to_string(), name: name.to_string(), arguments: String::new() })
            }
            PartPiece::Provided(part) => {
                observers.report(Event::ProviderPart(part));
                AssistantPart::Provider(part.clone().into_owned())
            }
        });
    }

    /// Returns whether the turn in the log continues what was reported. `held` has its calls.
    pub fn agrees_with(&self, logged: &[TurnPart], held: &[LogEntry]) -> bool {
        self.parts.iter().enumerate().all(|(number, part)| {
            // Only the last part may have been reported in part.
            let is_last = number + 1 == self.parts.len();
            let fits = |known: &str, text: &str| text.starts_with(known) && (is_last || text.len() == known.len());
            match (part, logged.get(number)) {
                (AssistantPart::Text { text: known }, Some(TurnPart::Content(AssistantPart::Text { text })))
                | (
                    AssistantPart::Reasoning { text: known, .. },
                    Some(TurnPart::Content(AssistantPart::Reasoning { text, .. })),
                ) => fits(known, text),
                (AssistantPart::Provider(known), Some(TurnPart::Content(AssistantPart::Provider(part)))) => {
                    known == part
                }
                (AssistantPart::Call(known), Some(TurnPart::Call { call })) => {
                    // Arguments that were too large are not in the log.
                    let is_same = |(name, arguments): (&str, &str)| {
                        name == known.name && (arguments.is_empty() || arguments.starts_with(&known.arguments))
                    };
                    known.id == call.as_str() && find_call(held, call).is_none_or(is_same)
                }
                _ => false,
            }
        })
    }

    /// Reports a part of the turn in the log, as far as it was not reported. `held` has the turn's calls.
    pub fn report_rest(&self, number: usize, logged: &TurnPart, held: &[LogEntry], observers: &Observers) {
        let shown = self.parts.get(number);
        let known = match shown {
            Some(AssistantPart::Text { text } | AssistantPart::Reasoning { text, .. }) => text.len(),
            _ => 0,
        };
        match logged {
            TurnPart::Content(AssistantPart::Text { text }) if text.len() > known => {
                observers.report(Event::Text(&text[known..]));
            }
            TurnPart::Content(AssistantPart::Reasoning { text, .. }) if text.len() > known => {
                observers.report(Event::Reasoning(&text[known..]));
            }
            TurnPart::Content(AssistantPart::Provider(part)) if shown.is_none() => {
                observers.report(Event::ProviderPart(part));
            }
            TurnPart::Call { call } => {
                if let Some((name, arguments)) = find_call(held, call) {
                    self.report_call(call, name, arguments, observers);
                }
            }
            _ => {}
        }
    }

    /// Reports the text of a turn that ended early, as far as it was not reported.
    pub fn report_text(&self, text: &str, observers: &Observers) {
        let known = self.parts.iter().filter_map(|part| match part {
            AssistantPart::Text { text } => Some(text.as_str()),
            _ => None,
        });
        if let Some(rest) = text.strip_prefix(&known.collect::<String>()).filter(|rest| !rest.is_empty()) {
            observers.report(Event::Text(rest));
        }
    }

    /// Reports a call in the log, as far as it was not reported.
    pub fn report_call(&self, id: &CallId, name: &str, arguments: &str, observers: &Observers) {
        let (unknown, known) = (View::default(), self.calls.iter().find(|call| call.id == *id));
        if known.is_none() {
            observers.report(Event::CallAnnounced { id, name });
        }
        let (before, view) = known.map_or(("", &unknown), |call| (self.arguments(call), &call.view));
        if let Some(text) = arguments.strip_prefix(before).filter(|text| !text.is_empty()) {
            let so_far = PartialArguments::new(arguments, view);
            observers.report(Event::CallArguments { id, text, so_far });
        }
    }

    /// Returns the arguments of a call so far.
    fn arguments(&self, call: &ShownCall) -> &str {
        match &self.parts[call.part] {
            AssistantPart::Call(call) => &call.arguments,
            _ => "",
        }
    }
}

/// Returns the new part of a text that begins after `from` bytes, where `known` bytes are known. Returns `None` if there is
/// nothing new, or something between is missing.
fn skip_known(known: usize, from: usize, text: &str) -> Option<&str> {
    text.get(known.checked_sub(from)?..).filter(|new| !new.is_empty())
}

/// Returns the name and the arguments of a call, if `held` has it.
fn find_call<'h>(held: &'h [LogEntry], id: &CallId) -> Option<(&'h str, &'h str)> {
    held.iter().find_map(|entry| match entry {
        LogEntry::Called { call, name, arguments, .. } if call == id => Some((name.as_str(), &**arguments)),
        _ => None,
    })
}
