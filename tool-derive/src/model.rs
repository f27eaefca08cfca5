//! What the user meant: resolved declarations, with the places where they were written.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::{Attribute, Expr, Generics, Member, Path, Type, Visibility, ext::IdentExt};

use crate::diag::text::Advice;
use crate::syntax::{
    attribute::Doc,
    options::{Approval, Options, Spanned},
    params::{Dynamic, ParamAttrs},
    serde::pascal,
};

/// A tool.
pub struct ToolDef {
    pub head: Head,
    pub options: Options,
    pub input: Input,
    pub body: Body,
    pub start: Start,
}

/// The names of a declaration, and its visibility.
pub struct Head {
    /// The type that everything hangs on: a tool's marker, a nested input, the name before a variant's contexts.
    pub ident: Ident,
    pub vis: Visibility,
    /// The name that the model calls; of a variant and a nested input, the one that people read.
    pub name: String,
    pub description: Option<Doc>,
    /// The path of the runtime, if one is given.
    pub krate: Option<Path>,
    /// True if the types of the declaration can be used.
    pub is_sound: bool,
}

/// The arguments of a tool.
pub enum Input {
    Params(Params),
    Enum(Union),
}

/// Parameters that make one value together.
pub struct Params {
    /// The path that stands before the fields in braces.
    pub path: TokenStream,
    /// The tag in front of the fields, for a variant.
    pub tag: Option<Tag>,
    pub fields: Vec<Param>,
}

/// The entry that says which variant is meant.
pub struct Tag {
    pub name: String,
    /// The value that stands for this variant.
    pub value: String,
}

/// The variants of an enum, told apart by a tag.
pub struct Union {
    /// The name of the tag.
    pub tag: Spanned<String>,
    pub variants: Vec<Variant>,
}

/// One variant of an enum.
pub struct Variant {
    pub head: Head,
    pub params: Params,
    /// The state that the enum takes.
    pub state: Option<Type>,
}

/// A struct whose fields are judged where it is nested in a tool's arguments.
pub struct NestedInput {
    pub head: Head,
    pub params: Params,
    /// The state that its validators take.
    pub state: Option<Type>,
    /// The advice that is not wanted.
    pub allow: Vec<Advice>,
}

/// A parameter that the model gives, or the application if it is secret.
pub struct Param {
    pub ident: Ident,
    pub ty: Type,
    /// The name in the arguments.
    pub name: String,
    pub doc: Option<Doc>,
    pub attrs: ParamAttrs,
}

/// The work of a call.
pub enum Body {
    /// A function, or a method of a type.
    Function(Box<Function>),
    /// The struct's `Execute`, or `ExecuteWith` a state.
    Struct { state: Option<Type> },
    /// A client outside, whose answer has the type `output`; validators may take a state.
    External { state: Option<Type>, output: Box<Type> },
}

/// The function behind a tool.
pub struct Function {
    /// The path that calls it.
    pub path: TokenStream,
    /// The type that it is a method of.
    pub owner: Option<Type>,
    /// The place of its name.
    pub span: Span,
    pub is_async: bool,
    /// True if it gives several values, one after the other.
    pub is_stream: bool,
    /// Its arguments, after `self`.
    pub args: Vec<Argument>,
    /// The type of what it returns; of a stream, of each of its items.
    pub returns: Type,
    pub returns_span: Span,
}

/// An argument of a function.
pub enum Argument {
    /// The next parameter of the input.
    Param,
    State(StateArg),
    Context {
        ty: Type,
        by_ref: bool,
    },
}

/// An argument that comes from the application's state.
pub struct StateArg {
    /// Its name, if it has one.
    pub ident: Option<Ident>,
    pub ty: Type,
    pub by_ref: bool,
}

/// The way in which a call is started.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At once, without state.
    Free,
    /// At once, with what it takes from the state.
    Bound,
    /// When its validators, or its check, have accepted the arguments.
    Asking,
}

/// Parameters together with all that their validators can know.
#[derive(Clone, Copy)]
pub struct Judged<'m> {
    pub head: &'m Head,
    pub tag: Option<&'m Tag>,
    pub fields: &'m [Param],
    /// The state of the type that the tool is a method of, or of a struct.
    pub owner: Option<&'m Type>,
    /// The arguments of the tool's function.
    pub args: &'m [Argument],
}

/// A method of an impl that is a tool.
pub struct MethodTool {
    /// The type that stands for it: `ShopSearchItems` for `Shop::search_items`.
    pub marker: Ident,
    /// The `cfg` attributes that decide whether it is there.
    pub cfg: Vec<Attribute>,
}

