//! The work of a call: from decoded parameters to the return value of the function.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Expr, GenericArgument, PathArguments, Type, spanned::Spanned as _};

use super::{evidence, fields::input_fallbacks, hidden};
use crate::model::{Argument, Body, Function, Param, StateArg, ToolDef};
use crate::syntax::{options::Approval, params::last, types::innermost};

/// Returns the evidence that the work can be done and its output returned. It has two parts: the static that does a struct's
/// work, and the value that describes the output.
pub fn output_evidence(tool: &ToolDef) -> (Option<TokenStream>, TokenStream) {
    let marker = &tool.head.ident;
    match &tool.body {
        Body::Function(function) => {
            let Function { returns, returns_span, .. } = &**function;
            let kind = quote_spanned!(*returns_span=> __rt::Kind::<#returns>::KIND);
            let inside = innermost(value_of(returns));
            let output = quote_spanned!(*returns_span=> #kind.fits::<#inside>());
            let value = quote!({
                #[allow(unused_imports)]
                use __rt::{BareOutput as _, KindFallback as _, Undescribed as _, Unwritten as _};
                #output
            });
            (None, value)
        }
        Body::External { output, .. } => {
            let (typed, fallbacks, inside) = (evidence(output, "Typed"), input_fallbacks(true), innermost(output));
            let answer = quote_spanned!(inside.span()=> #typed::CODE.fits::<#inside>());
            let value = quote!({ #fallbacks #answer });
            output_static(&quote!(__rt::FieldCode), &value)
        }
        Body::Struct { state } => {
            let (state, kind) = match state {
                Some(state) => {
                    (quote!(#state), quote_spanned!(marker.span()=> __rt::ExecutingWith::<#marker, #state>::KIND))
                }
                None => (quote!(()), quote_spanned!(marker.span()=> __rt::Executing::<#marker>::KIND)),
            };
            let output = output_type(tool);
            let value = quote_spanned!(marker.span()=> #kind.fits::<#output>());
            let value = quote!({
                #[allow(unused_imports)]
                use __rt::{BareOutput as _, ExecutingFallback as _, Undescribed as _, Unwritten as _};
                #value
            });
            output_static(&quote!(__rt::Executor<#marker, #state>), &value)
        }
    }
}

fn output_static(ty: &TokenStream, value: &TokenStream) -> (Option<TokenStream>, TokenStream) {
    (Some(quote!(static __OUTPUT: #ty = #value;)), quote!(__OUTPUT.returned))
}

/// Returns the type of the tool's output. Here, and only here, a struct is required to implement `Execute`.
pub fn output_type(tool: &ToolDef) -> TokenStream {
    let marker = &tool.head.ident;
    match &tool.body {
        Body::Function(function) => value_of(&function.returns).to_token_stream(),
        Body::External { output, .. } => output.to_token_stream(),
        Body::Struct { state: Some(state) } => {
            quote_spanned!(marker.span()=> <#marker as __rt::ExecuteWith<#state>>::Output)
        }
        Body::Struct { state: None } => quote_spanned!(marker.span()=> <#marker as __rt::Execute>::Output),
    }
}

/// Returns `T` of a type whose last segment is `Result<T, …>`; a `Result` behind an alias stays whole.
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

/// Returns the static that decides whether a call needs approval, if it is a closure. A named function is called by its name.
pub fn when_static(tool: &ToolDef) -> Option<TokenStream> {
    let marker = &tool.head.ident;
    let predicate = tool.predicate().filter(|predicate| !matches!(predicate, Expr::Path(_)))?;
    Some(quote!(static __WHEN: fn(&#marker) -> ::core::primitive::bool = #predicate;))
}

/// Returns the static that computes what a call touches, if the tool has one.
pub fn touches_static(tool: &ToolDef) -> Option<TokenStream> {
    let (marker, touches) = (&tool.head.ident, &tool.options.touches.as_ref()?.value);
    Some(quote!(static __TOUCHES: fn(&#marker) -> __rt::Resources = #touches;))
}

/// Returns the prepared call with its input.
pub fn started_expr(tool: &ToolDef, work: &TokenStream) -> TokenStream {
    let (input, needs_approval) = (hidden("_input"), approval_expr(tool));
    if tool.options.touches.is_none() {
        return quote!(__rt::StartedCall::new(#needs_approval, #work));
    }
    let touches = quote!(__rt::touched(__TOUCHES, &#input));
    quote!(__rt::StartedCall { touches: #touches, ..__rt::StartedCall::new(#needs_approval, #work) })
}

/// Returns the expression that decides whether the call needs approval.
fn approval_expr(tool: &ToolDef) -> TokenStream {
    let input = hidden("_input");
    match tool.approval() {
        Approval::Never => quote!(false),
        Approval::Always => quote!(true),
        // An error in the function is reported at its name.
        Approval::When(Expr::Path(path)) => {
            let (marker, span) = (&tool.head.ident, last(&path.path));
            let asked = quote_spanned!(span=> __rt::When::<#marker>::of(#path).asks(&#input));
            quote!({
                #[allow(unused_imports)]
                use __rt::CallPredicateFallback as _;
                #asked
            })
        }
        Approval::When(_) => {
            let marker = &tool.head.ident;
            quote!(__rt::When::<#marker>::of(__WHEN).asks(&#input))
        }
    }
}

/// Returns whether anything but the work uses the input.
pub fn is_looked_at(tool: &ToolDef) -> bool {
    tool.options.touches.is_some() || tool.predicate().is_some()
}

/// The form of the parameters in a call.
#[derive(Clone, Copy)]
pub enum Given {
    /// The input.
    Input,
    /// Each parameter by itself, which compiles faster.
    Slots,
}

/// Returns the boxed call of a function.
pub fn call_expr(tool: &ToolDef, function: &Function, given: Given) -> TokenStream {
    let Function { path, span, is_async, is_stream, .. } = function;
    let marker = &tool.head.ident;
    let states: Vec<_> = tool.body.state_types().collect();
    let values = if states.is_empty() { quote!(#marker) } else { quote!((#marker, #(&'a #states),*)) };
    let args = arguments(tool, function, given);
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
        use __rt::WorkFallback as _;
        #work
    }}
}

/// Returns the arguments of the function, in order.
fn arguments(tool: &ToolDef, function: &Function, given: Given) -> Vec<TokenStream> {
    let mut states = (0..).map(|index| hidden(&format!("state{index}")));
    let mut slots = (0..).map(|index| hidden(&format!("slot{index}")));
    let mut params = tool.fields().iter();
    let receiver = function.owner.as_ref().and_then(|_| states.next()).map(ToTokens::into_token_stream);
    let mut args = Vec::from_iter(receiver);
    for argument in &function.args {
        args.extend(match argument {
            Argument::Param => match given {
                Given::Input => params.next().map(|Param { ident, .. }| {
                    let input = hidden("_input");
                    quote!(#input.#ident)
                }),
                Given::Slots => slots.next().map(ToTokens::into_token_stream),
            },
            Argument::State(StateArg { ty, by_ref, .. }) => states.next().map(|state| state_arg(ty, *by_ref, &state)),
            Argument::Context { ty, by_ref } => Some(context_arg(ty, *by_ref)),
        });
    }
    args
}

fn state_arg(ty: &Type, by_ref: bool, state: &Ident) -> TokenStream {
    if by_ref {
        return quote!(#state);
    }
    let owned = evidence(ty, "Taken");
    let by_value = quote_spanned!(ty.span()=> #owned::by_value());
    quote!(#by_value(#state))
}

fn context_arg(ty: &Type, by_ref: bool) -> TokenStream {
    let cx = hidden("_cx");
    let context = quote_spanned!(ty.span()=> __rt::context::<#ty>);
    if by_ref { quote!(#context(#cx)) } else { quote!(::core::clone::Clone::clone(#context(#cx))) }
}

/// Returns `.answer(…)`, for an external tool.
pub fn answer_setter(tool: &ToolDef) -> Option<TokenStream> {
    matches!(tool.body, Body::External { .. }).then(|| quote!(.answer(__OUTPUT.read)))
}
