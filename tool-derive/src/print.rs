//! Printing of expansions: a macro prints its formatted expansion if the environment variable `TOOL_EXPAND` names the item.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;

/// The environment variable with the names of the items whose expansions are printed, separated by commas; `*` means all.
const VARIABLE: &str = "TOOL_EXPAND";

/// Returns `expansion` unchanged. Prints it, under `macro_name`, if the variable names `item`.
pub fn show(macro_name: &str, item: Option<String>, expansion: TokenStream) -> TokenStream {
    let (Ok(wanted), Some(item)) = (std::env::var(VARIABLE), item) else { return expansion };
    if is_named(&item, &wanted) {
        // One write, so that messages of other compilers cannot split it.
        eprint!("// {macro_name} on {item}\n\n{}\n", pretty(&expansion));
    }
    expansion
}

/// Returns whether `wanted` names `item`.
fn is_named(item: &str, wanted: &str) -> bool {
    wanted.split(',').map(str::trim).any(|name| name == "*" || name == item)
}

/// Returns the name of an item: the word after `fn`, `struct`, `enum` or `impl`; `None` for other items.
pub fn item_name(item: &TokenStream) -> Option<String> {
    let mut words = item.clone().into_iter().filter_map(|token| match token {
        TokenTree::Ident(word) => Some(word.to_string()),
        _ => None,
    });
    words.find(|word| matches!(word.as_str(), "fn" | "struct" | "enum" | "impl"))?;
    words.next()
}

/// Returns a statement that makes Cargo rebuild when the variable changes: Cargo learns which variables the compiler has read.
///
/// The compiler takes 250,000 instructions for one such statement, so toolsets have it, and tools do not.
pub fn watch_stmt() -> TokenStream {
    quote!(_ = ::core::option_env!(#VARIABLE);)
}

/// Returns the code as rustfmt formats it, with the style of the compiler's working directory. If rustfmt is missing or fails,
/// returns the code unformatted.
pub fn pretty(code: &TokenStream) -> String {
    let code = code.to_string();
    format_code(&code).map_or(code, |code| add_spacing(&code))
}

/// Returns `code` with doc comments in their usual form, and an empty line after each item.
fn add_spacing(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    for line in code.lines() {
        let (indent, text) = line.split_at(line.len() - line.trim_start().len());
        let doc = text.strip_prefix("#[doc = ").and_then(|rest| rest.strip_suffix("\"]"));
        match doc.map(|doc| doc.trim_start_matches('r').trim_start_matches(['"', ' '])) {
            Some(doc) if !doc.contains('\\') => out.extend([indent, "/// ", doc]),
            _ => out.push_str(line),
        }
        out.push_str(if matches!(line, "}" | "};") { "\n\n" } else { "\n" });
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// Runs rustfmt on `code`. Returns `None` if rustfmt is missing, fails or prints nothing.
fn format_code(code: &str) -> Option<String> {
    let mut rustfmt = Command::new("rustfmt");
    rustfmt.args(["--edition", "2024", "--emit", "stdout"]);
    let mut child = rustfmt.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    child.stdin.take()?.write_all(code.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    (output.status.success() && !output.stdout.is_empty()).then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::{is_named, item_name, pretty, quote};

    #[test]
    fn items_are_found_by_name() {
        let items = [
            ("#[doc = \"struct Other\"] pub(crate) async fn look(id: u32) {}", Some("look")),
            ("impl Shop { fn count(&self) {} }", Some("Shop")),
            ("pub enum Lookup { Last }", Some("Lookup")),
            ("trait Tool {}", None),
        ];
        for (item, expected) in items {
            assert_eq!(item_name(&item.parse().expect("tokens")).as_deref(), expected, "{item}");
        }
        assert!(is_named("look", "count, look") && is_named("look", "*"));
        assert!(!is_named("look", "") && !is_named("look", "looks"));
    }

    #[test]
    fn docs_are_comments_and_empty_lines_separate_items() {
        let code = quote! { #[doc = " One."] struct One {} #[doc = " a \"b\""] struct Two {} };
        assert_eq!(pretty(&code), "/// One.\nstruct One {}\n#[doc = \" a \\\"b\\\"\"]\nstruct Two {}\n");
        let code = quote! { fn one() { two(); } fn two() {} };
        assert_eq!(pretty(&code), "fn one() {\n    two();\n}\n\nfn two() {}\n");
    }
}
