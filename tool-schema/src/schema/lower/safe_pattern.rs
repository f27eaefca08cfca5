//! Patterns that mean the same in every regular expression engine, and in decoders that follow a grammar.
//!
//! Grammar decoders lay a pattern over the JSON text of a string, and match it as a whole. So a pattern keeps its meaning only if
//! it is anchored at both ends, and names printable characters that JSON does not escape.

use regex_syntax::ast::{
    AssertionKind, Ast, ClassPerl, ClassPerlKind, ClassSet, ClassSetItem, GroupKind, HexLiteralKind, Literal,
    LiteralKind, RepetitionKind, RepetitionRange, parse::Parser,
};

/// The maximum number of repetitions, also of nested ones. More of them make llama.cpp refuse the whole request.
const MAX_REPETITIONS: u32 = 1_000;

/// Returns `pattern` in a notation that every engine reads alike. Returns `None` if its meaning depends on the engine.
///
/// A safe pattern is `^…$`, without an alternative outside of a group. It has printable ASCII characters except `"` and `\`,
/// and classes of such characters. `\d` and `\w` are written out. It has no `.`, no `\s`, no negated class and no look-around.
pub fn make_safe(pattern: &str) -> Option<String> {
    let ast = Parser::new().parse(pattern).ok()?;
    let Ast::Concat(whole) = &ast else { return None };
    let [Ast::Assertion(start), middle @ .., Ast::Assertion(end)] = whole.asts.as_slice() else { return None };
    if (&start.kind, &end.kind) != (&AssertionKind::StartLine, &AssertionKind::EndLine) {
        return None;
    }
    let mut out = "^".to_owned();
    for part in middle {
        write(part, MAX_REPETITIONS, &mut out)?;
    }
    out.push('$');
    Some(out)
}

/// Writes `ast`, which may repeat its parts up to `repetitions` times.
fn write(ast: &Ast, repetitions: u32, out: &mut String) -> Option<()> {
    match ast {
        Ast::Empty(_) => {}
        Ast::Literal(literal) => write_literal(literal, r".*+?()[]{}|^$", out)?,
        Ast::ClassPerl(class) => out.extend(["[", characters_of(class)?, "]"]),
        Ast::ClassBracketed(class) if !class.negated => {
            let ClassSet::Item(item) = &class.kind else { return None };
            let mut characters = String::new();
            let mut dash = false;
            write_class(item, &mut characters, &mut dash)?;
            out.extend(["[", &characters, if dash { "-" } else { "" }, "]"]);
        }
        Ast::Repetition(repetition) => {
            if matches!(*repetition.ast, Ast::Repetition(_) | Ast::Assertion(_) | Ast::Empty(_)) {
                return None;
            }
            let (times, text) = match &repetition.op.kind {
                RepetitionKind::ZeroOrOne => (1, "?".to_owned()),
                RepetitionKind::ZeroOrMore => (1, "*".to_owned()),
                RepetitionKind::OneOrMore => (1, "+".to_owned()),
                RepetitionKind::Range(RepetitionRange::Exactly(count)) => (*count, format!("{{{count}}}")),
                RepetitionKind::Range(RepetitionRange::AtLeast(least)) => (*least, format!("{{{least},}}")),
                RepetitionKind::Range(RepetitionRange::Bounded(least, most)) => (*most, format!("{{{least},{most}}}")),
            };
            // Whether a repetition is greedy does not matter between anchors.
            write(&repetition.ast, repetitions.checked_div(times.max(1)).filter(|left| *left > 0)?, out)?;
            out.push_str(&text);
        }
        Ast::Group(group) => {
            match &group.kind {
                GroupKind::CaptureIndex(_) => {}
                GroupKind::NonCapturing(flags) if flags.items.is_empty() => {}
                _ => return None,
            }
            out.push('(');
            match &*group.ast {
                Ast::Alternation(all) => {
                    for (i, one) in all.asts.iter().enumerate() {
                        out.push_str(if i > 0 { "|" } else { "" });
                        write(one, repetitions, out)?;
                    }
                }
                one => write(one, repetitions, out)?,
            }
            out.push(')');
        }
        Ast::Concat(all) => all.asts.iter().try_for_each(|one| write(one, repetitions, out))?,
        _ => return None,
    }
    Some(())
}

