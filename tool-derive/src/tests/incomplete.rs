//! Tests of unfinished declarations: despite mistakes, the expansion has the item, its body and its type, so that an editor
//! finds them.
//!
//! `scripts/rust-analyzer` gives the same cases to the real editor.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::{entry, print};

const CASES: &str = include_str!("../../../tests/data/editor/cases.rs");

/// An item with `#[tool]` or `#[tools]`, as the compiler passes it to the macro.
struct Declared {
    is_impl: bool,
    args: TokenStream,
    item: TokenStream,
}

/// Returns the declared items of `code`. An item ends with a block or a semicolon.
fn declared_items(code: &str) -> Vec<Declared> {
    let tokens: TokenStream = code.replace("$0", "").parse().expect("brackets match");
    let mut found = Vec::new();
    let mut item: Vec<TokenTree> = Vec::new();
    for token in tokens {
        let ends = match &token {
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            TokenTree::Punct(punct) => punct.as_char() == ';',
            _ => false,
        };
        item.push(token);
        if ends {
            found.extend(parse_declared(std::mem::take(&mut item)));
        }
    }
    found
}

/// Returns the declaration if `item` has `#[tool]` or `#[tools]`.
fn parse_declared(mut item: Vec<TokenTree>) -> Option<Declared> {
    let attribute = |token: &TokenTree| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
            let mut inner = group.stream().into_iter();
            let word = inner.next()?.to_string();
            let args = inner.next().and_then(|args| match args {
                TokenTree::Group(args) => Some(args.stream()),
                _ => None,
            });
            matches!(word.as_str(), "tool" | "tools").then(|| (word == "tools", args.unwrap_or_default()))
        }
        _ => None,
    };
    let index = item.iter().position(|token| attribute(token).is_some())?;
    let (is_impl, args) = attribute(&item[index])?;
    item.drain(index - 1..=index);
    Some(Declared { is_impl, args, item: item.into_iter().collect() })
}

/// Returns the blocks of code: a function's body, or the bodies of an impl's methods.
fn bodies(declared: &Declared) -> Vec<Group> {
    let blocks = |tokens: TokenStream| {
        tokens.into_iter().filter_map(|token| match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group),
            _ => None,
        })
    };
    let mut outer = blocks(declared.item.clone());
    if declared.is_impl { outer.flat_map(|block| blocks(block.stream())).collect() } else { outer.by_ref().collect() }
}

#[test]
fn an_expansion_keeps_the_item_its_body_and_its_type() {
    let mut seen = 0;
    for case in CASES.split("\n//# ").skip(1) {
        let (head, code) = case.split_once('\n').expect("a case has code");
        for declared in declared_items(code) {
            seen += 1;
            let name = print::item_name(&declared.item).expect("an item has a name");
            let bodies = bodies(&declared);
            let Declared { is_impl, args, item } = declared;
            let is_struct = item.to_string().contains("struct ");
            let can_be_read = syn::parse2::<syn::Item>(item.clone()).is_ok();
            let out = if is_impl { entry::toolset_impl(&args, item) } else { entry::tool(&args, item) }.to_string();
            let has = |text: &str| assert!(out.contains(text), "{head}: `{text}` is not in {out}");
            if is_impl {
                has(&format!("impl {name}"));
            } else if is_struct {
                has(&format!("struct {name}"));
            } else {
                has(&format!("fn {name}"));
                // `toolset!` and hooks refer to these. Without a signature, the fields are unknown.
                if can_be_read {
                    has(&format!("struct {name}"));
                    has("Tool for");
                }
            }
            for body in bodies.iter().filter(|_| !is_struct) {
                has(&body.to_string());
            }
        }
    }
    assert!(seen >= 20, "{seen} declarations");
}
