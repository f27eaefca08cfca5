//! Where a cut text ends.

/// What is open at the end of a text.
pub(super) struct End {
    /// `{` and `[`, outermost first.
    pub(super) open: Vec<char>,
    pub(super) in_text: bool,
    /// The last character that is not white space and not in a text.
    pub(super) last: Option<char>,
}

impl End {
    pub(super) fn of(text: &str) -> Self {
        let mut end = Self { open: Vec::new(), in_text: false, last: None };
        let mut escaped = false;
        for c in text.chars() {
            if end.in_text {
                end.in_text = escaped || c != '"';
                escaped = !escaped && c == '\\';
                continue;
            }
            match c {
                '"' => end.in_text = true,
                '{' | '[' => end.open.push(c),
                '}' | ']' => {
                    end.open.pop();
                }
                _ => {}
            }
            if !c.is_whitespace() {
                end.last = Some(c);
            }
        }
        end
    }

    /// The place as a phrase that follows "it ends".
    pub(super) fn phrase(&self) -> String {
        let mut phrase = match self.last {
            _ if self.in_text => "in the middle of a text".to_owned(),
            Some(':') => "before a value".to_owned(),
            Some(c) if c.is_ascii_alphabetic() || c == '-' || c == '.' => "in the middle of a value".to_owned(),
            _ => String::new(),
        };
        for (index, open) in self.open.iter().rev().enumerate() {
            if index == 3 {
                phrase = format!("{phrase}, {} levels deep", self.open.len());
                break;
            }
            if !phrase.is_empty() {
                phrase.push(' ');
            }
            phrase.push_str(if *open == '{' { "inside an object" } else { "inside a list" });
        }
        if phrase.is_empty() { "too early".to_owned() } else { phrase }
    }
}
