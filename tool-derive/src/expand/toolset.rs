//! `toolset!(state; a, b)` and `#[tools] impl Type`.

use std::collections::HashSet;

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{
    Attribute, Expr, Ident, ItemImpl, Path, Token, Type, bracketed,
    ext::IdentExt,
    parse::{Parse, ParseStream},
    spanned::Spanned as _,
};

use super::hidden;
use crate::{
    diag::{Errors, text},
    model::{pascal, runtime},
    syntax::{dynamic::last, grammar::skip, item::ToolFn},
};

/// The input of `toolset!`, after the crate that the macro was found in: `[$crate] state; tool, …`.
pub(crate) struct List {
    krate: Path,
    state: Option<Expr>,
    tools: Vec<Path>,
}

impl Parse for List {
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
            match member(input) {
                Ok(tool) => tools.push(tool),
                Err(error) => {
                    errors.push(error);
                    skip(input)?;
                }
            }
            let _: Option<Token![,]> = input.parse()?;
        }
        errors.into_result()?;
        Ok(Self { krate, state, tools })
    }
}

/// One tool; what stands in its place says what was meant.
fn member(input: ParseStream<'_>) -> syn::Result<Path> {
    let ends = |input: ParseStream<'_>| input.is_empty() || input.peek(Token![,]);
    let fork = input.fork();
    if fork.parse::<Path>().is_ok() {
        if ends(&fork) {
            let path: Path = input.parse()?;
            return match as_method(&path) {
                Some(marker) => Err(syn::Error::new_spanned(path, text::toolset_method(&marker))),
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

/// What the tool of a method is called, where `path` is written like that of one: `ShopLook` for `Shop::look`.
fn as_method(path: &Path) -> Option<String> {
    let mut words = path.segments.iter().rev().map(|segment| segment.ident.unraw().to_string());
    let (method, owner) = (words.next()?, words.next()?);
    let is_method = owner.starts_with(char::is_uppercase) && method.starts_with(char::is_lowercase);
    is_method.then(|| format!("{owner}{}", pascal(&method)))
}

/// The set of the listed tools.
pub(crate) fn list(List { krate, state, tools }: &List) -> TokenStream {
    let runtime = runtime(Some(krate));
    // Each path is written once, in an alias, so that one which leads nowhere is one error.
    let members: Vec<Ident> =
        tools.iter().enumerate().map(|(index, tool)| format_ident!("__T{index}", span = last(tool))).collect();
    let aliases = members.iter().zip(tools).map(|(member, tool)| quote!(type #member = #tool;));
    let names = members.iter().map(|member| quote_spanned!(member.span()=> __rt::Name::<#member>::NAME));
    // The compiler takes long over each constant, but says of each only the first thing that failed: one for some tools
    // together, but one for each that is called like an earlier one here.
    let called = |index: usize| tools[index].segments.last().map(|last| &last.ident);
    let mut seen = HashSet::new();
    let (fresh, again): (Vec<_>, Vec<_>) = (0..members.len()).partition(|&index| seen.insert(called(index)));
    let unique = fresh.chunks(16).chain(again.chunks(1)).map(|some| {
        let asserts = some.iter().map(|&index| quote_spanned!(members[index].span()=> __first(#index);));
        quote!(const _: () = { #(#asserts)* };)
    });
    let unique = (members.len() > 1).then(|| quote!(#(#unique)*));
    let count = members.len();
    let again = (count > 1).then(|| {
        quote! {
            static __AGAIN: [::core::primitive::bool; #count] = __rt::again(&__NAMES);
            #[track_caller]
            const fn __first(index: ::core::primitive::usize) {
                __rt::assert_first(&__NAMES, &__AGAIN, index);
            }
        }
    });
    let parts = members.iter().map(|member| quote_spanned!(member.span()=> <#member as __rt::Bind<_>>::PART));
    let (state, at) = match state {
        Some(state) => (quote!(#state), state.span()),
        None => (quote!(()), Span::call_site()),
    };
    let bind = quote_spanned!(at=> __Set::bind);
    let set = hidden("set");
    quote! {{
        #[allow(unused_imports)]
        use #runtime as __rt;
        type __Set = __rt::Toolset;
        #[allow(unused_imports)]
        use __rt::{NoName as _, Unshared as _};
        #(#aliases)*
        static __NAMES: [&::core::primitive::str; #count] = [#(#names),*];
        #again
        #unique
        #[allow(unused_qualifications)]
        let #set = #bind(__rt::Shared(#state).share(), &[#(#parts),*]);
        #set
    }}
}

/// A method of an impl that is a tool.
pub(crate) struct Member {
    /// The type that stands for it: `ShopSearchItems` for `Shop::search_items`.
    pub(crate) marker: Ident,
    /// When it is there at all.
    pub(crate) cfg: Vec<Attribute>,
}

impl Member {
    /// The method `function` of `owner`.
    pub(crate) fn of(owner: &Type, function: &ToolFn) -> Self {
        let owner = match owner {
            Type::Path(path) => path.path.segments.last().map(|last| last.ident.unraw().to_string()),
            _ => None,
        };
        let method = &function.sig.ident;
        let pascal = pascal(&method.unraw().to_string());
        let marker = format_ident!("{}{}", owner.unwrap_or_default(), pascal, span = method.span());
        let cfg = function.attrs.iter().filter(|attr| attr.path().is_ident("cfg")).cloned().collect();
        Self { marker, cfg }
    }
}

/// The method that gives the set of an impl's tools.
pub(crate) fn method(item: &ItemImpl, runtime: &TokenStream, members: &[Member]) -> TokenStream {
    let (owner, (generics, _, bounds)) = (&item.self_ty, item.generics.split_for_impl());
    let name = |Member { marker, cfg }: &Member| quote!(#(#cfg)* <#marker as __rt::Tool>::NAME);
    let unique = members.iter().enumerate().skip(1).map(|(index, member)| {
        let Member { marker, cfg } = member;
        let earlier = members[..index].iter().map(name);
        quote_spanned! {marker.span()=>
            #(#cfg)*
            const _: () = __rt::assert_unique(<#marker as __rt::Tool>::NAME, &[#(#earlier),*]);
        }
    });
    let parts = members.iter().map(|Member { marker, cfg }| quote!(#(#cfg)* <#marker as __rt::Bind<#owner>>::PART));
    // A generic impl has been refused; its method is there so that nothing else misses it.
    let body = if item.generics.params.is_empty() {
        let bind = quote_spanned!(owner.span()=> __rt::Toolset::bind);
        quote!(#bind(::std::sync::Arc::new(self), &[#(#parts),*]))
    } else {
        quote!(::core::unimplemented!())
    };
    quote! {
        impl #generics #owner #bounds {
            /// The tools that are declared on this type, bound to this value.
            #[allow(unused_qualifications)]
            pub fn toolset(self) -> #runtime::Toolset {
                #[allow(unused_imports)]
                use #runtime as __rt;
                #(#unique)*
                #body
            }
        }
    }
}
