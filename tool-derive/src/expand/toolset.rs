//! `toolset!(state; a, b)` and `#[tools] impl Type`.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{
    Expr, Ident, ItemImpl, Path, Token, Type,
    ext::IdentExt,
    parse::{Parse, ParseStream},
    punctuated::Punctuated,
    spanned::Spanned as _,
};

use crate::diag::text;

/// The input of `toolset!`.
pub(crate) struct List {
    state: Option<Expr>,
    tools: Vec<Path>,
}

impl Parse for List {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let fork = input.fork();
        let state = if fork.parse::<Expr>().is_ok() && fork.peek(Token![;]) {
            let state = input.parse()?;
            input.parse::<Token![;]>()?;
            Some(state)
        } else {
            None
        };
        let tools = Punctuated::<Path, Token![,]>::parse_terminated(input)
            .map_err(|error| syn::Error::new(error.span(), text::TOOLSET))?;
        Ok(Self { state, tools: tools.into_iter().collect() })
    }
}

/// The set of the listed tools.
pub(crate) fn list(List { state, tools }: &List) -> TokenStream {
    let unique = tools.iter().enumerate().skip(1).map(|(index, tool)| {
        let earlier = &tools[..index];
        let span = tool.span();
        quote_spanned! {span=>
            const _: () = __rt::assert_unique(<#tool as __rt::Tool>::NAME, &[#(<#earlier as __rt::Tool>::NAME),*]);
        }
    });
    let parts = tools.iter().map(|tool| {
        let span = tool.span();
        quote_spanned!(span=> <#tool as __rt::Bind<_>>::part())
    });
    let state = match state {
        Some(state) => quote!(#state),
        None => quote!(()),
    };
    quote! {{
        #[allow(unused_imports)]
        use ::tool_runtime::__private as __rt;
        use __rt::Unshared as _;
        #(#unique)*
        __rt::Toolset::bind(__rt::Shared(#state).share(), &[#(#parts),*])
    }}
}

/// The method that gives the set of an impl's tools.
pub(crate) fn method(item: &ItemImpl, runtime: &TokenStream, markers: &[Ident]) -> TokenStream {
    let (owner, generics) = (&item.self_ty, &item.generics);
    let unique = markers.iter().enumerate().skip(1).map(|(index, tool)| {
        let earlier = &markers[..index];
        quote_spanned! {tool.span()=>
            const _: () = __rt::assert_unique(<#tool as __rt::Tool>::NAME, &[#(<#earlier as __rt::Tool>::NAME),*]);
        }
    });
    quote! {
        impl #generics #owner {
            /// The tools that are declared on this type, bound to this value.
            pub fn toolset(self) -> #runtime::Toolset {
                use #runtime as __rt;
                #(#unique)*
                __rt::Toolset::bind(::std::sync::Arc::new(self), &[#(<#markers as __rt::Bind<#owner>>::part()),*])
            }
        }
    }
}

/// The name of the type that stands for the method `method` of `owner`: `ShopSearchItems` for `Shop::search_items`.
pub(crate) fn marker(owner: &Type, method: &Ident) -> Ident {
    let owner = match owner {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.unraw().to_string()),
        _ => None,
    };
    let method = method.unraw().to_string();
    let pascal: String = method.split('_').filter(|word| !word.is_empty()).map(capital).collect();
    format_ident!("{}{}", owner.unwrap_or_default(), pascal, span = Span::call_site())
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
