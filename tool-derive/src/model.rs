//! What the user meant: checked values with the places where they were written.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{Ident, Path, Type, Visibility, ext::IdentExt};

use crate::syntax::{
    doc::Doc,
    options::Options,
    params::{Default, ParamAttrs},
};

/// A tool.
pub(crate) struct Tool {
    /// The type that stands for the tool.
    pub(crate) marker: Ident,
    pub(crate) vis: Visibility,
    /// The name that the model calls.
    pub(crate) name: String,
    pub(crate) description: Option<Doc>,
    pub(crate) options: Options,
    pub(crate) inputs: Vec<Input>,
    /// How an input is written, before its fields in braces.
    pub(crate) path: TokenStream,
    /// What an enum has in place of inputs.
    pub(crate) union: Option<Union>,
    pub(crate) body: Body,
    /// Whether the types of the signature can be used.
    pub(crate) sound: bool,
}

/// The variants of an enum, told apart by a tag.
pub(crate) struct Union {
    /// The name of the tag, and where it was given.
    pub(crate) tag: (String, Span),
    /// What the tag says of each, and the variant as far as it is like a tool.
    pub(crate) variants: Vec<(String, Tool)>,
}

/// What runs when the tool is called.
pub(crate) enum Body {
    /// A function, or a method of a type.
    Fn(Box<Function>),
    /// A struct that implements `Execute` or `ExecuteWith`, or is external.
    Struct,
}

/// The function behind a tool.
pub(crate) struct Function {
    /// How it is called.
    pub(crate) path: TokenStream,
    /// The type that it is a method of.
    pub(crate) owner: Option<Type>,
    /// Its name's.
    pub(crate) span: Span,
    pub(crate) is_async: bool,
    /// Whether it gives several values, one after the other.
    pub(crate) is_stream: bool,
    /// The type of what it returns; of a stream, of each of its items.
    pub(crate) returns: Type,
    pub(crate) returns_span: Span,
}

/// One input, in the order of the function's parameters.
pub(crate) enum Input {
    Arg(Box<Arg>),
    State { ident: Option<Ident>, ty: Box<Type>, by_ref: bool },
    Context { ty: Box<Type>, by_ref: bool },
}

/// A parameter that the model gives, or the application if it is secret.
pub(crate) struct Arg {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    /// The name in the arguments.
    pub(crate) name: String,
    pub(crate) doc: Option<Doc>,
    pub(crate) attrs: ParamAttrs,
    /// Of the tag of a variant, what it says.
    pub(crate) tag: Option<String>,
}

impl Arg {
    /// Whether its own fields are judged.
    pub(crate) fn is_nested(&self) -> bool {
        self.attrs.dynamic.as_ref().is_some_and(|dynamic| dynamic.nested.is_some())
    }
}

impl Tool {
    /// The parameters that are decoded.
    pub(crate) fn args(&self) -> impl Iterator<Item = &Arg> {
        self.inputs.iter().filter_map(|input| match input {
            Input::Arg(arg) => Some(&**arg),
            _ => None,
        })
    }

    /// The state of the type that the tool is a method of, or of a struct.
    pub(crate) fn owner(&self) -> Option<&Type> {
        match &self.body {
            Body::Fn(function) => function.owner.as_ref(),
            Body::Struct => self.options.state.as_ref().map(|state| &state.value),
        }
    }

    /// The types that the state must provide, each once.
    pub(crate) fn states(&self) -> Vec<&Type> {
        let mut states: Vec<&Type> = Vec::new();
        let inputs = self.inputs.iter().filter_map(|input| match input {
            Input::State { ty, .. } => Some(&**ty),
            _ => None,
        });
        for ty in self.owner().into_iter().chain(inputs) {
            if !states.iter().any(|known| same(known, ty)) {
                states.push(ty);
            }
        }
        states
    }

    /// Whether the state is needed.
    pub(crate) fn takes_state(&self) -> bool {
        matches!(&self.body, Body::Fn(function) if function.owner.is_some())
            || self.options.state.is_some()
            || self.inputs.iter().any(|input| matches!(input, Input::State { .. }))
    }

    /// Returns whether the function gets the call's context.
    pub(crate) fn takes_context(&self) -> bool {
        self.inputs.iter().any(|input| matches!(input, Input::Context { .. }))
    }

    /// Whether validators, or a check, are asked before a call is accepted.
    pub(crate) fn is_asking(&self) -> bool {
        self.options.check.is_some() || self.union.is_some() || self.args().any(|arg| arg.attrs.dynamic.is_some())
    }

    /// The types of the parameters whose own fields are judged, in order.
    pub(crate) fn nested(&self) -> impl Iterator<Item = &Type> {
        let inside = self.variants().flat_map(|(_, variant)| variant.args());
        self.args().chain(inside).filter(|arg| arg.is_nested()).map(|arg| &arg.ty)
    }

    /// The variants of an enum: what the tag says of each, and the variant as far as it is like a tool.
    pub(crate) fn variants(&self) -> impl Iterator<Item = &(String, Self)> {
        self.union.iter().flat_map(|union| &union.variants)
    }

    /// The type of what the validator of the parameter `ident` knows: `BookFlightArrival` for `arrival` of `book_flight`.
    pub(crate) fn context(&self, ident: &Ident) -> Ident {
        let (tool, own) = (pascal(&self.marker.unraw().to_string()), pascal(&ident.unraw().to_string()));
        format_ident!("{tool}{own}", span = ident.span())
    }

    /// The type of what the check of the whole call knows.
    pub(crate) fn check_context(&self) -> Ident {
        self.context(&Ident::new("check", self.marker.span()))
    }

    /// The path of the runtime's private module.
    pub(crate) fn runtime(&self) -> TokenStream {
        runtime(self.options.krate.as_ref())
    }
}

/// The path of the runtime's private module, below `krate`.
pub(crate) fn runtime(krate: Option<&Path>) -> TokenStream {
    match krate {
        Some(krate) => quote!(#krate::__private),
        None => quote!(::tool_runtime::__private),
    }
}

/// `a_name` as the name of a type: `AName`.
pub(crate) fn pascal(name: &str) -> String {
    let capital = |word: &str| {
        let mut chars = word.chars();
        chars.next().map(|first| first.to_uppercase().chain(chars).collect::<String>()).unwrap_or_default()
    };
    name.split('_').map(capital).collect()
}

impl Default {
    /// The expression of the default.
    pub(crate) fn expr(&self) -> TokenStream {
        match self {
            Self::Trait(span) => quote::quote_spanned!(*span=> ::core::default::Default::default()),
            Self::Value(expr) => quote!(#expr),
        }
    }
}

fn same(a: &Type, b: &Type) -> bool {
    quote!(#a).to_string() == quote!(#b).to_string()
}
