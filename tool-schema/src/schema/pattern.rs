//! Regular expressions of ECMA 262, as in the keyword `pattern`. They run in linear time and bounded space.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use regex::{Regex, RegexBuilder};
use regex_syntax::ast::{
    Ast, ClassPerl, ClassPerlKind, ClassSetItem, ErrorKind, LiteralKind, SpecialLiteralKind, Visitor, parse::Parser,
    visit,
};

/// The maximum size of a compiled pattern, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

/// The white space of ECMA 262.
const SPACE: &str =
    r"\t\n\x0b\x0c\r\x20\u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{feff}";

/// A compiled regular expression of ECMA 262.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

/// The reason why a pattern cannot be translated for the crate `regex`.
enum Untranslatable {
    /// It has look-around or back-references.
    Backtracks,
    /// It is not a valid pattern.
    Invalid,
}

impl Pattern {
    /// Compiles `pattern` to at most `max_bytes`. Returns `None` if it is not valid, or needs backtracking or more space.
    pub fn compile(pattern: &str, max_bytes: usize) -> Option<Self> {
        let pattern = translate(pattern).ok()?;
        let regex = RegexBuilder::new(&pattern).size_limit(max_bytes).dfa_size_limit(MAX_BYTES).build();
        regex.ok().map(Self)
    }

    /// Returns whether the expression matches a part of `text`.
    pub fn is_match(&self, text: &str) -> bool {
        // `regex` panics for a few patterns: https://github.com/rust-lang/regex/issues/1344.
        catch_unwind(AssertUnwindSafe(|| self.0.is_match(text))).unwrap_or(false)
    }
}

/// Returns whether `text` is a regular expression, even one that needs backtracking.
pub fn is_regex(text: &str) -> bool {
    !matches!(translate(text), Err(Untranslatable::Invalid))
}

/// Translates `pattern` for the crate `regex`, in which `\d`, `\w` and `\s` mean other characters.
fn translate(pattern: &str) -> Result<String, Untranslatable> {
    let mut pattern = replace_control_escapes(pattern);
    let ast = Parser::new().parse(&pattern).map_err(|error| match error.kind() {
        ErrorKind::UnsupportedLookAround | ErrorKind::UnsupportedBackreference => Untranslatable::Backtracks,
        _ => Untranslatable::Invalid,
    })?;
    let mut classes = visit(&ast, Classes::default()).map_err(|()| Untranslatable::Invalid)?;
    classes.sort_by_key(|class| class.span.start.offset);
    for class in classes.iter().rev() {
        let characters = match class.kind {
            ClassPerlKind::Digit => "0-9",
            ClassPerlKind::Word => "A-Za-z0-9_",
            ClassPerlKind::Space => SPACE,
        };
        let not = if class.negated { "^" } else { "" };
        pattern.replace_range(class.span.start.offset..class.span.end.offset, &format!("[{not}{characters}]"));
    }
    Ok(pattern)
}

/// Replaces escapes such as `\cA` in `pattern` by their characters.
fn replace_control_escapes(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        out.push(c);
        if c != '\\' {
            continue;
        }
        let Some(escaped) = chars.next() else { break };
        out.push(escaped);
        if escaped == 'c'
            && let Some(letter) = chars.next_if(char::is_ascii_alphabetic)
        {
            out.truncate(out.len() - 2);
            let _ = write!(out, r"\x{:02x}", u32::from(letter) % 32);
        }
    }
    out
}

/// The classes `\d`, `\w` and `\s` of a pattern.
#[derive(Default)]
struct Classes(Vec<ClassPerl>);

impl Visitor for Classes {
    type Output = Vec<ClassPerl>;
    type Err = ();

    fn finish(self) -> Result<Vec<ClassPerl>, ()> {
        Ok(self.0)
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), ()> {
        if let ClassSetItem::Perl(class) = item {
            self.0.push(class.clone());
        }
        Ok(())
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), ()> {
        match ast {
            Ast::ClassPerl(class) => self.0.push(class.as_ref().clone()),
            // ECMA 262 has no `\a`.
            Ast::Literal(literal) if literal.kind == LiteralKind::Special(SpecialLiteralKind::Bell) => return Err(()),
            _ => {}
        }
        Ok(())
    }
}
