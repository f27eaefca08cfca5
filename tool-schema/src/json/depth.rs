//! How deep JSON is nested.

/// The brackets and quotes of a text, which need not be valid JSON.
#[derive(Debug, Default)]
pub struct Nesting {
    /// `{` and `[` that are open at the end, outermost first.
    pub open: String,
    /// The most brackets that were open at once.
    pub deepest: usize,
    /// `true` where the end lies in a text between quotes.
    pub in_text: bool,
    /// The last character that is not white space and not in a text.
    pub last: Option<char>,
}

impl Nesting {
    /// Returns the nesting of `text`.
    pub fn of(text: &str) -> Self {
        let mut nesting = Self::default();
        let mut escaped = false;
        for c in text.chars() {
            if nesting.in_text {
                nesting.in_text = escaped || c != '"';
                escaped = !escaped && c == '\\';
                continue;
            }
            match c {
                '"' => nesting.in_text = true,
                '{' | '[' => {
                    nesting.open.push(c);
                    nesting.deepest = nesting.deepest.max(nesting.open.len());
                }
                '}' | ']' => drop(nesting.open.pop()),
                _ => {}
            }
            if !c.is_whitespace() {
                nesting.last = Some(c);
            }
        }
        nesting
    }
}

/// Returns `true` for a JSON text that is nested more than `most` levels deep. The text need not be valid JSON.
pub fn is_deeper(text: &str, most: u32) -> bool {
    // Nearly all have fewer brackets than levels that are allowed, and counting bytes is fast.
    let brackets = text.bytes().filter(|byte| matches!(byte, b'{' | b'[')).count();
    brackets > most as usize && Nesting::of(text).deepest > most as usize
}
