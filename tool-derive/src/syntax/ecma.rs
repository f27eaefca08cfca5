//! Translation of regular expressions from the notation of the crate `regex` into that of JSON Schema, which is ECMAScript with the
//! flag `u`.

use std::fmt::Write as _;

use regex_syntax::{
    ast::{
        self, AssertionKind, Ast, ClassAsciiKind, ClassPerlKind, ClassSet, ClassSetBinaryOpKind, ClassSetItem,
        ClassUnicodeKind, Flag, Flags, FlagsItemKind, GroupKind, HexLiteralKind, Literal, LiteralKind, RepetitionKind,
        RepetitionRange, SpecialLiteralKind, parse::Parser,
    },
    hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind},
};

/// The maximum number of ranges of a class that is written out.
const MAX_RANGES: usize = 64;

/// The characters that ECMAScript escapes by a backslash.
const SYNTAX: &str = r"^$\.*+?()[]{}|/";

/// The reason why an expression cannot be published.
#[derive(Debug, PartialEq)]
pub enum Untranslatable {
    /// It is not a regular expression of the crate `regex`.
    Invalid(String),
    /// It has a part that ECMAScript does not have, with the notation that works everywhere.
    OnlyHere { part: String, instead: &'static str },
}

type Result<T = ()> = std::result::Result<T, Untranslatable>;

/// Translates `pattern`. An expression that ECMAScript reads, too, is returned unchanged.
pub fn to_ecma(pattern: &str) -> Result<String> {
    // The syntax tree does not show all mistakes, such as an unknown property.
    regex_syntax::parse(pattern).map_err(|error| Untranslatable::Invalid(error.to_string()))?;
    let ast = Parser::new().parse(pattern).map_err(|error| Untranslatable::Invalid(error.to_string()))?;
    let mut writer = Writer { pattern, out: String::with_capacity(pattern.len()) };
    writer.write(&ast, &mut Mode::default())?;
    Ok(writer.out)
}

/// The flags that hold at a place.
#[derive(Clone, Copy, Default)]
struct Mode {
    ignores_case: bool,
    dot_matches_line_ends: bool,
}

struct Writer<'a> {
    pattern: &'a str,
    out: String,
}

