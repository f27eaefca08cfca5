//! Texts that match a pattern.

use regex_syntax::hir::{Class, Hir, HirKind};

use crate::schema::pattern::translate_text;

/// The number of repetitions beyond the least one.
const MORE: u32 = 3;

/// Returns a text that probably matches `pattern`. `roll` returns a random number below its argument. Returns `None` for a pattern
/// that the crate `regex` cannot read. Boundaries of words and looks ahead are ignored.
pub fn pattern_text(pattern: &str, mut roll: impl FnMut(usize) -> usize) -> Option<String> {
    let hir = regex_syntax::parse(&translate_text(pattern)?).ok()?;
    let mut text = String::new();
    write(&hir, &mut roll, &mut text);
    Some(text)
}

fn write(hir: &Hir, roll: &mut dyn FnMut(usize) -> usize, text: &mut String) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(Class::Unicode(class)) => {
            let ranges = class.ranges();
            // The first characters of a range are the usual ones: a digit, or a letter.
            text.extend(ranges.get(roll(ranges.len())).map(|range| {
                let width = (range.end() as u32 - range.start() as u32).min(9);
                let step = u32::try_from(roll(width as usize + 1)).unwrap_or(0);
                char::from_u32(range.start() as u32 + step).unwrap_or(range.start())
            }));
        }
        HirKind::Class(Class::Bytes(class)) => text.extend(class.ranges().first().map(|range| range.start() as char)),
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(u32::MAX).min(repetition.min.saturating_add(MORE));
            let more = u32::try_from(roll((most - repetition.min) as usize + 1)).unwrap_or(0);
            // A larger text would be no example.
            for _ in 0..(repetition.min + more).min(1_000) {
                write(&repetition.sub, roll, text);
            }
        }
        HirKind::Capture(capture) => write(&capture.sub, roll, text),
        HirKind::Concat(parts) => parts.iter().for_each(|part| write(part, roll, text)),
        HirKind::Alternation(parts) => write(&parts[roll(parts.len())], roll, text),
    }
}
