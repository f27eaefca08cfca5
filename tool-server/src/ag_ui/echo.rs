//! An answer that several requests get: to each, its run has the id that it asked under.

use bytes::Bytes;
use serde::de::IgnoredAny;
use serde_json::Deserializer;

/// Frames of an answer, with `run_id` in those that name the run.
pub(super) fn echoed(frames: Bytes, run_id: &str) -> Bytes {
    const NAMES: [&[u8]; 2] = [b"data: {\"type\":\"RUN_STARTED\"", b"data: {\"type\":\"RUN_FINISHED\""];
    let names = |frame: &[u8]| NAMES.iter().any(|name| frame.starts_with(name));
    if !frames.split_inclusive(|byte| *byte == b'\n').any(names) {
        return frames;
    }
    let own = serde_json::Value::from(run_id).to_string();
    let mut echoed = Vec::with_capacity(frames.len() + 2 * own.len());
    for line in frames.split_inclusive(|byte| *byte == b'\n') {
        match id(line).filter(|_| names(line)) {
            Some((from, to)) => {
                echoed.extend_from_slice(&line[..from]);
                echoed.extend_from_slice(own.as_bytes());
                echoed.extend_from_slice(&line[to..]);
            }
            None => echoed.extend_from_slice(line),
        }
    }
    echoed.into()
}

/// Where the id of the run is, with its quotes. No text before it can be taken for its name: quotes in it are escaped.
fn id(line: &[u8]) -> Option<(usize, usize)> {
    const NAME: &[u8] = b",\"runId\":";
    let from = line.windows(NAME.len()).position(|part| part == NAME)? + NAME.len();
    let mut id = Deserializer::from_slice(&line[from..]).into_iter::<IgnoredAny>();
    id.next()?.ok()?;
    Some((from, from + id.byte_offset()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_is_called_what_the_request_calls_it() {
        let frames = r#"data: {"type":"RUN_STARTED","threadId":"a\",\"runId\":\"b","runId":"c\\\"","input":{"a":1,"runId":"c"}}

data: {"type":"TEXT_MESSAGE_CONTENT","delta":"x","runId":"c"}

: keep-alive

data: {"type":"RUN_FINISHED","threadId":"t","runId":""}

"#;
        let wanted =
            frames.replace(r#""runId":"c\\\"""#, r#""runId":"d\"""#).replace(r#""runId":"""#, r#""runId":"d\"""#);
        assert_eq!(echoed(frames.into(), "d\""), wanted);
        let others = Bytes::from_static(b"data: {\"type\":\"STATE_DELTA\",\"runId\":\"c\"}\n\n");
        assert_eq!(echoed(others.clone(), "d"), others);
    }
}
