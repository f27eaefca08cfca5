//! The expansions. Everything but the tool's type is in `const _`. Each requirement on a user's type is written once, in a
//! constant with the span of that type.

mod context;
mod dynamic;
mod fields;
mod input;
mod options;
mod start;
mod toolset;
mod work;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Path, Type, spanned::Spanned as _};

use crate::diag::text::Advice;
use crate::model::{Body, Input, ToolDef};
pub use context::{Context, input_contexts, tool_contexts};
pub use input::{nested_input, nested_input_stub};
pub use toolset::{calls, provide, toolset_block, toolset_method};

/// Returns the path of the runtime's private module, below `krate`.
fn runtime(krate: Option<&Path>) -> TokenStream {
    match krate {
        Some(krate) => quote!(#krate::__private),
        None => quote!(::tool_runtime::__private),
    }
}

/// Returns an identifier that users can neither see nor shadow. It begins with an underscore, as no constant does: a user's
/// constant would match in a pattern instead of the binding.
fn hidden(name: &str) -> Ident {
    let line = if name.starts_with('_') { "" } else { "_" };
    Ident::new(&format!("{line}{name}"), Span::mixed_site())
}

/// Returns the type of a function's tool, which is also its input: its fields are the parameters. A braced struct has no value of
/// its name, so the function keeps the name.
///
/// It derives nothing: each derive is an impl and a function for the compiler to check.
pub fn marker_struct(tool: &ToolDef) -> TokenStream {
    let (vis, marker) = (&tool.head.vis, &tool.head.ident);
    let doc = format!("The tool `{}`, for `toolset!`. The fields are its parameters.", tool.head.name);
    let fields = tool.fields().iter().filter(|_| tool.head.is_sound).map(|param| {
        let (ident, ty) = (&param.ident, &param.ty);
        quote!(pub #ident: #ty)
    });
    quote! {
        #[doc = #doc]
        #[allow(
            dead_code,
            missing_copy_implementations,
            missing_debug_implementations,
            missing_docs,
            non_camel_case_types,
            private_interfaces,
            unreachable_pub,
        )]
        #vis struct #marker { #(#fields),* }
    }
}

/// Returns all implementations for the tool's type.
pub fn tool_block(tool: &ToolDef) -> TokenStream {
    let runtime = runtime(tool.head.krate.as_ref());
    let (marker, name) = (&tool.head.ident, &tool.head.name);
    let description = tool.head.description.as_ref().map_or_else(|| quote!(""), ToTokens::to_token_stream);
    let ((statics, fields), input, variants) = match &tool.input {
        Input::Params(params) => (fields::fields(params), fields::input_fn(params, |value| value), None),
        Input::Enum(union) => {
            let fields = (TokenStream::new(), quote!(&[]));
            (
                fields,
                input::union_input_fn(tool),
                Some((input::variant_structs(tool, union), input::union_setter(union))),
            )
        }
    };
    let (structs, union_setter) = variants.unzip();
    let (executor, returned) = work::output_evidence(tool);
    let output = work::output_type(tool);
    let (when, touches) = (work::when_static(tool), work::touches_static(tool));
    let (hooks, hooks_setter) = options::hooks(tool).unzip();
    let (options_setter, answer_setter) = (options::options_setter(tool), work::answer_setter(tool));
    let (start, collected) = (start::start_impl(tool), start::collect_item(tool));
    let contexts = tool_contexts(tool);
    let accessors = contexts.iter().map(Context::accessors);
    quote! {
        #[allow(clippy::all, clippy::pedantic, deprecated, private_interfaces, missing_docs, unused_qualifications)]
        const _: () = {
            use #runtime as __rt;
            #statics
            #executor
            #when
            #touches
            #hooks
            static __DEF: __rt::Def = __rt::Def::new(#name, #description, #fields, #returned)
                #union_setter #options_setter #answer_setter #hooks_setter;

            #[automatically_derived]
            impl __rt::Tool for #marker {
                type Input = #marker;
                type Output = #output;
                const NAME: &'static str = #name;

                fn def() -> &'static __rt::Def {
                    &__DEF
                }

                #input
            }

            #structs
            #start
            #collected
            #(#accessors)*
        };
    }
}

/// Returns a stand-in for a tool with errors, so that nothing else in the crate breaks because of them.
pub fn tool_stub(tool: &ToolDef) -> TokenStream {
    let runtime = runtime(tool.head.krate.as_ref());
    let (marker, name) = (&tool.head.ident, &tool.head.name);
    let output = match &tool.body {
        Body::Function(_) if tool.head.is_sound => work::output_type(tool),
        _ => quote!(()),
    };
    let contexts = tool_contexts(tool);
    let accessors = contexts.iter().map(Context::accessors);
    quote! {
        #[allow(clippy::all, clippy::pedantic, private_interfaces, missing_docs)]
        const _: () = {
            use #runtime as __rt;

            impl __rt::Tool for #marker {
                type Input = #marker;
                type Output = #output;
                type Values = ();
                const NAME: &'static str = #name;

                fn def() -> &'static __rt::Def {
                    ::core::unreachable!("this does not compile")
                }

                fn input((): ()) -> #marker {
                    ::core::unreachable!("this does not compile")
                }
            }

            impl<__S: 'static> __rt::WithState<__S> for #marker {
                const BINDING: __rt::Binding<__S> = __rt::Binding {
                    def: <Self as __rt::Tool>::def,
                    start: __rt::Start::Asking(|_, _, _| ::core::unreachable!("this does not compile")),
                };
            }

            #(#accessors)*
        };
    }
}

/// Returns a type as one whose fields are judged. If it is not, the error is at the type, and is worded the same everywhere, so
/// that it is one error.
fn as_input(ty: &Type) -> TokenStream {
    quote_spanned!(ty.span()=> <#ty as __rt::DynamicInput>)
}

/// Returns bounds that nested parameters are inputs, so that the code inside requires nothing more. The unused lifetime `'__n`
/// keeps the compiler from checking them at once.
fn nested_bounds<'m>(nested: impl Iterator<Item = &'m Type>) -> Vec<TokenStream> {
    let bounds = nested.map(|ty| quote_spanned!(ty.span()=> #ty: __rt::DynamicInput));
    bounds.map(|bound| quote!(for<'__n> #bound)).collect()
}

/// Returns the evidence `kind` about a type, as an expression whose errors point at it.
fn evidence(ty: &Type, kind: &str) -> TokenStream {
    let span = ty.span();
    let kind = Ident::new(kind, span);
    quote_spanned!(span=> __rt::#kind::<#ty>)
}

/// Returns a constant that uses a deprecated name at the place of each advice; `None` if there is no advice.
///
/// No model reads about the tools of tests, so a build for tests has no advice.
pub fn advice(found: &[(Span, Advice)]) -> Option<TokenStream> {
    let count = found.len();
    let kinds = Advice::ALL.into_iter().filter(|advice| found.iter().any(|(_, other)| other == advice));
    let declared = kinds.map(|Advice(name, text)| {
        let name = Ident::new(name, Span::call_site());
        quote!(#[deprecated(note = #text)] const #name: () = ();)
    });
    // With a span of our own, the warning would be about this macro, and the compiler hides such warnings.
    let used = found.iter().map(|(span, advice)| Ident::new(advice.0, *span));
    (count > 0).then(|| {
        quote! {
            #[cfg(not(test))]
            #[allow(non_upper_case_globals)]
            const _: [(); #count] = {
                #(#declared)*
                [#(#used),*]
            };
        }
    })
}