fn write_class(item: &ClassSetItem, out: &mut String, dash: &mut bool) -> Option<()> {
    match item {
        ClassSetItem::Literal(literal) if literal.c == '-' => *dash = true,
        ClassSetItem::Literal(literal) => write_literal(literal, "]^[", out)?,
        ClassSetItem::Range(range) => {
            let (start, end) = (range.start.c, range.end.c);
            if start == '-' || end == '-' || (start..=end).contains(&'"') || (start..=end).contains(&'\\') {
                return None;
            }
            write_literal(&range.start, "]^[", out)?;
            out.push('-');
            write_literal(&range.end, "]^[", out)?;
        }
        ClassSetItem::Perl(class) => out.push_str(characters_of(class)?),
        ClassSetItem::Union(all) => all.items.iter().try_for_each(|one| write_class(one, out, dash))?,
        _ => return None,
    }
    Some(())
}

/// Writes a character, with a backslash if it is one of `special`.
fn write_literal(literal: &Literal, special: &str, out: &mut String) -> Option<()> {
    // In ECMA 262, `\x{41}` is 41 times the letter x.
    let is_ours = matches!(literal.kind, LiteralKind::HexBrace(HexLiteralKind::X));
    if is_ours || !matches!(literal.c, ' '..='~') || matches!(literal.c, '"' | '\\') {
        return None;
    }
    if special.contains(literal.c) {
        out.push('\\');
    }
    out.push(literal.c);
    Some(())
}

fn characters_of(class: &ClassPerl) -> Option<&'static str> {
    match class.kind {
        ClassPerlKind::Digit if !class.negated => Some("0-9"),
        ClassPerlKind::Word if !class.negated => Some("A-Za-z0-9_"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_patterns_are_written_out() {
        for (pattern, safe) in [
            (r"^[A-Z]{3}-\d{4}$", "^[A-Z]{3}-[0-9]{4}$"),
            (r"^(?:a|bc)+?$", "^(a|bc)+$"),
            (r"^\w+(\.\w+)*@a\/b\-c$", r"^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*@a/b-c$"),
            (r"^[\-a\]\[x-z.]{1,1000}$", r"^[a\]\[x-z.-]{1,1000}$"),
            (r"^\x41\$$", r"^A\$$"),
            ("^$", "^$"),
        ] {
            assert_eq!(make_safe(pattern).as_deref(), Some(safe), "{pattern}");
            if pattern != "^$" {
                assert_eq!(make_safe(safe).as_deref(), Some(safe), "{safe}");
            }
        }
    }

    #[test]
    fn other_patterns_are_not_sent() {
        for pattern in [
            "a",
            "^a",
            "a$",
            r"^a\$",
            "^a|b$",
            "^.*$",
            r"^\s$",
            r"^\D$",
            "^[^a]$",
            "^[ -~]$",
            "^[!-a]$",
            "^\"$",
            r"^\\$",
            "^ä$",
            r"^\n$",
            "^(?=a)a$",
            r"^(a)\1$",
            r"^\bword$",
            "^(?<n>a)$",
            "^(?P<n>a)$",
            "(?i)^a$",
            "^(?i:a)$",
            r"\Aa\z",
            "^[[:alpha:]]$",
            r"^\pL$",
            r"^\x{41}$",
            "^[a-z&&[aeiou]]$",
            "^[a[b]]$",
            "^a{1,1001}$",
            "^(a{40}){40}$",
            "^(a",
            "",
        ] {
            assert_eq!(make_safe(pattern), None, "{pattern}");
        }
    }
}
