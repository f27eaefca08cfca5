//! Collects the errors for the user, so that one compilation shows them all.

pub mod text;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// The errors found so far. Each stage adds errors and continues.
///
/// Panics when it is dropped with errors that were neither returned nor discarded.
#[derive(Default)]
pub struct Errors {
    found: Option<syn::Error>,
    count: usize,
}

impl Errors {
    /// Adds an error at `span`.
    pub fn at(&mut self, span: Span, message: impl AsRef<str>) {
        self.push(syn::Error::new(span, message.as_ref()));
    }

    /// Adds an error over all of `tokens`.
    pub fn over(&mut self, tokens: impl ToTokens, message: impl AsRef<str>) {
        self.push(syn::Error::new_spanned(tokens.into_token_stream(), message.as_ref()));
    }

    /// Adds an error of syn.
    pub fn push(&mut self, error: syn::Error) {
        self.count += 1;
        match &mut self.found {
            Some(found) => found.combine(error),
            None => self.found = Some(error),
        }
    }

    /// Runs `stage`. Returns its value, and whether it added no error.
    pub fn watch<T>(&mut self, stage: impl FnOnce(&mut Self) -> T) -> (T, bool) {
        let before = self.count;
        let value = stage(self);
        (value, self.count == before)
    }

    /// Fails with all errors, as one error of syn.
    pub fn into_result(mut self) -> syn::Result<()> {
        self.found.take().map_or(Ok(()), Err)
    }

    /// Returns all errors as `compile_error!`s.
    pub fn finish(self) -> TokenStream {
        self.into_result().map_or_else(syn::Error::into_compile_error, |()| TokenStream::new())
    }

    /// Drops the errors, because another expansion reports the same ones.
    pub fn discard(mut self) {
        self.found = None;
    }
}

impl Drop for Errors {
    fn drop(&mut self) {
        assert!(self.found.is_none() || std::thread::panicking(), "errors were found and not reported");
    }
}

/// Returns the word of `known` nearest to `word`. At most a third of the bytes of that word may differ, or one byte of a short word.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let near = |candidate: &&'a str| {
        let edits = edit_distance(word.as_bytes(), candidate.as_bytes());
        (edits <= 1.max(candidate.len() / 3) && edits < candidate.len()).then_some((edits, *candidate))
    };
    known.iter().filter_map(near).min_by_key(|(edits, _)| *edits).map(|(_, candidate)| candidate)
}

/// Returns the edit distance of two words in bytes; swapping neighbours counts as one edit.
fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let change = rows[i][j] + usize::from(x != y);
            let mut least = change.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}
