//! The marks that let the provider keep the beginning of a request.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

/// The time for which the provider keeps the beginning of a request, for later requests that begin the same.
///
/// The request marks its tools, its instructions, its newest message, and the message that was the newest one request ago. What the
/// provider keeps is cheaper to read again, and dearer to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cache {
    /// Not at all. Requests have no marks.
    Off,
    /// For 5 minutes after the last use.
    FiveMinutes,
    /// For an hour after the last use. The first writing costs more.
    OneHour,
}

/// The largest number of marks in a request.
const MAX_MARKS: usize = 4;

/// A mark: the provider keeps the request up to the end of the block that has it.
#[derive(Clone, Copy, Serialize)]
pub struct Mark {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'static str>,
}

/// The marks that a request may still have. Earlier places get theirs first.
pub struct Marks {
    mark: Option<Mark>,
    left: usize,
}

impl Marks {
    /// Returns the marks for a request whose tools are `tools`. Tools may have marks of their own, which count.
    pub fn new(cache: Cache, tools: Option<&RawValue>) -> Self {
        let mark = |ttl| Some(Mark { r#type: "ephemeral", ttl });
        let mark = match cache {
            Cache::Off => None,
            Cache::FiveMinutes => mark(None),
            Cache::OneHour => mark(Some("1h")),
        };
        Self { mark, left: MAX_MARKS.saturating_sub(tools.map_or(0, count_marks)) }
    }

    /// Returns a mark, if there is one left.
    pub fn take(&mut self) -> Option<Mark> {
        self.left = self.left.checked_sub(1)?;
        self.mark
    }

    /// Returns the list of tools with a mark on the last one. Leaves the list as it is if it has marks of its own, or a tool that is
    /// loaded later, which the provider refuses to keep.
    pub fn mark_tools<'a>(&mut self, tools: &'a RawValue) -> Cow<'a, RawValue> {
        let is_markable = count_marks(tools) == 0 && !tools.get().contains(r#""defer_loading":true"#);
        match tools.get().strip_suffix("}]").filter(|_| is_markable).zip(self.take()) {
            Some((start, mark)) => {
                let mark = serde_json::to_string(&mark).expect("strings are JSON");
                let marked = RawValue::from_string(format!("{start},\"cache_control\":{mark}}}]"));
                Cow::Owned(marked.expect("a member is added to an object that has some"))
            }
            None => Cow::Borrowed(tools),
        }
    }
}

fn count_marks(tools: &RawValue) -> usize {
    // Within a text, the quotes have backslashes.
    tools.get().matches(r#""cache_control":"#).count()
}