impl Writer<'_> {
    fn write(&mut self, ast: &Ast, mode: &mut Mode) -> Result {
        match ast {
            Ast::Empty(_) => {}
            Ast::Flags(flags) => Self::set(&flags.flags, mode)?,
            Ast::Literal(literal) => self.write_literal(literal, *mode),
            Ast::Dot(_) => self.out.push_str(if mode.dot_matches_line_ends { r"[\s\S]" } else { "." }),
            Ast::Assertion(assertion) => self.out.push_str(match assertion.kind {
                AssertionKind::StartLine | AssertionKind::StartText => "^",
                AssertionKind::EndLine | AssertionKind::EndText => "$",
                AssertionKind::WordBoundary => r"\b",
                AssertionKind::NotWordBoundary => r"\B",
                _ => return self.only_here(&assertion.span, r"`\b`"),
            }),
            Ast::ClassPerl(class) => self.copy(&class.span),
            Ast::ClassUnicode(class) => {
                if mode.ignores_case {
                    let set = self.set_of_property(class)?;
                    let mut folded = set.clone();
                    fold(&mut folded);
                    if folded != set {
                        return self.write_set(&folded, &class.span);
                    }
                }
                let text = self.property(class)?;
                self.out.push_str(&text);
            }
            Ast::ClassBracketed(class) => {
                let mut simple = String::new();
                let is_simple = !mode.ignores_case
                    && matches!(&class.kind, ClassSet::Item(item) if self.write_item(item, &mut simple)?);
                if is_simple {
                    self.out.extend([if class.negated { "[^" } else { "[" }, &simple, "]"]);
                } else {
                    let set = self.set_of_class(class, mode.ignores_case)?;
                    self.write_set(&set, &class.span)?;
                }
            }
            Ast::Repetition(repetition) => {
                match *repetition.ast {
                    Ast::Assertion(_) | Ast::Empty(_) | Ast::Flags(_) => {
                        return self.only_here(&repetition.span, "it without the repetition");
                    }
                    Ast::Repetition(_) => {
                        self.out.push_str("(?:");
                        self.write(&repetition.ast, mode)?;
                        self.out.push(')');
                    }
                    _ => self.write(&repetition.ast, mode)?,
                }
                let times = match &repetition.op.kind {
                    RepetitionKind::ZeroOrOne => "?".to_owned(),
                    RepetitionKind::ZeroOrMore => "*".to_owned(),
                    RepetitionKind::OneOrMore => "+".to_owned(),
                    RepetitionKind::Range(RepetitionRange::Exactly(count)) => format!("{{{count}}}"),
                    RepetitionKind::Range(RepetitionRange::AtLeast(least)) => format!("{{{least},}}"),
                    RepetitionKind::Range(RepetitionRange::Bounded(least, most)) => format!("{{{least},{most}}}"),
                };
                self.out.push_str(&times);
                // Whether a text matches does not depend on it. It stays, so that most expressions do not change.
                self.out.push_str(if repetition.greedy { "" } else { "?" });
            }
            Ast::Group(group) => {
                // Flags in a group end with it.
                let mut inner = *mode;
                match &group.kind {
                    GroupKind::CaptureName { name, .. } if is_identifier(&name.name) => {
                        self.out.extend(["(?<", &name.name, ">"]);
                    }
                    // In ECMAScript, a name has no `.` and no brackets.
                    GroupKind::CaptureIndex(_) | GroupKind::CaptureName { .. } => self.out.push('('),
                    GroupKind::NonCapturing(flags) => {
                        Self::set(flags, &mut inner)?;
                        self.out.push_str("(?:");
                    }
                }
                self.write(&group.ast, &mut inner)?;
                self.out.push(')');
            }
            Ast::Alternation(all) => {
                for (index, one) in all.asts.iter().enumerate() {
                    self.out.push_str(if index > 0 { "|" } else { "" });
                    self.write(one, mode)?;
                }
            }
            Ast::Concat(all) => {
                for one in &all.asts {
                    self.write(one, mode)?;
                }
            }
        }
        Ok(())
    }

    fn set(flags: &Flags, mode: &mut Mode) -> Result {
        let mut is_on = true;
        for item in &flags.items {
            match item.kind {
                FlagsItemKind::Negation => is_on = false,
                FlagsItemKind::Flag(Flag::CaseInsensitive) => mode.ignores_case = is_on,
                FlagsItemKind::Flag(Flag::DotMatchesNewLine) => mode.dot_matches_line_ends = is_on,
                FlagsItemKind::Flag(Flag::MultiLine) if is_on => {
                    return only_here("(?m)", r"`(^|\n)` and `(\n|$)` without the flag");
                }
                FlagsItemKind::Flag(Flag::CRLF) if is_on => return only_here("(?R)", r"`\r?\n` without the flag"),
                // The parser has applied `x`. The others do not matter: classes such as `\d` have ASCII characters in any case.
                FlagsItemKind::Flag(_) => {}
            }
        }
        Ok(())
    }

    fn write_literal(&mut self, literal: &Literal, mode: Mode) {
        let c = literal.c;
        if mode.ignores_case {
            let mut set = one(c);
            fold(&mut set);
            if set.ranges().len() > 1 {
                // A set of the cases of one letter is short.
                let _ = self.write_set(&set, &literal.span);
                return;
            }
        }
        match escape_of(literal) {
            Some(escape) => self.out.push_str(&escape),
            None if SYNTAX.contains(c) && (c != '/' || literal.kind == LiteralKind::Superfluous) => {
                self.out.extend(['\\', c]);
            }
            None => self.out.push(c),
        }
    }

    /// Writes the content of a class. Returns `false` if only a set can express it.
    fn write_item(&self, item: &ClassSetItem, out: &mut String) -> Result<bool> {
        match item {
            ClassSetItem::Empty(_) => {}
            // Beside another dash, ECMAScript would read a range.
            ClassSetItem::Literal(literal) if literal.c == '-' && self.touches_dash(&literal.span) => {
                out.push_str(r"\-");
            }
            ClassSetItem::Literal(literal) => write_in_class(literal, out),
            ClassSetItem::Range(range) => {
                write_in_class(&range.start, out);
                out.push('-');
                write_in_class(&range.end, out);
            }
            ClassSetItem::Perl(class) => out.push_str(&self.pattern[class.span.start.offset..class.span.end.offset]),
            ClassSetItem::Unicode(class) => out.push_str(&self.property(class)?),
            ClassSetItem::Ascii(class) if !class.negated => {
                for (start, end) in ascii_ranges(&class.kind) {
                    write_range(*start, *end, out);
                }
            }
            ClassSetItem::Ascii(_) | ClassSetItem::Bracketed(_) => return Ok(false),
            ClassSetItem::Union(union) => {
                for item in &union.items {
                    if !self.write_item(item, out)? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    fn touches_dash(&self, span: &ast::Span) -> bool {
        self.pattern[..span.start.offset].ends_with('-') || self.pattern[span.end.offset..].starts_with('-')
    }

    fn set_of_class(&self, class: &ast::ClassBracketed, ignores_case: bool) -> Result<ClassUnicode> {
        let mut set = self.set_of(&class.kind, ignores_case)?;
        if class.negated {
            set.negate();
        }
        Ok(set)
    }

    fn set_of(&self, class: &ClassSet, ignores_case: bool) -> Result<ClassUnicode> {
        let mut set = match class {
            ClassSet::Item(item) => self.set_of_item(item, ignores_case)?,
            ClassSet::BinaryOp(op) => {
                let mut left = self.set_of(&op.lhs, ignores_case)?;
                let right = self.set_of(&op.rhs, ignores_case)?;
                match op.kind {
                    ClassSetBinaryOpKind::Intersection => left.intersect(&right),
                    ClassSetBinaryOpKind::Difference => left.difference(&right),
                    ClassSetBinaryOpKind::SymmetricDifference => left.symmetric_difference(&right),
                }
                left
            }
        };
        if ignores_case {
            fold(&mut set);
        }
        Ok(set)
    }

    fn set_of_item(&self, item: &ClassSetItem, ignores_case: bool) -> Result<ClassUnicode> {
        Ok(match item {
            ClassSetItem::Empty(_) => ClassUnicode::empty(),
            ClassSetItem::Literal(literal) => one(literal.c),
            ClassSetItem::Range(range) => of_ranges(&[(range.start.c, range.end.c)]),
            ClassSetItem::Ascii(class) => {
                let mut set = of_ranges(ascii_ranges(&class.kind));
                if class.negated {
                    set.negate();
                }
                set
            }
            ClassSetItem::Perl(class) => {
                let mut set = match class.kind {
                    ClassPerlKind::Digit => of_ranges(ascii_ranges(&ClassAsciiKind::Digit)),
                    ClassPerlKind::Word => of_ranges(ascii_ranges(&ClassAsciiKind::Word)),
                    ClassPerlKind::Space => of_ranges(SPACE),
                };
                if class.negated {
                    set.negate();
                }
                set
            }
            ClassSetItem::Unicode(class) => self.set_of_property(class)?,
            ClassSetItem::Bracketed(class) => self.set_of_class(class, ignores_case)?,
            ClassSetItem::Union(union) => {
                let mut whole = ClassUnicode::empty();
                for item in &union.items {
                    whole.union(&self.set_of_item(item, ignores_case)?);
                }
                whole
            }
        })
    }

    fn set_of_property(&self, class: &ast::ClassUnicode) -> Result<ClassUnicode> {
        let parsed = regex_syntax::parse(&self.pattern[class.span.start.offset..class.span.end.offset]);
        match parsed.map(Hir::into_kind) {
            Ok(HirKind::Class(Class::Unicode(set))) => Ok(set),
            _ => self.only_here(&class.span, "the characters one by one"),
        }
    }

    fn write_set(&mut self, set: &ClassUnicode, span: &ast::Span) -> Result {
        let mut inverse = set.clone();
        inverse.negate();
        let (not, shorter) = if inverse.ranges().len() < set.ranges().len() { ("^", &inverse) } else { ("", set) };
        if shorter.ranges().is_empty() || shorter.ranges().len() > MAX_RANGES {
            return self.only_here(span, "the characters in one class `[…]`");
        }
        self.out.extend(["[", not]);
        for range in shorter.ranges() {
            write_range(range.start(), range.end(), &mut self.out);
        }
        self.out.push(']');
        Ok(())
    }

    /// Returns a class such as `\pL` in ECMAScript's notation.
    fn property(&self, class: &ast::ClassUnicode) -> Result<String> {
        let p = if class.negated { 'P' } else { 'p' };
        let known = match &class.kind {
            ClassUnicodeKind::OneLetter(letter) => Some(letter.to_string()),
            ClassUnicodeKind::Named(name) => match find_property(name) {
                Some(name) => Some(name.to_owned()),
                None if is_title(name) => Some(format!("Script={name}")),
                None => None,
            },
            ClassUnicodeKind::NamedValue { op, name, value } => {
                let key = match folded(name).as_str() {
                    "gc" | "generalcategory" => "gc",
                    "sc" | "script" => "Script",
                    "scx" | "scriptextensions" => "Script_Extensions",
                    _ => "",
                };
                let value = match key {
                    "gc" => find_property(value).map(str::to_owned),
                    "" => None,
                    _ => Some(value.clone()).filter(|value| is_title(value)),
                };
                // `\p{a!=b}` is `\P{a=b}`.
                value.filter(|_| op.is_equal()).map(|value| format!("{key}={value}"))
            }
        };
        match known {
            Some(name) => Ok(format!(r"\{p}{{{name}}}")),
            None => self.only_here(&class.span, r"a name such as `\p{L}` or `\p{Script=Greek}`"),
        }
    }

    fn copy(&mut self, span: &ast::Span) {
        self.out.push_str(&self.pattern[span.start.offset..span.end.offset]);
    }

    fn only_here<T>(&self, span: &ast::Span, instead: &'static str) -> Result<T> {
        only_here(&self.pattern[span.start.offset..span.end.offset], instead)
    }
}

fn only_here<T>(part: &str, instead: &'static str) -> Result<T> {
    Err(Untranslatable::OnlyHere { part: part.to_owned(), instead })
}

/// The white space of ECMAScript.
const SPACE: &[(char, char)] = &[
    ('\t', '\r'),
    (' ', ' '),
    ('\u{a0}', '\u{a0}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{2000}', '\u{200a}'),
    ('\u{2028}', '\u{2029}'),
    ('\u{202f}', '\u{202f}'),
    ('\u{205f}', '\u{205f}'),
    ('\u{3000}', '\u{3000}'),
    ('\u{feff}', '\u{feff}'),
];

fn ascii_ranges(kind: &ClassAsciiKind) -> &'static [(char, char)] {
    match kind {
        ClassAsciiKind::Alnum => &[('0', '9'), ('A', 'Z'), ('a', 'z')],
        ClassAsciiKind::Alpha => &[('A', 'Z'), ('a', 'z')],
        ClassAsciiKind::Ascii => &[('\0', '\x7f')],
        ClassAsciiKind::Blank => &[('\t', '\t'), (' ', ' ')],
        ClassAsciiKind::Cntrl => &[('\0', '\x1f'), ('\x7f', '\x7f')],
        ClassAsciiKind::Digit => &[('0', '9')],
        ClassAsciiKind::Graph => &[('!', '~')],
        ClassAsciiKind::Lower => &[('a', 'z')],
        ClassAsciiKind::Print => &[(' ', '~')],
        ClassAsciiKind::Punct => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        ClassAsciiKind::Space => &[('\t', '\r'), (' ', ' ')],
        ClassAsciiKind::Upper => &[('A', 'Z')],
        ClassAsciiKind::Word => &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')],
        ClassAsciiKind::Xdigit => &[('0', '9'), ('A', 'F'), ('a', 'f')],
    }
}

fn one(c: char) -> ClassUnicode {
    of_ranges(&[(c, c)])
}

fn of_ranges(ranges: &[(char, char)]) -> ClassUnicode {
    ClassUnicode::new(ranges.iter().map(|(start, end)| ClassUnicodeRange::new(*start, *end)))
}

/// Adds the other case of each letter. Those of ASCII letters are ASCII letters: the sign of kelvin is no `k`.
fn fold(set: &mut ClassUnicode) {
    let mut ascii = set.clone();
    ascii.intersect(&of_ranges(&[('\0', '\x7f')]));
    let mut others = set.clone();
    others.difference(&ascii);
    ascii.case_fold_simple();
    ascii.intersect(&of_ranges(&[('\0', '\x7f')]));
    others.case_fold_simple();
    ascii.union(&others);
    *set = ascii;
}

/// Returns the escape of a literal that is not written as its character, in ECMAScript's notation.
fn escape_of(literal: &Literal) -> Option<String> {
    let code = u32::from(literal.c);
    match &literal.kind {
        LiteralKind::HexFixed(HexLiteralKind::X) => Some(format!(r"\x{code:02x}")),
        LiteralKind::HexFixed(HexLiteralKind::UnicodeShort) => Some(format!(r"\u{code:04x}")),
        LiteralKind::HexFixed(HexLiteralKind::UnicodeLong) | LiteralKind::HexBrace(_) => {
            Some(format!(r"\u{{{code:x}}}"))
        }
        LiteralKind::Special(special) => Some(
            match special {
                SpecialLiteralKind::Bell => r"\x07",
                SpecialLiteralKind::FormFeed => r"\f",
                SpecialLiteralKind::Tab => r"\t",
                SpecialLiteralKind::LineFeed => r"\n",
                SpecialLiteralKind::CarriageReturn => r"\r",
                SpecialLiteralKind::VerticalTab => r"\v",
                SpecialLiteralKind::Space => " ",
            }
            .to_owned(),
        ),
        _ => None,
    }
}

fn write_in_class(literal: &Literal, out: &mut String) {
    match escape_of(literal) {
        Some(escape) => out.push_str(&escape),
        None if literal.kind == LiteralKind::Verbatim => out.push(literal.c),
        None => write_char(literal.c, out),
    }
}

fn write_range(start: char, end: char, out: &mut String) {
    write_char(start, out);
    if start < end {
        if u32::from(start) + 1 < u32::from(end) {
            out.push('-');
        }
        write_char(end, out);
    }
}

/// Writes a character of a class.
fn write_char(c: char, out: &mut String) {
    match c {
        // Both engines have these escapes.
        c if SYNTAX.contains(c) && !matches!(c, '/' | '.') || c == '-' => out.extend(['\\', c]),
        // Two of them would be an operator for the crate `regex`.
        '&' | '~' => drop(write!(out, r"\x{:02x}", u32::from(c))),
        ' '..='~' => out.push(c),
        c if c.is_alphanumeric() => out.push(c),
        c => drop(write!(out, r"\u{{{:x}}}", u32::from(c))),
    }
}

fn is_identifier(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns whether `name` is written as ECMAScript writes the names of scripts, such as `Greek` or `Old_Italic`.
fn is_title(name: &str) -> bool {
    let is_word = |word: &str| {
        let mut chars = word.chars();
        chars.next().is_some_and(|c| c.is_ascii_uppercase()) && chars.all(|c| c.is_ascii_lowercase())
    };
    name == "SignWriting" || name.split('_').all(is_word)
}

/// Returns the part of a name that the crate `regex` compares.
fn folded(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

fn find_property(name: &str) -> Option<&'static str> {
    PROPERTIES.iter().copied().find(|property| folded(property) == folded(name))
}

/// The properties and general categories that ECMAScript names alone.
#[rustfmt::skip]
const PROPERTIES: &[&str] = &[
    "L", "Lu", "Ll", "Lt", "LC", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf",
    "Po", "S", "Sm", "Sc", "Sk", "So", "Z", "Zs", "Zl", "Zp", "C", "Cc", "Cf", "Cs", "Co", "Cn",
    "Letter", "Uppercase_Letter", "Lowercase_Letter", "Titlecase_Letter", "Cased_Letter", "Modifier_Letter", "Other_Letter",
    "Mark", "Nonspacing_Mark", "Spacing_Mark", "Enclosing_Mark", "Number", "Decimal_Number", "Letter_Number", "Other_Number",
    "Punctuation", "Connector_Punctuation", "Dash_Punctuation", "Open_Punctuation", "Close_Punctuation", "Initial_Punctuation",
    "Final_Punctuation", "Other_Punctuation", "Symbol", "Math_Symbol", "Currency_Symbol", "Modifier_Symbol", "Other_Symbol",
    "Separator", "Space_Separator", "Line_Separator", "Paragraph_Separator", "Other", "Control", "Format", "Surrogate",
    "Private_Use", "Unassigned",
    "Any", "ASCII", "Assigned", "ASCII_Hex_Digit", "Alphabetic", "Case_Ignorable", "Cased", "Dash", "Default_Ignorable_Code_Point",
    "Diacritic", "Emoji", "Emoji_Component", "Emoji_Modifier", "Emoji_Modifier_Base", "Emoji_Presentation",
    "Extended_Pictographic", "Extender", "Hex_Digit", "ID_Continue", "ID_Start", "Ideographic", "Join_Control", "Lowercase", "Math",
    "Uppercase", "White_Space", "XID_Continue", "XID_Start",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_that_works_everywhere_is_unchanged() {
        for pattern in [
            "^[a-z]+$",
            r"^\d{2,3}(?:\.\w+)*?$",
            r"^https?://[^\s/]+/?$",
            r"[\w.+\-]+@\w+",
            r"^(a|b|)$",
            r"\x41\u00e4\u{1f600}",
            "^ä.$",
            r"[^\]\[\\^]",
            "^(?<year>[0-9]{4})$",
            r"\bword\B",
            r"\p{L}\P{Lu}",
            "",
            r"a\/b",
            "[a-]",
        ] {
            assert_eq!(to_ecma(pattern).as_deref(), Ok(pattern));
        }
    }

    #[test]
    fn others_are_translated() {
        for (pattern, ecma) in [
            (r"\A[[:alpha:]]+\z", "^[A-Za-z]+$"),
            ("(?P<n>a)", "(?<n>a)"),
            ("(?P<n.m>a)", "(a)"),
            (r"\x{41}\U00000042", r"\u{41}\u{42}"),
            (
                r"\pL\p{letter}\p{Greek}\p{sc=Greek}\p{gc:lu}",
                r"\p{L}\p{Letter}\p{Script=Greek}\p{Script=Greek}\p{gc=Lu}",
            ),
            (r"a\-b\#\&\@", "a-b#&@"),
            ("(?i)^ab-1$", "^[Aa][Bb]-1$"),
            ("^(?i:k)s$", "^(?:[Kk])s$"),
            ("(?i)[a-c]ä", "[A-Ca-c][Ää]"),
            ("((?i)a)a", "([Aa])a"),
            ("(?x) ^ a # a comment\n b $", "^ab$"),
            ("(?s)a.b", r"a[\s\S]b"),
            ("[a-z&&[^aeiou]]", "[b-df-hj-np-tv-z]"),
            ("[0-9--4]", "[0-35-9]"),
            ("[a[bc]]", "[a-c]"),
            ("[[:^alpha:]]", "[^A-Za-z]"),
            (r"[\&\~\-\]]", r"[\x26\x7e\-\]]"),
            ("a**", "(?:a*)*"),
            ("]}", r"\]\}"),
            (r"\a", r"\x07"),
            ("(?U)a+", "a+"),
        ] {
            assert_eq!(to_ecma(pattern).as_deref(), Ok(ecma), "{pattern}");
        }
    }

    #[test]
    fn the_rest_is_refused_with_another_notation() {
        for (pattern, refused) in [
            ("(?m)^a$", "(?m)"),
            (r"\b{start}a", r"\b{start}"),
            (r"\p{greek}", r"\p{greek}"),
            ("^*", "^*"),
            (r"(?i)[\pL]", r"[\pL]"),
        ] {
            match to_ecma(pattern) {
                Err(Untranslatable::OnlyHere { part, .. }) => assert!(refused.contains(&part), "{part} of {pattern}"),
                other => panic!("{pattern}: {other:?}"),
            }
        }
        assert!(matches!(to_ecma("(?=a)"), Err(Untranslatable::Invalid(_))));
    }
}
