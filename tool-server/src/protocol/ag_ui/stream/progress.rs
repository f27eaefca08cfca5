//! How far calls have come, as activities on the client's page.

use serde_json::Value;

use super::{Visibility, Writer};
use crate::protocol::ag_ui::{
    event::{Event, Object},
    outcome::object,
};
use tool_runtime::tool::Progress;

/// What kind of activity it is.
const TYPE: &str = "tool_progress";

/// An activity of fewer bytes is told whole each time: a patch of it would be as long.
const SMALL: usize = 512;

impl Writer {
    pub(super) fn progress(&mut self, progress: &Progress, out: &mut Vec<u8>) {
        let place = self.index.get(progress.call_id.as_str()).copied();
        let line = place.and_then(|place| self.lines.get_mut(place));
        if line.as_ref().is_some_and(|line| line.visibility != Visibility::Shown) {
            return;
        }
        let content = content(progress);
        let id = format!("progress_{}", progress.call_id);
        let begun = out.len();
        Event::ActivitySnapshot { message_id: &id, activity_type: TYPE, content: &content, replace: None }.write(out);
        let Some(line) = line else { return };
        let length = out.len() - begun;
        if length < SMALL {
            line.activity = None;
            return;
        }
        let content = Value::Object(content);
        if let Some(before) = &line.activity {
            let patch = serde_json::json!(json_patch::diff(before, &content));
            let snapshot = out.split_off(begun);
            Event::ActivityDelta { message_id: &id, activity_type: TYPE, patch: &patch }.write(out);
            if out.len() - begun > length / 2 {
                out.truncate(begun);
                out.extend(snapshot);
            }
        }
        line.activity = Some(content);
    }
}

fn content(progress: &Progress) -> Object {
    let number = |number: f64| serde_json::Number::from_f64(number).map_or(Value::Null, Value::Number);
    let mut content = object([("toolCallId", progress.call_id.as_str().into()), ("done", number(progress.done))]);
    let more = [
        ("total", progress.total.map(number)),
        ("message", progress.message.as_deref().map(Value::from)),
        ("preliminary", progress.preliminary.clone()),
    ];
    content.extend(more.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    content
}
