//! The work of a call: from decoded parameters to what the function returns.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{GenericArgument, PathArguments, Type, spanned::Spanned as _};

use super::{evidence, hidden};
use crate::{
    model::{Body, Input, Tool},
    syntax::options::Approval,
};

/// `static __OUTPUT: Returned<R> = …;`: the evidence that the output can be given back.
pub(crate) fn returned(tool: &Tool) -> TokenStream {
    let marker = &tool.marker;
    match &tool.body {
        Body::Fn { returns, returns_span, .. } => {
            let kind = quote_spanned!(*returns_span=> __rt::Kind::<#returns>::KIND);
            let output = quote_spanned!(*returns_span=> #kind.output());
            quote! {
                static __OUTPUT: __rt::Returned<#returns> = {
                    #[allow(unused_imports)]
                    use __rt::AnyKind as _;
                    #output
                };
            }
        }
        Body::Struct => match (&tool.options.output, executor(tool)) {
            (Some(output), _) => {
                let ty = &output.value;
                let answer = evidence(ty, "Answer");
                let new = quote_spanned!(ty.span()=> #answer::new());
                quote!(static __ANSWER: __rt::Answer<#ty> = #new;)
            }
            (None, executor) => {
                let span = marker.span();
                let output = quote_spanned!(span=> <#marker as #executor>::Output);
                let error = quote_spanned!(span=> <#marker as #executor>::Error);
                quote! {
                    static __OUTPUT: __rt::Returned<::core::result::Result<#output, #error>> =
                        __rt::Fallible::<#output, #error>::NEW.output();
                }
            }
        },
    }
}

/// `Execute`, or `ExecuteWith<State>`.
fn executor(tool: &Tool) -> TokenStream {
    let span = tool.marker.span();
    match &tool.options.state {
        Some(state) => {
            let state = &state.value;
            quote_spanned!(span=> __rt::ExecuteWith::<#state>)
        }
        None => quote_spanned!(span=> __rt::Execute),
    }
}

/// The type of the value that the tool gives back.
pub(crate) fn output_type(tool: &Tool) -> TokenStream {
    let marker = &tool.marker;
    match (&tool.body, &tool.options.output) {
        (Body::Fn { returns, .. }, _) => {
            let value = value_of(returns);
            quote!(#value)
        }
        (Body::Struct, Some(output)) => {
            let output = &output.value;
            quote!(#output)
        }
        (Body::Struct, None) => {
            let executor = executor(tool);
            quote!(<#marker as #executor>::Output)
        }
    }
}

/// `T` of a type whose last segment is `Result<T, …>`; a `Result` behind another name stays whole.
fn value_of(returns: &Type) -> &Type {
    if let Type::Path(path) = returns
        && let Some(last) = path.path.segments.last()
        && last.ident == "Result"
        && let PathArguments::AngleBracketed(args) = &last.arguments
        && let Some(GenericArgument::Type(value)) = args.args.first()
    {
        return value;
    }
    returns
}

/// The code that describes the output.
pub(crate) fn output_schema(tool: &Tool) -> TokenStream {
    if tool.options.output.is_some() { quote!(__ANSWER.schema()) } else { quote!(__OUTPUT.schema()) }
}

/// `fn __start`: reads the arguments and boxes the work.
pub(crate) fn start(tool: &Tool, input_type: &TokenStream) -> TokenStream {
    let [state, text, cx, input] = ["state", "text", "cx", "input"].map(hidden);
    let decode = {
        let marker = &tool.marker;
        quote!(<#marker as __rt::Tool>::decode(#text, #cx)?)
    };
    let needs_approval = match tool.options.approval.as_ref().map(|approval| &approval.value) {
        None | Some(Approval::Never) => quote!(false),
        Some(Approval::Always) => quote!(true),
        Some(Approval::When(predicate)) => {
            let span = predicate.span();
            quote_spanned!(span=> __rt::decide::<#input_type>(#predicate, &#input))
        }
    };
    let work = match &tool.body {
        Body::Fn { path, owner, is_async, .. } => {
            let receiver = owner.as_ref().map(|owner| quote!(__rt::Provide::<#owner>::provide(#state),));
            let args = tool.inputs.iter().map(|input_| argument(input_, &state, &cx, &input));
            let wait = is_async.then(|| quote!(.await));
            quote!(__rt::Box::pin(async move { __OUTPUT.encode(#path(#receiver #(#args),*) #wait) }))
        }
        Body::Struct if tool.options.external.is_some() => quote!({
            let _ = #input;
            __rt::outside()
        }),
        Body::Struct => {
            let executor = executor(tool);
            let given = tool.options.state.as_ref().map(|given| {
                let ty = &given.value;
                quote!(__rt::Provide::<#ty>::provide(#state),)
            });
            quote!(__rt::Box::pin(async move { __OUTPUT.encode(#executor::execute(#input, #given #cx).await) }))
        }
    };
    let (generics, param) = if tool.takes_state() {
        (quote!(<'a, __S>), quote!(#state: &'a __S,))
    } else {
        (quote!(<'a>), TokenStream::new())
    };
    let bounds = if tool.takes_state() { bounds(tool) } else { TokenStream::new() };
    quote! {
        fn __start #generics (#param #text: &'a str, #cx: &'a __rt::Context)
            -> ::core::result::Result<__rt::Started<'a>, __rt::Refused>
        #bounds
        {
            let #input = #decode;
            ::core::result::Result::Ok(__rt::Started { needs_approval: #needs_approval, work: #work })
        }
    }
}

fn argument(argument: &Input, state: &syn::Ident, cx: &syn::Ident, input: &syn::Ident) -> TokenStream {
    match argument {
        Input::Arg(arg) => {
            let ident = &arg.ident;
            quote!(#input.#ident)
        }
        Input::State { ty, by_ref: true } => quote!(__rt::Provide::<#ty>::provide(#state)),
        Input::State { ty, by_ref: false } => {
            quote!(::core::clone::Clone::clone(__rt::Provide::<#ty>::provide(#state)))
        }
        Input::Context { by_ref: true } => quote!(#cx),
        Input::Context { by_ref: false } => quote!(::core::clone::Clone::clone(#cx)),
    }
}

/// What the state must provide.
pub(crate) fn bounds(tool: &Tool) -> TokenStream {
    let states = tool.states();
    if states.is_empty() && !tool.takes_state() {
        return TokenStream::new();
    }
    let provides = states.iter().map(|ty| quote_spanned!(ty.span()=> __S: __rt::Provide<#ty>));
    quote!(where __S: ::core::marker::Send + ::core::marker::Sync, #(#provides),*)
}

/// The tool as constants.
pub(crate) fn part(tool: &Tool) -> TokenStream {
    let start =
        if tool.takes_state() { quote!(__rt::Start::On(__start::<__S>)) } else { quote!(__rt::Start::Free(__start)) };
    let answer = match &tool.options.output {
        Some(_) => quote!(::core::option::Option::Some(__ANSWER.read())),
        None => quote!(::core::option::Option::None),
    };
    quote!(__rt::Part { def: &__DEF, start: #start, answer: #answer })
}
