//! Where an item is written. An attribute on a function is not told whether the function stands in an `impl`.

use std::fs;

use proc_macro2::TokenStream;

/// Whether `item` lies in an `impl`, as far as its source shows.
///
/// In an `impl` the struct that a tool needs is four errors of the compiler's, none of which says what to do. An item at the
/// start of a line lies in none, so the source of most tools is not looked at.
pub(crate) fn is_in_impl(item: &TokenStream) -> bool {
    let Some(first) = item.clone().into_iter().next() else { return false };
    if !proc_macro::is_available() {
        return false;
    }
    let start = first.span().unwrap().start();
    if start.column() == 1 {
        return false;
    }
    let source = start.local_file().and_then(|file| fs::read_to_string(file).ok());
    source.is_some_and(|source| opened_by_impl(&source, start.line(), start.column()))
}

/// Whether the nearest line above `line` that is indented less than `column` opens an `impl`; both count from one.
fn opened_by_impl(source: &str, line: usize, column: usize) -> bool {
    let above: Vec<&str> = source.lines().take(line.saturating_sub(1)).collect();
    let opens = above.iter().rev().find(|line| {
        let text = line.trim_start();
        let indent = line.chars().count() - text.chars().count();
        // The last lines of an `impl` whose bounds do not fit in its first.
        !matches!(text.trim_end(), "" | "{" | "where") && indent + 1 < column
    });
    opens.is_some_and(|line| {
        let text = line.trim();
        let text = text.strip_prefix("unsafe ").unwrap_or(text);
        let rest = text.strip_prefix("impl");
        rest.is_some_and(|rest| rest.starts_with([' ', '<']) || rest.is_empty()) && !text.ends_with('}')
    })
}

#[cfg(test)]
mod tests {
    use super::opened_by_impl;

    /// Whether the line with `fn` lies in an `impl`.
    fn found(source: &str) -> bool {
        let line = source.lines().position(|line| line.contains("fn")).expect("a function");
        let text = source.lines().nth(line).expect("its line");
        opened_by_impl(source, line + 1, text.len() - text.trim_start().len() + 1)
    }

    #[test]
    fn functions_of_an_impl_are_found() {
        assert!(found("impl Shop {\n    fn count() {}\n}\n"));
        assert!(found("impl<T> Shop<T>\nwhere\n    T: Clone,\n{\n    const A: u32 = 3;\n\n    fn count() {}\n}\n"));
        assert!(found("mod a {\n    unsafe impl Send for Shop {\n        fn count() {}\n    }\n}\n"));
        assert!(found("impl Shop {\n\t/// Counts.\n\tfn count() {}\n}\n"));
    }

    #[test]
    fn other_functions_are_not() {
        assert!(!found("impl Shop {}\n\nmod tools {\n    fn count() {}\n}\n"));
        assert!(!found("impl Shop {\n    const A: u32 = 3;\n}\n    fn count() {}\n"));
        assert!(!found("impl Shop {}\n    fn count() {}\n"));
        assert!(!found("implement! {\n    fn count() {}\n}\n"));
        assert!(!found("    fn count() {}\n"));
        assert!(!found("fn count() {}\n"));
    }
}
