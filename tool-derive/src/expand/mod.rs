//! What a declaration becomes. Everything but the tool's type lives in `const _`, and each demand on a user's type is
//! made once, in a constant spanned at that type.

pub(crate) mod fields;
pub(crate) mod options;
pub(crate) mod provide;
pub(crate) mod toolset;
pub(crate) mod work;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;

use crate::model::{Body, Tool};

/// An identifier that users can neither see nor shadow.
pub(crate) fn hidden(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// The type that stands for a function's tool. A braced struct has no value of its name, so the function keeps it.
///
/// It derives nothing: nobody makes a value of it, and each derive is an impl and a function for the compiler to check.
pub(crate) fn marker(tool: &Tool) -> TokenStream {
    let Tool { vis, marker, .. } = tool;
    let doc = format!("The tool `{}`, for `toolset!`.", tool.name);
    quote! {
        #[doc = #doc]
        #[allow(non_camel_case_types, missing_copy_implementations, missing_debug_implementations)]
        #vis struct #marker {}
    }
}

/// All that hangs on the tool's type.
pub(crate) fn tool(tool: &Tool) -> TokenStream {
    let runtime = tool.runtime();
    let marker = &tool.marker;
    let (input, input_type) = input(tool);
    let places = fields::Places::of(tool);
    let evidence = fields::statics(tool, &places, work::output(tool));
    let decode = fields::decode(tool, &places, &input_type);
    let output = work::output_type(tool);
    let when = work::when(tool, &input_type);
    let work = work::work(tool, &places, &input_type);
    let start = work::start(tool, &places, &input_type);
    let part = work::part(tool, &places);
    let collected = work::collected(tool, &places, &input_type);
    let def = def(tool, &places);
    let bounds = work::bounds(tool);
    let name = &tool.name;
    quote! {
        #[allow(clippy::all, clippy::pedantic, deprecated, private_interfaces, missing_docs, unused_qualifications)]
        const _: () = {
            use #runtime as __rt;
            #input
            #evidence
            #when
            #work
            static __DEF: __rt::Def = #def;
            #start

            #[automatically_derived]
            impl __rt::Tool for #marker {
                type Input = #input_type;
                type Output = #output;
                const NAME: &'static str = #name;

                fn def() -> &'static __rt::Def {
                    &__DEF
                }

                #decode
            }

            #[automatically_derived]
            impl<__S: 'static> __rt::Bind<__S> for #marker #bounds {
                fn part() -> __rt::Part<__S> {
                    #part
                }
            }

            #collected
        };
    }
}

/// The struct of the parameters: a function's is made here, a struct is its own.
fn input(tool: &Tool) -> (TokenStream, TokenStream) {
    let marker = &tool.marker;
    match &tool.body {
        Body::Struct => (TokenStream::new(), quote!(#marker)),
        Body::Fn(_) => {
            let fields = tool.args().filter(|_| tool.sound).map(|arg| {
                let (ident, ty) = (&arg.ident, &arg.ty);
                quote!(pub #ident: #ty)
            });
            (quote!(pub struct __Input { #(#fields),* }), quote!(__Input))
        }
    }
}

fn def(tool: &Tool, places: &fields::Places) -> TokenStream {
    let name = &tool.name;
    let description = match &tool.description {
        Some(doc) => quote!(#doc),
        None => quote!(""),
    };
    let (fields, output) = (places.fields.iter(), &places.output);
    let options = options::expand(tool);
    quote! {
        __rt::Def {
            name: #name,
            description: #description,
            fields: &[#(&#fields),*],
            output: #output.schema(),
            options: #options,
            cache: __rt::Cache::new(),
        }
    }
}

/// What stands in for the tool when it has errors, so that nothing else in the crate breaks because of it.
pub(crate) fn stub(tool: &Tool) -> TokenStream {
    let runtime = tool.runtime();
    let marker = &tool.marker;
    let name = &tool.name;
    let (input, input_type) = input(tool);
    let output = match &tool.body {
        Body::Fn(_) if tool.sound => work::output_type(tool),
        _ => quote!(()),
    };
    quote! {
        #[allow(clippy::all, clippy::pedantic, private_interfaces, missing_docs)]
        const _: () = {
            use #runtime as __rt;
            #input

            impl __rt::Tool for #marker {
                type Input = #input_type;
                type Output = #output;
                const NAME: &'static str = #name;

                fn def() -> &'static __rt::Def {
                    ::core::unreachable!("this does not compile")
                }

                fn decode(_: &str, _: &__rt::Context) -> ::core::result::Result<#input_type, __rt::Refused> {
                    ::core::unreachable!("this does not compile")
                }
            }

            impl<__S: 'static> __rt::Bind<__S> for #marker {
                fn part() -> __rt::Part<__S> {
                    ::core::unreachable!("this does not compile")
                }
            }
        };
    }
}

/// `tokens` as an expression whose errors point at `ty`.
pub(crate) fn evidence(ty: &syn::Type, kind: &str) -> TokenStream {
    let span = ty.span();
    let kind = Ident::new(kind, span);
    quote_spanned!(span=> __rt::#kind::<#ty>)
}
