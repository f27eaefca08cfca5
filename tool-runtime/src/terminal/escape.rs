//! Text of strangers, made harmless for a terminal.

/// `text` with everything that could change what a person sees written out: control characters but line breaks and tabs,
/// escape sequences, and characters that turn the direction of text or are invisible. Nothing is left out.
///
/// ```
/// use tool_runtime::terminal::escape;
///
/// assert_eq!(escape("a\u{1b}[2Jb\u{202e}c"), "a\\u{1b}[2Jb\\u{202e}c");
/// ```
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_harmless(c) {
            out.push(c);
        } else {
            out.extend(c.escape_unicode());
        }
    }
    out
}

fn is_harmless(c: char) -> bool {
    match c {
        '\n' | '\t' => true,
        // Soft hyphen, zero-width and direction marks, separators, isolates, the byte order mark, tags.
        '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}' => false,
        c => !c.is_control(),
    }
}
