//! The work of a call, its need for approval, and the description of its output.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Expr, GenericArgument, PathArguments, Type, spanned::Spanned as _};

use super::{
    fields::input_fallbacks,
    tokens::{hidden_ident, witness},
};
use crate::declaration::{Argument, Body, Function, Param, StateArg, ToolDef};
use crate::syntax::{options::Approval, params::last_word_span, types::innermost};

/// Returns the static `__OUTPUT`, unless the tool is a function, and the expression that describes the output.
pub fn output_tokens(tool: &ToolDef) -> (Option<TokenStream>, TokenStream) {
    let tool_type = &tool.head.ident;
    match &tool.body {
        Body::Function(function) => {
            let Function { returns, returns_span, .. } = &**function;
            let kind = quote_spanned!(*returns_span=> __rt::Kind::<#returns>::KIND);
            let inside = innermost(ok_type(returns));
            let output = quote_spanned!(*returns_span=> #kind.fits::<#inside>());
            let value = quote!({
                #[allow(unused_imports)]
                use __rt::{BareOutput as _, KindFallback as _, Undescribed as _, Unwritten as _};
                #output
            });
            (None, value)
        }
        Body::External { output, .. } => {
            let (typed, fallbacks, inside) = (witness(output, "TypeWitness"), input_fallbacks(true), innermost(output));
            let code = quote_spanned!(inside.span()=> #typed::CODE.fits::<#inside>());
            let value = quote!({ #fallbacks #code });
            output_static(&quote!(__rt::FieldCode), &value)
        }
        Body::Struct { state } => {
            let (state, kind) = match state {
                Some(state) => (
                    quote!(#state),
                    quote_spanned!(tool_type.span()=> __rt::ExecuteWithWitness::<#tool_type, #state>::KIND),
                ),
                None => (quote!(()), quote_spanned!(tool_type.span()=> __rt::ExecuteWitness::<#tool_type>::KIND)),
            };
            let output = output_type(tool);
            let value = quote_spanned!(tool_type.span()=> #kind.fits::<#output>());
            let value = quote!({
                #[allow(unused_imports)]
                use __rt::{BareOutput as _, ExecuteWitnessFallback as _, Undescribed as _, Unwritten as _};
                #value
            });
            output_static(&quote!(__rt::Executor<#tool_type, #state>), &value)
        }
    }
}

fn output_static(ty: &TokenStream, value: &TokenStream) -> (Option<TokenStream>, TokenStream) {
    (Some(quote!(static __OUTPUT: #ty = #value;)), quote!(__OUTPUT.returned))
}

/// Returns the tool's output type. No other tokens name `Execute` or `ExecuteWith`, so a missing impl is one error.
pub fn output_type(tool: &ToolDef) -> TokenStream {
    let tool_type = &tool.head.ident;
    match &tool.body {
        Body::Function(function) => ok_type(&function.returns).to_token_stream(),
        Body::External { output, .. } => output.to_token_stream(),
        Body::Struct { state: Some(state) } => {
            quote_spanned!(tool_type.span()=> <#tool_type as __rt::ExecuteWith<#state>>::Output)
        }
        Body::Struct { state: None } => quote_spanned!(tool_type.span()=> <#tool_type as __rt::Execute>::Output),
    }
}

/// Returns `T` of a type whose last segment is `Result<T, …>`; a `Result` behind an alias stays whole.
fn ok_type(returns: &Type) -> &Type {
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

/// Returns the static that holds the approval predicate, if it is a closure. A predicate that is a path needs none: the
/// expansion calls it directly.
pub fn when_static(tool: &ToolDef) -> Option<TokenStream> {
    let tool_type = &tool.head.ident;
    let predicate = tool.approval_predicate().filter(|predicate| !matches!(predicate, Expr::Path(_)))?;
    Some(quote!(static __WHEN: fn(&#tool_type) -> ::core::primitive::bool = #predicate;))
}

/// Returns the static that holds the function of `touches`, if the declaration has this option.
pub fn touches_static(tool: &ToolDef) -> Option<TokenStream> {
    let (tool_type, touches) = (&tool.head.ident, &tool.options.touches.as_ref()?.value);
    Some(quote!(static __TOUCHES: fn(&#tool_type) -> __rt::TouchedResources = #touches;))
}

/// Returns the expression of an accepted call, with its work, its need for approval and the resources that it touches.
pub fn accepted_call_expr(tool: &ToolDef, work: &TokenStream) -> TokenStream {
    let (input, needs_approval) = (hidden_ident("_input"), approval_expr(tool));
    if tool.options.touches.is_none() {
        return quote!(__rt::AcceptedCall::new(#needs_approval, #work));
    }
    let touches = quote!(__rt::resources_of_call(__TOUCHES, &#input));
    quote!(__rt::AcceptedCall { touches: #touches, ..__rt::AcceptedCall::new(#needs_approval, #work) })
}

/// Returns the expression that decides whether the call needs approval.
fn approval_expr(tool: &ToolDef) -> TokenStream {
    let input = hidden_ident("_input");
    match tool.approval() {
        Approval::Never => quote!(false),
        Approval::Always => quote!(true),
        // The compiler reports a wrong signature at the function's name.
        Approval::When(Expr::Path(path)) => {
            let (tool_type, span) = (&tool.head.ident, last_word_span(&path.path));
            let asked = quote_spanned!(span=> __rt::When::<#tool_type>::of(#path).asks(&#input));
            quote!({
                #[allow(unused_imports)]
                use __rt::CallPredicateFallback as _;
                #asked
            })
        }
        Approval::When(_) => {
            let tool_type = &tool.head.ident;
            quote!(__rt::When::<#tool_type>::of(__WHEN).asks(&#input))
        }
    }
}

/// Returns whether `touches` or the approval predicate reads the input.
pub fn is_input_inspected(tool: &ToolDef) -> bool {
    tool.options.touches.is_some() || tool.approval_predicate().is_some()
}

/// The form in which a call passes the parameters to the function.
#[derive(Clone, Copy)]
pub enum ParamForm {
    /// Fields of the input, such as `_input.city`.
    Input,
    /// Local variables, such as `slot0`, which compile faster.
    Slots,
}

/// Returns the expression that calls a function, as a boxed future.
pub fn function_work_expr(tool: &ToolDef, function: &Function, form: ParamForm) -> TokenStream {
    let Function { path, span, is_async, is_stream, .. } = function;
    let tool_type = &tool.head.ident;
    let states: Vec<_> = tool.body.state_types().collect();
    let values = if states.is_empty() { quote!(#tool_type) } else { quote!((#tool_type, #(&'a #states),*)) };
    let args = arguments(tool, function, form);
    let call = quote_spanned!(*span=> #path(#(#args),*));
    let cx = hidden_ident("_cx");
    let work = match (is_async, is_stream) {
        (true, false) => quote_spanned!(*span=> __rt::Work::<#values>::async_fn(&__DEF, #call)),
        (false, false) => quote_spanned!(*span=> __rt::Work::<#values>::plain_fn(&__DEF, move || #call)),
        (true, true) => quote_spanned!(*span=> __rt::Work::<#values>::async_stream(&__DEF, #cx, #call)),
        (false, true) => quote_spanned!(*span=> __rt::Work::<#values>::plain_stream(&__DEF, #cx, move || #call)),
    };
    quote! {{
        #[allow(unused_imports)]
        use __rt::WorkFallback as _;
        #work
    }}
}

/// Returns the arguments of the function, in order.
fn arguments(tool: &ToolDef, function: &Function, form: ParamForm) -> Vec<TokenStream> {
    let mut states = (0..).map(|index| hidden_ident(&format!("state{index}")));
    let mut derived = (0..).map(|index| hidden_ident(&format!("derived{index}")));
    let mut slots = (0..).map(|index| hidden_ident(&format!("slot{index}")));
    let mut params = tool.fields().iter();
    let receiver = function.owner.as_ref().and_then(|_| states.next()).map(ToTokens::into_token_stream);
    let mut args = Vec::from_iter(receiver);
    for argument in &function.args {
        args.extend(match argument {
            Argument::Param => match form {
                ParamForm::Input => params.next().map(|Param { ident, .. }| {
                    let input = hidden_ident("_input");
                    quote!(#input.#ident)
                }),
                ParamForm::Slots => slots.next().map(ToTokens::into_token_stream),
            },
            Argument::State(StateArg { ty, by_ref, .. }) => states.next().map(|state| state_arg(ty, *by_ref, &state)),
            Argument::Derived(_) => derived.next().map(ToTokens::into_token_stream),
            Argument::Context { ty, by_ref } => Some(context_arg(ty, *by_ref)),
        });
    }
    args
}

fn state_arg(ty: &Type, by_ref: bool, state: &Ident) -> TokenStream {
    if by_ref {
        return quote!(#state);
    }
    let owned = witness(ty, "StateCloner");
    let by_value = quote_spanned!(ty.span()=> #owned::by_value());
    quote!(#by_value(#state))
}

fn context_arg(ty: &Type, by_ref: bool) -> TokenStream {
    let cx = hidden_ident("_cx");
    let context = quote_spanned!(ty.span()=> __rt::context::<#ty>);
    if by_ref { quote!(#context(#cx)) } else { quote!(::core::clone::Clone::clone(#context(#cx))) }
}

/// Returns `.read_output(…)`, for an external tool.
pub fn read_output_setter(tool: &ToolDef) -> Option<TokenStream> {
    matches!(tool.body, Body::External { .. }).then(|| quote!(.read_output(__OUTPUT.read)))
}

/// Returns the expression of the work of a tool that is a struct or an enum: a boxed future, with the state.
pub fn struct_work_expr(tool: &ToolDef, state: Option<TokenStream>) -> TokenStream {
    if matches!(tool.body, Body::External { .. }) {
        return quote!({ __rt::never_executed() });
    }
    let [cx, input] = ["_cx", "_input"].map(hidden_ident);
    let state = state.unwrap_or_else(|| quote!(&()));
    quote!({ __OUTPUT.start(#input, #state, #cx) })
}
