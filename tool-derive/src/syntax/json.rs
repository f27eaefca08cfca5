//! A minimal parser of JSON (RFC 8259), which returns the keys of an object.

/// The maximum nesting depth.
const MAX_DEPTH: usize = 128;

/// Returns the keys of the object in `text`, as they are written; `None` if `text` is not the JSON of an object.
pub fn object_keys(text: &str) -> Option<Vec<&str>> {
    let mut parser = Parser { text, unread: text.as_bytes(), keys: Vec::new() };
    parser.skip_space();
    let is_object = parser.unread.first() == Some(&b'{');
    parser.value(MAX_DEPTH)?;
    (is_object && parser.unread.is_empty()).then_some(parser.keys)
}

struct Parser<'t> {
    text: &'t str,
    /// The part that has not been read yet.
    unread: &'t [u8],
    /// The keys of the outermost object.
    keys: Vec<&'t str>,
}

impl Parser<'_> {
    fn skip_space(&mut self) {
        while let [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = self.unread {
            self.unread = rest;
        }
    }

    fn eat(&mut self, token: &[u8]) -> Option<()> {
        self.unread = self.unread.strip_prefix(token)?;
        Some(())
    }

    fn next_byte(&mut self) -> Option<u8> {
        let (first, rest) = self.unread.split_first()?;
        self.unread = rest;
        Some(*first)
    }

    /// Reads a value and the space around it.
    fn value(&mut self, depth_left: usize) -> Option<()> {
        self.skip_space();
        match self.unread.first()? {
            b'{' => self.sequence(b"}", depth_left.checked_sub(1)?, Self::entry)?,
            b'[' => self.sequence(b"]", depth_left.checked_sub(1)?, Self::value)?,
            b'"' => self.string()?,
            b't' => self.eat(b"true")?,
            b'f' => self.eat(b"false")?,
            b'n' => self.eat(b"null")?,
            _ => self.number()?,
        }
        self.skip_space();
        Some(())
    }

    fn sequence(&mut self, end: &[u8], depth_left: usize, item: fn(&mut Self, usize) -> Option<()>) -> Option<()> {
        self.next_byte()?;
        self.skip_space();
        if self.eat(end).is_some() {
            return Some(());
        }
        loop {
            item(self, depth_left)?;
            if self.eat(b",").is_none() {
                return self.eat(end);
            }
        }
    }

    fn entry(&mut self, depth_left: usize) -> Option<()> {
        self.skip_space();
        let start = self.text.len() - self.unread.len();
        self.string()?;
        // An entry of the outermost object.
        if depth_left == MAX_DEPTH - 1 {
            self.keys.push(&self.text[start + 1..self.text.len() - self.unread.len() - 1]);
        }
        self.skip_space();
        self.eat(b":")?;
        self.value(depth_left)
    }

    fn string(&mut self) -> Option<()> {
        self.eat(b"\"")?;
        loop {
            match self.next_byte()? {
                b'"' => return Some(()),
                b'\\' => self.escape()?,
                0..0x20 => return None,
                _ => {}
            }
        }
    }

    fn escape(&mut self) -> Option<()> {
        match self.next_byte()? {
            b'u' => (0..4).try_for_each(|_| self.next_byte()?.is_ascii_hexdigit().then_some(())),
            letter => b"\"\\/bfnrt".contains(&letter).then_some(()),
        }
    }

    fn number(&mut self) -> Option<()> {
        let _ = self.eat(b"-");
        if self.eat(b"0").is_none() {
            self.digits()?;
        }
        if self.eat(b".").is_some() {
            self.digits()?;
        }
        if self.eat(b"e").or_else(|| self.eat(b"E")).is_some() {
            let _ = self.eat(b"+").or_else(|| self.eat(b"-"));
            self.digits()?;
        }
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let count = self.unread.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.unread = &self.unread[count..];
        (count > 0).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::object_keys;

    fn is_object(text: &str) -> bool {
        object_keys(text).is_some()
    }

    #[test]
    fn keys_are_those_of_the_object_itself() {
        assert_eq!(object_keys(r#" {"a": {"b": 1}, "c": "}", "\u0061": []} "#), Some(vec!["a", "c", r"\u0061"]));
        assert_eq!(object_keys("{}"), Some(Vec::new()));
    }

    #[test]
    fn objects_are_distinguished_from_other_values() {
        let every_kind = r#"{"a": [1, -2.5e+3, 0, true, false, null, "\u00e9\n\"", {}, []], "b" : {"c":"ü"}}"#;
        for text in ["{}", " { } ", r#"{"a":1}"#, every_kind] {
            assert!(is_object(text), "{text}");
        }
        let deep = format!("{}1{}", r#"{"a":"#.repeat(200), "}".repeat(200));
        let wrong = r#"1 # [] # { # {a: 1} # {'a': 1} # {"a":1,} # {"a" 1} # {"a":01} # {"a":1.} # {"a":+1} # {"a":tru} # {"a":"\x"} #
            {"a":"\u00g0"} # {"a":[1 2]} # {} {}"#;
        for text in wrong.split('#').chain(["", "{\"a\":\"\n\"}", &deep]) {
            assert!(!is_object(text), "{text}");
        }
    }
}
