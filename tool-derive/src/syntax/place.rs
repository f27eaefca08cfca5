//! Where an item is written. An attribute on a function is not told whether the function stands in an `impl`.

use std::fs;

use proc_macro2::TokenStream;

/// What a function stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A module or a body.
    Free,
    /// An `impl Type`.
    Impl,
    /// A trait, or the `impl` of one.
    Trait,
}

/// Where `item` lies, as far as its source shows.
///
/// In an `impl` the struct that a tool needs is four errors of the compiler's, none of which says what to do. An item at the
/// start of a line lies in none, so the source of most tools is not looked at.
pub(crate) fn place(item: &TokenStream) -> Place {
    let Some(first) = item.clone().into_iter().next() else { return Place::Free };
    if !proc_macro::is_available() {
        return Place::Free;
    }
    let start = first.span().unwrap().start();
    if start.column() == 1 {
        return Place::Free;
    }
    let source = start.local_file().and_then(|file| fs::read_to_string(file).ok());
    source.map_or(Place::Free, |source| opened_by(&source, start.line(), start.column()))
}

/// What the nearest line above `line` that is indented less than `column` opens; both count from one.
fn opened_by(source: &str, line: usize, column: usize) -> Place {
    let above: Vec<&str> = source.lines().take(line.saturating_sub(1)).collect();
    let opens = above.iter().rev().find(|line| {
        let text = line.trim_start();
        let indent = line.chars().count() - text.chars().count();
        // The last lines of an `impl` whose bounds do not fit in its first.
        !matches!(text.trim_end(), "" | "{" | "where") && indent + 1 < column
    });
    let Some(text) = opens.map(|line| line.trim()).filter(|text| !text.ends_with('}')) else { return Place::Free };
    let text = text.strip_prefix("unsafe ").unwrap_or(text);
    let after = |word: &str| text.strip_prefix(word).filter(|rest| rest.starts_with([' ', '<']) || rest.is_empty());
    let is_trait = text.split_whitespace().take(3).any(|word| word == "trait");
    match after("impl") {
        Some(rest) if format!("{rest} ").contains(" for ") => Place::Trait,
        Some(_) => Place::Impl,
        None if is_trait => Place::Trait,
        None => Place::Free,
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, opened_by};

    /// What the line with `fn` lies in.
    fn found(source: &str) -> Place {
        let line = source.lines().position(|line| line.contains("fn")).expect("a function");
        let text = source.lines().nth(line).expect("its line");
        opened_by(source, line + 1, text.len() - text.trim_start().len() + 1)
    }

    #[test]
    fn functions_of_an_impl_are_found() {
        assert_eq!(Place::Impl, found("impl Shop {\n    fn count() {}\n}\n"));
        assert_eq!(
            Place::Impl,
            found("impl<T> Shop<T>\nwhere\n    T: Clone,\n{\n    const A: u32 = 3;\n\n    fn count() {}\n}\n")
        );
        assert_eq!(Place::Trait, found("mod a {\n    unsafe impl Send for Shop {\n        fn count() {}\n    }\n}\n"));
        assert_eq!(Place::Impl, found("impl Shop {\n\t/// Counts.\n\tfn count() {}\n}\n"));
    }

    #[test]
    fn methods_of_traits_are_found() {
        assert_eq!(Place::Trait, found("impl Look for Shop {\n    fn count() {}\n}\n"));
        assert_eq!(Place::Trait, found("pub(crate) trait Look {\n    fn count() {}\n}\n"));
    }

    #[test]
    fn other_functions_are_not() {
        assert_eq!(Place::Free, found("impl Shop {}\n\nmod tools {\n    fn count() {}\n}\n"));
        assert_eq!(Place::Free, found("impl Shop {\n    const A: u32 = 3;\n}\n    fn count() {}\n"));
        assert_eq!(Place::Free, found("impl Shop {}\n    fn count() {}\n"));
        assert_eq!(Place::Free, found("implement! {\n    fn count() {}\n}\n"));
        assert_eq!(Place::Free, found("    fn count() {}\n"));
        assert_eq!(Place::Free, found("fn count() {}\n"));
    }
}
