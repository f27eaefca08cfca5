//! The work of a call: from decoded parameters to what the function returns.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{GenericArgument, PathArguments, Type, spanned::Spanned as _};

use super::{evidence, fields, hidden};
use crate::{
    model::{Body, Function, Input, Tool},
    syntax::values::Approval,
};

/// The evidence that the work can be done and its output given back: the static that does a struct's work, and what is
/// known of the output.
pub(crate) fn output(tool: &Tool) -> (TokenStream, TokenStream) {
    let marker = &tool.marker;
    let executor =
        |ty: TokenStream, value: TokenStream| (quote!(static __OUTPUT: #ty = #value;), quote!(__OUTPUT.returned()));
    match (&tool.body, &tool.options.output) {
        (Body::Fn(function), _) => {
            let Function { returns, returns_span, .. } = &**function;
            let kind = quote_spanned!(*returns_span=> __rt::Kind::<#returns>::KIND);
            let output = quote_spanned!(*returns_span=> #kind.output());
            let value = quote!({
                #[allow(unused_imports)]
                use __rt::AnyKind as _;
                #output
            });
            (TokenStream::new(), value)
        }
        (Body::Struct, Some(output)) => {
            let ty = &output.value;
            let answer = evidence(ty, "Answer");
            executor(quote!(__rt::Answer<#ty>), quote_spanned!(ty.span()=> #answer::new()))
        }
        (Body::Struct, None) => {
            let (state, kind) = match &tool.options.state {
                Some(state) => {
                    let state = state.value.to_token_stream();
                    let kind = quote_spanned!(marker.span()=> __rt::ExecutingWith::<#marker, #state>::KIND);
                    (state, kind)
                }
                None => (quote!(()), quote_spanned!(marker.span()=> __rt::Executing::<#marker>::KIND)),
            };
            let value = quote_spanned!(marker.span()=> #kind.executor());
            let value = quote!({
                #[allow(unused_imports)]
                use __rt::NotExecuting as _;
                #value
            });
            executor(quote!(__rt::Executor<#marker, #state>), value)
        }
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

/// What is asked whether a call needs approval, if the call itself decides.
pub(crate) fn when(tool: &Tool) -> Option<TokenStream> {
    let marker = &tool.marker;
    let Some(Approval::When(predicate)) = tool.options.approval.as_ref().map(|approval| &approval.value) else {
        return None;
    };
    Some(quote!(static __WHEN: fn(&#marker) -> ::core::primitive::bool = #predicate;))
}

/// The call with its input, ready to run.
fn begun(tool: &Tool, access: Access) -> TokenStream {
    let input = hidden("_input");
    let needs_approval = match tool.options.approval.as_ref().map(|approval| &approval.value) {
        None | Some(Approval::Never) => quote!(false),
        Some(Approval::Always) => quote!(true),
        Some(Approval::When(_)) => quote!(__rt::asks(__WHEN, &#input)),
    };
    let work = done(tool, access);
    let unchanged = quote!(::core::option::Option::None);
    quote!(__rt::Started { needs_approval: #needs_approval, normalized: #unchanged, work: #work })
}

/// How a call is started: with the state that it needs, or without.
pub(crate) fn work(tool: &Tool) -> TokenStream {
    let marker = &tool.marker;
    if !tool.takes_state() {
        let [input, cx] = ["_input", "_cx"].map(hidden);
        let (values, value) = fields::given(tool);
        let begun = begun(tool, Access::Provided);
        return quote! {
            #[automatically_derived]
            impl __rt::Free for #marker {
                #[inline]
                fn begin<'a>(#values: <Self as __rt::Tool>::Values, #cx: &'a __rt::Context) -> __rt::Started<'a> {
                    let #input = #value;
                    #begun
                }
            }
        };
    }
    let (shared, state, bounds) = (shared(tool), hidden("state"), bounds(tool));
    let start =
        function(&quote!(__start<'a, __S>), &quote!(#state: &'a __S), &bounds, &started(tool, Access::Provided));
    quote! {
        #shared
        #start

        #[automatically_derived]
        impl<__S: 'static> __rt::Bind<__S> for #marker #bounds {
            const PART: __rt::Part<__S> =
                __rt::Part { def: <Self as __rt::Tool>::def, start: __rt::Start::On(__start::<__S>) };
        }
    }
}

/// `fn __work` of a function that takes something from the state: its first parameters are what it takes.
fn shared(tool: &Tool) -> TokenStream {
    let (Body::Fn(function), marker) = (&tool.body, &tool.marker) else { return TokenStream::new() };
    let [cx, input] = ["_cx", "_input"].map(hidden);
    let params = taken(tool).enumerate().map(|(index, ty)| {
        let state = hidden(&format!("state{index}"));
        quote!(#state: &'a #ty)
    });
    let work = called(tool, function);
    quote! {
        #[allow(unused_variables)]
        fn __work<'a>(#(#params,)* #input: #marker, #cx: &'a __rt::Context) -> __rt::CallFuture<'a> {
            #work
        }
    }
}

/// The boxed call of a function.
fn called(tool: &Tool, function: &Function) -> TokenStream {
    let Function { path, span, is_async, .. } = function;
    let (marker, input) = (&tool.marker, hidden("_input"));
    let states: Vec<_> = taken(tool).collect();
    let values = if states.is_empty() { quote!(#marker) } else { quote!((#marker, #(&'a #states),*)) };
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
                let cx = syn::Ident::new("_cx", Span::mixed_site().located_at(*span));
                Some(if *by_ref { quote!(#cx) } else { quote_spanned!(*span=> ::core::clone::Clone::clone(#cx)) })
            }
        });
    }
    let call = quote_spanned!(*span=> #path(#(#args),*));
    let work = if *is_async {
        quote_spanned!(*span=> __rt::Work::<#values>::wait(&__DEF, #call))
    } else {
        quote_spanned!(*span=> __rt::Work::<#values>::call(&__DEF, move || #call))
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

/// What hands the tool to the linker; compiled only where tools are collected.
pub(crate) fn collected(tool: &Tool) -> TokenStream {
    if !cfg!(feature = "collect") {
        return TokenStream::new();
    }
    let [state, text, cx] = ["state", "text", "_cx"].map(hidden);
    let marker = &tool.marker;
    let started =
        if tool.takes_state() { started(tool, Access::Collected) } else { quote!(__rt::start::<#marker>(#text, #cx)) };
    let start = function(&quote!(__collected<'a>), &quote!(#state: &'a __rt::States), &TokenStream::new(), &started);
    let states = tool.states();
    quote! {
        __rt::collect! {
            #start
            __rt::inventory::submit! {
                __rt::Collected {
                    def: &__DEF,
                    start: __rt::Start::On(__collected),
                    needs: || ::std::vec![#(__rt::need::<#states>()),*],
                }
            }
        }
    }
}

fn function(name: &TokenStream, param: &TokenStream, bounds: &TokenStream, body: &TokenStream) -> TokenStream {
    let (text, cx) = (hidden("text"), hidden("_cx"));
    quote! {
        #[allow(unused_variables)]
        fn #name (#param, #text: &'a str, #cx: &'a __rt::Context)
            -> ::core::result::Result<__rt::Started<'a>, __rt::Refused>
        #bounds
        {
            #body
        }
    }
}

/// The accepted call of a tool that takes state.
fn started(tool: &Tool, access: Access) -> TokenStream {
    let [text, cx, input, refused] = ["text", "_cx", "_input", "refused"].map(hidden);
    let marker = &tool.marker;
    let begun = begun(tool, access);
    quote! {
        let #input = match <#marker as __rt::Tool>::decode(#text, #cx) {
            ::core::result::Result::Ok(#input) => #input,
            ::core::result::Result::Err(#refused) => return ::core::result::Result::Err(#refused),
        };
        ::core::result::Result::Ok(#begun)
    }
}

/// The boxed work.
fn done(tool: &Tool, access: Access) -> TokenStream {
    let [state, cx, input] = ["state", "_cx", "_input"].map(hidden);
    match &tool.body {
        Body::Fn(function) if taken(tool).next().is_none() => called(tool, function),
        Body::Fn(_) => {
            let states = taken(tool).map(|ty| access.of(ty, &state));
            quote!({ __work(#(#states,)* #input, #cx) })
        }
        Body::Struct if tool.options.external.is_some() => quote!({ __rt::outside() }),
        Body::Struct => {
            let given = tool.options.state.as_ref().map_or_else(|| quote!(&()), |ty| access.of(&ty.value, &state));
            quote!({ __OUTPUT.start(#input, #given, #cx) })
        }
    }
}

/// What the state must provide.
fn bounds(tool: &Tool) -> TokenStream {
    let states = tool.states();
    let provides = states.iter().map(|ty| quote_spanned!(ty.span()=> __S: __rt::Provide<#ty>));
    quote!(where #(#provides),*)
}

/// `.answer(…)`, for an external tool.
pub(crate) fn answer(tool: &Tool) -> Option<TokenStream> {
    tool.options.output.as_ref().map(|_| quote!(.answer(__OUTPUT.read())))
}
