//! The expansions for sets of tools, their state and their calls: `toolset!(state; a, b)`, `#[tools] impl Type`,
//! `#[derive(Provide)]` and `#[derive(Calls)]`.

use std::collections::HashSet;

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Ident, ItemImpl, Path, spanned::Spanned as _};

use super::{hidden, runtime};
use crate::model::{CallsDef, MethodTool, ProvideDef};
use crate::print::watch_stmt;
use crate::syntax::{list::List, params::last};

/// Returns the set of the listed tools.
pub fn toolset_block(List { krate, state, tools }: &List) -> TokenStream {
    let runtime = runtime(Some(krate));
    // Each path is written once, in an alias, so that a wrong path is one error. The compiler reports a path that is a function
    // without `#[tool]`, or a local variable, in its own words. With an import, a type of ours could report it. But an import is
    // ambiguous if the tool has the name of a crate or shadows another item.
    let members: Vec<Ident> =
        tools.iter().enumerate().map(|(index, tool)| format_ident!("__T{index}", span = last(tool))).collect();
    let aliases = members.iter().zip(tools).map(|(member, tool)| quote!(type #member = #tool;));
    let names = members.iter().map(|member| quote_spanned!(member.span()=> <#member as __rt::Tool>::NAME));
    // The compiler takes long for each constant, but reports only the first failure in each. So several tools share a constant,
    // except those whose last path segment is a repeated one.
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
    // The input of a tool is the tool. What is no tool has none, so nothing more is reported about it.
    let parts = members
        .iter()
        .map(|member| quote_spanned!(member.span()=> <<#member as __rt::Tool>::Input as __rt::WithState<_>>::BINDING));
    let (state, at) = match state {
        Some(state) => (quote!(#state), state.span()),
        None => (quote!(()), Span::call_site()),
    };
    let bind = quote_spanned!(at=> __Set::bind);
    let (set, watch) = (hidden("set"), watch_stmt());
    quote! {{
        #watch
        #[allow(unused_imports)]
        use #runtime as __rt;
        type __Set = __rt::Toolset;
        #[allow(unused_imports)]
        use __rt::SharedFallback as _;
        #(#aliases)*
        #[allow(unused_qualifications)]
        static __NAMES: [&::core::primitive::str; #count] = [#(#names),*];
        #again
        #unique
        #[allow(unused_qualifications)]
        let #set = #bind(__rt::Shared(#state).share(), &[#(#parts),*]);
        #set
    }}
}

/// Returns the method that returns the set of an impl's tools.
pub fn toolset_method(item: &ItemImpl, krate: Option<&Path>, members: &[MethodTool]) -> TokenStream {
    let runtime = runtime(krate);
    let (owner, (generics, _, bounds)) = (&item.self_ty, item.generics.split_for_impl());
    let name = |MethodTool { marker, cfg }: &MethodTool| quote!(#(#cfg)* <#marker as __rt::Tool>::NAME);
    let unique = members.iter().enumerate().skip(1).map(|(index, member)| {
        let MethodTool { marker, cfg } = member;
        let earlier = members[..index].iter().map(name);
        quote_spanned! {marker.span()=>
            #(#cfg)*
            const _: () = __rt::assert_unique(<#marker as __rt::Tool>::NAME, &[#(#earlier),*]);
        }
    });
    let parts =
        members.iter().map(|MethodTool { marker, cfg }| quote!(#(#cfg)* <#marker as __rt::WithState<#owner>>::BINDING));
    // A generic impl has been refused; it gets the method anyway, so that uses of it are not errors.
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
    let (runtime, ident) = (runtime(krate), &item.ident);
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

/// Returns the implementations for an enum of a toolset's calls: a call is read by its name, and taken apart.
pub fn calls(item: &CallsDef, krate: Option<&syn::Path>) -> TokenStream {
    let (runtime, ident) = (runtime(krate), &item.ident);
    let (mut evidence, mut reads, mut parts) = (TokenStream::new(), TokenStream::new(), TokenStream::new());
    let mut names: Vec<TokenStream> = Vec::new();
    for (index, (name, ty)) in item.variants.iter().enumerate() {
        let Some(ty) = ty else {
            parts.extend(quote!(Self::#name { .. } => ("", ""),));
            continue;
        };
        let (held, span) = (format_ident!("__V{index}"), ty.span());
        let held_call = quote_spanned!(span=> __rt::Held::<#ty>::of());
        evidence.extend(quote!(const #held: __rt::Held<#ty> = #held_call;));
        if !names.is_empty() {
            evidence.extend(quote_spanned!(span=> const _: () = __rt::assert_unique(#held.name, &[#(#names),*]);));
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
            #evidence

            #[automatically_derived]
            impl __rt::Calls for #ident {
                const NAMES: &'static [&'static str] = &[#(#names),*];

                fn read(call: &__rt::ToolCall) -> ::core::result::Result<Self, __rt::CallError> {
                    #reads
                    ::core::result::Result::Err(__rt::not_available(&call.name, Self::NAMES))
                }

                fn parts(&self) -> (&str, &'static str) {
                    match self { #parts }
                }
            }
        };
    }
}
