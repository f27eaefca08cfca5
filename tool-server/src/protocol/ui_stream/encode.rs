//! JSON and frames, written straight into the bytes that are sent.

use super::forbidden::is_forbidden;
use super::{Chunk, Finish, Json, Level};

/// Writes `chunk` as a frame of the event stream; nothing, if clients of `level` do not know it.
pub fn frame(chunk: &Chunk<'_>, level: Level, out: &mut Vec<u8>) {
    let before = out.len();
    out.extend_from_slice(b"data: ");
    if chunk.write(level, out) {
        out.extend_from_slice(b"\n\n");
    } else {
        out.truncate(before);
    }
}

/// The frame behind the last chunk.
pub const DONE: &[u8] = b"data: [DONE]\n\n";

/// Writes the field of a chunk, behind its name; nothing for one that is not there.
pub(super) trait Field {
    fn field(self, name: &'static str, level: Level, out: &mut Vec<u8>);
}

impl Field for &str {
    fn field(self, name: &'static str, _: Level, out: &mut Vec<u8>) {
        out.extend_from_slice(name.as_bytes());
        text(&[self], out);
    }
}

impl Field for bool {
    fn field(self, name: &'static str, _: Level, out: &mut Vec<u8>) {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(if self { b"true" } else { b"false" });
    }
}

impl Field for Json<'_> {
    fn field(self, name: &'static str, _: Level, out: &mut Vec<u8>) {
        out.extend_from_slice(name.as_bytes());
        let from = out.len();
        match self {
            Json::Text(json) if json.trim().is_empty() => out.extend_from_slice(b"{}"),
            // A line break in JSON stands between values only; in a frame it would end the line.
            Json::Text(json) if json.bytes().any(|byte| matches!(byte, b'\n' | b'\r')) => {
                out.extend(json.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }));
            }
            Json::Text(json) => out.extend_from_slice(json.as_bytes()),
            // Writing a value into memory cannot fail.
            Json::Value(value) => drop(serde_json::to_writer(&mut *out, value)),
        }
        let json = String::from_utf8_lossy(&out[from..]);
        if is_forbidden(&json) {
            let json = json.into_owned();
            out.truncate(from);
            text(&[&json], out);
        }
    }
}

impl Field for Finish {
    fn field(self, name: &'static str, level: Level, out: &mut Vec<u8>) {
        let reason = match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ContentFilter => "content-filter",
            Self::ToolCalls => "tool-calls",
            Self::Error => "error",
            Self::Interrupted if level >= Level::V7 => "interrupted",
            Self::Interrupted | Self::Other => "other",
        };
        reason.field(name, level, out);
    }
}

impl<F: Field> Field for Option<F> {
    fn field(self, name: &'static str, level: Level, out: &mut Vec<u8>) {
        if let Some(field) = self {
            field.field(name, level, out);
        }
    }
}

/// Writes one JSON string of several pieces.
pub(super) fn text(pieces: &[&str], out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    for piece in pieces {
        let bytes = piece.as_bytes();
        let mut from = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            if byte >= 0x20 && byte != b'"' && byte != b'\\' {
                continue;
            }
            out.extend_from_slice(&bytes[from..at]);
            from = at + 1;
            match byte {
                b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\r' => out.extend_from_slice(b"\\r"),
                b'\t' => out.extend_from_slice(b"\\t"),
                _ => {
                    let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
                    out.extend_from_slice(b"\\u00");
                    out.extend_from_slice(&digits);
                }
            }
        }
        out.extend_from_slice(&bytes[from..]);
    }
    out.push(b'"');
}
