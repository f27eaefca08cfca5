//! Snapshots of expansions, which are files beside their inputs in `tests/expansions`.
//! `BLESS=1 cargo test -p tool-derive snapshots` rewrites them.

use std::{fs, path::Path};

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::{Attribute, Item, Meta};

use crate::{entry, print};

/// Expands the macros on `item` as the compiler does: the output of an attribute replaces the item, and the output of a derive
/// follows the item.
fn expand_item(mut item: Item) -> TokenStream {
    let attrs = match &mut item {
        Item::Fn(item) => &mut item.attrs,
        Item::Struct(item) => &mut item.attrs,
        Item::Enum(item) => &mut item.attrs,
        Item::Impl(item) => &mut item.attrs,
        _ => return item.into_token_stream(),
    };
    let position = |attrs: &[Attribute], name| attrs.iter().position(|attr| attr.path().is_ident(name));
    let args = |attr: Attribute| match attr.meta {
        Meta::List(list) => list.tokens,
        _ => TokenStream::new(),
    };
    if let Some(at) = position(attrs, "tool") {
        let args = args(attrs.remove(at));
        return entry::tool(&args, item.into_token_stream());
    }
    if let Some(at) = position(attrs, "tools") {
        let args = args(attrs.remove(at));
        return entry::toolset_impl(&args, item.into_token_stream());
    }
    let Some(at) = position(attrs, "derive") else { return item.into_token_stream() };
    let derives = args(attrs.remove(at)).to_string();
    let item = item.into_token_stream();
    let derived = match derives.as_str() {
        "Provide" => entry::provide(item.clone()),
        "DynamicInput" => entry::dynamic_input(item.clone()),
        other => panic!("`{other}` has no snapshot"),
    };
    quote!(#item #derived)
}

/// Expands the macros in a file.
fn expand_file(source: &str) -> String {
    let file = syn::parse_file(source).expect("an input is Rust");
    let items = file.items.into_iter().map(expand_item);
    let text = print::pretty(&items.collect());
    // In a build of the whole workspace, the feature `collect` is on. Its lines are not part of a snapshot.
    text.lines().filter(|line| !line.trim_start().starts_with("__rt::collect!")).flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn expansions_match_their_snapshots() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = fs::read_to_string(root.join("../docs/expansion.md")).expect("the guide shows expansions");
    let bless = std::env::var_os("BLESS").is_some();
    let mut seen = 0;
    for entry in fs::read_dir(root.join("tests/expansions")).expect("there are snapshots") {
        let path = entry.expect("a file").path();
        let is_output = path.to_string_lossy().ends_with(".expanded.rs");
        if is_output {
            continue;
        }
        seen += 1;
        let source = fs::read_to_string(&path).expect("an input is readable");
        let (now, kept) = (expand_file(&source), path.with_extension("expanded.rs"));
        if bless {
            fs::write(&kept, &now).expect("a snapshot can be written");
        }
        let before = fs::read_to_string(&kept).unwrap_or_default();
        assert!(now == before, "{} is not what the macro writes now; `BLESS=1` writes it anew:\n{now}", kept.display());
        let is_shown = guide.contains(source.trim_end());
        assert!(!is_shown || guide.contains(now.trim_end()), "docs/expansion.md shows {} as it was", kept.display());
    }
    assert!(seen >= 4, "{seen} snapshots");
}