/// A struct that provides each of its fields.
pub struct ProvideDef {
    pub ident: Ident,
    pub generics: Generics,
    pub fields: Vec<(Member, Type)>,
}

/// An enum of a toolset's calls.
pub struct CallsDef {
    pub ident: Ident,
    /// The name of each variant, and the type that it holds; none if that is wrong.
    pub variants: Vec<(Ident, Option<Type>)>,
}

impl Param {
    /// Returns whether its own fields are judged.
    pub fn is_nested(&self) -> bool {
        self.attrs.dynamic.as_ref().is_some_and(|dynamic| dynamic.options.nested.is_some())
    }

    pub fn is_secret(&self) -> bool {
        self.attrs.arg.secret.is_some()
    }

    pub fn is_dynamic(&self) -> bool {
        self.attrs.dynamic.is_some()
    }

    /// Returns where its name is written.
    pub fn name_span(&self) -> Span {
        self.attrs.arg.rename.as_ref().map_or_else(|| self.ident.span(), syn::LitStr::span)
    }
}

impl Params {
    /// The types of the parameters whose own fields are judged, in order.
    pub fn nested(&self) -> impl Iterator<Item = &Type> {
        self.fields.iter().filter(|param| param.is_nested()).map(|param| &param.ty)
    }

    /// The parameters with their places; a tag has the first.
    pub fn placed(&self) -> impl Iterator<Item = (usize, &Param)> {
        (usize::from(self.tag.is_some())..).zip(&self.fields)
    }
}

impl ToolDef {
    /// The parameters; none of an enum, whose variants have them.
    pub fn fields(&self) -> &[Param] {
        match &self.input {
            Input::Params(params) => &params.fields,
            Input::Enum(_) => &[],
        }
    }

    /// The variants of an enum.
    pub fn variants(&self) -> &[Variant] {
        match &self.input {
            Input::Params(_) => &[],
            Input::Enum(union) => &union.variants,
        }
    }

    /// The parameters, of whichever variant.
    pub fn all_fields(&self) -> impl Iterator<Item = &Param> {
        self.fields().iter().chain(self.variants().iter().flat_map(|variant| &variant.params.fields))
    }

    /// The types of all parameters whose own fields are judged, in order.
    pub fn nested(&self) -> impl Iterator<Item = &Type> {
        self.all_fields().filter(|param| param.is_nested()).map(|param| &param.ty)
    }

    /// The types that the state must provide, each once.
    pub fn states(&self) -> Vec<&Type> {
        let mut states: Vec<&Type> = Vec::new();
        for ty in self.body.state_types() {
            if !states.iter().any(|known| is_same_type(known, ty)) {
                states.push(ty);
            }
        }
        states
    }

    /// Returns who approves a call: nobody, if the option is not given.
    pub fn approval(&self) -> &Approval {
        self.options.approval.as_ref().map_or(&Approval::Never, |approval| &approval.value)
    }

    /// The predicate that decides whether a call needs approval.
    pub fn predicate(&self) -> Option<&Expr> {
        match self.approval() {
            Approval::When(predicate) => Some(predicate),
            Approval::Never | Approval::Always => None,
        }
    }

    /// The parameters, and what their validators and the check of the whole call can know.
    pub fn judged(&self) -> Judged<'_> {
        Judged { head: &self.head, tag: None, fields: self.fields(), owner: self.body.owner(), args: self.body.args() }
    }
}

impl Body {
    /// The state of the type that the tool is a method of, or of a struct.
    pub fn owner(&self) -> Option<&Type> {
        match self {
            Self::Function(function) => function.owner.as_ref(),
            Self::Struct { state } | Self::External { state, .. } => state.as_ref(),
        }
    }

    /// The arguments of a function.
    pub fn args(&self) -> &[Argument] {
        match self {
            Self::Function(function) => &function.args,
            Self::Struct { .. } | Self::External { .. } => &[],
        }
    }

    /// The types that it takes from the state, in order.
    pub fn state_types(&self) -> impl Iterator<Item = &Type> {
        self.owner().into_iter().chain(states(self.args()).map(|state| &state.ty))
    }
}

impl Variant {
    /// The fields, and what their validators can know.
    pub fn judged(&self) -> Judged<'_> {
        let Self { head, params, state } = self;
        Judged { head, tag: params.tag.as_ref(), fields: &params.fields, owner: state.as_ref(), args: &[] }
    }
}

impl NestedInput {
    /// The fields, and what their validators can know.
    pub fn judged(&self) -> Judged<'_> {
        let Self { head, params, state, .. } = self;
        Judged { head, tag: None, fields: &params.fields, owner: state.as_ref(), args: &[] }
    }
}

