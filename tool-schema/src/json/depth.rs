//! How deep JSON is nested.

/// Returns `true` for a JSON text that is nested more than `most` levels deep. The text need not be valid JSON.
pub fn is_deeper(text: &str, most: u32) -> bool {
    // Nearly all have fewer brackets than levels that are allowed, and counting bytes is fast.
    let brackets = text.bytes().filter(|byte| matches!(byte, b'{' | b'[')).count();
    brackets > most as usize && depth(text) > most
}

fn depth(text: &str) -> u32 {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0u32, 0u32, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
