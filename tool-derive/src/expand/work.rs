//! The work of a call: from decoded parameters to what the function returns.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{GenericArgument, PathArguments, Type, spanned::Spanned as _};

use super::{evidence, fields::Places, hidden};
use crate::{
    model::{Body, Function, Input, Tool},
    syntax::values::Approval,
};

/// The evidence that the work can be done and its output given back: its type and its value.
pub(crate) fn output(tool: &Tool) -> (TokenStream, TokenStream) {
    let marker = &tool.marker;
    match &tool.body {
        Body::Fn(function) => {
            let Function { returns, returns_span, .. } = &**function;
            let kind = quote_spanned!(*returns_span=> __rt::Kind::<#returns>::KIND);
            let output = quote_spanned!(*returns_span=> #kind.output());
            let value = quote!({
                #[allow(unused_imports)]
                use __rt::AnyKind as _;
                #output
            });
            (quote!(__rt::Returned<#returns>), value)
        }
        Body::Struct => match &tool.options.output {
            Some(output) => {
                let ty = &output.value;
                let answer = evidence(ty, "Answer");
                let new = quote_spanned!(ty.span()=> #answer::new());
                (quote!(__rt::Answer<#ty>), new)
            }
            None => {
                let (state, kind) = match &tool.options.state {
                    Some(state) => {
                        let state = state.value.to_token_stream();
                        let kind = quote_spanned!(marker.span()=> __rt::ExecutingWith::<#marker, #state>::KIND);
                        (state, kind)
                    }
                    None => (quote!(()), quote_spanned!(marker.span()=> __rt::Executing::<#marker>::KIND)),
                };
                let executor = quote_spanned!(marker.span()=> #kind.executor());
                let value = quote!({
                    #[allow(unused_imports)]
                    use __rt::NotExecuting as _;
                    #executor
                });
                (quote!(__rt::Executor<#marker, #state>), value)
            }
        },
    }
}

/// The type of the value that the tool gives back. It is here, and only here, that a struct is asked for `Execute`.
pub(crate) fn output_type(tool: &Tool) -> TokenStream {
    let marker = &tool.marker;
    match (&tool.body, &tool.options.output) {
        (Body::Fn(function), _) => value_of(&function.returns).to_token_stream(),
        (Body::Struct, Some(output)) => output.value.to_token_stream(),
        (Body::Struct, None) => match &tool.options.state {
            Some(state) => {
                let state = &state.value;
                quote_spanned!(marker.span()=> <#marker as __rt::ExecuteWith<#state>>::Output)
            }
            None => quote_spanned!(marker.span()=> <#marker as __rt::Execute>::Output),
        },
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

/// `static __WHEN: fn(&Input) -> bool = predicate;`, for a tool that asks it about approval.
pub(crate) fn when(tool: &Tool, input_type: &TokenStream) -> TokenStream {
    match tool.options.approval.as_ref().map(|approval| &approval.value) {
        Some(Approval::When(predicate)) => {
            quote!(static __WHEN: fn(&#input_type) -> ::core::primitive::bool = #predicate;)
        }
        _ => TokenStream::new(),
    }
}

/// `fn __work` of a function that takes something from the state: its first parameters are what it takes.
pub(crate) fn work(tool: &Tool, places: &Places, input_type: &TokenStream) -> TokenStream {
    let Body::Fn(function) = &tool.body else { return TokenStream::new() };
    if taken(tool).next().is_none() {
        return TokenStream::new();
    }
    let [cx, input] = ["cx", "input"].map(hidden);
    let params = taken(tool).enumerate().map(|(index, ty)| {
        let state = hidden(&format!("state{index}"));
        quote!(#state: &'a #ty)
    });
    let work = called(tool, function, places, input_type);
    quote! {
        #[allow(unused_variables)]
        fn __work<'a>(#(#params,)* #input: #input_type, #cx: &'a __rt::Context) -> __rt::CallFuture<'a> {
            #work
        }
    }
}

/// The boxed call of a function.
fn called(tool: &Tool, function: &Function, places: &Places, input_type: &TokenStream) -> TokenStream {
    let Function { path, span, is_async, .. } = function;
    let (output, input) = (&places.output, hidden("input"));
    let mut given = taken(tool).enumerate().map(|(index, _)| hidden(&format!("state{index}")));
    let receiver = function.owner.as_ref().and_then(|_| given.next()).map(ToTokens::into_token_stream);
    let mut args: Vec<TokenStream> = receiver.into_iter().collect();
    for argument in &tool.inputs {
        args.extend(match argument {
            Input::Arg(arg) => {
                let ident = &arg.ident;
                Some(quote!(#input.#ident))
            }
            Input::State { by_ref: true, .. } => given.next().map(ToTokens::into_token_stream),
            Input::State { by_ref: false, ty } => given.next().map(|state| {
                let taken = evidence(ty, "Taken");
                let by_value = quote_spanned!(ty.span()=> #taken::by_value());
                quote!(#by_value(#state))
            }),
            Input::Context { span, by_ref } => {
                let cx = syn::Ident::new("cx", Span::mixed_site().located_at(*span));
                Some(if *by_ref { quote!(#cx) } else { quote_spanned!(*span=> ::core::clone::Clone::clone(#cx)) })
            }
        });
    }
    let call = quote_spanned!(*span=> #path(#(#args),*));
    let work = if *is_async {
        quote_spanned!(*span=> __rt::Work::<#input_type>::wait(&#output, #call))
    } else {
        quote_spanned!(*span=> __rt::Work::<#input_type>::call(&#output, move || #call))
    };
    quote! {{
        #[allow(unused_imports)]
        use __rt::NoWork as _;
        #work
    }}
}

/// The types that a function takes from the state, in order.
fn taken(tool: &Tool) -> impl Iterator<Item = &Type> {
    let owner = match &tool.body {
        Body::Fn(function) => function.owner.as_ref(),
        Body::Struct => None,
    };
    owner.into_iter().chain(tool.inputs.iter().filter_map(|input| match input {
        Input::State { ty, .. } => Some(&**ty),
        _ => None,
    }))
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
pub(crate) fn start(tool: &Tool, places: &Places, input_type: &TokenStream) -> TokenStream {
    let (state, bounds) = (hidden("state"), bounds(tool));
    let (generics, param, bounds) = if tool.takes_state() {
        (quote!(<'a, __S>), quote!(#state: &'a __S,), bounds)
    } else {
        (quote!(<'a>), TokenStream::new(), TokenStream::new())
    };
    function(&quote!(__start #generics), &param, &bounds, &started(tool, places, input_type, Access::Provided))
}

/// What hands the tool to the linker; compiled only where tools are collected.
pub(crate) fn collected(tool: &Tool, places: &Places, input_type: &TokenStream) -> TokenStream {
    let [state, text, cx] = ["state", "text", "cx"].map(hidden);
    let started = if tool.takes_state() {
        started(tool, places, input_type, Access::Collected)
    } else {
        quote!(__start(#text, #cx))
    };
    let start = function(&quote!(__collected<'a>), &quote!(#state: &'a __rt::States,), &TokenStream::new(), &started);
    let answer = answer(tool, places);
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
fn started(tool: &Tool, places: &Places, input_type: &TokenStream, access: Access) -> TokenStream {
    let [state, text, cx, input, refused] = ["state", "text", "cx", "input", "refused"].map(hidden);
    let output = &places.output;
    let marker = &tool.marker;
    let needs_approval = match tool.options.approval.as_ref().map(|approval| &approval.value) {
        None | Some(Approval::Never) => quote!(false),
        Some(Approval::Always) => quote!(true),
        Some(Approval::When(_)) => quote!(__rt::asks(__WHEN, &#input)),
    };
    let work = match &tool.body {
        Body::Fn(function) if taken(tool).next().is_none() => called(tool, function, places, input_type),
        Body::Fn(_) => {
            let states = taken(tool).map(|ty| access.of(ty, &state));
            quote!(__work(#(#states,)* #input, #cx))
        }
        Body::Struct if tool.options.external.is_some() => quote!(__rt::outside()),
        Body::Struct => {
            let given = tool.options.state.as_ref().map_or_else(|| quote!(&()), |ty| access.of(&ty.value, &state));
            quote!(#output.start(#input, #given, #cx))
        }
    };
    quote! {
        let #input = match <#marker as __rt::Tool>::decode(#text, #cx) {
            ::core::result::Result::Ok(#input) => #input,
            ::core::result::Result::Err(#refused) => return ::core::result::Result::Err(#refused),
        };
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
    quote!(where #(#provides),*)
}

/// The tool as constants.
pub(crate) fn part(tool: &Tool, places: &Places) -> TokenStream {
    let start =
        if tool.takes_state() { quote!(__rt::Start::On(__start::<__S>)) } else { quote!(__rt::Start::Free(__start)) };
    let answer = answer(tool, places);
    quote!(__rt::Part { def: &__DEF, start: #start, answer: #answer })
}

fn answer(tool: &Tool, places: &Places) -> TokenStream {
    match &tool.options.output {
        Some(_) => {
            let output = &places.output;
            quote!(::core::option::Option::Some(#output.read()))
        }
        None => quote!(::core::option::Option::None),
    }
}