impl<'m> Judged<'m> {
    /// The parameters with their places; a tag has the first.
    pub fn placed(self) -> impl Iterator<Item = (usize, &'m Param)> {
        (usize::from(self.tag.is_some())..).zip(self.fields)
    }

    /// The dynamic parameters that have a validator of their own, in order.
    pub fn validated(self) -> impl Iterator<Item = (&'m Param, &'m Dynamic)> {
        let judged = self.fields.iter().filter(|param| !param.is_nested());
        judged.filter_map(|param| Some((param, param.attrs.dynamic.as_ref()?)))
    }

    /// The arguments of the function that are states.
    pub fn states(self) -> impl Iterator<Item = &'m StateArg> {
        states(self.args)
    }

    /// The type of what the validator of the parameter `ident` knows: `BookFlightArrival` for `arrival` of `book_flight`.
    pub fn context(self, ident: &Ident) -> Ident {
        let (tool, own) = (pascal(&self.head.ident.unraw().to_string()), pascal(&ident.unraw().to_string()));
        format_ident!("{tool}{own}", span = ident.span())
    }

    /// The type of what the check of the whole call knows.
    pub fn check_context(self) -> Ident {
        self.context(&Ident::new("check", self.head.ident.span()))
    }
}

/// The arguments that are states.
fn states(args: &[Argument]) -> impl Iterator<Item = &StateArg> {
    args.iter().filter_map(|arg| match arg {
        Argument::State(state) => Some(state),
        Argument::Param | Argument::Context { .. } => None,
    })
}

fn is_same_type(a: &Type, b: &Type) -> bool {
    quote!(#a).to_string() == quote!(#b).to_string()
}

/// The parameters, and for each those that it waits for, as places among the parameters.
pub struct Graph<'t> {
    params: &'t [Param],
    before: Vec<Vec<(usize, &'t Ident)>>,
}

/// Parameters that wait for each other: the place where one names the next, and the path from the first back to itself.
pub struct Cycle<'t> {
    pub at: &'t Ident,
    pub path: Vec<&'t Ident>,
}

/// Returns whether two identifiers are the same word.
pub fn same(a: &Ident, b: &Ident) -> bool {
    a.unraw() == b.unraw()
}

impl<'t> Graph<'t> {
    /// Returns the graph of what is known to be a dynamic parameter; what is not has been reported.
    pub fn of(params: &'t [Param]) -> Self {
        let place = |own: &Param, name: &Ident| {
            params.iter().position(|param| same(&param.ident, name) && !same(&own.ident, name) && param.is_dynamic())
        };
        let before = params
            .iter()
            .map(|param| {
                let names = param.attrs.dynamic.iter().flat_map(Dynamic::before);
                names.filter_map(|name| Some((place(param, name)?, name))).collect()
            })
            .collect();
        Self { params, before }
    }

    /// The dynamic parameters in the order in which they are asked: each after those it waits for, and of those that wait
    /// for none any more, the one first whose name in the arguments is the least.
    pub fn order(&self) -> Vec<usize> {
        let mut left: Vec<usize> = (0..self.params.len()).filter(|&param| self.params[param].is_dynamic()).collect();
        left.sort_by(|a, b| self.params[*a].name.cmp(&self.params[*b].name));
        let mut order: Vec<usize> = Vec::with_capacity(left.len());
        let ready = |arg: &usize, order: &[usize]| self.before[*arg].iter().all(|(before, _)| order.contains(before));
        while let Some(next) = left.iter().position(|arg| ready(arg, &order)) {
            order.push(left.remove(next));
        }
        order
    }

    /// Returns every cycle.
    pub fn cycles(&self) -> Vec<Cycle<'t>> {
        let (mut done, mut found) = (vec![false; self.params.len()], Vec::new());
        (0..self.params.len()).for_each(|arg| self.visit(arg, &mut Vec::new(), &mut done, &mut found));
        found
    }

    /// Goes along what the parameter `arg`, at the end of `path`, waits for.
    fn visit(&self, arg: usize, path: &mut Vec<usize>, done: &mut [bool], found: &mut Vec<Cycle<'t>>) {
        if done[arg] {
            return;
        }
        path.push(arg);
        for &(before, at) in &self.before[arg] {
            if let Some(start) = path.iter().position(|&earlier| earlier == before) {
                let path = path[start..].iter().chain([&before]).map(|&arg| &self.params[arg].ident);
                found.push(Cycle { at, path: path.collect() });
            } else {
                self.visit(before, path, done, found);
            }
        }
        path.pop();
        done[arg] = true;
    }
}
