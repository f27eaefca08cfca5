//! The expansions. Items that users do not name are in `const _`. An expansion writes each requirement on a user's type once,
//! in a constant with the span of that type.

mod fields;
mod input;
mod options;
mod start;
mod tokens;
mod toolset;
mod validator_context;
mod validators;
mod variants;
mod work;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};

use crate::declaration::{Body, Input, ToolDef};
use crate::diag::text::Advice;
pub use input::{nested_input, nested_input_stub};
use tokens::runtime_path;
pub use toolset::{calls, provide, toolset_block, toolset_method};
pub use validator_context::{ValidatorContext, input_contexts, tool_contexts};

/// Returns the struct that is the type of a function's tool, and its input: the fields are the parameters. A braced struct
/// defines only a type, so the function can have the same name.
///
/// The struct derives nothing, because the compiler would have to check each derived impl.
pub fn tool_struct(tool: &ToolDef) -> TokenStream {
    let (vis, tool_type) = (&tool.head.vis, &tool.head.ident);
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
        #vis struct #tool_type { #(#fields),* }
    }
}

/// Returns the constant with all implementations for the tool's type.
pub fn tool_block(tool: &ToolDef) -> TokenStream {
    let runtime = runtime_path(tool.head.krate.as_ref());
    let (tool_type, name) = (&tool.head.ident, &tool.head.name);
    let description = tool.head.description.as_ref().map_or_else(|| quote!(""), ToTokens::to_token_stream);
    let ((statics, fields), input, of_enum) = match &tool.input {
        Input::Params(params) => (fields::fields(params), fields::input_fn(params, |value| value), None),
        Input::Enum(enum_input) => {
            let fields = (TokenStream::new(), quote!(&[]));
            (
                fields,
                variants::enum_input_fn(tool),
                Some((variants::variant_structs(tool, enum_input), variants::union_setter(enum_input))),
            )
        }
    };
    let (structs, union_setter) = of_enum.unzip();
    let (executor, returned) = work::output_tokens(tool);
    let output = work::output_type(tool);
    let (when, touches) = (work::when_static(tool), work::touches_static(tool));
    let (hooks, hooks_setter) = options::hooks(tool).unzip();
    let (options_setter, read_output_setter) = (options::options_setter(tool), work::read_output_setter(tool));
    let (start, collected) = (start::start_impl(tool), start::collect_item(tool));
    let contexts = tool_contexts(tool);
    let accessors = contexts.iter().map(ValidatorContext::accessors);
    let lints = tool.options.lints.iter().chain(tool.all_fields().flat_map(|param| &param.attrs.lints));
    quote! {
        #[allow(clippy::all, clippy::pedantic, deprecated, private_interfaces, missing_docs, unused_qualifications)]
        #(#lints)*
        const _: () = {
            use #runtime as __rt;
            #statics
            #executor
            #when
            #touches
            #hooks
            static __DEF: __rt::Def = __rt::Def::new(#name, #description, #fields, #returned)
                #union_setter #options_setter #read_output_setter #hooks_setter;

            #[automatically_derived]
            impl __rt::Tool for #tool_type {
                type Input = #tool_type;
                type Output = #output;
                const NAME: &'static ::core::primitive::str = #name;

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

/// Returns a stub for a tool with errors, so that its uses cause no further errors.
pub fn tool_stub(tool: &ToolDef) -> TokenStream {
    let runtime = runtime_path(tool.head.krate.as_ref());
    let (tool_type, name) = (&tool.head.ident, &tool.head.name);
    let output = match &tool.body {
        Body::Function(_) if tool.head.is_sound => work::output_type(tool),
        _ => quote!(()),
    };
    let contexts = tool_contexts(tool);
    let accessors = contexts.iter().map(ValidatorContext::accessors);
    quote! {
        #[allow(clippy::all, clippy::pedantic, private_interfaces, missing_docs)]
        const _: () = {
            use #runtime as __rt;

            impl __rt::Tool for #tool_type {
                type Input = #tool_type;
                type Output = #output;
                type Values = ();
                const NAME: &'static ::core::primitive::str = #name;

                fn def() -> &'static __rt::Def {
                    ::core::unreachable!("this does not compile")
                }

                fn input((): ()) -> #tool_type {
                    ::core::unreachable!("this does not compile")
                }
            }

            impl<__S: 'static> __rt::WithState<__S> for #tool_type {
                const BINDING: __rt::Binding<__S> = __rt::Binding {
                    def: <Self as __rt::Tool>::def,
                    start: __rt::Start::Validated(|_, _, _| ::core::unreachable!("this does not compile")),
                };
            }

            #(#accessors)*
        };
    }
}

/// Returns a constant that uses a deprecated name at the place of each advice; `None` if there is no advice.
///
/// No model sees the tools of tests, so a build for tests has no advice.
pub fn advice(found: &[(Span, Advice)]) -> Option<TokenStream> {
    let count = found.len();
    let kinds = Advice::ALL.into_iter().filter(|advice| found.iter().any(|(_, other)| other == advice));
    let declared = kinds.map(|Advice(name, text)| {
        let name = Ident::new(name, Span::call_site());
        quote!(#[deprecated(note = #text)] const #name: () = ();)
    });
    // If a use had a span of the macro, the compiler would hide the warning.
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
