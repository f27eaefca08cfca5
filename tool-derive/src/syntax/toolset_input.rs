//! The input of `toolset!(state; a, b)`.

use syn::{
    Attribute, Expr, Ident, Path, Token, bracketed,
    ext::IdentExt,
    parse::{Parse, ParseStream},
};

use super::{attribute::find_entry_misuse, grammar::skip_to_comma, serde_attrs::pascal_case};
use crate::diag::{Errors, text};

/// The tokens of `toolset!`: `[$crate] state; tool, …`. `$crate` is the path of the runtime.
pub struct ToolsetInput {
    pub krate: Path,
    pub state: Option<Expr>,
    pub tools: Vec<ToolEntry>,
}

/// One tool in the list.
pub struct ToolEntry {
    /// `cfg`, levels of lints, and doc comments.
    pub attrs: Vec<Attribute>,
    pub path: Path,
}

impl Parse for ToolsetInput {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let content;
        bracketed!(content in input);
        let krate = content.parse()?;
        let fork = input.fork();
        let state = if fork.parse::<Expr>().is_ok() && fork.peek(Token![;]) {
            let state = input.parse()?;
            input.parse::<Token![;]>()?;
            match &state {
                Expr::Assign(wrong) => return Err(syn::Error::new_spanned(&wrong.left, text::TOOLSET_STATE)),
                Expr::Reference(wrong) => return Err(syn::Error::new_spanned(wrong, text::TOOLSET_REFERENCE)),
                _ => Some(state),
            }
        } else {
            None
        };
        let mut errors = Errors::default();
        let mut tools = Vec::new();
        while !input.is_empty() {
            let attrs = input.call(Attribute::parse_outer)?;
            for attr in &attrs {
                if let Some(wrong) = find_entry_misuse(attr) {
                    errors.over(attr, wrong);
                }
            }
            match parse_tool(input) {
                Ok(path) => tools.push(ToolEntry { attrs, path }),
                Err(error) => {
                    errors.push(error);
                    skip_to_comma(input)?;
                }
            }
            let _: Option<Token![,]> = input.parse()?;
        }
        errors.into_result()?;
        Ok(Self { krate, state, tools })
    }
}

/// Parses the path of one tool. Fails for other input, with the likely correction.
fn parse_tool(input: ParseStream<'_>) -> syn::Result<Path> {
    let ends = |input: ParseStream<'_>| input.is_empty() || input.peek(Token![,]);
    let fork = input.fork();
    if fork.parse::<Path>().is_ok() {
        if ends(&fork) {
            let path: Path = input.parse()?;
            return match method_tool_name(&path) {
                None if path.is_ident("self") => Err(syn::Error::new_spanned(path, text::TOOLSET_STATE)),
                Some(tool_type) => Err(syn::Error::new_spanned(path, text::toolset_method(&tool_type))),
                None => Ok(path),
            };
        }
        if fork.peek(Ident::peek_any) || fork.peek(Token![;]) {
            return Err(syn::Error::new(fork.span(), text::TOOLSET));
        }
    }
    match input.fork().parse::<Expr>() {
        Ok(Expr::Lit(literal)) => Err(syn::Error::new_spanned(literal, text::TOOLSET)),
        Ok(other) => Err(syn::Error::new_spanned(other, text::TOOLSET_STATE)),
        Err(_) => Err(syn::Error::new(input.span(), text::TOOLSET)),
    }
}

/// Returns the name of a method's tool, if `path` is the path of a method: `ShopLook` for `Shop::look`.
fn method_tool_name(path: &Path) -> Option<String> {
    let mut words = path.segments.iter().rev().map(|segment| segment.ident.unraw().to_string());
    let (method, owner) = (words.next()?, words.next()?);
    let is_method = owner.starts_with(char::is_uppercase) && method.starts_with(char::is_lowercase);
    is_method.then(|| format!("{owner}{}", pascal_case(&method)))
}
