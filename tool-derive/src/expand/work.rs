//! The work of a call: from decoded parameters to what the function returns.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{GenericArgument, PathArguments, Type, spanned::Spanned as _};

use super::{evidence, hidden};
use crate::{
    model::{Body, Function, Input, Tool},
    syntax::options::Approval,
};

/// `static __OUTPUT: Returned<R> = …;`: the evidence that the output can be given back.
pub(crate) fn returned(tool: &Tool) -> TokenStream {
    let marker = &tool.marker;
    match &tool.body {
        Body::Fn(function) => {
            let Function { returns, returns_span, .. } = &**function;
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
        (Body::Fn(function), _) => {
            let value = value_of(&function.returns);
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

/// Where a function's state comes from.
#[derive(Clone, Copy)]
enum Access {
    /// From an application's state, as the compiler checks.
    Provided,
    /// From the states of collected tools, as `Toolset::collect` checks.
    Collected,
}

impl Access {
    fn of(self, ty: &Type, state: &syn::Ident) -> TokenStream {
        match self {
            Self::Provided => quote!(__rt::Provide::<#ty>::provide(#state)),
            Self::Collected => quote!(#state.get::<#ty>()),
        }
    }
}

/// `fn __start`: reads the arguments and boxes the work.
pub(crate) fn start(tool: &Tool, input_type: &TokenStream) -> TokenStream {
    let (state, bounds) = (hidden("state"), bounds(tool));
    let (generics, param, bounds) = if tool.takes_state() {
        (quote!(<'a, __S>), quote!(#state: &'a __S,), bounds)
    } else {
        (quote!(<'a>), TokenStream::new(), TokenStream::new())
    };
    function(&quote!(__start #generics), &param, &bounds, &started(tool, input_type, Access::Provided))
}

/// What hands the tool to the linker; compiled only where tools are collected.
pub(crate) fn collected(tool: &Tool, input_type: &TokenStream) -> TokenStream {
    let state = hidden("state");
    let started = started(tool, input_type, Access::Collected);
    let start = function(&quote!(__collected<'a>), &quote!(#state: &'a __rt::States,), &TokenStream::new(), &started);
    let answer = answer(tool);
    let states = tool.states();
    quote! {
        __rt::collect! {
            #start
            __rt::inventory::submit! {
                __rt::Collected {
                    def: &__DEF,
                    start: __collected,
                    answer: #answer,
                    needs: || ::std::vec![#(__rt::need::<#states>()),*],
                }
            }
        }
    }
}

fn function(name: &TokenStream, param: &TokenStream, bounds: &TokenStream, body: &TokenStream) -> TokenStream {
    let (text, cx) = (hidden("text"), hidden("cx"));
    quote! {
        #[allow(unused_variables)]
        fn #name (#param #text: &'a str, #cx: &'a __rt::Context)
            -> ::core::result::Result<__rt::Started<'a>, __rt::Refused>
        #bounds
        {
            #body
        }
    }
}

/// The accepted call.
fn started(tool: &Tool, input_type: &TokenStream, access: Access) -> TokenStream {
    let [state, text, cx, input] = ["state", "text", "cx", "input"].map(hidden);
    let marker = &tool.marker;
    let needs_approval = match tool.options.approval.as_ref().map(|approval| &approval.value) {
        None | Some(Approval::Never) => quote!(false),
        Some(Approval::Always) => quote!(true),
        Some(Approval::When(predicate)) => {
            quote_spanned!(predicate.span()=> __rt::decide::<#input_type>(#predicate, &#input))
        }
    };
    let work = match &tool.body {
        Body::Fn(function) => {
            let Function { path, owner, is_async, .. } = &**function;
            let receiver = owner.as_ref().map(|owner| access.of(owner, &state));
            let args = tool.inputs.iter().map(|argument| match argument {
                Input::Arg(arg) => {
                    let ident = &arg.ident;
                    quote!(#input.#ident)
                }
                Input::State { ty, by_ref: true } => access.of(ty, &state),
                Input::State { ty, by_ref: false } => {
                    let state = access.of(ty, &state);
                    quote!(::core::clone::Clone::clone(#state))
                }
                Input::Context { by_ref: true } => quote!(#cx),
                Input::Context { by_ref: false } => quote!(::core::clone::Clone::clone(#cx)),
            });
            let args = receiver.into_iter().chain(args);
            let wait = is_async.then(|| quote!(.await));
            quote!(__rt::Box::pin(async move { __OUTPUT.encode(#path(#(#args),*) #wait) }))
        }
        Body::Struct if tool.options.external.is_some() => quote!(__rt::outside()),
        Body::Struct => {
            let executor = executor(tool);
            let given = tool.options.state.as_ref().map(|given| access.of(&given.value, &state)).into_iter();
            quote!(__rt::Box::pin(async move { __OUTPUT.encode(#executor::execute(#input, #(#given,)* #cx).await) }))
        }
    };
    quote! {
        let #input = <#marker as __rt::Tool>::decode(#text, #cx)?;
        ::core::result::Result::Ok(__rt::Started { needs_approval: #needs_approval, work: #work })
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
    let answer = answer(tool);
    quote!(__rt::Part { def: &__DEF, start: #start, answer: #answer })
}

fn answer(tool: &Tool) -> TokenStream {
    match &tool.options.output {
        Some(_) => quote!(::core::option::Option::Some(__ANSWER.read())),
        None => quote!(::core::option::Option::None),
    }
}
