//! The work of a call: from decoded parameters to what the function returns.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::{Expr, GenericArgument, PathArguments, Type, spanned::Spanned as _};

use super::{evidence, hidden};
use crate::{
    model::{Body, Function, Input, Tool},
    syntax::{dynamic::last, values::Approval},
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

/// What is asked whether a call needs approval, if the call itself decides; a function that is named, is asked by its name.
pub(crate) fn when(tool: &Tool) -> Option<TokenStream> {
    let marker = &tool.marker;
    let predicate = match tool.options.approval.as_ref().map(|approval| &approval.value) {
        Some(Approval::When(predicate)) if !matches!(predicate, Expr::Path(_)) => predicate,
        _ => return None,
    };
    Some(quote!(static __WHEN: fn(&#marker) -> ::core::primitive::bool = #predicate;))
}

/// What is asked what a call touches, if the tool says so.
pub(crate) fn touches(tool: &Tool) -> Option<TokenStream> {
    let (marker, touches) = (&tool.marker, &tool.options.touches.as_ref()?.value);
    Some(quote!(static __TOUCHES: fn(&#marker) -> __rt::Touches = #touches;))
}

/// The call with its input, ready to run.
pub(super) fn begun(tool: &Tool, work: &TokenStream) -> TokenStream {
    let input = hidden("_input");
    let needs_approval = match tool.options.approval.as_ref().map(|approval| &approval.value) {
        None | Some(Approval::Never) => quote!(false),
        Some(Approval::Always) => quote!(true),
        // What is wrong with the function is said at its name.
        Some(Approval::When(Expr::Path(path))) => {
            let (marker, span) = (&tool.marker, last(&path.path));
            let asked = quote_spanned!(span=> __rt::When::<#marker>::of(#path).asks(&#input));
            quote!({
                #[allow(unused_imports)]
                use __rt::NoPredicate as _;
                #asked
            })
        }
        Some(Approval::When(_)) => quote!(__rt::asks(__WHEN, &#input)),
    };
    if tool.options.touches.is_none() {
        return quote!(__rt::Started::new(#needs_approval, #work));
    }
    let touches = quote!(__rt::touched(__TOUCHES, &#input));
    quote!(__rt::Started { touches: #touches, ..__rt::Started::new(#needs_approval, #work) })
}

/// Whether anything but the work gets the input.
pub(super) fn is_looked_at(tool: &Tool) -> bool {
    let approval = tool.options.approval.as_ref().map(|approval| &approval.value);
    tool.options.touches.is_some() || matches!(approval, Some(Approval::When(_)))
}

/// What a call has of its parameters.
#[derive(Clone, Copy)]
pub(super) enum Given {
    /// The input.
    Input,
    /// Each by itself, which the compiler checks in less time.
    Slots,
}

/// The boxed call of a function.
pub(super) fn called(tool: &Tool, function: &Function, given: Given) -> TokenStream {
    let Function { path, span, is_async, is_stream, .. } = function;
    let (marker, input) = (&tool.marker, hidden("_input"));
    let states: Vec<_> = taken(tool).collect();
    let values = if states.is_empty() { quote!(#marker) } else { quote!((#marker, #(&'a #states),*)) };
    let mut held = taken(tool).enumerate().map(|(index, _)| hidden(&format!("state{index}")));
    let mut slots = (0..).map(|index| hidden(&format!("slot{index}")));
    let receiver = function.owner.as_ref().and_then(|_| held.next()).map(ToTokens::into_token_stream);
    let mut args: Vec<TokenStream> = receiver.into_iter().collect();
    for argument in &tool.inputs {
        args.extend(match argument {
            Input::Arg(arg) => match given {
                Given::Input => {
                    let ident = &arg.ident;
                    Some(quote!(#input.#ident))
                }
                Given::Slots => slots.next().map(ToTokens::into_token_stream),
            },
            Input::State { by_ref: true, .. } => held.next().map(ToTokens::into_token_stream),
            Input::State { by_ref: false, ty, .. } => held.next().map(|state| {
                let taken = evidence(ty, "Taken");
                let by_value = quote_spanned!(ty.span()=> #taken::by_value());
                quote!(#by_value(#state))
            }),
            Input::Context { ty, by_ref } => {
                let (cx, span) = (hidden("_cx"), ty.span());
                let context = quote_spanned!(span=> __rt::context::<#ty>);
                Some(if *by_ref { quote!(#context(#cx)) } else { quote!(::core::clone::Clone::clone(#context(#cx))) })
            }
        });
    }
    let call = quote_spanned!(*span=> #path(#(#args),*));
    let cx = hidden("_cx");
    let work = match (is_async, is_stream) {
        (true, false) => quote_spanned!(*span=> __rt::Work::<#values>::wait(&__DEF, #call)),
        (false, false) => quote_spanned!(*span=> __rt::Work::<#values>::call(&__DEF, move || #call)),
        (true, true) => quote_spanned!(*span=> __rt::Work::<#values>::wait_for_stream(&__DEF, #cx, #call)),
        (false, true) => quote_spanned!(*span=> __rt::Work::<#values>::stream(&__DEF, #cx, move || #call)),
    };
    quote! {{
        #[allow(unused_imports)]
        use __rt::NoWork as _;
        #work
    }}
}

/// The types that a tool takes from the state, in order.
pub(super) fn taken(tool: &Tool) -> impl Iterator<Item = &Type> {
    tool.owner().into_iter().chain(tool.inputs.iter().filter_map(|input| match input {
        Input::State { ty, .. } => Some(&**ty),
        _ => None,
    }))
}

/// `.answer(…)`, for an external tool.
pub(crate) fn answer(tool: &Tool) -> Option<TokenStream> {
    tool.options.output.as_ref().map(|_| quote!(.answer(__OUTPUT.read())))
}
