//! Text of strangers, made harmless for a terminal.

/// `text` with everything that could change what a person sees written out: control characters but line breaks and tabs,
/// escape sequences, and characters that turn the direction of text or are invisible. Nothing is left out.
///
/// ```
/// use tool_schema::feedback::escape;
///
/// assert_eq!(escape("a\u{1b}[2Jb\u{202e}c"), "a\\u{1b}[2Jb\\u{202e}c");
/// ```
pub fn escape(text: &str) -> String {
    written(text, |c| c == '\n' || c == '\t' || is_harmless(c))
}

/// The same on one line: text that must not look like a line of ours.
pub fn one_line(text: &str) -> String {
    written(text, is_harmless)
}

fn written(text: &str, is_harmless: impl Fn(char) -> bool) -> String {
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
        // Soft hyphen, zero-width and direction marks, separators, isolates, the byte order mark, annotations, tags.
        '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' => false,
        c => !c.is_control(),
    }
}
