//! What a declaration becomes. Everything but the tool's type lives in `const _`, and each demand on a user's type is
//! made once, in a constant spanned at that type.

mod advice;
mod context;
mod dynamic;
pub(crate) mod fields;
mod hooks;
pub(crate) mod input;
pub(crate) mod options;
pub(crate) mod provide;
mod start;
pub(crate) mod toolset;
mod union;
mod usual;
pub(crate) mod work;

pub(crate) use advice::advice;
pub(crate) use context::contexts;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;

use crate::{
    model::{Body, Tool},
    show,
};

/// An identifier that users can neither see nor shadow: a constant of theirs would stand where a pattern binds it, so it begins
/// with a line as no constant does.
pub(crate) fn hidden(name: &str) -> Ident {
    let line = if name.starts_with('_') { "" } else { "_" };
    Ident::new(&format!("{line}{name}"), Span::mixed_site())
}

/// The type that stands for a function's tool, and for its input: its fields are the parameters. A braced struct has no
/// value of its name, so the function keeps it.
///
/// It derives nothing: each derive is an impl and a function for the compiler to check.
pub(crate) fn marker(tool: &Tool) -> TokenStream {
    let Tool { vis, marker, .. } = tool;
    let doc = format!("The tool `{}`, for `toolset!`. The fields are its parameters.", tool.name);
    let fields = tool.args().filter(|_| tool.sound).map(|arg| {
        let (ident, ty) = (&arg.ident, &arg.ty);
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

/// All that hangs on the tool's type.
pub(crate) fn tool(tool: &Tool) -> TokenStream {
    let runtime = tool.runtime();
    let Tool { marker, name, .. } = tool;
    let (statics, fields) = fields::fields(tool);
    let (executor, returned) = work::output(tool);
    let (structs, declared) = (union::structs(tool), union::declared(tool));
    let input = if tool.union.is_some() { union::values(tool) } else { fields::input(tool, |value| value) };
    let output = work::output_type(tool);
    let (when, touches) = (work::when(tool), work::touches(tool));
    let work = start::work(tool);
    let collected = start::collected(tool);
    let accessors = context::accessors(tool);
    let description = match &tool.description {
        Some(doc) => quote!(#doc),
        None => quote!(""),
    };
    let options = options::expand(tool);
    let answer = work::answer(tool);
    let (hooks, hooked) = hooks::hooks(tool);
    let watched = show::watched();
    quote! {
        #[allow(clippy::all, clippy::pedantic, deprecated, private_interfaces, missing_docs, unused_qualifications)]
        const _: () = {
            use #runtime as __rt;
            #watched
            #statics
            #executor
            #when
            #touches
            #hooks
            static __DEF: __rt::Def = __rt::Def::new(#name, #description, #fields, #returned) #declared #options #answer #hooked;

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
            #work
            #collected
            #accessors
        };
    }
}

/// What stands in for the tool when it has errors, so that nothing else in the crate breaks because of it.
pub(crate) fn stub(tool: &Tool) -> TokenStream {
    let runtime = tool.runtime();
    let marker = &tool.marker;
    let name = &tool.name;
    let output = match &tool.body {
        Body::Fn(_) if tool.sound => work::output_type(tool),
        _ => quote!(()),
    };
    let accessors = context::accessors(tool);
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

            impl<__S: 'static> __rt::Bind<__S> for #marker {
                const PART: __rt::Part<__S> = __rt::Part {
                    def: <Self as __rt::Tool>::def,
                    start: __rt::Start::Asking(|_, _, _| ::core::unreachable!("this does not compile")),
                };
            }

            #accessors
        };
    }
}

/// A type as one whose fields are judged. That it is not is said at the type, in the same words by all that ask, so it is one
/// error.
pub(crate) fn as_input(ty: &syn::Type) -> TokenStream {
    quote_spanned!(ty.span()=> <#ty as __rt::DynamicInput>)
}

/// That the nested parameters are inputs, as bounds of an impl or a function: what is inside then asks for nothing more. That they
/// hold for any lifetime, which none of them has, keeps the compiler from asking at once.
pub(crate) fn nested(tool: &Tool) -> Vec<TokenStream> {
    let bound = |ty: &syn::Type| quote_spanned!(ty.span()=> #ty: __rt::DynamicInput);
    tool.nested().map(bound).map(|bound| quote!(for<'__n> #bound)).collect()
}

/// `tokens` as an expression whose errors point at `ty`.
pub(crate) fn evidence(ty: &syn::Type, kind: &str) -> TokenStream {
    let span = ty.span();
    let kind = Ident::new(kind, span);
    quote_spanned!(span=> __rt::#kind::<#ty>)
}
