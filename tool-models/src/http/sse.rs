//! Server-sent events: from bytes, cut anywhere, to the data of events.

use tool_runtime::model::{ModelError, ModelErrorKind};

/// Splits an event stream, looking at each byte once. Only the data of an event is kept: providers repeat its name
/// there.
///
/// The crate `sse-stream` is no substitute: it has no limit for the size of an event, and refuses lines that the
/// standard ignores.
#[derive(Debug)]
pub struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    begun: bool,
    /// The last byte was a CR, so that a LF belongs to it.
    after_cr: bool,
    most: usize,
}

impl Events {
    /// Events of at most `most` bytes each.
    pub fn new(most: usize) -> Self {
        Self { line: Vec::new(), data: Vec::new(), has_data: false, begun: false, after_cr: false, most }
    }

    /// Takes the next bytes, and gives the events that end in them.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Result<String, ModelError>> {
        let mut out = Vec::new();
        let mut rest = bytes;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.line.extend_from_slice(&rest[..end]);
            out.extend(self.end_line());
            let ended_by = rest[end];
            rest = &rest[end + 1..];
            if ended_by == b'\r' {
                self.after_cr = rest.is_empty();
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
        }
        self.line.extend_from_slice(rest);
        if self.line.len() + self.data.len() > self.most {
            out.push(Err(too_long(self.most)));
        }
        out
    }

    fn end_line(&mut self) -> Option<Result<String, ModelError>> {
        let mut line = self.line.as_slice();
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            self.line.clear();
            let data = std::mem::take(&mut self.data);
            return std::mem::take(&mut self.has_data)
                .then(|| String::from_utf8(data).map_err(|error| garbled().with_source(error)));
        }
        let value = line.strip_prefix(b"data").and_then(|rest| match rest {
            [] => Some(rest),
            [b':', value @ ..] => Some(value.strip_prefix(b" ").unwrap_or(value)),
            _ => None,
        });
        if let Some(value) = value {
            if std::mem::replace(&mut self.has_data, true) {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(value);
        }
        self.line.clear();
        (self.data.len() > self.most).then(|| Err(too_long(self.most)))
    }
}

pub fn too_long(most: usize) -> ModelError {
    let message = format!("the provider sent an event of more than {most} bytes (`Http::max_event` sets the limit)");
    ModelError::new(ModelErrorKind::Protocol, message)
}

pub fn garbled() -> ModelError {
    ModelError::new(ModelErrorKind::Protocol, "the answer is not text in UTF-8")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
        let mut events = Events::new(usize::MAX);
        chunks.into_iter().flat_map(|chunk| events.push(chunk)).map(|event| event.unwrap_or("?".into())).collect()
    }

    #[test]
    fn as_the_standard_says() {
        let cases: [(&str, &[&str]); 14] = [
            ("data: a\n\ndata: b\n\n", &["a", "b"]),
            ("data: a\r\n\r\ndata: b\r\r", &["a", "b"]),
            ("data: a\ndata:b\ndata\n\n", &["a\nb\n"]),
            ("data:  a\n\n", &[" a"]),
            ("\u{feff}data: a\n\n", &["a"]),
            ("data: a\n\n\u{feff}data: b\n\n", &["a"]),
            (": comment\n\nevent: x\nid: 1\nretry: 5\ndata: a\n\n", &["a"]),
            ("datum: a\n\nDATA: b\n\n", &[]),
            ("event: x\n\n", &[]),
            ("data\n\n", &[""]),
            ("data: a\n\n\n\n", &["a"]),
            ("data: a\n", &[]),
            ("data: a", &[]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(split([text.as_bytes()]), expected, "{text:?}");
            assert_eq!(split(text.as_bytes().chunks(1)), expected, "{text:?}, byte by byte");
        }
    }

    #[test]
    fn long_and_garbled_events_are_errors() {
        let kinds = |text: &[u8]| -> Vec<_> {
            let events = Events::new(10).push(text);
            events.into_iter().map(|event| event.map_err(|error| error.to_string())).collect()
        };
        assert!(kinds(b"data: 01234567890")[0].is_err());
        assert!(kinds(b"data: 012345\ndata: 67890\n")[0].is_err());
        assert_eq!(kinds(b"data: 0123\n\ndata: 4567\n\n").len(), 2);
        assert_eq!(kinds(b"data: \xff\n\n"), [Err("the answer is not text in UTF-8".to_owned())]);
    }

    proptest! {
        #[test]
        fn cut_anywhere(bytes in "([a:\r\n \u{feff}ü]|data|data: |\n\n){0,40}", sizes in proptest::collection::vec(1_usize..9, 1..20)) {
            let mut chunks = Vec::new();
            let mut rest = bytes.as_bytes();
            for size in sizes.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (chunk, more) = rest.split_at((*size).min(rest.len()));
                chunks.push(chunk);
                rest = more;
            }
            prop_assert_eq!(split(chunks), split([bytes.as_bytes()]));
        }
    }
}
