//! The expansions for sets of tools, their state and their calls: `toolset!(state; a, b)`, `#[tools] impl Type`,
//! `#[derive(Provide)]` and `#[derive(Calls)]`.

use std::collections::HashSet;

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Ident, ItemImpl, Path, spanned::Spanned as _};

use super::tokens::{hidden_ident, runtime_path};
use crate::declaration::{CallsDef, MethodTool, ProvideDef};
use crate::print::watch_stmt;
use crate::syntax::{
    cfg::{cfg_cases, entry_predicate},
    params::last_word_span,
    toolset_input::{ToolEntry, ToolsetInput},
};

/// Returns the expansion of `toolset!`: a block whose value is the toolset of the listed tools.
pub fn toolset_block(ToolsetInput { krate, state, tools }: &ToolsetInput) -> TokenStream {
    let runtime = runtime_path(Some(krate));
    // An alias writes each path once, so a wrong path is one error, in the compiler's words. An import would allow a message of
    // ours. But an import is ambiguous if the tool has a crate's name or shadows an item.
    let aliases: Vec<Ident> = tools
        .iter()
        .enumerate()
        .map(|(index, tool)| format_ident!("__T{index}", span = last_word_span(&tool.path)))
        .collect();
    let alias_items =
        aliases.iter().zip(tools).map(|(alias, ToolEntry { attrs, path })| quote!(#(#attrs)* type #alias = #path;));
    // A tool that the build leaves out keeps its place, with an empty name.
    let cases: Vec<_> =
        tools.iter().map(|tool| entry_predicate(&tool.attrs).map(|predicate| cfg_cases(&predicate))).collect();
    let kept: Vec<_> = cases.iter().map(|cases| cases.as_ref().map(|[kept, _]| kept)).collect();
    let names = aliases.iter().zip(&cases).map(|(alias, cases)| {
        let name = quote_spanned!(alias.span()=> <#alias as __rt::Tool>::NAME);
        match cases {
            Some([kept, left_out]) => quote!(#kept #name, #left_out ""),
            None => name,
        }
    });
    // Each constant costs compile time, so up to 16 tools share one. But the compiler reports only a constant's first failure.
    // So a tool whose last path segment occurred before has a constant of its own.
    let last_word = |index: usize| tools[index].path.segments.last().map(|last| &last.ident);
    let mut seen = HashSet::new();
    let (first_uses, repeated): (Vec<_>, Vec<_>) = (0..aliases.len()).partition(|&index| seen.insert(last_word(index)));
    let unique = first_uses.chunks(16).chain(repeated.chunks(1)).map(|some| {
        let asserts = some.iter().map(|&index| {
            let (kept, assert) = (kept[index], quote_spanned!(aliases[index].span()=> __first(#index);));
            quote!(#kept #assert)
        });
        quote!(const _: () = { #(#asserts)* };)
    });
    let unique = (aliases.len() > 1).then(|| quote!(#(#unique)*));
    let count = aliases.len();
    let first_check = (count > 1).then(|| {
        quote! {
            static __AGAIN: [::core::primitive::bool; #count] = __rt::find_repeats(&__NAMES);
            #[track_caller]
            const fn __first(index: ::core::primitive::usize) {
                __rt::assert_first(&__NAMES, &__AGAIN, index);
            }
        }
    });
    // A tool's type is its own `Input`. A type that is not a tool has no `Input`, so the compiler reports only `NAME` above.
    let parts = aliases.iter().zip(&kept).map(|(alias, kept)| {
        let part = quote_spanned!(alias.span()=> <<#alias as __rt::Tool>::Input as __rt::WithState<_>>::BINDING);
        quote!(#kept #part)
    });
    let (state, state_span) = match state {
        Some(state) => (quote!(#state), state.span()),
        None => (quote!(()), Span::call_site()),
    };
    let bind = quote_spanned!(state_span=> __Set::bind);
    let (set, watch) = (hidden_ident("set"), watch_stmt());
    quote! {{
        #watch
        #[allow(unused_imports)]
        use #runtime as __rt;
        type __Set = __rt::Toolset;
        #[allow(unused_imports)]
        use __rt::SharedFallback as _;
        #(#alias_items)*
        #[allow(unused_qualifications)]
        static __NAMES: [&::core::primitive::str; #count] = [#(#names),*];
        #first_check
        #unique
        #[allow(unused_qualifications)]
        let #set = #bind(__rt::Shared(#state).share(), &[#(#parts),*]);
        #set
    }}
}

/// Returns the method `toolset`, which returns the toolset of an impl's tools.
pub fn toolset_method(item: &ItemImpl, krate: Option<&Path>, method_tools: &[MethodTool]) -> TokenStream {
    let runtime = runtime_path(krate);
    let (owner, (generics, _, bounds)) = (&item.self_ty, item.generics.split_for_impl());
    let name_expr = |MethodTool { tool_type, cfg }: &MethodTool| quote!(#(#cfg)* <#tool_type as __rt::Tool>::NAME);
    let unique = method_tools.iter().enumerate().skip(1).map(|(index, method_tool)| {
        let MethodTool { tool_type, cfg } = method_tool;
        let earlier = method_tools[..index].iter().map(name_expr);
        quote_spanned! {tool_type.span()=>
            #(#cfg)*
            const _: () = __rt::assert_unique(<#tool_type as __rt::Tool>::NAME, &[#(#earlier),*]);
        }
    });
    let parts = method_tools
        .iter()
        .map(|MethodTool { tool_type, cfg }| quote!(#(#cfg)* <#tool_type as __rt::WithState<#owner>>::BINDING));
    // The caller has already reported a generic impl. It still gets the method, so that calls of the method cause no further
    // errors.
    let body = if item.generics.params.is_empty() {
        let bind = quote_spanned!(owner.span()=> __rt::Toolset::bind);
        quote!(#bind(::std::sync::Arc::new(self), &[#(#parts),*]))
    } else {
        quote!(::core::unimplemented!())
    };
    let watch = watch_stmt();
    quote! {
        impl #generics #owner #bounds {
            /// The tools that are declared on this type, bound to this value.
            #[allow(unused_qualifications)]
            pub fn toolset(self) -> #runtime::Toolset {
                #watch
                #[allow(unused_imports)]
                use #runtime as __rt;
                #(#unique)*
                #body
            }
        }
    }
}

/// Returns `impl Provide<Field>` for each field of a struct; `krate` is the path of the runtime.
pub fn provide(item: &ProvideDef, krate: Option<&syn::Path>) -> TokenStream {
    let (runtime, ident) = (runtime_path(krate), &item.ident);
    let (generics, args, bounds) = item.generics.split_for_impl();
    let impls = item.fields.iter().map(|(member, ty)| {
        quote_spanned! {ty.span()=>
            #[automatically_derived]
            impl #generics #runtime::Provide<#ty> for #ident #args #bounds {
                fn provide(&self) -> &#ty {
                    &self.#member
                }
            }
        }
    });
    impls.collect()
}

/// Returns `impl Calls` for an enum: `read` selects the variant by the tool's name, and `parts` returns id and tool name.
pub fn calls(item: &CallsDef, krate: Option<&syn::Path>) -> TokenStream {
    let (runtime, ident) = (runtime_path(krate), &item.ident);
    let (mut witnesses, mut reads, mut parts) = (TokenStream::new(), TokenStream::new(), TokenStream::new());
    let mut names: Vec<TokenStream> = Vec::new();
    for (index, (name, ty)) in item.variants.iter().enumerate() {
        let Some(ty) = ty else {
            parts.extend(quote!(Self::#name { .. } => ("", ""),));
            continue;
        };
        let (held, span) = (format_ident!("__V{index}"), ty.span());
        let held_call = quote_spanned!(span=> __rt::VariantCall::<#ty>::of());
        witnesses.extend(quote!(const #held: __rt::VariantCall<#ty> = #held_call;));
        if !names.is_empty() {
            witnesses.extend(quote_spanned!(span=> const _: () = __rt::assert_unique(#held.name, &[#(#names),*]);));
        }
        reads.extend(quote! {
            if call.name == #held.name {
                return (#held.read)(call).map(Self::#name);
            }
        });
        parts.extend(quote!(Self::#name(call) => (#held.parts)(call),));
        names.push(quote!(#held.name));
    }
    quote! {
        #[allow(clippy::all, clippy::pedantic)]
        const _: () = {
            use #runtime as __rt;
            #witnesses

            #[automatically_derived]
            impl __rt::Calls for #ident {
                const NAMES: &'static [&'static ::core::primitive::str] = &[#(#names),*];

                fn read(call: &__rt::ToolCall) -> ::core::result::Result<Self, __rt::CallError> {
                    #reads
                    ::core::result::Result::Err(__rt::not_available(&call.name, Self::NAMES))
                }

                fn parts(&self) -> (&::core::primitive::str, &'static ::core::primitive::str) {
                    match self { #parts }
                }
            }
        };
    }
}
